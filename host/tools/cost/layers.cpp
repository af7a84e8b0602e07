// Which operator belongs to which layer follows from the names that the compiler gives its nodes: an operator that has
// joined another node's has none of its own.
#include "host/tools/cost/layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <variant>

#include "host/compiler/partition/device_graph.hpp"

namespace weft::tools {
namespace {

using compiler::DeviceUse;
using compiler::Part;
using compiler::ir::Module;
using compiler::ir::Op;
using compiler::ir::OpKind;
using compiler::ir::ValueId;

/// The constant that a value is, or repeats; null: it is computed.
const Op* constant_behind(const Module& module, ValueId value) {
  const Op* op = &module.op_of(value);
  if (op->kind == OpKind::kBroadcast) op = &module.op_of(op->operands[0]);
  return op->kind == OpKind::kConstant ? op : nullptr;
}

/// Arithmetic with one number: where it has a neighbour it can join it (a scale and a summand are one AXPY, or part of a
/// product's weights and bias), so no pass of its own is needed at least.
bool with_number(const Module& module, const Op& op) {
  switch (op.kind) {
    case OpKind::kAdd:
    case OpKind::kSubtract:
    case OpKind::kMultiply:
    case OpKind::kDivide:
      break;
    default:
      return false;
  }
  return std::ranges::any_of(op.operands, [&](ValueId operand) {
    const Op* const constant = constant_behind(module, operand);
    if (constant == nullptr) return false;
    if (op.kind == OpKind::kDivide && operand != op.operands[1]) return false;  // by a computed value: a reciprocal
    const auto& tensor = *constant->constant;
    for (uint64_t i = 1; i < tensor.type.count(); i++)
      if (tensor.number(i) != tensor.number(0)) return false;
    return tensor.type.count() != 0;
  });
}

class LayerFinder {
 public:
  LayerFinder(const Module& module, const Part& part) : module_(module), part_(part) {
    for (const auto& node : part.loop ? part.loop->turn.nodes : part.graph->nodes) {
      const std::string name = std::visit([](const auto& n) { return n.name; }, node);
      if (by_name_.emplace(name, layers_.size()).second) layers_.push_back({name, {}, {}, {}});
    }
    for (const uint32_t index : part.ops)
      for (const ValueId operand : module.ops()[index].operands) readers_[operand]++;
    for (const ValueId output : part.outputs) readers_[output]++;
  }

  std::vector<Layer> run() {
    for (const uint32_t index : part_.ops) add(index);
    for (size_t i = 0; i < part_.outputs.size(); i++)
      if (const auto layer = layer_of_.find(root(part_.outputs[i])); layer != layer_of_.end())
        layers_[layer->second].work.hbm_bytes += 4 * module_.type(part_.outputs[i]).count();
    return std::move(layers_);
  }
  std::map<ValueId, size_t> run_producers() {
    (void)run();
    return std::move(layer_of_);
  }

 private:
  [[nodiscard]] ValueId root(ValueId value) const {
    const auto found = viewed_.find(value);
    return found == viewed_.end() ? value : found->second;
  }

  void add(uint32_t index) {
    const Op& op = module_.ops()[index];
    if (op.kind == OpKind::kConstant || (op.kind == OpKind::kBroadcast && constant_behind(module_, op.results[0])))
      return;
    const bool view = compiler::device_use(module_, op).use == DeviceUse::kView;
    const auto named = by_name_.find(op.origin.node);
    std::optional<size_t> layer;
    if (named != by_name_.end()) layer = named->second;
    for (const ValueId operand : op.operands)
      if (const auto made = layer_of_.find(root(operand)); !layer && made != layer_of_.end()) layer = made->second;
    if (view) viewed_[op.results[0]] = root(op.operands[0]);
    if (!layer) return;  // a view of an input
    Layer& to = layers_[*layer];
    to.ops.push_back(index);
    if (view) return;
    for (const ValueId result : op.results) layer_of_[result] = *layer;
    to.work.macs += macs_of(module_, op);
    if (is_of_integers(op)) to.work.int8_macs += macs_of(module_, op);
    for (const ValueId operand : op.operands) read(to, op, operand, *layer);
    const bool free = joins_product(op);
    if (free) products_.insert(op.results[0]);
    if (op.kind == OpKind::kDotGeneral || op.kind == OpKind::kConvolution) products_.insert(op.results[0]);
    const bool shrinks = op.kind == OpKind::kReduce || op.kind == OpKind::kReduceBy;
    const auto elements = module_.type(shrinks ? op.operands[0] : op.results[0]).count();
    // The reciprocal of a constant is made when the model is compiled.
    const bool scaled = op.kind == OpKind::kDivide && constant_behind(module_, op.operands[1]) != nullptr;
    if (!free && !with_number(module_, op)) to.work.vector_elements += elements * (scaled ? 1 : vector_passes(op.kind));
  }

  void read(Layer& layer, const Op& op, ValueId operand, size_t index) {
    const bool product = op.kind == OpKind::kDotGeneral || op.kind == OpKind::kConvolution;
    if (const Op* constant = constant_behind(module_, operand)) {
      const uint64_t count = constant->constant->type.count();
      if (count != 1 && seen_constants_.insert(constant->results[0]).second)
        layer.work.hbm_bytes += count * (is_of_integers(op) ? 1 : product ? 2 : 4);
      return;
    }
    const ValueId value = root(operand);
    const auto made = layer_of_.find(value);
    if (made != layer_of_.end() && made->second == index) return;
    if (std::ranges::find(layer.operands, value) == layer.operands.end()) layer.operands.push_back(value);
    const auto input = std::ranges::find(part_.inputs, value);
    if (input == part_.inputs.end() || !seen_inputs_.insert(value).second) return;
    const auto& tensor = part_.graph->tensors[part_.graph->inputs[static_cast<size_t>(input - part_.inputs.begin())]];
    layer.work.hbm_bytes += module_.type(value).count() * (tensor.dtype == WEFT_VPU_DTYPE_F32 ? 4 : 2);
  }

