// Islands go through the reference, device programs through a session.
#include "host/tools/run/run_parts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>

#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/layout.hpp"
#include "host/compiler/partition/value_views.hpp"
#include "host/compiler/reference/evaluate.hpp"
#include "host/reference/graph_reference.hpp"
#include "host/tools/formats/json_text.hpp"

namespace weft::tools {
namespace {

using compiler::Graph;
using compiler::Part;
using compiler::ir::ElementType;
using compiler::ir::OpKind;
using compiler::ir::Tensor;
using compiler::ir::TensorPtr;

/// What a device program reads: f32, the bits of i32, shorter integers as i32, pred as 0 or 1.
std::vector<float> as_floats(const Tensor& value) {
  std::vector<float> floats(value.type.count());
  if (compiler::is_narrow(value.type.element)) {
    for (uint64_t i = 0; i < floats.size(); i++)
      floats[i] = std::bit_cast<float>(static_cast<int32_t>(value.integer(i)));
    return floats;
  }
  if (value.type.element == ElementType::kPred)
    std::copy_n(value.as<uint8_t>(), floats.size(), floats.begin());
  else
    std::memcpy(floats.data(), value.data.data(), value.data.size());
  return floats;
}

/// What a loop leaves, turn by turn in the order of the list that the firmware runs.
std::vector<std::vector<float>> loop_golden(const compiler::DeviceLoop& loop,
                                            const std::vector<std::vector<float>>& inputs) {
  const size_t count = loop.state.size();
  const auto reads = inputs.begin() + static_cast<ptrdiff_t>(count);
  const auto slices = reads + static_cast<ptrdiff_t>(loop.turn_reads.size());
  const auto begin_reads = slices + static_cast<ptrdiff_t>(loop.slices_read.size());
  std::vector<std::vector<float>> state(inputs.begin(), reads);
  for (const auto& window : loop.slices_stored) {
    const auto& tensor = loop.turn.tensors[loop.turn.outputs[state.size()]];
    state.emplace_back(window.slices * tensor.rows * tensor.columns);
  }
  const auto slice_of = [](const compiler::LoopWindow& window, auto& all, uint64_t turn) {
    const auto size = static_cast<ptrdiff_t>(all.size() / window.slices);
    return all.begin() + size * (window.first + window.step * static_cast<int64_t>(turn));
  };
  const auto run = [&](const Graph& graph, std::vector<std::vector<float>> read, uint64_t turn) {
    read.insert(read.begin(), state.begin(), state.begin() + static_cast<ptrdiff_t>(count));
    auto outputs = evaluate_golden(graph, read);
    for (size_t i = 0; i < count; i++) state[i] = outputs[i];
    for (size_t i = 0; i < loop.slices_stored.size(); i++)
      std::ranges::copy(outputs[count + i], slice_of(loop.slices_stored[i], state[count + i], turn));
    return outputs.back()[0] != 0;
  };
  const auto turn = [&](uint64_t number) {
    std::vector<std::vector<float>> read(reads, slices);
    for (size_t i = 0; i < loop.slices_read.size(); i++) {
      const auto& all = slices[static_cast<ptrdiff_t>(i)];
      const auto first = slice_of(loop.slices_read[i], all, number);
      read.emplace_back(first, first + static_cast<ptrdiff_t>(all.size() / loop.slices_read[i].slices));
    }
    return run(loop.turn, std::move(read), number);
  };
  if (loop.turns)
    for (uint64_t number = 0; number < *loop.turns; number++) (void)turn(number);
  else if (run(*loop.begin, {begin_reads, inputs.end()}, 0))
    while (turn(0)) {
    }
  return state;
}

/// The reverse, of a device program's result.
void set_elements(Tensor& value, const std::vector<std::byte>& dense) {
  if (compiler::is_narrow(value.type.element)) {
    // The lower bytes of each word.
    const uint64_t bytes = value.data.size() / value.type.count();
    for (uint64_t i = 0; i < value.type.count(); i++) std::memcpy(&value.data[bytes * i], &dense[4 * i], bytes);
    return;
  }
  if (value.type.element != ElementType::kPred) {
    value.data = dense;
    return;
  }
  for (uint64_t i = 0; i < value.type.count(); i++) {
    float element = 0;
    std::memcpy(&element, &dense[4 * i], sizeof element);
    value.as<uint8_t>()[i] = element != 0 ? 1 : 0;
  }
}

class PartsRun {
 public:
  PartsRun(const ModelProgram& model, runtime::Session* session, Verify verify, SequenceLauncher* launcher)
      : model_(model), session_(session), verify_(verify), launcher_(launcher) {}

