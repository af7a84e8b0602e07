// weft_model: an ONNX network, compiled, and its runs.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "host/runtime/abi_guard.hpp"
#include "host/tools/abi/runner.hpp"
#include "host/tools/cost/launch_record.hpp"
#include "host/tools/formats/files.hpp"
#include "host/tools/formats/json_text.hpp"
#include "host/tools/run/run_parts.hpp"

namespace weft::tools {
namespace {

using Json = nlohmann::ordered_json;
using compiler::ir::Tensor;
using compiler::ir::TensorType;

Error invalid(std::string message) { return {WEFT_ERROR_INVALID_ARGUMENT, std::move(message)}; }

Result<compiler::frontend::Binding> binding_of(const char* text) {
  compiler::frontend::Binding binding;
  if (text == nullptr) return binding;
  try {
    const auto json = nlohmann::json::parse(text);
    for (const auto& [key, value] : json.items()) {
      if (key == "shapes")
        for (const auto& [name, dims] : value.items()) binding.shapes[name] = dims.get<compiler::ir::Dims>();
      else if (key == "symbols")
        for (const auto& [name, size] : value.items()) binding.symbols[name] = size.get<int64_t>();
      else if (key == "precision") {
        const auto precision = compiler::frontend::precision_of(value.get<std::string>());
        if (!precision)
          return invalid(
              fmt::format("bindings: there is no precision {}; supported: bf16, bf16x3, bf16x6", value.dump()));
        binding.precision = *precision;
      } else
        return invalid(fmt::format("bindings: '{}' is none of shapes, symbols, precision", key));
    }
  } catch (const nlohmann::json::exception& error) {
    return invalid(fmt::format("bindings: {}", error.what()));
  }
  return binding;
}

/// The shapes that were asked for are those that the inputs have.
Status check_shapes(const compiler::frontend::Binding& binding, const ModelProgram& program) {
  for (const auto& [name, dims] : binding.shapes) {
    const auto input = std::ranges::find_if(program.module.inputs,
                                            [&](const auto value) { return program.module.input_name(value) == name; });
    if (input == program.module.inputs.end()) return invalid(fmt::format("bindings: there is no input '{}'", name));
    if (const auto& type = program.module.type(*input); type.dims != dims)
      return invalid(fmt::format("bindings: input '{}' is {}, and cannot be {}", name, type.text(),
                                 compiler::ir::dims_text(dims)));
  }
  return Ok{};
}

Json tensor_json(const std::string& name, const TensorType& type) {
  return {{"name", name}, {"type", compiler::ir::name_of(type.element)}, {"shape", type.dims}};
}

std::string description_of(const ModelProgram& program) {
  Json json = {{"inputs", Json::array()}, {"outputs", Json::array()}};
  for (const auto input : program.module.inputs)
    json["inputs"].push_back(tensor_json(program.module.input_name(input), program.module.type(input)));
  for (const auto& output : program.module.outputs)
    json["outputs"].push_back(tensor_json(output.name, program.module.type(output.value)));
  json["parts"] = Json::parse(parts_json(program, nullptr)).at("parts");
  return json_text(json);
}

Status check_bytes(const char* kind, const std::string& name, const TensorType& type, const weft_tensor& given) {
  if (given.bytes == type.bytes() && (given.data != nullptr || given.bytes == 0)) return Ok{};
  return invalid(
      fmt::format("{} '{}' is {} and has {} bytes; {} are given", kind, name, type.text(), type.bytes(), given.bytes));
}

Status run(weft_runner& runner, const weft_model& model, const weft_tensor* inputs, const weft_tensor* outputs,
           weft_run_report* report) {
  const auto& module = model.program->module;
  std::vector<compiler::ir::TensorPtr> values;
  for (size_t i = 0; i < module.inputs.size(); i++) {
    const auto& type = module.type(module.inputs[i]);
    if (auto status = check_bytes("input", module.input_name(module.inputs[i]), type, inputs[i]); !status.ok())
      return status;
    auto value = std::make_shared<Tensor>(type);
    if (inputs[i].bytes != 0) std::memcpy(value->data.data(), inputs[i].data, inputs[i].bytes);
    if (type.element == compiler::ir::ElementType::kPred)
      for (auto& byte : value->data) byte = byte == std::byte{} ? std::byte{0} : std::byte{1};
    values.push_back(std::move(value));
  }
  for (size_t i = 0; i < module.outputs.size(); i++)
    if (auto status = check_bytes("output", module.outputs[i].name, module.type(module.outputs[i].value), outputs[i]);
        !status.ok())
      return status;
  const auto noted = LaunchRecord::of_process().call();
  const std::lock_guard lock(runner.mutex);
  if (runner.session.chip().name != model.preset)
    return invalid(fmt::format("{} is compiled for {}, and the device is a {}", model.name, model.preset,
                               runner.session.chip().name));
  auto result = run_parts(*model.program, values, &runner.session, Verify::kNo);
  if (!result.ok()) return result.error();
  for (size_t i = 0; i < module.outputs.size(); i++)
    if (outputs[i].bytes != 0) std::memcpy(outputs[i].data, result.value().outputs[i]->data.data(), outputs[i].bytes);
  fill_report(report, result.value());
  if (noted) noted->add(model.name, runner.session.chip(), model.program, result.value());
  return Ok{};
}

}  // namespace
}  // namespace weft::tools

