// The table of operators, and their attributes.
#include "host/compiler/ir/op.hpp"

#include <algorithm>
#include <array>

#include "host/compiler/ir/infer_rules.hpp"
#include "host/compiler/ir/refusal.hpp"

namespace weft::compiler::ir {
Attributes::Attributes() = default;
Attributes::Attributes(const Attributes&) = default;
Attributes::Attributes(Attributes&&) noexcept = default;
Attributes& Attributes::operator=(const Attributes&) = default;
Attributes& Attributes::operator=(Attributes&&) noexcept = default;
Attributes::~Attributes() = default;

namespace {

struct OpInfo {
  std::string_view name;
  int operands;
  Types (*rule)(const Op&, const Types&);
};

constexpr std::array kOps{
#define WEFT_IR_INFO(kind, text, operands, rule) OpInfo{text, operands, infer_##rule},
    WEFT_IR_OPS(WEFT_IR_INFO)
#undef WEFT_IR_INFO
};

const OpInfo& info(OpKind kind) { return kOps[static_cast<size_t>(kind)]; }

template <typename T>
const T& attribute(const Op& op, std::string_view name, const char* kind) {
  const auto found = op.attributes.find(name);
  if (found == op.attributes.end()) invalid("{}: attribute '{}' is missing", name_of(op.kind), name);
  const auto* value = std::get_if<T>(&found->second);
  if (value == nullptr) invalid("{}: attribute '{}' is not {}", name_of(op.kind), name, kind);
  return *value;
}

}  // namespace

std::string_view name_of(OpKind kind) { return info(kind).name; }

std::optional<OpKind> op_kind_of(std::string_view name) {
  static const auto kinds = [] {
    std::map<std::string_view, OpKind> by_name;
    for (size_t i = 0; i < kOps.size(); i++) by_name[kOps[i].name] = static_cast<OpKind>(i);
    return by_name;
  }();
  const auto found = kinds.find(name);
  return found == kinds.end() ? std::nullopt : std::optional(found->second);
}

int operands_of(OpKind kind) { return info(kind).operands; }

int64_t Op::integer(std::string_view name) const { return attribute<int64_t>(*this, name, "an integer"); }
const Dims& Op::list(std::string_view name) const { return attribute<Dims>(*this, name, "a list"); }
const std::string& Op::word(std::string_view name) const { return attribute<std::string>(*this, name, "a word"); }
ElementType Op::element() const {
  const auto type = element_type_of(word("element"));
  if (!type) invalid("{}: there is no element type '{}'", name_of(kind), word("element"));
  return *type;
}

Types infer(const Op& op, const Types& operands) {
  const int wanted = operands_of(op.kind);
  const bool none_will_do = op.kind == OpKind::kManual;
  if (wanted < 0 ? operands.empty() && !none_will_do : operands.size() != static_cast<size_t>(wanted))
    invalid("{}: {} operands; it takes {}", name_of(op.kind), operands.size(),
            wanted < 0 ? "one or more" : std::to_string(wanted));
  Types results = info(op.kind).rule(op, operands);
  for (const auto& result : results) check_size(result);
  return results;
}

}  // namespace weft::compiler::ir