  Result<PartsResult> run(const std::vector<TensorPtr>& inputs) {
    for (size_t i = 0; i < inputs.size(); i++) values_[model_.module.inputs[i]] = inputs[i];
    for (const ModelLaunch& launch : model_.launches) {
      const size_t first = launch.parts.front();
      const Part& part = model_.partition.parts[first];
      auto status = launch.sequence ? in_sequence(launch) : part.graph ? on_device(first) : on_host(part);
      if (!status.ok()) return status.error();
    }
    for (const auto& output : model_.module.outputs) result_.outputs.push_back(values_.at(output.value));
    return std::move(result_);
  }

 private:
  Status on_host(const Part& part) {
    const auto begin = std::chrono::steady_clock::now();
    // What later parts read, and the model's outputs, some of which are inputs or constants.
    auto kept = part.outputs;
    kept.insert(kept.end(), part.inputs.begin(), part.inputs.end());
    for (const auto& output : model_.module.outputs) kept.push_back(output.value);
    auto status = compiler::ir::guarded([&] {
      compiler::reference::evaluate_ops(model_.module, part.ops, values_, kept);
      return Ok{};
    });
    result_.host_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return status;
  }

  /// A constant that a loop begins with has no place among the values.
  [[nodiscard]] TensorPtr value_of(compiler::ir::ValueId value) const {
    const auto found = values_.find(value);
    return found != values_.end() ? found->second : compiler::constant_tensor_of(model_.module, value);
  }

  Status on_device(size_t number) {
    const Part& part = model_.partition.parts[number];
    const PartProgram& program = model_.programs[number];
    const Graph& graph = *part.graph;
    if (auto status = session_->load(program.executable); !status.ok()) return status;
    std::vector<std::vector<float>> floats;
    std::vector<std::vector<std::byte>> arguments(session_->arguments().size());
    for (size_t i = 0; i < part.inputs.size(); i++) {
      const auto& tensor = graph.tensors[graph.inputs[i]];
      floats.push_back(as_floats(*value_of(part.inputs[i])));
      const auto rows = compiler::pack_rows_as(floats.back(), tensor.rows, tensor.columns, tensor.dtype);
      auto& argument = arguments[program.places[i].argument];
      argument.resize(program.places[i].offset_bytes);
      argument.insert(argument.end(), rows.begin(), rows.end());
    }
    runtime::LaunchResult launch;
    const auto results = session_->call(arguments, launch);
    if (!results.ok()) return results.error();
    result_.device_cycles += launch.end_cycle - launch.start_cycle;
    result_.launches.push_back({number, launch.start_cycle, launch.end_cycle});
    result_.device_seconds += launch.wall_seconds;
    result_.macs += program.macs;
    std::vector<std::vector<float>> golden;
    if (verify_ == Verify::kYes) golden = part.loop ? loop_golden(*part.loop, floats) : evaluate_golden(graph, floats);
    for (size_t i = 0; i < part.outputs.size(); i++) {
      const auto& tensor = graph.tensors[graph.outputs[i]];
      auto value = std::make_shared<Tensor>(model_.module.type(part.outputs[i]));
      const auto& place = program.places[part.inputs.size() + i];
      const auto rows = std::span(results.value()[place.argument]).subspan(place.offset_bytes, place.size_bytes);
      const auto dense = compiler::unpack_rows(rows, tensor.rows, tensor.columns, 4);
      if (dense.size() != 4 * value->type.count())
        return Error{WEFT_ERROR_INTERNAL, fmt::format("result '{}' has {} bytes for {} elements", tensor.name,
                                                      dense.size(), value->type.count())};
      set_elements(*value, dense);
      if (verify_ == Verify::kYes) {
        const std::vector<uint64_t> shape(tensor.dims.begin(), tensor.dims.end());
        result_.comparison.add(tensor.name, shape, i < golden.size() ? golden[i] : std::vector<float>{}, dense);
      }
      values_[part.outputs[i]] = std::move(value);
    }
    return Ok{};
  }

