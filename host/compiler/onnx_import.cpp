// Walks the nodes of an ONNX graph. Constants are folded as they are met; Add and Relu join the product before them
// where that changes no bit.
#include "host/compiler/onnx_import.hpp"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <onnx/onnx_pb.h>

#include <map>
#include <set>

#include "host/compiler/onnx_tensor.hpp"

namespace weft::compiler {
namespace {

constexpr const char* kSupported = "Gemm, MatMul, Add, Relu, Flatten, Reshape, Identity, Constant, Cast";

std::string dims_text(const std::vector<int64_t>& dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }

/// A name of the model: a tensor, under a shape that Reshape or Flatten may have given to this name alone.
struct Value {
  size_t tensor = 0;
  std::vector<int64_t> dims;
};

class Importer {
 public:
  Importer(const onnx::GraphProto& proto, uint64_t batch) : proto_(proto), batch_(batch) {}

  Result<Graph> run() {
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

 private:
  Error invalid(const std::string& text) const {
    return {WEFT_ERROR_INVALID_ARGUMENT, where_.empty() ? text : where_ + ": " + text};
  }
  Error unsupported(const std::string& text) const {
    return {WEFT_ERROR_UNSUPPORTED, where_.empty() ? text : where_ + ": " + text};
  }

  size_t new_tensor(const std::string& name, std::vector<int64_t> dims) {
    uint64_t rows = dims.empty() ? 1 : static_cast<uint64_t>(dims[0]), columns = 1;
    if (dims.size() == 1) rows = 1, columns = static_cast<uint64_t>(dims[0]);
    for (size_t i = 1; i < dims.size(); i++) columns *= static_cast<uint64_t>(dims[i]);
    const size_t tensor = graph_.tensors.size();
    values_[name] = {tensor, dims};
    readers_[tensor] = uses_[name];
    graph_.tensors.push_back({name, std::move(dims), rows, columns});
    return tensor;
  }

  Status add_input(const onnx::ValueInfoProto& input) {
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

  Status add_node(const onnx::NodeProto& node) {
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

  /// Attributes other than `known` are refused by name.
  Status only(const onnx::NodeProto& node, const std::set<std::string>& known) const {
    for (const auto& attribute : node.attribute())
      if (!known.count(attribute.name()))
        return unsupported(fmt::format("attribute '{}'; supported: {}", attribute.name(),
                                       known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
    return Ok{};
  }

  static const onnx::AttributeProto* attribute(const onnx::NodeProto& node, const char* name) {
    for (const auto& a : node.attribute())
      if (a.name() == name) return &a;
    return nullptr;
  }

  Result<Value> tensor_input(const onnx::NodeProto& node, int i) const {
    if (i >= node.input_size() || node.input(i).empty()) return invalid(fmt::format("input {} is missing", i));
    const auto found = values_.find(node.input(i));
    if (found != values_.end()) return found->second;
    if (constants_.count(node.input(i)))
      return unsupported(fmt::format("input {} '{}' is a constant, a computed tensor is needed", i, node.input(i)));
    return invalid(fmt::format("input {} '{}' is not defined before the node", i, node.input(i)));
  }

  const ConstantTensor* constant_input(const onnx::NodeProto& node, int i) const {
    if (i >= node.input_size()) return nullptr;
    const auto found = constants_.find(node.input(i));
    return found == constants_.end() ? nullptr : &found->second;
  }

  Status add_gemm(const onnx::NodeProto& node) {
    if (auto status = only(node, {"alpha", "beta", "transA", "transB"}); !status.ok()) return status;
    const auto* a_alpha = attribute(node, "alpha");
    const auto* a_beta = attribute(node, "beta");
    const auto* trans_a = attribute(node, "transA");
    const auto* trans_b = attribute(node, "transB");
    if (trans_a && trans_a->i() != 0) return unsupported("attribute transA = 1 on a computed tensor; supported: 0");
    const auto x = tensor_input(node, 0);
    if (!x.ok()) return x.error();
    const auto* w = constant_input(node, 1);
    if (!w) return unsupported(fmt::format("input 1 must be a constant (weights)"));
    const float alpha = a_alpha ? a_alpha->f() : 1.0f;
    const float beta = a_beta ? a_beta->f() : 1.0f;
    DenseNode dense;
    if (auto status = fill_weights(dense, x.value(), *w, trans_b && trans_b->i() != 0, alpha); !status.ok())
      return status;
    if (node.input_size() > 2 && !node.input(2).empty()) {
      const auto* c = constant_input(node, 2);
      if (!c) return unsupported("input 2 (bias) must be a constant");
      auto row = row_constant(*c, dense.n);
      if (!row.ok()) return row.error();
      for (float& value : row.value()) value *= beta;
      dense.bias = std::move(row.value());
    }
    return finish_dense(node, std::move(dense),
                        {static_cast<int64_t>(graph_.tensors[x.value().tensor].rows), static_cast<int64_t>(dense.n)});
  }

  Status add_matmul(const onnx::NodeProto& node) {
    if (auto status = only(node, {}); !status.ok()) return status;
    const auto x = tensor_input(node, 0);
    if (!x.ok()) return x.error();
    const auto* w = constant_input(node, 1);
    if (!w) return unsupported("input 1 must be a constant (weights)");
    if (x.value().dims.size() != 2)
      return unsupported(fmt::format("input 0 has shape {}; supported: matrices", dims_text(x.value().dims)));
    DenseNode dense;
    if (auto status = fill_weights(dense, x.value(), *w, false, 1.0f); !status.ok()) return status;
    return finish_dense(node, std::move(dense),
                        {static_cast<int64_t>(graph_.tensors[x.value().tensor].rows), static_cast<int64_t>(dense.n)});
  }

  Status fill_weights(DenseNode& dense, const Value& x, const ConstantTensor& w, bool transposed, float alpha) const {
    if (w.is_integer || w.dims.size() != 2 || w.count() == 0)
      return unsupported(fmt::format("weights of shape {}{}; supported: float matrices", dims_text(w.dims),
                                     w.is_integer ? " of integers" : ""));
    dense.name = where_;
    dense.x = x.tensor;
    dense.k = static_cast<uint64_t>(w.dims[transposed ? 1 : 0]);
    dense.n = static_cast<uint64_t>(w.dims[transposed ? 0 : 1]);
    if (dense.k != graph_.tensors[x.tensor].columns)
      return invalid(fmt::format("input 0 has {} columns (shape {}), the weights have {} rows (shape {}{})",
                                 graph_.tensors[x.tensor].columns, dims_text(x.dims), dense.k, dims_text(w.dims),
                                 transposed ? ", transposed" : ""));
    dense.weights.resize(w.values.size());
    for (uint64_t k = 0; k < dense.k; k++)
      for (uint64_t n = 0; n < dense.n; n++)
        dense.weights[k * dense.n + n] = alpha * w.values[transposed ? n * dense.k + k : k * dense.n + n];
    return Ok{};
  }

  Status finish_dense(const onnx::NodeProto& node, DenseNode dense, std::vector<int64_t> dims) {
    dense.name = node.name().empty() ? node.output(0) : node.name();
    dense.y = new_tensor(node.output(0), std::move(dims));
    producer_[dense.y] = graph_.nodes.size();
    graph_.nodes.push_back(std::move(dense));
    return Ok{};
  }

  /// A constant that is one value, [n], [1, n] as a row of n.
  Result<std::vector<float>> row_constant(const ConstantTensor& c, uint64_t n) const {
    if (c.is_integer) return unsupported("an integer constant; supported: float");
    if (c.count() == 1) return std::vector<float>(n, c.values[0]);
    const bool row = c.count() == n && static_cast<uint64_t>(c.dims.back()) == n;
    if (!row)
      return unsupported(fmt::format("a constant of shape {} added to rows of {}; supported: one value, [{}], [1, {}]",
                                     dims_text(c.dims), n, n, n));
    return c.values;
  }

  /// The product that made tensor `t`, if exactly one node reads it (under whatever name).
  DenseNode* fusable(size_t t) {
    const auto made = producer_.find(t);
    return made == producer_.end() || readers_[t] != 1 ? nullptr : std::get_if<DenseNode>(&graph_.nodes[made->second]);
  }

  /// The node that read `value` last becomes part of the product that made it: its output is the same tensor.
  void fuse(const Value& value, const std::string& output) {
    graph_.tensors[value.tensor].name = output;
    values_[output] = value;
    readers_[value.tensor] = uses_[output];
  }

  Status add_add(const onnx::NodeProto& node) {
    if (auto status = only(node, {}); !status.ok()) return status;
    if (node.input_size() != 2) return invalid(fmt::format("{} inputs, Add has 2", node.input_size()));
    const int constant_at = constant_input(node, 0) ? 0 : constant_input(node, 1) ? 1 : -1;
    if (constant_at >= 0) {
      const auto x = tensor_input(node, 1 - constant_at);
      if (!x.ok()) return x.error();
      const ConstantTensor& c = *constant_input(node, constant_at);
      auto row = row_constant(c, graph_.tensors[x.value().tensor].columns);
      if (!row.ok()) return row.error();
      if (auto* dense = fusable(x.value().tensor); dense && !dense->bias && !dense->relu) {
        dense->bias = std::move(row.value());
        fuse(x.value(), node.output(0));
        return Ok{};
      }
      VectorNode add{node.name(), WEFT_VPU_OP_ADD, x.value().tensor, 0, std::move(row.value())};
      if (c.count() == 1) add.b = c.values[0];
      return finish_vector(node, std::move(add), x.value().dims);
    }
    const auto a = tensor_input(node, 0);
    if (!a.ok()) return a.error();
    const auto b = tensor_input(node, 1);
    if (!b.ok()) return b.error();
    if (a.value().dims != b.value().dims)
      return unsupported(fmt::format("shapes {} and {} of two computed tensors; supported: equal shapes",
                                     dims_text(a.value().dims), dims_text(b.value().dims)));
    return finish_vector(node, {node.name(), WEFT_VPU_OP_ADD, a.value().tensor, 0, b.value().tensor}, a.value().dims);
  }

  Status add_relu(const onnx::NodeProto& node) {
    if (auto status = only(node, {}); !status.ok()) return status;
    const auto x = tensor_input(node, 0);
    if (!x.ok()) return x.error();
    if (auto* dense = fusable(x.value().tensor)) {
      dense->relu = true;
      fuse(x.value(), node.output(0));
      return Ok{};
    }
    return finish_vector(node, {node.name(), WEFT_VPU_OP_MAX, x.value().tensor, 0, 0.0f}, x.value().dims);
  }

  Status finish_vector(const onnx::NodeProto& node, VectorNode vector, std::vector<int64_t> dims) {
    vector.name = node.name().empty() ? node.output(0) : node.name();
    vector.y = new_tensor(node.output(0), std::move(dims));
    graph_.nodes.push_back(std::move(vector));
    return Ok{};
  }

  /// Flatten, Reshape, Identity, Cast to float: the same rows under another shape.
  Status add_alias(const onnx::NodeProto& node) {
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

  Status reshape(const onnx::NodeProto& node, const Tensor& tensor, const std::vector<int64_t>& from,
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

  Status add_constant(const onnx::NodeProto& node) {
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

  /// An output that other nodes read too, that is an input, or that is two outputs at once gets a copy of its own.
  void keep_outputs_apart() {
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

  const onnx::GraphProto& proto_;
  const uint64_t batch_;
  Graph graph_;
  std::string where_;
  std::map<std::string, ConstantTensor> constants_;
  std::map<std::string, Value> values_;
  std::map<std::string, int> uses_;    ///< of each name of the model, graph outputs included
  std::map<size_t, int> readers_;      ///< nodes and graph outputs that read a tensor and are not folded away
  std::map<size_t, size_t> producer_;  ///< tensor -> node, products only
};

}  // namespace

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
  return Importer(model.graph(), batch).run();
}

}  // namespace weft::compiler
