// The regions of a loop, one behind the other, as a module of their own.
#include "host/compiler/partition/device_loop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "host/compiler/ir/region.hpp"
#include "host/compiler/partition/device_graph.hpp"
#include "host/compiler/partition/value_views.hpp"
#include "host/compiler/passes/pass.hpp"

namespace weft::compiler {
namespace {

using ir::Module;
using ir::Op;
using ir::OpKind;
using ir::ValueId;

Error refused(std::string why) { return {WEFT_ERROR_UNSUPPORTED, std::move(why)}; }

/// Regions of the loop on its operands: parameters for what is carried, and for what else is computed; constants as they
/// are.
class LoopModule {
 public:
  LoopModule(const Module& module, const Op& loop) : carried_(loop.results.size()) {
    module_.name = module.name;
    for (size_t i = 0; i < loop.operands.size(); i++) {
      const ValueId operand = loop.operands[i];
      const bool constant = constant_behind(module, operand) != nullptr;
      if (i < carried_) initial_.push_back(constant ? number_of(*constant_tensor_of(module, operand)) : std::nullopt);
      if (i >= carried_ && constant) {
        Op op;
        op.kind = OpKind::kConstant;
        op.constant = constant_tensor_of(module, operand);
        op.origin = loop.origin;
        values_.push_back(module_.add(std::move(op)));
      } else {
        values_.push_back(module_.add_parameter(name_of_operand(i), module.type(operand)));
        module_.inputs.push_back(values_.back());
      }
    }
    state_.resize(carried_);
    std::iota(state_.begin(), state_.end(), size_t{0});
  }

  /// A region on what is the state now, and on the operands.
  std::vector<ValueId> write_out(const Module& region) { return ir::write_out(module_, region, values_); }
  void set_state(const std::vector<ValueId>& values) { std::ranges::copy(values, values_.begin()); }

  /// What is carried, and `others`, as outputs.
  Status finish(const std::vector<ValueId>& others) {
    for (size_t i = 0; i < carried_; i++) module_.outputs.push_back({fmt::format("state {}", i), values_[i]});
    for (size_t i = 0; i < others.size(); i++) module_.outputs.push_back({fmt::format("goes on {}", i), others[i]});
    auto simplified = passes::run_all(std::move(module_));
    if (!simplified.ok()) return refused(simplified.error().message);
    module_ = std::move(simplified.value());
    return Ok{};
  }

  /// Slices that the turns decide as values of their own.
  void find_windows(uint64_t turns) {
    auto windowed = with_windows(module_, initial_, turns);
    module_ = std::move(windowed.module);
    state_ = std::move(windowed.carried);
    slices_read_ = std::move(windowed.reads), slices_stored_ = std::move(windowed.stores);
  }

  /// The device program; `reads`: operands that it reads whole beside the state.
  Result<Graph> graph(std::vector<size_t>& reads, std::vector<uint64_t> columns = {}) {
    std::vector<uint32_t> ops;
    for (uint32_t i = 0; i < module_.ops().size(); i++) {
      const Op& op = module_.ops()[i];
      if (op.kind == OpKind::kParameter) continue;
      const auto verdict = device_use(module_, op);
      if (verdict.use == DeviceUse::kNone) return refused("a loop with " + verdict.reason);
      has_product_ = has_product_ || verdict.use == DeviceUse::kProduct;
      ops.push_back(i);
    }
    std::vector<ir::Output> inputs;
    for (const size_t i : state_) inputs.push_back(*input(name_of_operand(i)));
    for (size_t i = carried_; i < values_.size(); i++)
      if (const auto found = input(name_of_operand(i)); found && is_read(found->value)) {
        inputs.push_back(*found);
        reads.push_back(i);
      }
    for (size_t i = 0; i < slices_read_.size(); i++) inputs.push_back(*input(fmt::format("slice {}", i)));
    auto graph = device_graph(module_, ops, inputs, module_.outputs, {state_.size(), std::move(columns)});
    if (!graph.ok()) return refused(graph.error().message);
    return graph;
  }

  [[nodiscard]] bool has_product() const { return has_product_; }
  [[nodiscard]] const std::vector<size_t>& state() const { return state_; }
  [[nodiscard]] const std::vector<LoopWindow>& slices_read() const { return slices_read_; }
  [[nodiscard]] const std::vector<LoopWindow>& slices_stored() const { return slices_stored_; }

