// Names, nodes, functions, and values that are known when the model is compiled.
#include "host/compiler/onnx/graph_import.hpp"

#include <algorithm>
#include <set>

#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/onnx/operator_table.hpp"
#include "host/compiler/onnx/rules.hpp"
#include "host/compiler/onnx/tensor_reader.hpp"
#include "host/compiler/reference/evaluate.hpp"

namespace weft::compiler::frontend {
namespace {

constexpr int kMaxDepth = 32;             // of functions and bodies
constexpr uint64_t kKeptBytes = 1 << 12;  // of a value that is known: larger ones are evaluated again

bool is_onnx_domain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

std::string declared_dims(const ::onnx::TensorShapeProto& shape) {
  std::vector<std::string> words;
  for (const auto& dim : shape.dim())
    words.push_back(dim.has_dim_value()       ? std::to_string(dim.dim_value())
                    : dim.dim_param().empty() ? "?"
                                              : printable(dim.dim_param()));
  return fmt::format("[{}]", fmt::join(words, ", "));
}

/// Begins the message of what goes wrong in `f`.
template <typename F>
void within(const std::string& where, F f) {
  try {
    f();
  } catch (ir::Refusal& refusal) {
    refusal.error.message = fmt::format("{}: {}", where, refusal.error.message);
    throw;
  }
}

/// The node with the attributes of a call in place of references to them; one that the call does not have is left out.
::onnx::NodeProto with_attributes(const ::onnx::NodeProto& node, const ::onnx::NodeProto& caller);

void replace_in(::onnx::GraphProto& graph, const ::onnx::NodeProto& caller) {
  for (auto& node : *graph.mutable_node()) node = with_attributes(node, caller);
}

::onnx::NodeProto with_attributes(const ::onnx::NodeProto& node, const ::onnx::NodeProto& caller) {
  ::onnx::NodeProto copy = node;
  copy.clear_attribute();
  for (const auto& attribute : node.attribute()) {
    if (attribute.ref_attr_name().empty()) {
      auto& own = *copy.add_attribute() = attribute;
      if (own.has_g()) replace_in(*own.mutable_g(), caller);
      continue;
    }
    for (const auto& given : caller.attribute())
      if (given.name() == attribute.ref_attr_name()) {
        auto& own = *copy.add_attribute() = given;
        own.set_name(attribute.name());
      }
  }
  return copy;
}

/// The attributes of a function that have defaults: field 11, attribute_proto, which ONNX before 1.13 did not know.
std::vector<::onnx::AttributeProto> defaults_of(const ::onnx::FunctionProto& function) {
  constexpr int kAttributeProto = 11;
  std::vector<::onnx::AttributeProto> defaults;
  for (int i = 0; i < function.unknown_fields().field_count(); i++) {
    const auto& field = function.unknown_fields().field(i);
    if (field.number() != kAttributeProto || field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      continue;
    if (!defaults.emplace_back().ParseFromString(field.length_delimited()))
      invalid("function '{}': attribute_proto is none", printable(function.name()));
  }
  return defaults;
}

}  // namespace

const ir::ValueId* Scope::find(const std::string& name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer)
    if (const auto found = scope->values.find(name); found != scope->values.end()) return &found->second;
  return nullptr;
}

GraphImport::GraphImport(::onnx::ModelProto& model, const std::string& folder, const Binding& binding)
    : model_(model), folder_(folder), binding_(binding), builder_(imported_.module) {
  if (binding.precision != Precision::kBf16)
    builder_.precision = binding.precision == Precision::kBf16x3 ? "high" : "highest";
}

Imported GraphImport::run() {
  const auto& graph = model_.graph();
  imported_.module.name = printable(graph.name());
  if (imported_.module.name.empty()) imported_.module.name = "model";
  Opsets opsets;
  for (const auto& import : model_.opset_import())
    opsets[is_onnx_domain(import.domain()) ? "" : import.domain()] = import.version();
  for (const auto& function : model_.functions()) {
    const auto domain = is_onnx_domain(function.domain()) ? "" : function.domain();
    if (!functions_.emplace(std::pair{domain, function.name()}, &function).second)
      invalid("the model defines function '{}' twice", printable(function.name()));
  }
  Scope scope;
  scope.graph = &graph;
  scope_ = &scope;
  opsets_ = &opsets;
  std::set<std::string> defaults;
  for (const auto& initializer : graph.initializer()) defaults.insert(initializer.name());
  std::set<std::string> inputs;
  for (const auto& input : graph.input()) {
    if (!inputs.insert(input.name()).second)
      invalid("input '{0}': '{0}' is the name of input '{0}' already", printable(input.name()));
    if (input.name().empty()) invalid("input '': the name is empty");
    if (!defaults.contains(input.name()) || binding_.shapes.contains(input.name()))
      within(fmt::format("input '{}'", printable(input.name())), [&] { add_input(input); });
  }
  add_initializers(graph, model_.mutable_graph());
  for (const auto& input : graph.input())
    if (defaults.contains(input.name())) check_declared(input, "input");
  add_nodes(graph.node(), opsets);
  for (const auto& value : graph.value_info()) check_declared(value, "value_info");
  if (graph.output_size() == 0) invalid("the model has no output");
  std::set<std::string> outputs;
  for (const auto& output : graph.output()) {
    const auto name = printable(output.name());
    if (!outputs.insert(output.name()).second) invalid("output '{}' is there twice", name);
    const auto* value = output.name().empty() ? nullptr : scope.find(output.name());
    if (value == nullptr) invalid("output '{}' is computed by no node", name);
    check_declared(output, "output");
    imported_.module.outputs.push_back({output.name(), *value});
  }
  return std::move(imported_);
}

void GraphImport::add_input(const ::onnx::ValueInfoProto& input) {
  if (!input.type().has_tensor_type()) unsupported("it is no tensor; supported: tensors");
  const auto& type = input.type().tensor_type();
  const auto element = element_type_of(type.elem_type());
  if (!element)
    unsupported("element type {}; supported: floats and integers of 8 to 64 bits, bool",
                data_type_name(type.elem_type()));
  const auto given = binding_.shapes.find(input.name());
  ir::TensorType shape{*element, {}};
  if (!type.has_shape() && given == binding_.shapes.end())
    unsupported("the input has no shape: give its array, or --bind {}=SIZExSIZE", printable(input.name()));
  if (!type.has_shape()) shape.dims = given->second;
  const bool bound =
      given != binding_.shapes.end() && static_cast<int>(given->second.size()) == type.shape().dim_size();
  for (int i = 0; i < type.shape().dim_size(); i++) {
    const auto& dim = type.shape().dim(i);
    const bool named = !dim.dim_param().empty(), alone = !named && type.shape().dim_size() == 1;
    const auto symbol = binding_.symbols.find(alone ? input.name() : dim.dim_param());
    if (dim.has_dim_value() && dim.dim_value() >= 0) {  // some exporters write -1 for a size that is not known
      shape.dims.push_back(dim.dim_value());
    } else if (bound) {
      shape.dims.push_back(given->second[static_cast<size_t>(i)]);
    } else if (symbol != binding_.symbols.end() && (named || alone)) {
      shape.dims.push_back(symbol->second);
    } else if (i == 0 && binding_.first > 0) {
      shape.dims.push_back(binding_.first);
    } else if (named) {
      invalid("dimension {0} '{1}' is symbolic: give --bind {1}=SIZE", i, printable(dim.dim_param()));
    } else {
      invalid(
          "dimension {} has no size and no name: give the shape, --bind {}={}", i, printable(input.name()),
          alone ? "SIZE"
                : fmt::format(
                      "{}",
                      fmt::join(std::vector<const char*>(static_cast<size_t>(type.shape().dim_size()), "SIZE"), "x")));
    }
  }
  give(input.name(), imported_.module.add_parameter(input.name(), shape));
}

void GraphImport::add_initializers(const ::onnx::GraphProto& graph, ::onnx::GraphProto* read_once) {
  if (graph.sparse_initializer_size() != 0) unsupported("the model has sparse initializers; supported: dense ones");
  std::set<std::string> names;
  for (int i = 0; i < graph.initializer_size(); i++) {
    const auto& initializer = graph.initializer(i);
    const auto by = fmt::format("initializer '{}'", printable(initializer.name()));
    if (initializer.name().empty()) invalid("{}: the name is empty", by);
    if (!names.insert(initializer.name()).second) invalid("{}: there are two of this name", by);
    if (scope_->values.contains(initializer.name())) continue;  // an input's default, which its array replaces
    scope_->values[initializer.name()] = builder_.constant(read_tensor(initializer, "initializer", folder_));
    if (read_once != nullptr) std::string().swap(*read_once->mutable_initializer(i)->mutable_raw_data());
  }
}

void GraphImport::add_nodes(const google::protobuf::RepeatedPtrField<::onnx::NodeProto>& nodes, const Opsets& opsets) {
  std::map<std::string, int> later;
  for (int i = nodes.size(); i-- > 0;)
    for (const auto& output : nodes.Get(i).output()) later[output] = i;
  for (int i = 0; i < nodes.size(); i++) {
    const auto& node = nodes.Get(i);
    const auto where = node_text(i, node);
    within(where, [&] {
      for (int k = 0; k < node.input_size(); k++) {
        if (node.input(k).empty() || scope_->find(node.input(k)) != nullptr) continue;
        const auto found = later.find(node.input(k));
        invalid("input {} '{}' is not defined before the node{}", k, printable(node.input(k)),
                found == later.end() ? ""
                                     : fmt::format(": {} writes it, and nodes come in the order in which they compute",
                                                   node_text(found->second, nodes.Get(found->second))));
      }
      const ir::Origin around = builder_.origin;
      builder_.origin = {node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name(), node.op_type()};
      add_node(node, opsets);
      builder_.origin = around;
    });
  }
}

void GraphImport::add_node(const ::onnx::NodeProto& node, const Opsets& opsets) {
  const std::string domain = is_onnx_domain(node.domain()) ? "" : node.domain();
  if (const auto function = functions_.find({domain, node.op_type()}); function != functions_.end())
    return call(*function->second, node);
  if (!domain.empty()) unsupported("domain '{}'; supported: ai.onnx and the model's own functions", printable(domain));
  const auto version = opsets.find("");
  if (version == opsets.end()) invalid("the model does not say which opset its operators are of (opset_import)");
  if (version->second < kFirstOpset || version->second > kLastOpset)
    unsupported("opset {}; supported: {} to {}", version->second, kFirstOpset, kLastOpset);
  const auto* row = find_operator(node.op_type(), version->second);
  if (row == nullptr) {
    const bool later = find_operator(node.op_type(), kLastOpset) != nullptr;
    if (!later) unsupported("the operator is not built; supported: those of docs/onnx_operators.md");
    invalid("opset {} does not have the operator", version->second);
  }
  check_node(node, *row, version->second);
  for (const auto& output : node.output())
    if (!output.empty() && scope_->values.contains(output))
      invalid("'{}' is the name of {} already", printable(output), giver_of(output));
  const Rule rule = find_rule(node.op_type());
  if (rule == nullptr) {
    const std::string_view why = excuse_of(node.op_type());
    unsupported("the operator is not built{}{}; supported: those of docs/onnx_operators.md", why.empty() ? "" : ": ",
                why);
  }
  std::vector<int> types;
  for (const auto& input : node.input())
    types.push_back(input.empty() ? 0 : data_type_of(builder_.element(find(input))));
  check_types(*row, types);
  Node context(*this, node, *row, version->second);
  rule(context);
  for (const auto& output : node.output())
    if (!output.empty() && !scope_->values.contains(output)) unsupported("output '{}' is not built", printable(output));
}

void GraphImport::call(const ::onnx::FunctionProto& function, const ::onnx::NodeProto& node) {
  if (++depth_ > kMaxDepth) invalid("functions call each other more than {} deep", kMaxDepth);
  if (node.input_size() > function.input_size() || node.output_size() > function.output_size())
    invalid("{} inputs and {} outputs; function '{}' has {} and {}", node.input_size(), node.output_size(),
            printable(function.name()), function.input_size(), function.output_size());
  Opsets opsets;
  for (const auto& import : function.opset_import())
    opsets[is_onnx_domain(import.domain()) ? "" : import.domain()] = import.version();
  ::onnx::NodeProto caller = node;
  for (const auto& otherwise : defaults_of(function)) {
    const auto given = [&](const ::onnx::AttributeProto& a) { return a.name() == otherwise.name(); };
    if (std::none_of(node.attribute().begin(), node.attribute().end(), given)) *caller.add_attribute() = otherwise;
  }
  ::onnx::GraphProto body;
  for (const auto& inner : function.node()) *body.add_node() = with_attributes(inner, caller);
  Scope scope;  // a function sees nothing around it
  for (int i = 0; i < node.input_size(); i++)
    if (!node.input(i).empty()) scope.values[function.input(i)] = find(node.input(i));
  Scope* const around = std::exchange(scope_, &scope);
  const auto* const opsets_around = std::exchange(opsets_, &opsets);
  add_nodes(body.node(), opsets);
  std::vector<ir::ValueId> results;
  for (int i = 0; i < node.output_size(); i++) {
    if (node.output(i).empty()) continue;
    const auto* value = scope.find(function.output(i));
    if (value == nullptr)
      invalid("function '{}' computes no '{}'", printable(function.name()), printable(function.output(i)));
    results.push_back(*value);
  }
  scope_ = around;
  opsets_ = opsets_around;
  depth_--;
  size_t next = 0;
  for (const auto& output : node.output())
    if (!output.empty()) give(output, results[next++]);
}

std::vector<ir::ValueId> GraphImport::body(const ::onnx::GraphProto& graph, const std::vector<ir::ValueId>& inputs) {
  if (++depth_ > kMaxDepth) invalid("bodies lie more than {} deep", kMaxDepth);
  if (static_cast<size_t>(graph.input_size()) != inputs.size())
    invalid("the body has {} inputs, it is given {}", graph.input_size(), inputs.size());
  Scope scope;
  scope.outer = scope_;
  scope.graph = &graph;
  for (size_t i = 0; i < inputs.size(); i++) scope.values[graph.input(static_cast<int>(i)).name()] = inputs[i];
  Scope* const around = std::exchange(scope_, &scope);
  add_initializers(graph);
  add_nodes(graph.node(), *opsets_);
  std::vector<ir::ValueId> outputs;
  for (const auto& output : graph.output()) {
    const auto* value = scope.find(output.name());
    if (value == nullptr) invalid("the body computes no '{}'", printable(output.name()));
    outputs.push_back(*value);
  }
  scope_ = around;
  depth_--;
  return outputs;
}

ir::ValueId GraphImport::find(const std::string& name) const {
  const auto* value = scope_->find(name);
  if (value == nullptr) invalid("'{}' is not defined", printable(name));
  return *value;
}

void GraphImport::give(const std::string& name, ir::ValueId value) {
  if (!scope_->values.emplace(name, value).second)
    invalid("'{}' is the name of {} already", printable(name), giver_of(name));
}

std::string GraphImport::giver_of(const std::string& name) const {
  if (scope_->graph != nullptr) {
    for (const auto& input : scope_->graph->input())
      if (input.name() == name) return fmt::format("input '{}'", printable(name));
    for (const auto& initializer : scope_->graph->initializer())
      if (initializer.name() == name) return fmt::format("initializer '{}'", printable(name));
    for (int i = 0; i < scope_->graph->node_size(); i++)
      for (const auto& output : scope_->graph->node(i).output())
        if (output == name) return node_text(i, scope_->graph->node(i));
  }
  return "another value";
}

ir::TensorPtr GraphImport::known(ir::ValueId value) {
  if (const auto found = known_.find(value); found != known_.end()) return found->second;
  const ir::Module& module = imported_.module;
  reference::Environment environment;
  std::set<uint32_t> ops;
  std::vector<ir::ValueId> open{value}, small{value};
  while (!open.empty()) {
    const ir::ValueId at = open.back();
    open.pop_back();
    if (environment.contains(at)) continue;
    if (const auto found = known_.find(at); found != known_.end()) {
      environment[at] = found->second;
      continue;
    }
    const ir::Op& op = module.op_of(at);
    if (op.kind == ir::OpKind::kParameter) {
      const auto bound = binding_.values.find(op.word("name"));
      if (bound == binding_.values.end())
        invalid(
            "a shape or a branch depends on the values of input '{}', which are not known when the model is compiled",
            printable(op.word("name")));
      if (bound->second->type != module.type(at))
        invalid("input '{}' is {}, its array is {}", printable(op.word("name")), module.type(at).text(),
                bound->second->type.text());
      imported_.decided_by.insert(bound->first);
      environment[at] = bound->second;
      continue;
    }
    if (!ops.insert(module.value(at).op).second) continue;
    if (module.type(at).bytes() <= kKeptBytes) small.push_back(at);
    open.insert(open.end(), op.operands.begin(), op.operands.end());
  }
  reference::evaluate_ops(module, {ops.begin(), ops.end()}, environment, small);
  for (const ir::ValueId kept : small)
    if (const auto found = environment.find(kept); found != environment.end()) known_[kept] = found->second;
  return known_.at(value);
}

void GraphImport::check_declared(const ::onnx::ValueInfoProto& declared, const char* kind) const {
  const auto* value = scope_->find(declared.name());
  if (value == nullptr || !declared.has_type()) return;
  const bool is_input = std::string_view(kind) == "input";  // and an initializer
  const auto name = fmt::format("{} '{}'", kind, printable(declared.name()));
  const auto& computed = builder_.type(*value);
  const auto& type = declared.type().tensor_type();
  if (!declared.type().has_tensor_type() || type.elem_type() != data_type_of(computed.element))
    invalid("{} is declared as {}, its node computes {}", name,
            declared.type().has_tensor_type() ? data_type_name(type.elem_type()) : "no tensor",
            data_type_name(data_type_of(computed.element)));
  // Shapes of what nodes compute may be those of another version of the network: what is computed counts.
  if (!type.has_shape() || !is_input) return;
  bool fits = static_cast<size_t>(type.shape().dim_size()) == computed.rank();
  for (size_t i = 0; fits && i < computed.rank(); i++) {
    const auto& dim = type.shape().dim(static_cast<int>(i));
    fits = !dim.has_dim_value() || dim.dim_value() < 0 || dim.dim_value() == computed.dims[i];
  }
  if (!fits)
    invalid("{} is declared as {}, its initializer is {}", name, declared_dims(type.shape()),
            ir::dims_text(computed.dims));
}

}  // namespace weft::compiler::frontend
