// Operators that compute nothing: other shapes of the same rows, and constants.
#include <algorithm>

#include "host/compiler/onnx_importer.hpp"
#include "host/compiler/onnx_rules.hpp"

namespace weft::compiler {
namespace {

constexpr int64_t kNegativeAxis = 11;    // opset in which Flatten got them
constexpr int64_t kIntegerConstant = 9;  // opset in which Constant got them

}  // namespace

Status OnnxImporter::add_alias(const onnx::NodeProto& node) {
  const std::string& op = node.op_type();
  if (const auto* c = constant_input(node, 0); c && (op == "Identity" || op == "Cast")) return alias_constant(node, *c);
  const auto x = tensor_input(node, 0);
  if (!x.ok()) return x.error();
  const auto& from = x.value().dims;
  auto dims = op == "Cast"      ? cast(node, from)
              : op == "Flatten" ? flatten(node, from)
              : op == "Reshape" ? reshape(node, from)
                                : Result<std::vector<int64_t>>(from);
  if (!dims.ok()) return dims.error();
  if (matrix_shape(dims.value()) != matrix_shape(from))
    return unsupported(fmt::format(
        "from {} to {} changes the rows ({} to {}); supported: shapes that keep the first "
        "dimension, or a single row",
        dims_text(from), dims_text(dims.value()), matrix_shape(from).rows, matrix_shape(dims.value()).rows));
  readers_[x.value().tensor] += uses_[node.output(0)] - 1;
  values_[node.output(0)] = {x.value().tensor, std::move(dims.value())};
  return Ok{};
}

Result<std::vector<int64_t>> OnnxImporter::cast(const onnx::NodeProto& node, const std::vector<int64_t>& dims) const {
  const auto* to = attribute(node, "to");
  if (!to) return invalid("attribute 'to' is missing");
  if (to->i() != onnx::TensorProto::FLOAT)
    return unsupported(fmt::format("attribute to = {}; supported: FLOAT (1)", to->i()));
  return dims;
}

Result<std::vector<int64_t>> OnnxImporter::flatten(const onnx::NodeProto& node,
                                                   const std::vector<int64_t>& from) const {
  const auto* attribute_axis = attribute(node, "axis");
  const auto rank = static_cast<int64_t>(from.size());
  int64_t axis = attribute_axis ? attribute_axis->i() : 1;
  const int64_t lowest = opset_ >= kNegativeAxis ? -rank : 0;
  if (axis < lowest || axis > rank)
    return invalid(fmt::format("attribute axis = {} of a tensor of shape {}; possible: {} to {}", axis, dims_text(from),
                               lowest, rank));
  if (axis < 0) axis += rank;
  std::vector<int64_t> dims{1, 1};
  for (int64_t i = 0; i < rank; i++) dims[i < axis ? 0 : 1] *= from[static_cast<size_t>(i)];
  return dims;
}

Result<std::vector<int64_t>> OnnxImporter::reshape(const onnx::NodeProto& node,
                                                   const std::vector<int64_t>& from) const {
  const auto* shape = constant_input(node, 1);
  if (!shape) return unsupported("the shape (input 1) must be a constant");
  if (shape->type != ConstantType::kInt64 || shape->dims.size() != 1)
    return invalid(
        fmt::format("the shape (input 1) must be a list of int64, and has shape {}", dims_text(shape->dims)));
  const auto* allow_zero = attribute(node, "allowzero");
  const bool copies = !allow_zero || allow_zero->i() == 0;  // a 0 stands for the dimension that was there
  const auto [rows, columns] = matrix_shape(from);
  const auto total = static_cast<int64_t>(rows * columns);
  const auto cannot = [&] {
    return invalid(fmt::format("shape {} cannot become {}", dims_text(from), dims_text(shape->integers)));
  };
  std::vector<int64_t> dims;
  int64_t known = 1;  // at most `total`
  int unknown = -1;
  for (size_t i = 0; i < shape->integers.size(); i++) {
    int64_t d = shape->integers[i];
    if (d == 0 && copies && i < from.size()) d = from[i];
    if (d == -1 && unknown < 0)
      unknown = static_cast<int>(i);
    else if (d <= 0)
      return invalid(fmt::format("the shape {} is impossible", dims_text(shape->integers)));
    else if (d > total / known)
      return cannot();
    else
      known *= d;
    dims.push_back(d);
  }
  if (unknown >= 0) dims[static_cast<size_t>(unknown)] = total / known;
  if ((unknown >= 0 ? total % known : total - known) != 0) return cannot();
  if (dims.empty()) return unsupported("a scalar; supported: one dimension and more");
  return dims;
}

Status OnnxImporter::alias_constant(const onnx::NodeProto& node, ConstantTensor constant) {
  if (node.op_type() == "Cast") {
    const auto dims = cast(node, constant.dims);
    if (!dims.ok()) return dims.error();
    for (const int64_t value : constant.integers) constant.values.push_back(static_cast<float>(value));
    constant.integers.clear();
    constant.type = ConstantType::kFloat;
  }
  constants_[node.output(0)] = std::move(constant);
  return Ok{};
}

Status OnnxImporter::add_constant(const onnx::NodeProto& node) {
  if (node.attribute_size() != 1)
    return invalid(fmt::format("{} values; Constant has one attribute that gives its value", node.attribute_size()));
  const auto& given = node.attribute(0);
  ConstantTensor tensor;
  if (given.name() == "value") {
    auto read = read_constant(given.t(), where_);
    if (!read.ok()) return read.error();
    tensor = std::move(read.value());
    if (tensor.is_integer() && opset_ < kIntegerConstant)
      return invalid(fmt::format("a constant of integers, which Constant has from opset {} on", kIntegerConstant));
  } else if (given.name() == "value_float") {
    tensor.values = {given.f()};
  } else if (given.name() == "value_floats") {
    tensor.values.assign(given.floats().begin(), given.floats().end());
    tensor.dims = {given.floats_size()};
  } else if (given.name() == "value_int") {
    tensor.integers = {given.i()}, tensor.type = ConstantType::kInt64;
  } else {
    tensor.integers.assign(given.ints().begin(), given.ints().end());
    tensor.dims = {given.ints_size()}, tensor.type = ConstantType::kInt64;
  }
  constants_[node.output(0)] = std::move(tensor);
  return Ok{};
}

}  // namespace weft::compiler