  /// Values of the first argument go to the device as its programs read them, and those of the second one come back.
  Status in_sequence(const ModelLaunch& together) {
    const SequenceProgram& sequence = *together.sequence;
    if (launcher_ == nullptr)
      return Error{WEFT_ERROR_INTERNAL, "a launch of several devices, and nobody who makes one"};
    std::vector<std::byte> input(sequence.plan.input_bytes);
    for (const auto& value : sequence.plan.inputs) {
      const auto rows =
          compiler::pack_rows_as(as_floats(*value_of(value.value)), value.rows, value.columns, value.dtype);
      std::ranges::copy(rows, input.begin() + static_cast<ptrdiff_t>(value.offset_bytes));
    }
    LaunchWindow window{together.parts.front(), 0, 0};
    const auto begin = std::chrono::steady_clock::now();
    const auto results = launcher_->launch(sequence, std::move(input), window);
    if (!results.ok()) return results.error();
    result_.device_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    result_.device_cycles += window.end - window.begin;
    result_.launches.push_back(window);
    result_.macs += sequence.compiled.macs;
    for (const auto& from : sequence.plan.results) {
      auto value = std::make_shared<Tensor>(model_.module.type(from.value));
      const auto rows = std::span(results.value()).subspan(from.offset_bytes, from.size_bytes());
      set_elements(*value, compiler::unpack_rows(rows, from.rows, from.columns, 4));
      values_[from.value] = std::move(value);
    }
    return Ok{};
  }

  const ModelProgram& model_;
  runtime::Session* session_;
  const Verify verify_;
  SequenceLauncher* const launcher_;
  compiler::reference::Environment values_;
  PartsResult result_;
};

}  // namespace

Result<PartsResult> run_parts(const ModelProgram& model, const std::vector<TensorPtr>& inputs,
                              runtime::Session* session, Verify verify, SequenceLauncher* launcher) {
  return PartsRun(model, session, verify, launcher).run(inputs);
}

std::map<std::string, uint64_t> kinds_of(const ModelProgram& model, const Part& part) {
  std::map<std::string, uint64_t> kinds;
  for (const uint32_t op : part.ops)
    if (const auto kind = model.module.ops()[op].kind; kind != OpKind::kConstant) kinds[std::string(name_of(kind))]++;
  return kinds;
}

std::map<std::string, uint64_t> reasons_of(const ModelProgram& model, const Part& part) {
  std::map<std::string, uint64_t> reasons;
  for (const uint32_t op : part.ops)
    if (const auto reason = model.partition.reasons.find(op); reason != model.partition.reasons.end())
      reasons[reason->second]++;
  return reasons;
}

std::string parts_text(const ModelProgram& model) {
  std::string text;
  for (size_t i = 0; i < model.partition.parts.size(); i++) {
    const Part& part = model.partition.parts[i];
    std::string kinds;
    for (const auto& [kind, count] : kinds_of(model, part))
      kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", count, kind);
    text += fmt::format("  part {} on the {}  {}\n", i, part.on_device() ? "device" : "host  ", kinds);
    if (part.on_device()) continue;
    for (const auto& [reason, count] : reasons_of(model, part))
      text += fmt::format("    {} because: {}\n", count, reason);
  }
  for (const ModelLaunch& launch : model.launches)
    if (launch.sequence) text += fmt::format("  one launch of all devices: parts {}\n", fmt::join(launch.parts, ", "));
  if (!model.decided_by.empty()) {
    text += "  compiled for the values of";
    for (const auto& name : model.decided_by) text += fmt::format(" '{}'", name);
    text += ", which decide shapes or branches\n";
  }
  return text;
}

std::string parts_json(const ModelProgram& model, const PartsResult* result) {
  nlohmann::ordered_json json;
  auto& parts = json["parts"] = nlohmann::ordered_json::array();
  for (const auto& part : model.partition.parts)
    parts.push_back({{"where", part.on_device() ? "device" : "host"},
                     {"operators", kinds_of(model, part)},
                     {"reasons", reasons_of(model, part)}});
  json["decided_by"] = model.decided_by;
  if (result != nullptr) {
    json["device_cycles"] = result->device_cycles;
    json["macs"] = result->macs;
    json["device_seconds"] = result->device_seconds;
    json["host_seconds"] = result->host_seconds;
    if (result->comparison.elements() != 0)
      json["elements"] = result->comparison.elements(), json["differing"] = result->comparison.differing();
  }
  return json_text(json) + "\n";
}

}  // namespace weft::tools