using namespace weft;

weft_status weft_model_compile(const char* path, const char* preset, const char* bindings, weft_model** model,
                               weft_error_info* error) {
  return runtime::guarded(error, [&]() -> Status {
    if (path == nullptr || preset == nullptr || model == nullptr)
      return tools::invalid("a null pointer: path, preset, model");
    *model = nullptr;
    const spec::Chip* chip = spec::find_chip(preset);
    if (chip == nullptr) return tools::invalid(fmt::format("there is no chip preset '{}'", preset));
    const auto binding = tools::binding_of(bindings);
    if (!binding.ok()) return binding.error();
    const auto file = tools::read_file(path);
    if (!file.ok()) return file.error();
    auto program = tools::compile_model(path, file.value(), *chip, binding.value(), compiler::Device::kUsed);
    if (!program.ok()) return program.error();
    if (auto status = tools::check_shapes(binding.value(), program.value()); !status.ok()) return status;
    *model = new weft_model{path, preset, std::make_shared<tools::ModelProgram>(std::move(program.value()))};
    return Ok{};
  });
}

void weft_model_release(weft_model* model) { delete model; }

weft_status weft_model_describe(const weft_model* model, char** text, weft_error_info* error) {
  return runtime::guarded(error, [&]() -> Status {
    if (model == nullptr || text == nullptr) return tools::invalid("a null pointer: model, text");
    *text = tools::text_of(tools::description_of(*model->program));
    return Ok{};
  });
}

weft_status weft_runner_run(weft_runner* runner, const weft_model* model, const weft_tensor* inputs,
                            uint32_t input_count, const weft_tensor* outputs, uint32_t output_count,
                            weft_run_report* report, weft_error_info* error) {
  return runtime::guarded(error, [&]() -> Status {
    if (runner == nullptr || model == nullptr || (inputs == nullptr && input_count != 0) ||
        (outputs == nullptr && output_count != 0))
      return tools::invalid("a null pointer: runner, model, inputs, outputs");
    if (auto status = tools::check_report(report); !status.ok()) return status;
    const auto& module = model->program->module;
    if (input_count != module.inputs.size() || output_count != module.outputs.size())
      return tools::invalid(fmt::format("{} has {} inputs and {} outputs; {} and {} are given", model->name,
                                        module.inputs.size(), module.outputs.size(), input_count, output_count));
    return tools::run(*runner, *model, inputs, outputs, report);
  });
}

weft_status weft_profile_begin(weft_error_info* error) {
  return runtime::guarded(error, [] { return tools::LaunchRecord::of_process().begin(); });
}

weft_status weft_profile_end(uint32_t layers, char** text, weft_error_info* error) {
  return runtime::guarded(error, [&]() -> Status {
    if (text == nullptr) return tools::invalid("a null pointer: text");
    *text = nullptr;
    const auto programs = tools::LaunchRecord::of_process().end();
    if (!programs.ok()) return programs.error();
    *text = tools::text_of(record_json(programs.value(), layers != 0 ? tools::Layers::kYes : tools::Layers::kNo));
    return Ok{};
  });
}
