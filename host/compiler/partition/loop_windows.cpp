// A place moves with the turns if it is a sum of numbers and a counter, or their difference.
#include "host/compiler/partition/loop_windows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "host/compiler/passes/pass.hpp"
#include "host/compiler/passes/rewriter.hpp"

namespace weft::compiler {
namespace {

using ir::Module;
using ir::Op;
using ir::OpKind;
using ir::ValueId;

constexpr int kMaxDepth = 16;       // of sums
constexpr size_t kMaxWindows = 24;  // segments are few

/// In turn t the number is first + step t.
struct Line {
  int64_t first = 0, step = 0;
};

class WindowFinder {
 public:
  WindowFinder(const Module& turn, const std::vector<std::optional<int64_t>>& initial, uint64_t turns)
      : turn_(turn), initial_(initial), turns_(turns), rewriter_(turn), readers_(turn.values().size()) {
    for (const Op& op : turn.ops())
      for (const ValueId operand : op.operands) readers_[index_of(operand)]++;
    for (const auto& output : turn.outputs) readers_[index_of(output.value)]++;
  }

  WindowedTurn run() {
    for (const Op& op : turn_.ops())
      if (!becomes_slice(op)) rewriter_.copy(op);
    std::vector<ir::Output> stored;
    std::vector<ir::Output> carried;
    for (size_t i = 0; i < turn_.outputs.size(); i++) {
      const auto& output = turn_.outputs[i];
      const auto window = store_of(i);
      if (window) {
        result_.stores.push_back(*window);
        stored.push_back({output.name, rewriter_.value(turn_.op_of(output.value).operands[1])});
      } else {
        result_.carried.push_back(i);
        carried.push_back({output.name, rewriter_.value(output.value)});
      }
    }
    result_.module = std::move(rewriter_.to());
    result_.module.outputs = std::move(carried);
    result_.module.outputs.insert(result_.module.outputs.end(), stored.begin(), stored.end());
    result_.module = passes::dead_code(result_.module);
    return std::move(result_);
  }

 private:
  /// Of a parameter: the operand of the loop.
  [[nodiscard]] std::optional<size_t> operand_of(ValueId value) const {
    const Op& op = turn_.op_of(value);
    if (op.kind != OpKind::kParameter) return std::nullopt;
    const std::string& name = op.word("name");
    size_t number = 0;
    const size_t begin = name.find(' ') + 1;
    std::from_chars(name.data() + begin, name.data() + name.size(), number);
    return number;
  }

  [[nodiscard]] std::optional<Line> line_of(ValueId value, int depth = 0) const {
    const auto& type = turn_.type(value);
    if (type.count() != 1 || type.element != ir::ElementType::kI32 || depth > kMaxDepth) return std::nullopt;
    const Op& op = turn_.op_of(value);
    if (op.kind == OpKind::kConstant) return Line{op.constant->integer(0), 0};
    if (op.kind == OpKind::kReshape) return line_of(op.operands[0], depth + 1);
    if (const auto operand = operand_of(value)) return counter(*operand, value);
    if (op.kind != OpKind::kAdd && op.kind != OpKind::kSubtract) return std::nullopt;
    const auto a = line_of(op.operands[0], depth + 1), b = line_of(op.operands[1], depth + 1);
    if (!a || !b) return std::nullopt;
    const int64_t sign = op.kind == OpKind::kAdd ? 1 : -1;
    return Line{a->first + sign * b->first, a->step + sign * b->step};
  }

  /// What is carried grows by a constant in each turn.
  [[nodiscard]] std::optional<Line> counter(size_t operand, ValueId value) const {
    if (operand >= initial_.size() || !initial_[operand]) return std::nullopt;
    const Op& next = turn_.op_of(turn_.outputs[operand].value);
    if (next.kind != OpKind::kAdd) return std::nullopt;
    for (size_t i = 0; i < 2; i++)
      if (const Op& other = turn_.op_of(next.operands[1 - i]);
          next.operands[i] == value && other.kind == OpKind::kConstant && other.constant->type.rank() == 0)
        return Line{*initial_[operand], other.constant->integer(0)};
    return std::nullopt;
  }

