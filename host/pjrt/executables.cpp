// Programs: compiled, asked about, run.
#include <fmt/format.h>

#include <cstring>

#include "host/pjrt/objects.hpp"

namespace weft::pjrt {
namespace {

constexpr std::string_view kFormat = "mlir";

/// What one launch on one device needs, until it has ended.
struct Launch {
  std::shared_ptr<const Program> program;
  std::vector<ContentsPtr> inputs, outputs;
  CompletionPtr complete = std::make_shared<Completion>();
};

std::optional<weft::Error> run(Launch& launch, runtime::Session& session) {
  std::vector<compiler::ir::TensorPtr> inputs;
  for (const auto& input : launch.inputs) {
    if (auto error = input->ready->wait()) return error;
    inputs.push_back(input->tensor);
  }
  auto outputs = run_program(*launch.program, inputs, session);
  if (!outputs.ok()) return outputs.error();
  for (size_t i = 0; i < launch.outputs.size(); i++) launch.outputs[i]->tensor = std::move(outputs.value()[i]);
  return std::nullopt;
}

/// Null: the launch is on its way, its outputs are buffers of the framework.
Error* launch_on(Device& device, const std::shared_ptr<const Program>& program, Buffer** arguments, size_t count,
                 Buffer** outputs, Event** complete) {
  auto launch = std::make_shared<Launch>();
  launch->program = program;
  for (size_t i = 0; i < count; i++) {
    const Buffer& argument = *arguments[i];
    if (!argument.contents)
      return made(ErrorCode::kInvalidArgument, fmt::format("argument {} has been deleted or donated", i));
    if (argument.type != program->input_type(i))
      return made(ErrorCode::kInvalidArgument, fmt::format("argument {} is {}; the program takes {}", i,
                                                           argument.type.text(), program->input_type(i).text()));
    launch->inputs.push_back(argument.contents);
  }
  for (size_t i = 0; i < program->model.module.outputs.size(); i++) {
    auto place = device.chip->reserve(program->output_type(i));
    if (!place.ok()) return made(place.error());
    launch->outputs.push_back(place.value());
  }
  auto posted = device.chip->post([launch, chip = device.chip.get()] {
    const auto error = run(*launch, chip->session());
    for (const auto& output : launch->outputs) output->ready->finish(error);
    launch->complete->finish(error);
  });
  if (!posted.ok()) return made(posted.error());
  for (size_t i = 0; i < launch->outputs.size(); i++)
    outputs[i] = new Buffer{launch->outputs[i], &device, launch->outputs[i]->type};
  if (complete != nullptr) *complete = new Event{launch->complete};
  return nullptr;
}

}  // namespace

Error* compile(CompileArguments& a) {
  const std::string_view format(a.program->format, a.program->format_size);
  if (format != kFormat)
    return made(ErrorCode::kUnimplemented, fmt::format("a program in the format '{}'; supported: {}", format, kFormat));
  auto options = read_options({a.options, a.options_size});
  if (!options.ok()) return made(options.error());
  const int copies = options.value().replicas * options.value().partitions;
  if (copies != 1)
    return made(ErrorCode::kUnimplemented, fmt::format("a program for {} devices; supported: 1", copies));
  if (options.value().devices.empty()) options.value().devices.push_back(0);
  auto loaded = std::make_unique<LoadedExecutable>();
  loaded->client = a.client;
  for (const int id : options.value().devices) {
    if (id < 0 || static_cast<size_t>(id) >= a.client->devices.size())
      return made(ErrorCode::kInvalidArgument,
                  fmt::format("the program is for device {}; there are {}", id, a.client->devices.size()));
    loaded->devices.push_back(a.client->devices[static_cast<size_t>(id)]);
  }
  auto program = compile_program({a.program->code, a.program->code_size}, std::move(options.value()),
                                 loaded->devices[0]->chip->preset());
  if (!program.ok()) return made(program.error());
  loaded->program = std::move(program.value());
  a.executable = loaded.release();
  return nullptr;
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
                       named("device programs", static_cast<float>(cost.device_programs)),
                       named("islands", static_cast<float>(cost.islands))};
  a.result = executable.release();
  return nullptr;
}

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
  if (a.device_count != 1)
    return made(ErrorCode::kUnimplemented, fmt::format("a launch on {} devices; supported: 1", a.device_count));
  Device& device = a.device != nullptr ? *a.device : *loaded.devices[0];
  return launch_on(device, program, a.arguments[0], a.argument_count, a.outputs[0],
                   a.complete == nullptr ? nullptr : &a.complete[0]);
}

}  // namespace weft::pjrt
