// Looks up ONNX's definitions, and checks nodes by them.
#include "host/compiler/onnx/operator_table.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "host/compiler/ir/refusal.hpp"

namespace weft::compiler::frontend {
namespace {

using ir::invalid;
using ::onnx::AttributeProto;

constexpr size_t kShownCharacters = 60;

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (end != 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

/// "name=value" in two.
std::pair<std::string_view, std::string_view> halves(std::string_view word) {
  const size_t at = word.rfind('=');
  return {word.substr(0, at), word.substr(at + 1)};
}

AttributeProto::AttributeType type_of_letter(char letter) {
  static const std::map<char, AttributeProto::AttributeType> types{
      {'f', AttributeProto::FLOAT},  {'i', AttributeProto::INT},    {'s', AttributeProto::STRING},
      {'t', AttributeProto::TENSOR}, {'g', AttributeProto::GRAPH},  {'F', AttributeProto::FLOATS},
      {'I', AttributeProto::INTS},   {'S', AttributeProto::STRINGS}};
  const auto found = types.find(letter);
  return found == types.end() ? AttributeProto::UNDEFINED : found->second;
}

/// Whether a field of the attribute is set that is not its type's.
bool has_other_value(const AttributeProto& a) {
  const auto type = a.type();
  return (a.has_f() && type != AttributeProto::FLOAT) || (a.has_i() && type != AttributeProto::INT) ||
         (a.has_s() && type != AttributeProto::STRING) || (a.has_t() && type != AttributeProto::TENSOR) ||
         (a.has_g() && type != AttributeProto::GRAPH) || a.has_sparse_tensor() || a.has_tp() ||
         (a.floats_size() != 0 && type != AttributeProto::FLOATS) ||
         (a.ints_size() != 0 && type != AttributeProto::INTS) ||
         (a.strings_size() != 0 && type != AttributeProto::STRINGS) || a.tensors_size() != 0 || a.graphs_size() != 0 ||
         a.sparse_tensors_size() != 0 || a.type_protos_size() != 0;
}

std::string count_text(int least, int most) {
  if (least == most) return std::to_string(least);
  return most == INT32_MAX ? fmt::format("{} or more", least) : fmt::format("{} to {}", least, most);
}

void check_attributes(const ::onnx::NodeProto& node, const OperatorRow& row, int64_t opset) {
  std::map<std::string_view, std::string_view> known;
  for (const auto word : words_of(row.attributes)) known.insert(halves(word));
  std::set<std::string> seen;
  for (const auto& attribute : node.attribute()) {
    const std::string name = printable(attribute.name());
    const auto found = known.find(attribute.name());
    if (found == known.end()) {
      std::vector<std::string_view> names;
      for (const auto& [known_name, type] : known) names.push_back(known_name);
      invalid("attribute '{}'; {} has in opset {}: {}", name, row.name, opset,
              names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
    }
    const auto type = type_of_letter(found->second[0]);
    if (attribute.type() != type)
      invalid("attribute '{}' has type {}, {} has it as {}", name, AttributeProto::AttributeType_Name(attribute.type()),
              row.name, AttributeProto::AttributeType_Name(type));
    if (has_other_value(attribute))
      invalid("attribute '{}' has a value of another type than {}", name, AttributeProto::AttributeType_Name(type));
    if (!seen.insert(attribute.name()).second) invalid("attribute '{}' is there twice", name);
  }
  for (const auto& [name, type] : known)
    if (type.ends_with('!') && !seen.contains(std::string(name))) invalid("attribute '{}' is missing", name);
}

}  // namespace

const std::vector<OperatorRow>& operator_rows() {
  static const std::vector<OperatorRow> rows{
#include "host/compiler/onnx/operator_table.inc"
  };
  return rows;
}

const OperatorRow* find_operator(std::string_view name, int64_t opset) {
  static const auto by_name = [] {
    std::map<std::string_view, std::vector<const OperatorRow*>> found;
    for (const auto& row : operator_rows()) found[row.name].push_back(&row);
    return found;
  }();
  const auto found = by_name.find(name);
  if (found == by_name.end()) return nullptr;
  const OperatorRow* newest = nullptr;
  for (const auto* row : found->second)
    if (row->since <= opset) newest = row;
  return newest != nullptr && newest->least_inputs >= 0 ? newest : nullptr;
}

void check_node(const ::onnx::NodeProto& node, const OperatorRow& row, int64_t opset) {
  const int inputs = node.input_size(), outputs = node.output_size();
  if (inputs < row.least_inputs || inputs > row.most_inputs)
    invalid("{} inputs; {} has {} in opset {}", inputs, row.name, count_text(row.least_inputs, row.most_inputs), opset);
  for (int i = 0; i < row.least_inputs; i++)
    if (node.input(i).empty() && row.most_inputs != INT32_MAX) invalid("input {} is missing", i);
  int named = outputs;
  while (named > row.least_outputs && node.output(named - 1).empty()) named--;
  if (outputs < row.least_outputs || named > row.most_outputs)
    invalid("{} outputs; {} has {}", outputs, row.name, count_text(row.least_outputs, row.most_outputs));
  if (outputs == 1 && node.output(0).empty()) invalid("1 outputs without a name");
  check_attributes(node, row, opset);
}

void check_types(const OperatorRow& row, const std::vector<int>& inputs) {
  std::map<std::string_view, uint64_t> masks;
  for (const auto word : words_of(row.types)) {
    const auto [group, text] = halves(word);
    uint64_t mask = 0;
    std::from_chars(text.data(), text.data() + text.size(), mask, 16);
    masks[group] = mask;
  }
  const auto formals = words_of(row.inputs);
  std::map<std::string_view, int> bound;
  for (size_t i = 0; i < inputs.size(); i++) {
    if (inputs[i] == 0 || formals.empty()) continue;
    std::string_view formal = formals[std::min(i, formals.size() - 1)];
    const bool any = formal.ends_with('~');
    if (any || formal.ends_with('*')) formal.remove_suffix(1);
    const auto element = [](int type) {
      return ::onnx::TensorProto::DataType_Name(static_cast<::onnx::TensorProto::DataType>(type));
    };
    if ((masks[formal] >> inputs[i] & 1) == 0)
      invalid("input {} has element type {}, which {} does not take (opset {})", i, element(inputs[i]), row.name,
              row.since);
    const auto [first, is_first] = bound.emplace(formal, inputs[i]);
    if (!any && !is_first && first->second != inputs[i])
      invalid("input {} has element type {}, another input {}; {} takes one type", i, element(inputs[i]),
              element(first->second), row.name);
  }
}

std::string printable(const std::string& name) {
  std::string text = name.substr(0, kShownCharacters);
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  return name.size() > kShownCharacters ? text + "..." : text;
}

std::string node_text(int index, const ::onnx::NodeProto& node) {
  return fmt::format("node {} '{}' ({})", index, printable(node.name()), printable(node.op_type()));
}

}  // namespace weft::compiler::frontend
