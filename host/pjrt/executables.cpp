// Programs: compiled, asked about, run.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "host/pjrt/objects.hpp"

namespace weft::pjrt {
namespace {

constexpr std::string_view kFormat = "mlir";

/// What one launch needs, until it has ended: by device, what it has of each argument and result.
struct Launch {
  std::shared_ptr<const Program> program;
  std::vector<std::vector<ContentsPtr>> inputs, outputs;
  CompletionPtr complete = std::make_shared<Completion>();
  std::unique_ptr<tools::LaunchRecord::Call> noted =
      tools::LaunchRecord::of_process().call();  ///< null: no recording is active
};

/// Arguments are gathered, and results are cut; on one device they are what they are.
std::optional<weft::Error> run(Launch& launch, runtime::Session& session) {
  const auto& layout = launch.program->layout;
  std::vector<compiler::ir::TensorPtr> inputs;
  for (size_t i = 0; i < launch.inputs[0].size(); i++) {
    std::vector<compiler::ir::TensorPtr> tiles;
    for (const auto& of_device : launch.inputs) {
      if (auto error = of_device[i]->ready->wait()) return error;
      tiles.push_back(of_device[i]->tensor);
    }
    inputs.push_back(layout.inputs.empty() ? tiles[0] : compiler::ir::joined(tiles, layout.inputs[i]));
  }
  auto outputs = run_program(*launch.program, inputs, session, launch.noted.get());
  if (!outputs.ok()) return outputs.error();
  for (size_t device = 0; device < launch.outputs.size(); device++)
    for (size_t i = 0; i < launch.outputs[device].size(); i++)
      launch.outputs[device][i]->tensor = layout.outputs.empty()
                                              ? outputs.value()[i]
                                              : compiler::ir::tile_of(outputs.value()[i], layout.outputs[i], device);
  return std::nullopt;
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

/// The thread of the first device's chip does the work. Null: it is on its way.
Error* post(Device& first, const std::shared_ptr<Launch>& launch) {
  auto posted = first.chip->post([launch, chip = first.chip.get()] {
    const auto error = run(*launch, chip->session());
    launch->noted.reset();
    for (const auto& of_device : launch->outputs)
      for (const auto& output : of_device) output->ready->finish(error);
    launch->complete->finish(error);
  });
  return posted.ok() ? nullptr : made(posted.error());
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
  auto program = compile_program(std::string(code), std::move(wanted.value()), chip, known);
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
                       named("islands", static_cast<float>(cost.islands))};
  executable->parameters = shardings_of(executable->program->layout.inputs);
  executable->outputs = shardings_of(executable->program->layout.outputs);
  a.result = executable.release();
  return nullptr;
}

Error* memory_of_program(ProgramMemoryArguments& a) {
  const Program& program = *a.executable->program;
  a.code = a.arguments = a.results = 0;
  for (const auto& part : program.model.programs) a.code += static_cast<int64_t>(part.executable.size());
  for (size_t i = 0; i < program.model.module.inputs.size(); i++)
    a.arguments += static_cast<int64_t>(program.input_type(i).bytes());
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
  if (a.argument_count != program->model.module.inputs.size())
    return made(ErrorCode::kInvalidArgument, fmt::format("{} arguments; the program takes {}", a.argument_count,
                                                         program->model.module.inputs.size()));
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
  if (auto* error = post(device(0), launch)) return error;
  for (size_t d = 0; d < devices; d++) {
    donate(donations, a.arguments[d], launch->outputs[d]);
    for (size_t i = 0; i < launch->outputs[d].size(); i++)
      a.outputs[d][i] = new Buffer{launch->outputs[d][i], &device(d), launch->outputs[d][i]->type};
    if (a.complete != nullptr) a.complete[d] = new Event{launch->complete};
  }
  return nullptr;
}

}  // namespace weft::pjrt