  [[nodiscard]] bool is_of_integers(const Op& op) const {
    return (op.kind == OpKind::kDotGeneral || op.kind == OpKind::kConvolution) &&
           !compiler::ir::is_float(module_.type(op.results[0]).element);
  }

  /// A sum with a constant, a factor, or a relu, of a product's result that nothing else reads.
  [[nodiscard]] bool joins_product(const Op& op) const {
    const bool kind = op.kind == OpKind::kAdd || op.kind == OpKind::kSubtract || op.kind == OpKind::kMultiply ||
                      op.kind == OpKind::kMaximum;
    if (!kind || op.operands.size() != 2) return false;
    const bool first = constant_behind(module_, op.operands[0]) != nullptr;
    if (first == (constant_behind(module_, op.operands[1]) != nullptr)) return false;
    const ValueId product = root(op.operands[first ? 1 : 0]);
    return products_.contains(product) && readers_.at(product) == 1;
  }

  const Module& module_;
  const Part& part_;
  std::vector<Layer> layers_;
  std::map<std::string, size_t> by_name_;
  std::map<ValueId, size_t> layer_of_;
  std::map<ValueId, ValueId> viewed_;
  std::map<ValueId, size_t> readers_;
  std::set<ValueId> products_, seen_constants_, seen_inputs_;
};

}  // namespace

LayerWork& LayerWork::operator+=(const LayerWork& other) {
  macs += other.macs, int8_macs += other.int8_macs;
  hbm_bytes += other.hbm_bytes, vector_elements += other.vector_elements;
  return *this;
}

std::vector<Layer> layers_of(const Module& module, const Part& part) { return LayerFinder(module, part).run(); }

std::map<ValueId, size_t> producers_of(const Module& module, const Part& part) {
  return LayerFinder(module, part).run_producers();
}

uint64_t vector_passes(OpKind kind) {
  switch (kind) {
    case OpKind::kAbs:     // max(a, -a)
    case OpKind::kSqrt:    // rcp(rsqrt(a))
    case OpKind::kDivide:  // a rcp(b)
      return 2;
    case OpKind::kLogistic:  // rcp(1 + exp2(a c)): the number c joins what is before it, as in exp(a) and log(a)
      return 3;
    case OpKind::kParameter:
    case OpKind::kConstant:
    case OpKind::kIota:
    case OpKind::kBroadcast:
    case OpKind::kReshape:
    case OpKind::kSlice:
    case OpKind::kPad:
    case OpKind::kConcatenate:
    case OpKind::kGather:
    case OpKind::kDynamicSlice:
    case OpKind::kDynamicUpdateSlice:
      return 0;  // addresses, or the DMA's work
    default:
      return 1;
  }
}

std::string operators_text(const Module& module, const Layer& layer) {
  std::vector<std::pair<std::string, uint64_t>> words;
  for (const uint32_t index : layer.ops) {
    const Op& op = module.ops()[index];
    std::string word(compiler::ir::name_of(op.kind));
    if (op.origin.node != layer.name) word += fmt::format(" ({})", op.origin.node);
    if (words.empty() || words.back().first != word) words.emplace_back(word, 0);
    words.back().second++;
  }
  std::string text;
  for (const auto& [word, count] : words)
    text += (text.empty() ? "" : ", ") + (count == 1 ? "" : fmt::format("{} ", count)) + word;
  return text.empty() ? "copy" : text;
}

uint64_t macs_of(const Module& module, const Op& op) {
  if (op.kind == OpKind::kDotGeneral) {
    const auto& dims = module.type(op.operands[0]).dims;
    uint64_t macs = module.type(op.results[0]).count();
    for (const int64_t dim : op.list("lhs_contract")) macs *= static_cast<uint64_t>(dims[static_cast<size_t>(dim)]);
    return macs;
  }
  if (op.kind == OpKind::kConvolution) {
    // Each element of the result is a sum over a kernel of one output channel, which lies along dimension 0.
    const auto& kernel = module.type(op.operands[1]);
    return kernel.count() == 0
               ? 0
               : module.type(op.results[0]).count() * (kernel.count() / static_cast<uint64_t>(kernel.dims[0]));
  }
  return 0;
}

double WorkBound::cycles() const { return std::max({mxu, vpu, hbm}); }
const char* WorkBound::engine() const {
  if (cycles() == 0) return "-";
  return mxu == cycles() ? "MXU" : hbm == cycles() ? "HBM" : "VPU";
}

WorkBound bound_of(const spec::Chip& chip, const LayerWork& work) {
  return {(static_cast<double>(work.macs) - static_cast<double>(work.int8_macs) / 2) /
              static_cast<double>(chip.peak_macs_per_cycle),
          static_cast<double>(work.vector_elements) / (uint64_t{chip.n} * chip.vpu_sublanes),
          static_cast<double>(work.hbm_bytes) * static_cast<double>(chip.clock_hz) /
              static_cast<double>(chip.hbm_bytes_per_second)};
}

}  // namespace weft::tools
