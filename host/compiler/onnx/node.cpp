// Inputs, outputs and attributes of a node.
#include "host/compiler/onnx/node.hpp"

#include "host/compiler/onnx/graph_import.hpp"
#include "host/compiler/onnx/operator_table.hpp"
#include "host/compiler/onnx/tensor_reader.hpp"

namespace weft::compiler::frontend {

Node::Node(GraphImport& graph, const ::onnx::NodeProto& proto, const OperatorRow& row, int64_t version)
    : b(graph.builder()), opset(version), since(row.since), graph_(graph), proto_(proto) {}

ValueId Node::in(size_t i) const {
  if (!has(i)) invalid("input {} is missing", i);
  return graph_.find(proto_.input(static_cast<int>(i)));
}

std::vector<ValueId> Node::all_inputs() const {
  std::vector<ValueId> values;
  for (size_t i = 0; i < inputs(); i++) values.push_back(in(i));
  return values;
}

void Node::out(ValueId value, size_t i) {
  if (wants(i)) graph_.give(proto_.output(static_cast<int>(i)), value);
}

TensorPtr Node::known(size_t i) const { return graph_.known(in(i)); }
TensorPtr Node::known_value(ValueId value) const { return graph_.known(value); }

const ::onnx::AttributeProto* Node::find(const char* name) const {
  for (const auto& attribute : proto_.attribute())
    if (attribute.name() == name) return &attribute;
  return nullptr;
}

int64_t Node::integer(const char* name, int64_t otherwise) const {
  const auto* attribute = find(name);
  return attribute == nullptr ? otherwise : attribute->i();
}
double Node::number(const char* name, double otherwise) const {
  const auto* attribute = find(name);
  return attribute == nullptr ? otherwise : static_cast<double>(attribute->f());
}
std::string Node::word(const char* name, const char* otherwise) const {
  const auto* attribute = find(name);
  return attribute == nullptr ? otherwise : attribute->s();
}
std::optional<Dims> Node::integers(const char* name) const {
  const auto* attribute = find(name);
  if (attribute == nullptr) return std::nullopt;
  return Dims(attribute->ints().begin(), attribute->ints().end());
}
Dims Node::integers(const char* name, Dims otherwise) const {
  auto found = integers(name);
  return found ? std::move(*found) : std::move(otherwise);
}
std::optional<std::vector<float>> Node::numbers(const char* name) const {
  const auto* attribute = find(name);
  if (attribute == nullptr) return std::nullopt;
  return std::vector<float>(attribute->floats().begin(), attribute->floats().end());
}
std::vector<std::string> Node::words(const char* name) const {
  const auto* attribute = find(name);
  if (attribute == nullptr) return {};
  return {attribute->strings().begin(), attribute->strings().end()};
}
TensorPtr Node::tensor(const char* name) const {
  const auto* attribute = find(name);
  if (attribute == nullptr) invalid("attribute '{}' is missing", name);
  return read_tensor(attribute->t(), fmt::format("attribute '{}'", name), graph_.folder());
}
const ::onnx::GraphProto& Node::graph(const char* name) const {
  const auto* attribute = find(name);
  if (attribute == nullptr) invalid("attribute '{}' is missing", name);
  return attribute->g();
}

std::optional<Dims> Node::integers_of(size_t input, const char* attribute) const {
  if (has(input)) return known(input)->integers();
  return integers(attribute);
}

size_t Node::axis(int64_t axis, size_t rank) {
  const auto size = static_cast<int64_t>(rank);
  if (axis < -size || axis >= size) invalid("axis {} of a tensor of {} dimensions", axis, rank);
  return static_cast<size_t>(axis < 0 ? axis + size : axis);
}

Dims Node::axes(const Dims& axes, size_t rank) {
  Dims result;
  for (const int64_t a : axes) result.push_back(static_cast<int64_t>(axis(a, rank)));
  return result;
}

ElementType Node::element(int64_t data_type) {
  const auto type = element_type_of(static_cast<int>(data_type));
  if (!type)
    unsupported("element type {}; supported: floats and integers of 8 to 64 bits, bool",
                data_type_name(static_cast<int>(data_type)));
  return *type;
}

std::vector<ValueId> Node::body(const ::onnx::GraphProto& graph, const std::vector<ValueId>& inputs) {
  return graph_.body(graph, inputs);
}

}  // namespace weft::compiler::frontend
