// Programs: compiled, asked about, run.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "host/pjrt/callbacks.hpp"
#include "host/pjrt/objects.hpp"
#include "host/tools/cost/launch_record.hpp"
#include "host/tools/run/launch_exchange.hpp"

namespace weft::pjrt {
namespace {

constexpr std::string_view kFormat = "mlir";

/// What one launch needs, until it has ended: by device, what it has of each argument and result.
struct Launch {
  std::shared_ptr<const Program> program;
  std::vector<size_t> ids;  ///< of the devices
  std::vector<std::vector<ContentsPtr>> inputs, outputs;
  CompletionPtr complete = std::make_shared<Completion>();
  std::unique_ptr<tools::LaunchRecord::Call> noted =
      tools::LaunchRecord::of_process().call();  ///< null: no recording is active
  /// Of several devices that each run their program.
  std::unique_ptr<tools::LaunchExchange> exchange;
  std::mutex mutex;
  std::vector<std::optional<tools::PartsResult>> results;
  std::optional<weft::Error> error;
  size_t ended = 0;
};

void note(Launch& launch, const spec::Chip& chip, size_t device, tools::PartsResult& result) {
  for (auto& window : result.launches) window.device = device;
  // The record keeps the program as long as it needs the model.
  if (launch.noted) launch.noted->add(launch.program->name, chip, {launch.program, &launch.program->model}, result);
}

/// Arguments are gathered, and results are cut.
std::optional<weft::Error> run_gathered(Launch& launch, runtime::Session& session) {
  const auto& layout = launch.program->layout;
  std::vector<compiler::ir::TensorPtr> inputs;
  for (size_t i = 0; i < launch.inputs[0].size(); i++) {
    std::vector<compiler::ir::TensorPtr> tiles;
    for (const auto& of_device : launch.inputs) {
      if (auto error = of_device[i]->ready->wait()) return error;
      tiles.push_back(of_device[i]->tensor);
    }
    inputs.push_back(compiler::ir::joined(tiles, layout.inputs[i]));
  }
  const compiler::reference::Callbacks::Scope calls(&callbacks());
  auto result = run_program(*launch.program, inputs, 0, session);
  if (!result.ok()) return result.error();
  note(launch, session.chip(), launch.ids[0], result.value());
  for (size_t device = 0; device < launch.outputs.size(); device++)
    for (size_t i = 0; i < launch.outputs[device].size(); i++)
      launch.outputs[device][i]->tensor = compiler::ir::tile_of(result.value().outputs[i], layout.outputs[i], device);
  return std::nullopt;
}

/// One device's program on its own arguments.
std::optional<weft::Error> run_own(Launch& launch, size_t device, runtime::Session& session) {
  std::vector<compiler::ir::TensorPtr> inputs;
  for (const auto& input : launch.inputs[device]) {
    if (auto error = input->ready->wait()) return error;
    inputs.push_back(input->tensor);
  }
  const compiler::reference::OnDevice scope(*launch.exchange, static_cast<int64_t>(device));
  const compiler::reference::Callbacks::Scope calls(&callbacks());
  tools::DeviceLauncher launcher(*launch.exchange, static_cast<int64_t>(device));
  auto result = run_program(*launch.program, inputs, device, session, &launcher);
  if (!result.ok()) return result.error();
  for (size_t i = 0; i < launch.outputs[device].size(); i++)
    launch.outputs[device][i]->tensor = result.value().outputs[i];
  launch.results[device] = std::move(result.value());
  return std::nullopt;
}

void finish(Launch& launch, const std::optional<weft::Error>& error) {
  launch.noted.reset();
  for (const auto& of_device : launch.outputs)
    for (const auto& output : of_device) output->ready->finish(error);
  launch.complete->finish(error);
}

/// A device has ended; the last one ends the launch. That a device waits for one that has failed is not the cause.
void end(Launch& launch, size_t device, const std::optional<weft::Error>& error, const spec::Chip& chip) {
  launch.exchange->end(static_cast<int64_t>(device));
  {
    const std::lock_guard lock(launch.mutex);
    if (error && (!launch.error || launch.error->message.find("waits for one") != std::string::npos))
      launch.error = error;
    if (++launch.ended != launch.program->devices()) return;
  }
  tools::PartsResult collectives;
  for (const auto& window : launch.exchange->windows())
    collectives.launches.push_back({0, window.begin, window.end, window.chip});
  if (!launch.error) {
    for (size_t i = 0; i < launch.results.size(); i++) note(launch, chip, launch.ids[i], *launch.results[i]);
    if (launch.noted && !collectives.launches.empty())
      launch.noted->add(launch.program->name + " (collectives)", chip, nullptr, collectives);
  }
  finish(launch, launch.error);
}

using Donations = std::vector<compiler::stablehlo::Donation>;

/// The program's donations, without those that the caller takes back.
Donations donations_of(const Program& program, const ExecuteOptions* options) {
  Donations donations = program.donations;
  if (options == nullptr || options->kept_inputs == nullptr) return donations;
  const std::span kept(options->kept_inputs, options->kept_input_count);
  std::erase_if(donations, [&](const auto& donation) {
    return std::ranges::find(kept, static_cast<int64_t>(donation.input)) != kept.end();
  });
  return donations;
}

/// An array that is given away is no other argument of the launch. Null: so it is.
Error* check_donations(const Donations& donations, Buffer* const* arguments, size_t count) {
  for (const auto& [input, output] : donations)
    for (size_t i = 0; i < count; i++)
      if (i != input && arguments[i] == arguments[input])
        return made(ErrorCode::kInvalidArgument,
                    fmt::format("argument {} is donated, and the same array is argument {}", input, i));
  return nullptr;
}

/// The launch is on its way: outputs get the places of the inputs that were given for them, and their arrays are gone.
void donate(const Donations& donations, Buffer* const* arguments, const std::vector<ContentsPtr>& outputs) {
  for (const auto& [input, output] : donations) {
    Contents& given = *arguments[input]->contents;
    if (output) {
      outputs[*output]->place = std::move(given.place);
      outputs[*output]->released = std::exchange(given.released, nullptr);
    }
    arguments[input]->contents.reset();  // work in flight has its own share
  }
}

/// Takes the arguments of one device, and places for its results. Null: they are there.
Error* prepare(Launch& launch, Device& device, Buffer** arguments, size_t count, const Donations& donations) {
  const Program& program = *launch.program;
  auto& inputs = launch.inputs.emplace_back();
  auto& outputs = launch.outputs.emplace_back();
  for (size_t i = 0; i < count; i++) {
    const Buffer& argument = *arguments[i];
    if (!argument.contents)
      return made(ErrorCode::kInvalidArgument, fmt::format("argument {} has been deleted or donated", i));
    if (argument.type != program.input_type(i))
      return made(ErrorCode::kInvalidArgument, fmt::format("argument {} is {}; the program takes {}", i,
                                                           argument.type.text(), program.input_type(i).text()));
    inputs.push_back(argument.contents);
  }
  for (size_t i = 0; i < program.model.module.outputs.size(); i++) {
    if (std::ranges::any_of(donations, [i](const auto& donation) { return donation.output == i; })) {
      outputs.push_back(std::make_shared<Contents>());
      outputs.back()->type = program.output_type(i);
      continue;
    }
    auto place = device.chip->reserve(program.output_type(i));
    if (!place.ok()) return made(place.error());
    outputs.push_back(place.value());
  }
  return nullptr;
}

/// Gathered: the thread of the first device's chip does the work. Null: it is on its way.
Error* post_gathered(Device& first, const std::shared_ptr<Launch>& launch) {
  auto posted =
      first.chip->post([launch, chip = first.chip.get()] { finish(*launch, run_gathered(*launch, chip->session())); });
  return posted.ok() ? nullptr : made(posted.error());
}

/// Each device's chip does its part. Launches come to all chips in one order, so none waits for one behind it.
Error* post(Client& client, const std::vector<Device*>& devices, const std::shared_ptr<Launch>& launch) {
  std::vector<uint32_t> chips;
  std::vector<weft_queue*> queues;
  for (const Device* device : devices) {
    chips.push_back(static_cast<uint32_t>(device->description.id));
    queues.push_back(device->chip->session().queue());
  }
  launch->exchange =
      std::make_unique<tools::LaunchExchange>(client.programs.get(), std::move(chips), std::move(queues));
  launch->results.resize(devices.size());
  const std::lock_guard lock(client.launching);
  for (size_t i = 0; i < devices.size(); i++) {
    auto posted = devices[i]->chip->post([launch, i, chip = devices[i]->chip.get()] {
      end(*launch, i, run_own(*launch, i, chip->session()), chip->preset());
    });
    if (!posted.ok()) return made(posted.error());  // of a forked child: none has been posted
  }
  return nullptr;
}

Executable::Shardings shardings_of(const std::vector<compiler::ir::Tiling>& tilings) {
  Executable::Shardings made;
  for (const auto& tiling : tilings) made.texts.push_back(sharding_text(tiling));
  for (const auto& text : made.texts) made.data.push_back(text.data()), made.sizes.push_back(text.size());
  return made;
}

Error* answer(ShardingsArguments& a, const Executable::Shardings& shardings) {
  a.count = shardings.data.size();
  a.shardings = a.count == 0 ? nullptr : shardings.data.data();
  a.sizes = a.count == 0 ? nullptr : shardings.sizes.data();
  return nullptr;
}

}  // namespace

/// The devices that a program's options name.
static Result<std::vector<Device*>> devices_of(Client& client, CompileOptions& options) {
  if (options.replicas != 1)
    return weft::Error{WEFT_ERROR_UNSUPPORTED,
                       fmt::format("a program of {} replicas; supported: 1, of several partitions", options.replicas)};
  auto& ids = options.devices;
  for (int id = 0; ids.empty() && id < options.partitions; id++) ids.push_back(id);
  if (ids.size() != static_cast<size_t>(options.partitions))
    return weft::Error{WEFT_ERROR_INVALID_ARGUMENT,
                       fmt::format("{} devices for {} partitions", ids.size(), options.partitions)};
  std::vector<Device*> devices;
  for (const int id : ids) {
    if (id < 0 || static_cast<size_t>(id) >= client.devices.size())
      return weft::Error{WEFT_ERROR_INVALID_ARGUMENT,
                         fmt::format("the program is for device {}; there are {}", id, client.devices.size())};
    devices.push_back(client.devices[static_cast<size_t>(id)]);
  }
  return devices;
}

Error* load(Client* client, std::string_view code, std::string_view options, tools::CompiledParts* known,
            LoadedExecutable*& executable) {
  auto wanted = read_options(options);
  if (!wanted.ok()) return made(wanted.error());
  auto devices = devices_of(*client, wanted.value());
  if (!devices.ok()) return made(devices.error());
  const auto& chip = devices.value()[0]->chip->preset();
  auto program = compile_program(std::string(code), std::move(wanted.value()), chip, known,
                                 client->slice ? &client->shape : nullptr);
  if (!program.ok()) return made(program.error());
  executable = new LoadedExecutable{std::move(program.value()), client, std::move(devices.value())};
  return nullptr;
}

Error* compile(CompileArguments& a) {
  const std::string_view format(a.program->format, a.program->format_size);
  if (format != kFormat)
    return made(ErrorCode::kUnimplemented, fmt::format("a program in the format '{}'; supported: {}", format, kFormat));
  return load(a.client, {a.program->code, a.program->code_size}, {a.options, a.options_size}, nullptr, a.executable);
}

Error* get_executable(PartArguments<LoadedExecutable, Executable>& a) {
  auto executable = std::make_unique<Executable>();
  executable->program = a.object->program;
  for (size_t i = 0; i < executable->program->model.module.outputs.size(); i++) {
    const auto type = executable->program->output_type(i);
    executable->types.push_back(buffer_type_of(type.element));
    executable->ranks.push_back(type.rank());
    executable->dims.insert(executable->dims.end(), type.dims.begin(), type.dims.end());
    executable->kinds.push_back("device");
    executable->kind_sizes.push_back(std::strlen("device"));
  }
  const Cost cost = cost_of(*executable->program);
  executable->costs = {named("flops", static_cast<float>(2 * cost.macs)),
                       named("device flops", static_cast<float>(2 * cost.device_macs)),
                       named("elements", static_cast<float>(cost.elements)),
                       named("device elements", static_cast<float>(cost.device_elements)),
                       named("device programs", static_cast<float>(cost.device_programs)),
                       named("islands", static_cast<float>(cost.islands)),
                       named("collectives", static_cast<float>(cost.collectives)),
                       named("replicated operators", static_cast<float>(cost.replicated)),
                       named("gathered programs", executable->program->gathered.empty() ? 0.0F : 1.0F)};
  executable->parameters = shardings_of(executable->program->layout.inputs);
  executable->outputs = shardings_of(executable->program->layout.outputs);
  a.result = executable.release();
  return nullptr;
}

Error* memory_of_program(ProgramMemoryArguments& a) {
  const Program& program = *a.executable->program;
  a.arguments = a.results = 0;
  a.code = static_cast<int64_t>(code_bytes(program));
  for (size_t i = 0; i < program.inputs(); i++) a.arguments += static_cast<int64_t>(program.input_type(i).bytes());
  for (size_t i = 0; i < program.model.module.outputs.size(); i++)
    a.results += static_cast<int64_t>(program.output_type(i).bytes());
  a.aliased = a.scratch = 0;  // values between operators are in VMEM
  for (const auto& [input, output] : program.donations)
    if (output) a.aliased += static_cast<int64_t>(program.input_type(input).bytes());
  a.host_code = a.host_arguments = a.host_results = a.host_aliased = a.host_scratch = 0;
  return nullptr;
}

Error* parameter_shardings(ShardingsArguments& a) { return answer(a, a.executable->parameters); }
Error* output_shardings(ShardingsArguments& a) { return answer(a, a.executable->outputs); }

Error* device_assignment(SerializedAssignmentArguments& a) {
  auto* bytes = new std::string(assignment_of(a.executable->program->options));
  a.bytes = bytes->data();
  a.bytes_size = bytes->size();
  a.owner = bytes;
  a.release = [](void* owner) { delete static_cast<std::string*>(owner); };
  return nullptr;
}

Error* optimized_program(OptimizedProgramArguments& a) {
  // What was compiled, in the format in which it came.
  const std::string& code = a.executable->program->code;
  a.program->format = kFormat.data();
  a.program->format_size = kFormat.size();
  if (a.program->code == nullptr) {
    a.program->code_size = code.size();
    return nullptr;
  }
  if (a.program->code_size < code.size())
    return made(ErrorCode::kInvalidArgument,
                fmt::format("{} bytes for a program of {}", a.program->code_size, code.size()));
  std::memcpy(a.program->code, code.data(), code.size());
  return nullptr;
}

Error* execute(ExecuteArguments& a) {
  const LoadedExecutable& loaded = *a.executable;
  if (loaded.deleted) return made(ErrorCode::kFailedPrecondition, "the executable has been deleted");
  const auto& program = loaded.program;
  if (a.argument_count != program->inputs())
    return made(ErrorCode::kInvalidArgument,
                fmt::format("{} arguments; the program takes {}", a.argument_count, program->inputs()));
  const size_t devices = program->devices();
  if (a.device_count != devices)
    return made(ErrorCode::kInvalidArgument,
                fmt::format("a launch on {} devices of a program for {}", a.device_count, devices));
  const auto device = [&](size_t i) -> Device& {
    return devices == 1 && a.device != nullptr ? *a.device : *loaded.devices[i];
  };
  auto launch = std::make_shared<Launch>();
  launch->program = program;
  const Donations donations = donations_of(*program, a.options);
  for (size_t d = 0; d < devices; d++) {
    if (auto* error = check_donations(donations, a.arguments[d], a.argument_count)) return error;
    if (auto* error = prepare(*launch, device(d), a.arguments[d], a.argument_count, donations)) return error;
  }
  std::vector<Device*> places;
  for (size_t d = 0; d < devices; d++) {
    places.push_back(&device(d));
    launch->ids.push_back(static_cast<size_t>(places.back()->description.id));
  }
  if (auto* error = program->gathered.empty() ? post(*loaded.client, places, launch) : post_gathered(device(0), launch))
    return error;
  for (size_t d = 0; d < devices; d++) {
    donate(donations, a.arguments[d], launch->outputs[d]);
    for (size_t i = 0; i < launch->outputs[d].size(); i++)
      a.outputs[d][i] = new Buffer{launch->outputs[d][i], &device(d), launch->outputs[d][i]->type};
    if (a.complete != nullptr) a.complete[d] = new Event{launch->complete};
  }
  return nullptr;
}

}  // namespace weft::pjrt
