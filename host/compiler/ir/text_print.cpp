// Modules as text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "host/compiler/ir/text.hpp"

namespace weft::compiler::ir {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '"' || c == '\\' || c == 0x7f)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out + '"';
}

std::string text_of(const std::string& name, const Attribute& attribute) {
  if (const auto* number = std::get_if<int64_t>(&attribute)) return fmt::format("{}", *number);
  if (const auto* list = std::get_if<Dims>(&attribute)) return dims_text(*list);
  const auto& word = std::get<std::string>(attribute);
  return name == "name" ? quoted(word) : word;
}

/// The shortest text that is read back as the same value.
std::string element_text(const Tensor& tensor, uint64_t i) {
  return visit_type(tensor.type.element, [&](auto t) -> std::string {
    using T = typename decltype(t)::type;
    const T value = tensor.as<T>()[i];
    if constexpr (std::is_same_v<T, bool>)
      return value ? "true" : "false";
    else if constexpr (std::is_integral_v<T>)
      return fmt::format("{}", static_cast<std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>(value));
    else if constexpr (std::is_same_v<T, double>)
      return fmt::format("{}", value);
    else
      return fmt::format("{}", static_cast<float>(value));
  });
}

std::string constant_text(const Tensor& tensor, uint64_t most) {
  const uint64_t count = tensor.type.count();
  if (count > most) return fmt::format("<{}>", count);
  std::string text = "[";
  for (uint64_t i = 0; i < count; i++) text += (i == 0 ? "" : ", ") + element_text(tensor, i);
  return text + "]";
}

/// Each line two spaces to the right, the first one too.
std::string indented(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at) + 1;
    out += "  " + text.substr(at, end - at);
    at = end;
  }
  return out;
}

}  // namespace

std::string print(const Module& module, uint64_t most_elements) {
  std::string text = fmt::format("module {}\n", quoted(module.name));
  for (const auto& op : module.ops()) {
    std::vector<std::string> results, operands, attributes, types;
    for (const auto result : op.results) {
      results.push_back(fmt::format("%{}", index_of(result)));
      types.push_back(module.type(result).text());
    }
    for (const auto operand : op.operands) operands.push_back(fmt::format("%{}", index_of(operand)));
    for (const auto& [name, attribute] : op.attributes)
      attributes.push_back(fmt::format("{} = {}", name, text_of(name, attribute)));
    text += fmt::format("{} = {}({})", fmt::join(results, ", "), name_of(op.kind), fmt::join(operands, ", "));
    if (op.constant) text += " " + constant_text(*op.constant, most_elements);
    if (!attributes.empty()) text += fmt::format(" {{{}}}", fmt::join(attributes, ", "));
    text += fmt::format(" : {}\n", fmt::join(types, ", "));
    for (const auto& region : op.regions) text += indented("region {\n" + print(*region, most_elements)) + "  }\n";
  }
  for (const auto& output : module.outputs)
    text += fmt::format("return {} = %{}\n", quoted(output.name), index_of(output.value));
  return text;
}

}  // namespace weft::compiler::ir
