// Reads a file, walks the nodes of its graph, and keeps the outputs apart.
#include "host/compiler/onnx_import.hpp"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "host/compiler/onnx_importer.hpp"

namespace weft::compiler {
namespace {

constexpr const char* kSupported = "Gemm, MatMul, Add, Relu, Flatten, Reshape, Identity, Constant, Cast";

}  // namespace

Result<Graph> OnnxImporter::run() {
  graph_.name = proto_.name().empty() ? "model" : proto_.name().substr(0, 63);
  for (const auto& initializer : proto_.initializer()) {
    auto tensor = read_constant(initializer, "initializer");
    if (!tensor.ok()) return tensor.error();
    constants_[initializer.name()] = std::move(tensor.value());
  }
  for (const auto& node : proto_.node())
    for (const auto& input : node.input()) uses_[input]++;
  for (const auto& output : proto_.output()) uses_[output.name()]++;
  for (const auto& input : proto_.input()) {
    if (constants_.count(input.name())) continue;
    if (auto status = add_input(input); !status.ok()) return status.error();
  }
  int index = 0;
  for (const auto& node : proto_.node()) {
    where_ = fmt::format("node {} '{}' ({})", index++, node.name(), node.op_type());
    if (auto status = add_node(node); !status.ok()) return status.error();
  }
  for (const auto& output : proto_.output()) {
    const auto found = values_.find(output.name());
    if (found == values_.end())
      return invalid(fmt::format("output '{}' is computed by no node from an input", output.name()));
    graph_.outputs.push_back(found->second.tensor);
  }
  if (graph_.outputs.empty()) return invalid("the model has no output");
  keep_outputs_apart();
  return std::move(graph_);
}

size_t OnnxImporter::new_tensor(const std::string& name, std::vector<int64_t> dims) {
  uint64_t rows = dims.empty() ? 1 : static_cast<uint64_t>(dims[0]), columns = 1;
  if (dims.size() == 1) rows = 1, columns = static_cast<uint64_t>(dims[0]);
  for (size_t i = 1; i < dims.size(); i++) columns *= static_cast<uint64_t>(dims[i]);
  const size_t tensor = graph_.tensors.size();
  values_[name] = {tensor, dims};
  readers_[tensor] = uses_[name];
  graph_.tensors.push_back({name, std::move(dims), rows, columns});
  return tensor;
}

Status OnnxImporter::add_input(const onnx::ValueInfoProto& input) {
  where_ = fmt::format("input '{}'", input.name());
  const auto& type = input.type().tensor_type();
  if (type.elem_type() != onnx::TensorProto::FLOAT) return unsupported("the element type must be float");
  std::vector<int64_t> dims;
  for (int i = 0; i < type.shape().dim_size(); i++) {
    const auto& dim = type.shape().dim(i);
    if (dim.has_dim_value() && dim.dim_value() > 0) {
      dims.push_back(dim.dim_value());
    } else if (i == 0 && batch_ != 0) {
      dims.push_back(static_cast<int64_t>(batch_));
    } else if (i == 0) {
      return invalid(fmt::format("the first dimension '{}' is symbolic: give the batch", dim.dim_param()));
    } else {
      return unsupported(fmt::format("dimension {} is symbolic; only the first may be", i));
    }
  }
  if (dims.empty()) return unsupported("a scalar input");
  uint64_t count = 1;
  for (const int64_t d : dims) {
    if (static_cast<uint64_t>(d) > (1ull << 33) / count)
      return invalid(fmt::format("the shape {} is too large", dims_text(dims)));
    count *= static_cast<uint64_t>(d);
  }
  graph_.inputs.push_back(new_tensor(input.name(), dims));
  where_.clear();
  return Ok{};
}

Status OnnxImporter::add_node(const onnx::NodeProto& node) {
  if (!node.domain().empty() && node.domain() != "ai.onnx")
    return unsupported(fmt::format("domain '{}'; supported: {}", node.domain(), kSupported));
  if (node.output_size() < 1) return invalid("the node has no output");
  const std::string& op = node.op_type();
  if (op == "Gemm") return add_gemm(node);
  if (op == "MatMul") return add_matmul(node);
  if (op == "Add") return add_add(node);
  if (op == "Relu") return add_relu(node);
  if (op == "Flatten" || op == "Reshape" || op == "Identity" || op == "Cast") return add_alias(node);
  if (op == "Constant") return add_constant(node);
  return unsupported(fmt::format("the operator is not built; supported: {}", kSupported));
}

Status OnnxImporter::only(const onnx::NodeProto& node, const std::set<std::string>& known) const {
  for (const auto& attribute : node.attribute())
    if (!known.count(attribute.name()))
      return unsupported(fmt::format("attribute '{}'; supported: {}", attribute.name(),
                                     known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
  return Ok{};
}

const onnx::AttributeProto* OnnxImporter::attribute(const onnx::NodeProto& node, const char* name) {
  for (const auto& a : node.attribute())
    if (a.name() == name) return &a;
  return nullptr;
}

Result<OnnxImporter::Value> OnnxImporter::tensor_input(const onnx::NodeProto& node, int i) const {
  if (i >= node.input_size() || node.input(i).empty()) return invalid(fmt::format("input {} is missing", i));
  const auto found = values_.find(node.input(i));
  if (found != values_.end()) return found->second;
  if (constants_.count(node.input(i)))
    return unsupported(fmt::format("input {} '{}' is a constant, a computed tensor is needed", i, node.input(i)));
  return invalid(fmt::format("input {} '{}' is not defined before the node", i, node.input(i)));
}

const ConstantTensor* OnnxImporter::constant_input(const onnx::NodeProto& node, int i) const {
  if (i >= node.input_size()) return nullptr;
  const auto found = constants_.find(node.input(i));
  return found == constants_.end() ? nullptr : &found->second;
}

void OnnxImporter::keep_outputs_apart() {
  std::set<size_t> read(graph_.inputs.begin(), graph_.inputs.end());
  for (const auto& node : graph_.nodes) {
    if (const auto* dense = std::get_if<DenseNode>(&node)) read.insert(dense->x);
    if (const auto* vector = std::get_if<VectorNode>(&node)) {
      read.insert(vector->a);
      if (const auto* b = std::get_if<size_t>(&vector->b)) read.insert(*b);
    }
  }
  for (int i = 0; i < proto_.output_size(); i++) {
    size_t& output = graph_.outputs[static_cast<size_t>(i)];
    const auto& dims = values_[proto_.output(i).name()].dims;
    if (read.insert(output).second) {
      graph_.tensors[output].name = proto_.output(i).name();
      graph_.tensors[output].dims = dims;
      continue;
    }
    Tensor copy = graph_.tensors[output];
    copy.name = proto_.output(i).name();
    copy.dims = dims;
    graph_.tensors.push_back(copy);
    graph_.nodes.push_back(VectorNode{copy.name, WEFT_VPU_OP_MUL, output, graph_.tensors.size() - 1, 1.0f});
    output = graph_.tensors.size() - 1;
  }
}

Result<Graph> import_onnx(std::span<const std::byte> file, uint64_t batch) {
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
  return OnnxImporter(model.graph(), batch).run();
}

}  // namespace weft::compiler
