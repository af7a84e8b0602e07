// Faults as TOML. Placement of core faults is packed as spec/core_csr.toml says of INJECT_PLACE.
#include "host/runtime/fault_schedule.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>

#include "weft/spec/names.hpp"

namespace weft::runtime {
namespace {

constexpr size_t kMaxFaults = 16;
constexpr std::string_view kForEver = "for ever";

// INJECT_PLACE
constexpr unsigned kCodeShift = 8, kCommandShift = 16, kBeatShift = 32;
constexpr uint32_t kByte = 0xff;
constexpr uint64_t kHalf = 0xffff;

bool is_core(uint32_t kind) { return kind >= WEFT_INJECTED_FAULT_CORE_VMEM_FLIP; }

/// Key of a kind's target; empty: it has none.
std::string_view target_key(uint32_t kind) {
  switch (kind) {
    case WEFT_INJECTED_FAULT_DOORBELL_LOST:
    case WEFT_INJECTED_FAULT_DOORBELL_VALUE:
    case WEFT_INJECTED_FAULT_COMPLETION_LOST:
    case WEFT_INJECTED_FAULT_COMPLETION_FLIP:
    case WEFT_INJECTED_FAULT_COMPLETION_TORN:
    case WEFT_INJECTED_FAULT_COMPLETION_REPEATED:
    case WEFT_INJECTED_FAULT_DEVICE_GONE:
    case WEFT_INJECTED_FAULT_SIMULATOR_EXIT:
      return "queue";
    case WEFT_INJECTED_FAULT_INTERRUPT_LOST:
    case WEFT_INJECTED_FAULT_INTERRUPT_SPURIOUS:
      return "vector";
    case WEFT_INJECTED_FAULT_BOOT_STOP:
      return "stage";
    default:
      return is_link_fault(kind) ? "port" : std::string_view{};
  }
}

bool takes_value(uint32_t kind) {
  return kind == WEFT_INJECTED_FAULT_LINK_FLAP || kind == WEFT_INJECTED_FAULT_LINK_BIT_ERRORS ||
         kind == WEFT_INJECTED_FAULT_LINK_CREDIT_LATE || kind == WEFT_INJECTED_FAULT_DOORBELL_VALUE ||
         kind == WEFT_INJECTED_FAULT_INTERRUPT_SPURIOUS || kind == WEFT_INJECTED_FAULT_COMPLETION_FLIP ||
         kind == WEFT_INJECTED_FAULT_HOST_READ_FLIP;
}

/// Reads the keys of one table, knows which it has read, and keeps the first error; what it returns after one is
/// unused.
class FaultTable {
 public:
  FaultTable(const toml::table& table, std::string_view file) : table_(table), file_(file) {}

  /// A number from `least` to `most`; `otherwise` if the key is not there.
  uint64_t number(std::string_view key, uint64_t least, uint64_t most, uint64_t otherwise) {
    const toml::node* node = find(key);
    if (node == nullptr) return otherwise;
    const auto value = node->value_exact<int64_t>();
    if (!value) {
      fail(*node, fmt::format("'{}' is no number", key));
    } else if (*value < 0 || static_cast<uint64_t>(*value) < least || static_cast<uint64_t>(*value) > most) {
      fail(*node, fmt::format("'{}' is {}: {} to {} are possible", key, *value, least, most));
    } else {
      return static_cast<uint64_t>(*value);
    }
    return otherwise;
  }

  /// 64 bits, also as the string "0x8000000000000000": TOML's integers have a sign.
  uint64_t bits(std::string_view key) {
    const toml::node* node = find(key);
    const auto text = node == nullptr ? std::nullopt : node->value_exact<std::string_view>();
    if (!text) return number(key, 0, INT64_MAX, 0);
    uint64_t value = 0;
    const char* const end = text->data() + text->size();
    const bool hexadecimal = text->starts_with("0x");
    const auto [last, code] = std::from_chars(text->data() + (hexadecimal ? 2 : 0), end, value, 16);
    if (hexadecimal && code == std::errc{} && last == end) return value;
    fail(*node, fmt::format("'{}' is no hexadecimal number of 64 bits", key));
    return 0;
  }

  uint32_t word(std::string_view key, uint32_t least, uint32_t most, uint32_t otherwise) {
    return static_cast<uint32_t>(number(key, least, most, otherwise));
  }

