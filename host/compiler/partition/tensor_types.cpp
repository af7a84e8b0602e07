// Which tensors of a device program are bf16 and which f32.
#include <algorithm>
#include <map>

#include "host/compiler/partition/graph_builder.hpp"

namespace weft::compiler {

/// What only products read is bf16, rounded by what computes it. Anything else is f32; a product reads a rounded
/// copy.
void GraphBuilder::settle_types() {
  std::vector<bool> f32(graph_.tensors.size());
  for (size_t t = 0; t < f32.size(); t++) f32[t] = graph_.tensors[t].uniform;
  for (size_t i = 0; i < std::max(state_.count, state_.columns.size()); i++) f32[graph_.inputs[i]] = true;
  for (const auto& node : graph_.nodes) {
    if (const auto* copy = std::get_if<CopyNode>(&node); copy != nullptr && is_i32(copy->a)) f32[copy->y] = true;
    if (const auto* rows = std::get_if<RowsNode>(&node)) f32[rows->y] = true;  // nothing rounds them
  }
  const auto product_operand = [](Node& node) -> size_t* {
    if (auto* dense = std::get_if<DenseNode>(&node)) return &dense->x;
    if (auto* pair = std::get_if<PairProductNode>(&node)) return &pair->x;
    return nullptr;
  };
  // What was rounded and widened again, a product reads as it was rounded.
  std::map<size_t, size_t> rounded_of;
  for (const auto& node : graph_.nodes)
    if (const auto* wide = std::get_if<VectorNode>(&node);
        wide != nullptr && wide->op == WEFT_VPU_OP_MUL && rounded_.contains(wide->a) &&
        std::holds_alternative<float>(wide->b) && std::get<float>(wide->b) == 1.0f)
      rounded_of[wide->y] = wide->a;
  const auto before_widening = [&](size_t& t) {
    if (const auto found = rounded_of.find(t); found != rounded_of.end()) t = found->second;
  };
  for (auto& node : graph_.nodes) {
    if (size_t* x = product_operand(node)) before_widening(*x);
    if (auto* pair = std::get_if<PairProductNode>(&node)) before_widening(pair->w);
  }
  for (auto& node : graph_.nodes) {
    auto operands = operands_of(node);
    if (product_operand(node) != nullptr) operands.clear();
    if (const auto* collective = std::get_if<CollectiveNode>(&node)) {
      const auto is_output = std::ranges::find(graph_.outputs, collective->y) != graph_.outputs.end();
      const bool sums = collective->what != Exchange::kSideBySide;
      if (sums || is_output) f32[collective->y] = true;
      if (!sums) operands.clear();  // below
    }
    const auto* convolution = std::get_if<ConvolutionNode>(&node);
    if (convolution != nullptr && !convolution->int8) operands.clear();  // it rounds what it reads
    if (std::holds_alternative<RearrangeNode>(node)) operands.clear();   // below
    for (const size_t t : operands) f32[t] = true;
  }
  // A computed value that moves is rounded before if only products read it, and nothing else what it moves from. Of an
  // input the rows would be as many runs of half as many bytes.
  const auto stays_f32 = [&](size_t t) {
    const auto among = [&](const std::vector<size_t>& tensors) {
      return std::ranges::find(tensors, t) != tensors.end();
    };
    return f32[t] || among(graph_.inputs) || among(graph_.outputs);
  };
  // Weights of products of computed matrices are rounded on their way to where these lie, if not before for nothing.
  std::vector<bool> rows_read(f32.size()), weights_read(f32.size());
  for (auto& node : graph_.nodes) {
    if (const size_t* x = product_operand(node)) rows_read[*x] = true;
    if (const auto* pair = std::get_if<PairProductNode>(&node)) weights_read[pair->w] = true;
  }
  const auto only_weights = [&](size_t t) { return weights_read[t] && !rows_read[t] && !rounded_.contains(t); };
  std::vector<bool> written_once(f32.size());  // as bf16, or moved as such
  for (const auto& node : graph_.nodes)
    written_once[result_of(node)] = std::holds_alternative<DenseNode>(node) ||
                                    std::holds_alternative<PairProductNode>(node) ||
                                    std::holds_alternative<RearrangeNode>(node);
  for (const auto& node : graph_.nodes)
    if (const auto* pair = std::get_if<PairProductNode>(&node);
        pair != nullptr && only_weights(pair->w) && !written_once[pair->w])
      f32[pair->w] = true;
  for (bool settled = false; !settled;) {
    settled = true;
    for (const auto& node : graph_.nodes) {
      // What is put together is rounded before, if only products read it.
      if (const auto* collective = std::get_if<CollectiveNode>(&node);
          collective != nullptr && f32[collective->y] && !f32[collective->x])
        f32[collective->x] = true, settled = false;
      const auto* move = std::get_if<RearrangeNode>(&node);
      if (move == nullptr || (!stays_f32(move->y) && std::ranges::none_of(move->sources, stays_f32))) continue;
      for (const size_t t : move->sources)
        if (!f32[t]) f32[t] = true, settled = false;
      if (!f32[move->y] && only_weights(move->y)) f32[move->y] = true, settled = false;
    }
  }
  for (size_t t = 0; t < f32.size(); t++) {
    if (is_i32(t) || graph_.tensors[t].dtype == WEFT_VPU_DTYPE_I8 || rounded_.contains(t)) f32[t] = false;
    if (f32[t]) graph_.tensors[t].dtype = WEFT_VPU_DTYPE_F32;
  }
  std::map<size_t, size_t> rounded;
  std::vector<Node> nodes;
  for (auto& node : graph_.nodes) {
    size_t* x = product_operand(node);
    if (auto* collective = std::get_if<CollectiveNode>(&node); collective != nullptr && !f32[collective->y])
      x = &collective->x;
    if (x != nullptr && f32[*x]) {
      const auto [found, first] = rounded.emplace(*x, graph_.tensors.size());
      if (first) {
        Tensor tensor = graph_.tensors[*x];
        tensor.dtype = WEFT_VPU_DTYPE_BF16, tensor.uniform = false;
        graph_.tensors.push_back(std::move(tensor));
        nodes.emplace_back(
            CopyNode{std::visit([](const auto& n) { return n.name; }, node), found->first, found->second});
      }
      *x = found->second;
    }
    nodes.push_back(std::move(node));
  }
  graph_.nodes = std::move(nodes);
}

}  // namespace weft::compiler
