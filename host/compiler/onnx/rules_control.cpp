// If, Loop and Scan. Which branch, and how many turns, is known when the model is compiled; turns are written one
// behind the other.
#include "host/compiler/onnx/rules.hpp"

namespace weft::compiler::frontend {
namespace {

constexpr int64_t kMaxTurns = 100'000;

void if_rule(Node& n) {
  const TensorPtr condition = n.known(0);
  if (condition->type.count() != 1) invalid("a condition of {}", condition->type.text());
  const auto& branch = n.graph(condition->integer(0) != 0 ? "then_branch" : "else_branch");
  const auto results = n.body(branch, {});
  if (results.size() != n.outputs()) invalid("the branch has {} outputs, the node {}", results.size(), n.outputs());
  for (size_t i = 0; i < results.size(); i++) n.out(results[i], i);
}

/// Results of all turns, one behind the other along a new first dimension.
ValueId stack(Node& n, const std::vector<ValueId>& turns, size_t axis) {
  std::vector<ValueId> rows;
  for (const ValueId turn : turns) {
    Dims dims = n.b.dims(turn);
    if (axis > dims.size()) invalid("axis {} of {}", axis, n.b.type(turn).text());
    dims.insert(dims.begin() + static_cast<ptrdiff_t>(axis), 1);
    rows.push_back(n.b.reshape(turn, dims));
  }
  return n.b.concatenate(rows, axis);
}

void loop(Node& n) {
  const auto& body = n.graph("body");
  const int64_t most = n.has(0) ? n.known(0)->integer(0) : INT64_MAX;
  const size_t carried = n.inputs() < 2 ? 0 : n.inputs() - 2;
  if (static_cast<size_t>(body.input_size()) != carried + 2 || static_cast<size_t>(body.output_size()) < carried + 1)
    invalid("the body has {} inputs and {} outputs for {} values", body.input_size(), body.output_size(), carried);
  const size_t scans = static_cast<size_t>(body.output_size()) - carried - 1;
  ValueId go_on = n.has(1) ? n.in(1) : n.b.scalar(ElementType::kPred, 1);
  std::vector<ValueId> values;
  for (size_t i = 0; i < carried; i++) values.push_back(n.in(2 + i));
  std::vector<std::vector<ValueId>> rows(scans);
  for (int64_t turn = 0; turn < most && n.known_value(go_on)->integer(0) != 0; turn++) {
    if (turn >= kMaxTurns) unsupported("more than {} turns", kMaxTurns);
    std::vector<ValueId> inputs{n.b.reshape(n.b.integers({turn}), {}), go_on};
    inputs.insert(inputs.end(), values.begin(), values.end());
    const auto outputs = n.body(body, inputs);
    go_on = outputs[0];
    values.assign(outputs.begin() + 1, outputs.begin() + 1 + static_cast<ptrdiff_t>(carried));
    for (size_t i = 0; i < scans; i++) rows[i].push_back(outputs[1 + carried + i]);
  }
  for (size_t i = 0; i < carried; i++) n.out(values[i], i);
  for (size_t i = 0; i < scans; i++) {
    if (!n.wants(carried + i)) continue;
    if (!rows[i].empty()) {
      n.out(stack(n, rows[i], 0), carried + i);
      continue;
    }
    // No turn: no row, of the shape that the body declares.
    const auto& type = body.output(static_cast<int>(1 + carried + i)).type().tensor_type();
    Dims dims{0};
    for (const auto& dim : type.shape().dim()) {
      if (!dim.has_dim_value()) unsupported("no turn of a body whose output has an open shape");
      dims.push_back(dim.dim_value());
    }
    n.out(n.b.fill({Node::element(type.elem_type()), dims}, 0), carried + i);
  }
}

void scan(Node& n) {
  if (n.since < 9) unsupported("Scan of opset 8; supported: 9 and later");
  const auto& body = n.graph("body");
  const auto sequences = n.integer("num_scan_inputs", 0);
  if (sequences < 1 || static_cast<size_t>(sequences) > n.inputs() ||
      static_cast<size_t>(body.output_size()) != n.outputs())
    invalid("{} scanned inputs of {}; the body has {} outputs, the node {}", sequences, n.inputs(), body.output_size(),
            n.outputs());
  const size_t carried = n.inputs() - static_cast<size_t>(sequences),
               scans = n.outputs() - std::min(carried, n.outputs());
  if (n.outputs() < carried) invalid("{} outputs for {} values", n.outputs(), carried);
  const auto list = [&](const char* name, size_t count) {
    Dims values = n.integers(name, Dims(count));
    if (values.size() != count) invalid("attribute '{}' has {} entries; it needs {}", name, values.size(), count);
    return values;
  };
  const Dims axes = list("scan_input_axes", static_cast<size_t>(sequences)),
             back = list("scan_input_directions", static_cast<size_t>(sequences)),
             out_axes = list("scan_output_axes", scans), out_back = list("scan_output_directions", scans);
  int64_t turns = -1;
  for (size_t i = 0; i < axes.size(); i++) {
    const ValueId x = n.in(carried + i);
    const int64_t size = n.b.dim(x, Node::axis(axes[i], n.b.rank(x)));
    if (turns >= 0 && size != turns) invalid("sequences of {} and {} elements", turns, size);
    turns = size;
  }
  if (turns > kMaxTurns) unsupported("{} turns; supported: {}", turns, kMaxTurns);
  std::vector<ValueId> values;
  for (size_t i = 0; i < carried; i++) values.push_back(n.in(i));
  std::vector<std::vector<ValueId>> rows(scans);
  for (int64_t turn = 0; turn < turns; turn++) {
    std::vector<ValueId> inputs = values;
    for (size_t i = 0; i < axes.size(); i++) {
      const ValueId x = n.in(carried + i);
      const size_t axis = Node::axis(axes[i], n.b.rank(x));
      const int64_t at = back[i] != 0 ? turns - 1 - turn : turn;
      Dims dims = n.b.dims(x);
      dims.erase(dims.begin() + static_cast<ptrdiff_t>(axis));
      inputs.push_back(n.b.reshape(n.b.slice_of(x, axis, at, at + 1), dims));
    }
    const auto outputs = n.body(body, inputs);
    values.assign(outputs.begin(), outputs.begin() + static_cast<ptrdiff_t>(carried));
    for (size_t i = 0; i < scans; i++) {
      auto& list_of = rows[i];
      list_of.insert(out_back[i] != 0 ? list_of.begin() : list_of.end(), outputs[carried + i]);
    }
  }
  for (size_t i = 0; i < carried; i++) n.out(values[i], i);
  for (size_t i = 0; i < scans; i++) {
    if (rows[i].empty()) unsupported("a sequence of no element");
    n.out(stack(n, rows[i], Node::axis(out_axes[i], n.b.rank(rows[i][0]) + 1)), carried + i);
  }
}

}  // namespace

const Rules& control_rules() {
  static const Rules rules{{"If", if_rule}, {"Loop", loop}, {"Scan", scan}};
  return rules;
}

}  // namespace weft::compiler::frontend