  /// The value of a name; the key must be there.
  uint64_t named(std::string_view key, std::span<const spec::NamedValue> names) {
    const toml::node* node = find(key);
    if (node == nullptr) {
      fail(table_, fmt::format("the fault has no '{}'", key));
      return 0;
    }
    const auto text = node->value_exact<std::string_view>();
    std::string known;
    for (const auto& name : names) {
      if (text == name.name) return name.value;
      known += (known.empty() ? "" : ", ") + std::string(name.name);
    }
    fail(*node, fmt::format("'{}' is none of: {}", key, known));
    return 0;
  }

  /// A port by its name; the key must be there.
  uint32_t port() {
    std::vector<spec::NamedValue> names;
    for (const auto name : kPortNames) names.push_back({name, names.size(), {}});
    return static_cast<uint32_t>(named("port", names));
  }

  uint32_t count() {
    const toml::node* node = table_.get("count");
    if (node == nullptr || node->value_exact<std::string_view>() != kForEver) return word("count", 1, UINT32_MAX, 1);
    read_.push_back("count");
    return UINT32_MAX;
  }

  /// The first error; a key that nobody asked for is one.
  [[nodiscard]] Status status() {
    for (const auto& [key, node] : table_)
      if (std::find(read_.begin(), read_.end(), key.str()) == read_.end())
        fail(node, fmt::format("'{}' is no key of this kind of fault", key.str()));
    if (error_) return *error_;
    return Ok{};
  }

 private:
  const toml::node* find(std::string_view key) {
    read_.push_back(key);
    return table_.get(key);
  }

  void fail(const toml::node& at, std::string_view message) {
    if (error_) return;
    error_ = Error{WEFT_ERROR_INVALID_ARGUMENT, fmt::format("{}, line {}: {}", file_, at.source().begin.line, message)};
  }

