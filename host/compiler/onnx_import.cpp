// Reads a file, walks the nodes of its graph, and keeps the outputs apart.
#include "host/compiler/onnx_import.hpp"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <set>

#include "host/compiler/onnx_importer.hpp"
#include "host/compiler/onnx_rules.hpp"

namespace weft::compiler {

Result<Graph> OnnxImporter::run() {
  graph_.name = printable(proto_.name());
  if (graph_.name.empty()) graph_.name = "model";
  for (const auto& initializer : proto_.initializer()) {
    auto tensor = read_constant(initializer, "initializer");
    if (!tensor.ok()) return tensor.error();
    constants_[initializer.name()] = std::move(tensor.value());
  }
  for (const auto& node : proto_.node())
    for (const auto& input : node.input()) uses_[input]++;
  for (const auto& output : proto_.output()) uses_[output.name()]++;
  for (const auto& input : proto_.input())
    if (auto status = add_input(input); !status.ok()) return status.error();
  for (int i = 0; i < proto_.node_size(); i++) {
    if (auto status = check_node(proto_.node(i), i, opset_); !status.ok()) return status.error();
    where_ = node_text(i, proto_.node(i));
    if (auto status = add_node(proto_.node(i)); !status.ok()) return status.error();
  }
  where_.clear();
  for (const auto& value : proto_.value_info())
    if (auto status = check_declared(value, "value_info"); !status.ok()) return status.error();
  if (proto_.output_size() == 0) return invalid("the model has no output");
  for (const auto& output : proto_.output()) {
    const auto found = values_.find(output.name());
    if (found == values_.end())
      return unsupported(
          fmt::format("output '{}' is a constant: it is computed by no node from an input", printable(output.name())));
    if (auto status = check_declared(output, "output"); !status.ok()) return status.error();
    graph_.outputs.push_back(found->second.tensor);
  }
  keep_outputs_apart();
  return std::move(graph_);
}

size_t OnnxImporter::new_tensor(const std::string& name, std::vector<int64_t> dims) {
  const auto [rows, columns] = matrix_shape(dims);
  const size_t tensor = graph_.tensors.size();
  values_[name] = {tensor, dims};
  readers_[tensor] = uses_[name];
  graph_.tensors.push_back({name, std::move(dims), rows, columns});
  return tensor;
}

Status OnnxImporter::add_input(const onnx::ValueInfoProto& input) {
  where_ = fmt::format("input '{}'", printable(input.name()));
  const auto& type = input.type().tensor_type();
  const auto constant = constants_.find(input.name());
  if (constant == constants_.end() && (!input.type().has_tensor_type() || type.elem_type() != onnx::TensorProto::FLOAT))
    return unsupported("the element type must be float");
  if (constant == constants_.end() && !type.has_shape()) return unsupported("the input has no shape");
  std::vector<int64_t> dims;
  for (int i = 0; i < type.shape().dim_size(); i++) {
    const auto& dim = type.shape().dim(i);
    if (dim.has_dim_value()) {
      if (dim.dim_value() <= 0)
        return unsupported(fmt::format("dimension {} is {}; supported: 1 and more, or a symbolic first dimension", i,
                                       dim.dim_value()));
      dims.push_back(dim.dim_value());
    } else if (constant != constants_.end() && static_cast<size_t>(i) < constant->second.dims.size()) {
      dims.push_back(constant->second.dims[static_cast<size_t>(i)]);
    } else if (i != 0) {
      return unsupported(fmt::format("dimension {} is symbolic; only the first may be", i));
    } else if (const uint64_t batch = batch_.of(input.name()); batch == 0) {
      return invalid(fmt::format("the first dimension '{}' is symbolic: give the batch", printable(dim.dim_param())));
    } else {
      dims.push_back(static_cast<int64_t>(batch));
    }
  }
  if (constant != constants_.end()) {  // with a default value, which nothing replaces
    if (type.has_shape() && dims != constant->second.dims)
      return invalid(fmt::format("it has shape {} and an initializer of shape {}", dims_text(dims),
                                 dims_text(constant->second.dims)));
    return Ok{};
  }
  if (dims.empty()) return unsupported("a scalar input; supported: one dimension and more");
  uint64_t count = 1;
  for (const int64_t d : dims) {
    if (static_cast<uint64_t>(d) > (1ull << 33) / count)
      return invalid(fmt::format("the shape {} is too large", dims_text(dims)));
    count *= static_cast<uint64_t>(d);
  }
  graph_.inputs.push_back(new_tensor(input.name(), dims));
  return Ok{};
}

Status OnnxImporter::add_node(const onnx::NodeProto& node) {
  const std::string& op = node.op_type();
  if (op == "Gemm") return add_gemm(node);
  if (op == "MatMul") return add_matmul(node);
  if (op == "Add") return add_add(node);
  if (op == "Relu") return add_relu(node);
  if (op == "Constant") return add_constant(node);
  return add_alias(node);
}

const onnx::AttributeProto* OnnxImporter::attribute(const onnx::NodeProto& node, const char* name) {
  for (const auto& a : node.attribute())
    if (a.name() == name) return &a;
  return nullptr;
}

Result<OnnxImporter::Value> OnnxImporter::tensor_input(const onnx::NodeProto& node, int i) const {
  const auto found = values_.find(node.input(i));
  if (found != values_.end()) return found->second;
  return unsupported(
      fmt::format("input {} '{}' is a constant, a computed tensor is needed", i, printable(node.input(i))));
}

const ConstantTensor* OnnxImporter::constant_input(const onnx::NodeProto& node, int i) const {
  if (i >= node.input_size()) return nullptr;
  const auto found = constants_.find(node.input(i));
  return found == constants_.end() ? nullptr : &found->second;
}

Status OnnxImporter::check_declared(const onnx::ValueInfoProto& declared, const char* kind) {
  const auto found = values_.find(declared.name());
  if (found == values_.end() || !declared.has_type()) return Ok{};
  const auto name = fmt::format("{} '{}'", kind, printable(declared.name()));
  const auto& type = declared.type().tensor_type();
  if (!declared.type().has_tensor_type() || type.elem_type() != onnx::TensorProto::FLOAT)
    return invalid(fmt::format("{} is declared as another type than float, which its node computes", name));
  if (!type.has_shape()) return Ok{};
  const auto& dims = found->second.dims;
  bool fits = static_cast<size_t>(type.shape().dim_size()) == dims.size();
  std::vector<std::string> words;
  for (int i = 0; i < type.shape().dim_size(); i++) {
    const auto& dim = type.shape().dim(i);
    words.push_back(dim.has_dim_value()       ? std::to_string(dim.dim_value())
                    : dim.dim_param().empty() ? "?"
                                              : printable(dim.dim_param()));
    if (fits && dim.has_dim_value()) fits = dim.dim_value() == dims[static_cast<size_t>(i)];
  }
  if (fits) return Ok{};
  return invalid(
      fmt::format("{} is declared as [{}], its node computes {}", name, fmt::join(words, ", "), dims_text(dims)));
}

void OnnxImporter::keep_outputs_apart() {
  std::set<size_t> taken(graph_.inputs.begin(), graph_.inputs.end());
  for (const auto& node : graph_.nodes) {
    if (const auto* dense = std::get_if<DenseNode>(&node)) taken.insert(dense->x);
    if (const auto* vector = std::get_if<VectorNode>(&node)) {
      taken.insert(vector->a);
      if (const auto* b = std::get_if<size_t>(&vector->b)) taken.insert(*b);
    }
  }
  for (int i = 0; i < proto_.output_size(); i++) {
    size_t& output = graph_.outputs[static_cast<size_t>(i)];
    Tensor named = graph_.tensors[output];
    named.name = proto_.output(i).name();
    named.dims = values_[named.name].dims;
    if (taken.insert(output).second) {
      graph_.tensors[output] = std::move(named);
      continue;
    }
    graph_.nodes.push_back(CopyNode{named.name, output, graph_.tensors.size()});
    output = graph_.tensors.size();
    graph_.tensors.push_back(std::move(named));
  }
}

Result<Graph> import_onnx(std::span<const std::byte> file, const BatchSizes& batch) {
  google::protobuf::SetLogHandler(nullptr);  // its complaints about garbage go into our own message
  onnx::ModelProto model;
  google::protobuf::io::ArrayInputStream stream(file.data(),
                                                static_cast<int>(std::min<size_t>(file.size(), INT32_MAX)));
  google::protobuf::io::CodedInputStream coded(&stream);
  if (file.empty() || file.size() > INT32_MAX || !model.ParseFromCodedStream(&coded) ||
      !coded.ConsumedEntireMessage() || !model.has_graph())
    return Error{WEFT_ERROR_INVALID_ARGUMENT, fmt::format("not an ONNX model ({} bytes)", file.size())};
  if (model.graph().node_size() == 0 && model.graph().output_size() == 0)
    return Error{WEFT_ERROR_INVALID_ARGUMENT,
                 fmt::format("not an ONNX model: it has no node and no output ({} bytes)", file.size())};
  const auto opset = check_versions(model);
  if (!opset.ok()) return opset.error();
  if (auto status = check_names(model.graph()); !status.ok()) return status.error();
  auto graph = OnnxImporter(model.graph(), opset.value(), batch).run();
  if (!graph.ok()) return graph;
  if (auto status = check_graph(graph.value()); !status.ok()) return status.error();
  return graph;
}

}  // namespace weft::compiler
