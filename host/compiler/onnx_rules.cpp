// Tables from ONNX's operator definitions, and the checks that read them.
#include "host/compiler/onnx_rules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace weft::compiler {
namespace {

using onnx::AttributeProto;

// Opset 7 brought today's broadcasting; since then the operators below have only got more element types.
constexpr int64_t kFirstOpset = 7, kLastOpset = 28, kFirstIr = 3, kLastIr = 14;
constexpr int kOptionalBias = 11;  // opset in which Gemm's third input became optional
constexpr size_t kShownCharacters = 60;

struct AttributeRule {
  const char* name;
  AttributeProto::AttributeType type;
  int64_t since = kFirstOpset;
};
struct OperatorRule {
  const char* name;
  int inputs, most_inputs;
  std::vector<AttributeRule> attributes;
};

/// In the order in which messages list them.
const std::vector<OperatorRule>& operator_rules() {
  static const std::vector<OperatorRule> rules{
      {"Gemm",
       2,
       3,
       {{"alpha", AttributeProto::FLOAT},
        {"beta", AttributeProto::FLOAT},
        {"transA", AttributeProto::INT},
        {"transB", AttributeProto::INT}}},
      {"MatMul", 2, 2, {}},
      {"Add", 2, 2, {}},
      {"Relu", 1, 1, {}},
      {"Flatten", 1, 1, {{"axis", AttributeProto::INT}}},
      {"Reshape", 2, 2, {{"allowzero", AttributeProto::INT, 14}}},
      {"Identity", 1, 1, {}},
      {"Constant",
       0,
       0,
       {{"value", AttributeProto::TENSOR},
        {"value_float", AttributeProto::FLOAT, 12},
        {"value_floats", AttributeProto::FLOATS, 12},
        {"value_int", AttributeProto::INT, 12},
        {"value_ints", AttributeProto::INTS, 12}}},
      {"Cast",
       1,
       1,
       {{"to", AttributeProto::INT},
        {"saturate", AttributeProto::INT, 19},        // of float8, which nothing here is
        {"round_mode", AttributeProto::STRING, 24}}}  // the same
  };
  return rules;
}

template <typename Items>
std::string names(const Items& items) {
  std::vector<std::string> list;
  for (const auto& item : items) list.emplace_back(item.name);
  return list.empty() ? "none" : fmt::format("{}", fmt::join(list, ", "));
}

Error invalid(std::string text) { return {WEFT_ERROR_INVALID_ARGUMENT, std::move(text)}; }
Error unsupported(std::string text) { return {WEFT_ERROR_UNSUPPORTED, std::move(text)}; }

bool is_onnx_domain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

/// Whether a field of the attribute is set that is not its type's.
bool has_other_value(const AttributeProto& a) {
  const auto type = a.type();
  return (a.has_f() && type != AttributeProto::FLOAT) || (a.has_i() && type != AttributeProto::INT) ||
         (a.has_s() && type != AttributeProto::STRING) || (a.has_t() && type != AttributeProto::TENSOR) || a.has_g() ||
         a.has_sparse_tensor() || a.has_tp() || (a.floats_size() != 0 && type != AttributeProto::FLOATS) ||
         (a.ints_size() != 0 && type != AttributeProto::INTS) || a.strings_size() != 0 || a.tensors_size() != 0 ||
         a.graphs_size() != 0 || a.sparse_tensors_size() != 0 || a.type_protos_size() != 0;
}

Status check_attributes(const onnx::NodeProto& node, const std::string& where, const OperatorRule& rule,
                        int64_t opset) {
  std::set<std::string> seen;
  for (const auto& attribute : node.attribute()) {
    const std::string name = printable(attribute.name());
    const auto found = std::ranges::find_if(rule.attributes, [&](const auto& a) { return attribute.name() == a.name; });
    if (found == rule.attributes.end())
      return unsupported(fmt::format("{}: attribute '{}'; supported: {}", where, name, names(rule.attributes)));
    if (found->since > opset)
      return invalid(fmt::format("{}: attribute '{}' exists from opset {} on, this is opset {}", where, name,
                                 found->since, opset));
    if (!attribute.ref_attr_name().empty())
      return unsupported(fmt::format("{}: attribute '{}' refers to one of a function", where, name));
    if (attribute.type() != found->type)
      return invalid(fmt::format("{}: attribute '{}' has type {}, {} has it as {}", where, name,
                                 AttributeProto::AttributeType_Name(attribute.type()), rule.name,
                                 AttributeProto::AttributeType_Name(found->type)));
    if (has_other_value(attribute))
      return invalid(fmt::format("{}: attribute '{}' has a value of another type than {}", where, name,
                                 AttributeProto::AttributeType_Name(found->type)));
    if (!seen.insert(attribute.name()).second)
      return invalid(fmt::format("{}: attribute '{}' is there twice", where, name));
  }
  return Ok{};
}

}  // namespace

std::string printable(const std::string& name) {
  std::string text = name.substr(0, kShownCharacters);
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  return name.size() > kShownCharacters ? text + "..." : text;
}

std::string node_text(int index, const onnx::NodeProto& node) {
  return fmt::format("node {} '{}' ({})", index, printable(node.name()), printable(node.op_type()));
}