 private:
  static std::string name_of_operand(size_t i) { return fmt::format("operand {}", i); }
  static std::optional<int64_t> number_of(const ir::Tensor& tensor) {
    if (tensor.type.rank() != 0 || tensor.type.element != ir::ElementType::kI32) return std::nullopt;
    return tensor.integer(0);
  }
  [[nodiscard]] std::optional<ir::Output> input(const std::string& name) const {
    for (const ValueId value : module_.inputs)
      if (module_.input_name(value) == name) return ir::Output{name, value};
    return std::nullopt;
  }
  [[nodiscard]] bool is_read(ValueId value) const {
    return std::ranges::any_of(
        module_.ops(), [&](const Op& op) { return std::ranges::find(op.operands, value) != op.operands.end(); });
  }

  const size_t carried_;
  Module module_;
  std::vector<ValueId> values_;                  ///< by operand of the loop
  std::vector<std::optional<int64_t>> initial_;  ///< numbers that carried values begin with
  std::vector<size_t> state_;
  std::vector<LoopWindow> slices_read_, slices_stored_;
  bool has_product_ = false;
};

/// f32, i32, u32 or pred, with elements.
bool is_for_device(const ir::TensorType& type) {
  return type.count() != 0 &&
         (type.element == ir::ElementType::kF32 || type.element == ir::ElementType::kPred || is_word(type.element));
}

}  // namespace

std::vector<size_t> DeviceLoop::operands() const {
  std::vector<size_t> all = state;
  all.insert(all.end(), turn_reads.begin(), turn_reads.end());
  for (const LoopWindow& window : slices_read) all.push_back(window.operand);
  all.insert(all.end(), begin_reads.begin(), begin_reads.end());
  return all;
}

std::vector<size_t> DeviceLoop::results() const {
  std::vector<size_t> all = state;
  for (const LoopWindow& window : slices_stored) all.push_back(window.operand);
  return all;
}

Graph DeviceLoop::signature() const {
  Graph graph;
  graph.name = turn.name;
  const auto add = [&](const Graph& from, size_t tensor, std::vector<size_t>& to, uint64_t slices = 1) {
    to.push_back(graph.tensors.size());
    graph.tensors.push_back(from.tensors[tensor]);
    graph.tensors.back().rows *= slices;
  };
  const size_t whole = state.size() + turn_reads.size();
  for (size_t i = 0; i < turn.inputs.size(); i++)
    add(turn, turn.inputs[i], graph.inputs, i < whole ? 1 : slices_read[i - whole].slices);
  for (size_t i = 0; i < begin_reads.size(); i++) add(*begin, begin->inputs[state.size() + i], graph.inputs);
  for (size_t i = 0; i < state.size(); i++) add(turn, turn.outputs[i], graph.outputs);
  for (size_t i = 0; i < slices_stored.size(); i++)
    add(turn, turn.outputs[state.size() + i], graph.outputs, slices_stored[i].slices);
  return graph;
}

Result<DeviceLoop> device_loop(const Module& module, const Op& loop) {
  for (const ValueId operand : loop.operands)
    if (!is_for_device(module.type(operand))) return refused("a loop on " + module.type(operand).text());
  DeviceLoop made;
  if (loop.attributes.contains("turns")) made.turns = static_cast<uint64_t>(loop.integer("turns"));
  LoopModule turn(module, loop);
  turn.set_state(turn.write_out(*loop.regions[1]));
  if (auto status = turn.finish(made.turns ? std::vector<ValueId>{} : turn.write_out(*loop.regions[0])); !status.ok())
    return status.error();
  if (made.turns) turn.find_windows(*made.turns);
  auto graph = turn.graph(made.turn_reads);
  if (!graph.ok()) return graph.error();
  if (!turn.has_product()) return refused("a loop without products");
  made.turn = std::move(graph.value());
  made.state = turn.state();
  made.slices_read = turn.slices_read(), made.slices_stored = turn.slices_stored();
  if (made.turns) return made;
  std::vector<uint64_t> columns;
  for (size_t i = 0; i < made.state.size(); i++) columns.push_back(made.turn.tensors[made.turn.inputs[i]].columns);
  LoopModule begin(module, loop);
  if (auto status = begin.finish(begin.write_out(*loop.regions[0])); !status.ok()) return status.error();
  auto before = begin.graph(made.begin_reads, std::move(columns));
  if (!before.ok()) return before.error();
  made.begin = std::move(before.value());
  return made;
}

}  // namespace weft::compiler
