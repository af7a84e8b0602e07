// Operators that compute nothing: other shapes of the same rows, and constants.
#include "host/compiler/onnx_importer.hpp"

namespace weft::compiler {

Status OnnxImporter::add_alias(const onnx::NodeProto& node) {
  const std::string& op = node.op_type();
  if (const auto* c = constant_input(node, 0); c && (op == "Identity")) {
    constants_[node.output(0)] = *c;
    return Ok{};
  }
  const auto x = tensor_input(node, 0);
  if (!x.ok()) return x.error();
  const Tensor& tensor = graph_.tensors[x.value().tensor];
  std::vector<int64_t> dims = x.value().dims;
  if (op == "Cast") {
    if (auto status = only(node, {"to"}); !status.ok()) return status;
    const auto* to = attribute(node, "to");
    if (!to || to->i() != onnx::TensorProto::FLOAT) return unsupported("supported: to = FLOAT (1)");
  } else if (op == "Flatten") {
    if (auto status = only(node, {"axis"}); !status.ok()) return status;
    const auto* axis = attribute(node, "axis");
    if (axis && axis->i() != 1) return unsupported(fmt::format("attribute axis = {}; supported: 1", axis->i()));
    dims = {static_cast<int64_t>(tensor.rows), static_cast<int64_t>(tensor.columns)};
  } else if (op == "Reshape") {
    if (auto status = only(node, {"allowzero"}); !status.ok()) return status;
    if (auto status = reshape(node, tensor, x.value().dims, dims); !status.ok()) return status;
  } else if (auto status = only(node, {}); !status.ok()) {
    return status;
  }
  readers_[x.value().tensor] += uses_[node.output(0)] - 1;
  values_[node.output(0)] = {x.value().tensor, std::move(dims)};
  return Ok{};
}

Status OnnxImporter::reshape(const onnx::NodeProto& node, const Tensor& tensor, const std::vector<int64_t>& from,
                             std::vector<int64_t>& dims) const {
  const auto* shape = constant_input(node, 1);
  if (!shape || !shape->is_integer) return unsupported("the shape (input 1) must be a constant of integers");
  dims.clear();
  const auto total = static_cast<int64_t>(tensor.rows * tensor.columns);
  const auto cannot = [&] {
    return invalid(fmt::format("shape {} cannot become {}", dims_text(from), dims_text(shape->integers)));
  };
  int64_t known = 1;  // at most `total`
  int unknown = -1;
  for (size_t i = 0; i < shape->integers.size(); i++) {
    int64_t d = shape->integers[i];
    if (d == 0 && i < from.size()) d = from[i];
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
  if (dims.empty() || (unknown >= 0 ? total % known : total - known) != 0) return cannot();
  const uint64_t rows = dims.size() == 1 ? 1 : static_cast<uint64_t>(dims[0]);
  if (rows != tensor.rows)
    return unsupported(fmt::format("from {} to {} changes the first dimension; supported: shapes that keep it",
                                   dims_text(from), dims_text(dims)));
  return Ok{};
}

Status OnnxImporter::add_constant(const onnx::NodeProto& node) {
  if (auto status = only(node, {"value", "value_float", "value_floats", "value_int", "value_ints"}); !status.ok())
    return status;
  ConstantTensor tensor;
  if (const auto* value = attribute(node, "value")) {
    auto read = read_constant(value->t(), where_);
    if (!read.ok()) return read.error();
    tensor = std::move(read.value());
  } else if (const auto* number = attribute(node, "value_float")) {
    tensor.values = {number->f()};
  } else if (const auto* numbers = attribute(node, "value_floats")) {
    tensor.values.assign(numbers->floats().begin(), numbers->floats().end());
    tensor.dims = {numbers->floats_size()};
  } else if (const auto* integer = attribute(node, "value_int")) {
    tensor.integers = {integer->i()}, tensor.is_integer = true;
  } else if (const auto* integers = attribute(node, "value_ints")) {
    tensor.integers.assign(integers->ints().begin(), integers->ints().end());
    tensor.dims = {integers->ints_size()}, tensor.is_integer = true;
  } else {
    return invalid("no value");
  }
  constants_[node.output(0)] = std::move(tensor);
  return Ok{};
}

}  // namespace weft::compiler
