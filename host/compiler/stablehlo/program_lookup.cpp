// What is asked of a program that was read: an attribute by its name, the line that an operation came from.
#include <fmt/format.h>

#include "host/compiler/stablehlo/program.hpp"

namespace weft::compiler::stablehlo {

const Attribute* Program::find(const Operation& op, std::string_view name) const {
  const auto found = op.attributes.find(name);
  return found == op.attributes.end() ? nullptr : &attributes[found->second];
}

std::string Program::place_of(const Operation& op) const {
  AttributeIndex at = op.location;
  for (int depth = 0; depth < 32; depth++) {
    const Attribute& location = attributes[at];
    if (location.kind != Attribute::Kind::kLocation || location.elements.empty()) return {};
    const Attribute& first = attributes[location.elements[0]];
    if (first.kind == Attribute::Kind::kText)
      return location.integer == 0 ? first.text : fmt::format("{}:{}", first.text, location.integer);
    at = location.elements[0];
  }
  return {};
}

}  // namespace weft::compiler::stablehlo