  /// The place of whole slices of the outermost dimension, one in each turn; `indices` begin at operand `from`.
  [[nodiscard]] std::optional<LoopWindow> window_of(const Op& op, size_t from, const ir::Dims& sizes) const {
    const auto& dims = turn_.type(op.operands[0]).dims;
    if (dims.empty() || sizes[0] != 1 || !std::equal(dims.begin() + 1, dims.end(), sizes.begin() + 1))
      return std::nullopt;
    for (size_t d = 1; d < dims.size(); d++) {
      const auto zero = line_of(op.operands[from + d]);
      if (!zero || zero->first != 0 || zero->step != 0) return std::nullopt;
    }
    const auto line = line_of(op.operands[from]);
    if (!line || line->step == 0) return std::nullopt;
    const int64_t last = line->first + line->step * static_cast<int64_t>(turns_ - 1);
    if (std::min(line->first, last) < 0 || std::max(line->first, last) >= dims[0]) return std::nullopt;
    return LoopWindow{0, line->first, line->step, static_cast<uint64_t>(dims[0])};
  }

  [[nodiscard]] bool has_room() const { return result_.reads.size() + result_.stores.size() < kMaxWindows; }

  bool becomes_slice(const Op& op) {
    if (op.kind != OpKind::kDynamicSlice) return false;
    const auto& type = turn_.type(op.results[0]);
    auto window = window_of(op, 1, type.dims);
    if (!window) return false;
    if (const Op& source = turn_.op_of(op.operands[0]); source.kind == OpKind::kConstant) {
      const auto one = slice_of_equals(*source.constant, type);
      if (!one) return false;
      Op constant;
      constant.kind = OpKind::kConstant, constant.constant = one, constant.origin = op.origin;
      rewriter_.replace(op, rewriter_.to().add(std::move(constant)));
      return true;
    }
    const auto operand = operand_of(op.operands[0]);
    if (!operand || *operand < turn_.outputs.size() || !has_room()) return false;
    window->operand = *operand;
    rewriter_.replace(op, rewriter_.to().add_parameter(fmt::format("slice {}", result_.reads.size()), type));
    result_.reads.push_back(*window);
    return true;
  }

  /// Of a constant whose elements are one.
  static ir::TensorPtr slice_of_equals(const ir::Tensor& all, const ir::TensorType& type) {
    const size_t bytes = type.count() == 0 ? 0 : type.bytes() / type.count();
    if (bytes == 0 || !std::equal(all.data.begin() + static_cast<ptrdiff_t>(bytes), all.data.end(), all.data.begin()))
      return nullptr;
    auto one = std::make_shared<ir::Tensor>(type);
    std::copy_n(all.data.begin(), one->data.size(), one->data.begin());
    return one;
  }

  /// Output i is what was carried with another slice in each turn, until all are others.
  [[nodiscard]] std::optional<LoopWindow> store_of(size_t i) const {
    const Op& op = turn_.op_of(turn_.outputs[i].value);
    if (op.kind != OpKind::kDynamicUpdateSlice || operand_of(op.operands[0]) != i) return std::nullopt;
    if (readers_[index_of(op.operands[0])] != 1 || readers_[index_of(op.results[0])] != 1 || !has_room())
      return std::nullopt;
    auto window = window_of(op, 2, turn_.type(op.operands[1]).dims);
    if (!window || window->slices != turns_) return std::nullopt;
    window->operand = i;
    return window;
  }

  const Module& turn_;
  const std::vector<std::optional<int64_t>>& initial_;
  const uint64_t turns_;
  passes::Rewriter rewriter_;
  std::vector<size_t> readers_;
  WindowedTurn result_;
};

}  // namespace

WindowedTurn with_windows(const Module& turn, const std::vector<std::optional<int64_t>>& initial, uint64_t turns) {
  return WindowFinder(turn, initial, turns).run();
}

}  // namespace weft::compiler