Result<int64_t> check_versions(const onnx::ModelProto& model) {
  if (model.ir_version() < kFirstIr || model.ir_version() > kLastIr)
    return unsupported(
        fmt::format("the model has ir_version {}; supported: {} to {}", model.ir_version(), kFirstIr, kLastIr));
  int64_t opset = 0;
  for (const auto& import : model.opset_import()) {
    if (!is_onnx_domain(import.domain())) continue;
    if (opset != 0) return invalid("the model imports ONNX's operators twice (opset_import)");
    opset = import.version();
    if (opset < kFirstOpset || opset > kLastOpset)
      return unsupported(fmt::format("the model is of opset {}; supported: {} to {}", opset, kFirstOpset, kLastOpset));
  }
  if (opset == 0) return invalid("the model does not say which opset its operators are of (opset_import)");
  if (model.functions_size() != 0)
    return unsupported(fmt::format("the model defines functions, the first one '{}'; supported: models without",
                                   printable(model.functions(0).name())));
  if (model.graph().sparse_initializer_size() != 0)
    return unsupported("the model has sparse initializers; supported: dense ones");
  return opset;
}

Status check_names(const onnx::GraphProto& graph) {
  std::map<std::string, std::string> given;  // name -> by what
  const auto give = [&given](const std::string& name, const std::string& by) -> Status {
    if (name.empty()) return invalid(fmt::format("{}: the name is empty", by));
    const auto [at, first] = given.emplace(name, by);
    if (!first) return invalid(fmt::format("{}: '{}' is the name of {} already", by, printable(name), at->second));
    return Ok{};
  };
  for (const auto& input : graph.input())
    if (auto status = give(input.name(), fmt::format("input '{}'", printable(input.name()))); !status.ok())
      return status;
  std::set<std::string> initializers;
  for (const auto& tensor : graph.initializer()) {
    const auto by = fmt::format("initializer '{}'", printable(tensor.name()));
    if (!initializers.insert(tensor.name()).second) return invalid(by + ": there are two of this name");
    const auto found = given.find(tensor.name());
    if (found != given.end()) continue;  // an input with a default value
    if (auto status = give(tensor.name(), by); !status.ok()) return status;
  }
  std::map<std::string, std::string> later;  // what the node at hand and those behind it write
  for (int i = graph.node_size(); i-- > 0;)
    for (const auto& output : graph.node(i).output()) later[output] = node_text(i, graph.node(i));
  std::map<std::string, int> nodes;
  for (int i = 0; i < graph.node_size(); i++) {
    const auto& node = graph.node(i);
    const auto where = node_text(i, node);
    for (int k = 0; k < node.input_size(); k++) {
      const std::string& name = node.input(k);
      if (name.empty() || given.count(name)) continue;
      const auto found = later.find(name);
      return invalid(fmt::format("{}: input {} '{}' is not defined before the node{}", where, k, printable(name),
                                 found == later.end() ? ""
                                                      : fmt::format(": {} writes it, and nodes come in the order in "
                                                                    "which they compute",
                                                                    found->second)));
    }
    for (const auto& output : node.output())
      if (!output.empty())
        if (auto status = give(output, where); !status.ok()) return status;
    const auto [first, unique] = nodes.emplace(node.name(), i);
    if (!unique && !node.name().empty())
      return invalid(fmt::format("{}: node {} has this name already", where, first->second));
  }
  std::set<std::string> outputs;
  for (const auto& output : graph.output()) {
    if (!outputs.insert(output.name()).second)
      return invalid(fmt::format("output '{}' is there twice", printable(output.name())));
    if (!given.count(output.name()))
      return invalid(fmt::format("output '{}' is computed by no node", printable(output.name())));
  }
  return Ok{};
}

Status check_node(const onnx::NodeProto& node, int index, int64_t opset) {
  const auto where = node_text(index, node);
  if (!is_onnx_domain(node.domain()))
    return unsupported(
        fmt::format("{}: domain '{}'; supported: {}", where, printable(node.domain()), names(operator_rules())));
  const auto rule = std::ranges::find_if(operator_rules(), [&](const auto& r) { return node.op_type() == r.name; });
  if (rule == operator_rules().end())
    return unsupported(fmt::format("{}: the operator is not built; supported: {}", where, names(operator_rules())));
  const bool all = opset < kOptionalBias;  // of Gemm: no input was optional
  const int least = all ? rule->most_inputs : rule->inputs;
  if (node.input_size() < least || node.input_size() > rule->most_inputs)
    return invalid(fmt::format("{}: {} inputs; {} has {}{} in opset {}", where, node.input_size(), rule->name, least,
                               least == rule->most_inputs ? "" : fmt::format(" to {}", rule->most_inputs), opset));
  for (int i = 0; i < least; i++)
    if (node.input(i).empty()) return invalid(fmt::format("{}: input {} is missing", where, i));
  if (node.output_size() != 1 || node.output(0).empty())
    return invalid(fmt::format("{}: {} outputs{}; {} has 1", where, node.output_size(),
                               node.output_size() == 1 ? " without a name" : "", rule->name));
  return check_attributes(node, where, *rule, opset);
}

}  // namespace weft::compiler