  const toml::table& table_;
  std::string_view file_;
  std::vector<std::string_view> read_;
  std::optional<Error> error_;
};

bool is_flip(uint32_t kind) {
  return kind == WEFT_INJECTED_FAULT_CORE_VMEM_FLIP || kind == WEFT_INJECTED_FAULT_CORE_ACC_FLIP;
}

void read_core_fault(FaultTable& table, weft_fault_injection& fault) {
  const bool flip = is_flip(fault.kind), raise = fault.kind == WEFT_INJECTED_FAULT_CORE_RAISE;
  fault.nth = table.word("launch", 1, UINT32_MAX, 1);
  uint64_t place = table.number("command", flip ? 0 : 1, kHalf, flip ? 0 : 1) << kCommandShift;
  if (!flip) place |= table.named("queue", spec::kQueueNames);
  if (fault.kind == WEFT_INJECTED_FAULT_CORE_BUS_ERROR) place |= table.number("beat", 1, UINT32_MAX, 1) << kBeatShift;
  if (raise) place |= table.named("code", spec::kFaultNames) << kCodeShift;
  if (flip || raise) fault.value[0] = table.bits("address");
  if (flip) {
    fault.value[1] = table.bits("data");
    fault.value[3] = table.number("check", 0, kByte, 0);
  }
  fault.value[2] = place;
}

Result<weft_fault_injection> read_fault(const toml::table& toml, std::string_view name) {
  FaultTable table(toml, name);
  weft_fault_injection fault = WEFT_INIT(weft_fault_injection);
  fault.kind = static_cast<weft_injected_fault>(table.named("kind", spec::kInjectedFaultNames));
  fault.count = table.count();
  if (is_core(fault.kind)) {
    read_core_fault(table, fault);
  } else {
    fault.nth = table.word("nth", 1, UINT32_MAX, 1);
    if (is_link_fault(fault.kind))
      fault.target = table.port();
    else if (const auto key = target_key(fault.kind); !key.empty())
      fault.target = table.word(key, 0, kByte, 0);
    if (takes_value(fault.kind)) fault.value[0] = table.bits("value");
  }
  if (auto status = table.status(); !status.ok()) return status.error();
  return fault;
}

std::string bits_text(uint64_t value) {
  return value > INT64_MAX ? fmt::format("\"{:#x}\"", value) : fmt::format("{:#x}", value);
}

/// The target; a port by its name, in `quotes`.
std::string target_text(const weft_fault_injection& fault, std::string_view quotes) {
  if (!is_link_fault(fault.kind) || fault.target >= kPortNames.size()) return std::to_string(fault.target);
  return fmt::format("{}{}{}", quotes, kPortNames[fault.target], quotes);
}

std::string write_core_fault(const weft_fault_injection& fault) {
  const uint64_t place = fault.value[2];
  std::string out = fmt::format("launch = {}\ncommand = {}\n", fault.nth, place >> kCommandShift & kHalf);
  const bool flip = is_flip(fault.kind), raise = fault.kind == WEFT_INJECTED_FAULT_CORE_RAISE;
  if (!flip) out += fmt::format("queue = \"{}\"\n", spec::queue_name(place & kByte));
  if (fault.kind == WEFT_INJECTED_FAULT_CORE_BUS_ERROR) out += fmt::format("beat = {}\n", place >> kBeatShift);
  if (raise) out += fmt::format("code = \"{}\"\n", spec::fault_name(place >> kCodeShift & kByte));
  if (flip || raise) out += fmt::format("address = {}\n", bits_text(fault.value[0]));
  if (flip) out += fmt::format("data = {}\ncheck = {:#x}\n", bits_text(fault.value[1]), fault.value[3]);
  return out;
}

}  // namespace

Result<FaultSchedule> read_fault_schedule(std::string_view text, std::string_view name) {
  const auto fail = [&](std::string message) { return Error{WEFT_ERROR_INVALID_ARGUMENT, std::move(message)}; };
  toml::table document;
  try {
    document = toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    return fail(fmt::format("{}, line {}: {}", name, error.source().begin.line, error.description()));
  }
  FaultSchedule schedule;
  for (const auto& [key, node] : document) {
    const toml::array* faults = key == "fault" ? node.as_array() : nullptr;
    if (faults == nullptr)
      return fail(fmt::format("{}, line {}: '{}' is not expected; a schedule is made of [[fault]] tables", name,
                              node.source().begin.line, key.str()));
    for (const auto& element : *faults) {
      const toml::table* table = element.as_table();
      if (table == nullptr)
        return fail(fmt::format("{}, line {}: 'fault' is not made of tables", name, element.source().begin.line));
      if (schedule.size() == kMaxFaults)
        return fail(fmt::format("{}, line {}: more than {} faults", name, table->source().begin.line, kMaxFaults));
      auto fault = read_fault(*table, name);
      if (!fault.ok()) return fault.error();
      schedule.push_back(fault.value());
    }
  }
  if (schedule.empty()) return fail(fmt::format("{}: no [[fault]] in it", name));
  return schedule;
}

std::string write_fault_schedule(const FaultSchedule& schedule) {
  std::string out;
  for (const auto& fault : schedule) {
    out += fmt::format("[[fault]]\nkind = \"{}\"\n", spec::injected_fault_name(fault.kind));
    if (is_core(fault.kind)) {
      out += write_core_fault(fault);
    } else {
      out += fmt::format("nth = {}\n", std::max(fault.nth, 1u));
      if (const auto key = target_key(fault.kind); !key.empty())
        out += fmt::format("{} = {}\n", key, target_text(fault, "\""));
      if (takes_value(fault.kind)) out += fmt::format("value = {}\n", bits_text(fault.value[0]));
    }
    if (fault.count == UINT32_MAX) out += fmt::format("count = \"{}\"\n", kForEver);
    if (fault.count != UINT32_MAX && fault.count > 1) out += fmt::format("count = {}\n", fault.count);
    out += '\n';
  }
  return out;
}

std::string describe_fault(const weft_fault_injection& fault) {
  std::string text(spec::injected_fault_name(fault.kind));
  if (const auto key = target_key(fault.kind); !key.empty())
    text += fmt::format(" of {} {}", key, target_text(fault, {}));
  if (is_core(fault.kind)) {
    const uint64_t place = fault.value[2];
    if (place >> kCommandShift & kHalf) text += fmt::format(", command {}", place >> kCommandShift & kHalf);
    if (!is_flip(fault.kind)) text += fmt::format(" of the {} queue", spec::queue_name(place & kByte));
    if (fault.kind == WEFT_INJECTED_FAULT_CORE_BUS_ERROR) text += fmt::format(", beat {}", place >> kBeatShift);
    if (fault.kind == WEFT_INJECTED_FAULT_CORE_RAISE)
      text += fmt::format(", {}", spec::fault_name(place >> kCodeShift & kByte));
    if (fault.value[1] != 0 || fault.value[3] != 0)
      text += fmt::format(" at {:#x}, data {:#x}, check {:#x}", fault.value[0], fault.value[1], fault.value[3]);
    text += fmt::format(", launch {}", fault.nth);
  } else {
    text += fmt::format(", occasion {}", std::max(fault.nth, 1u));
    if (takes_value(fault.kind)) text += fmt::format(", value {:#x}", fault.value[0]);
  }
  if (fault.count == UINT32_MAX) text += ", for ever";
  if (fault.count > 1 && fault.count != UINT32_MAX) text += fmt::format(", {} times", fault.count);
  return text;
}

}  // namespace weft::runtime
