// What two runs of a program have to agree in.
#include "testbench/random/run_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <tuple>

#include "weft/spec/names.hpp"
#include "weft/spec/spec.h"

namespace weft::random {
namespace {

std::string event_text(const std::vector<RunRecord::Event>& events, size_t i) {
  if (i >= events.size()) return "nothing";
  const auto& e = events[i];
  return fmt::format("{} {} tag {} in cycle {}", spec::unit_name(e.unit), e.retires ? "retires" : "takes", e.tag,
                     e.cycle);
}

/// Cores tell starts and retirements of one cycle in any order.
std::vector<RunRecord::Event> sorted(std::vector<RunRecord::Event> events) {
  std::ranges::sort(events, {},
                    [](const RunRecord::Event& e) { return std::tuple(e.cycle, e.retires, e.unit, e.tag); });
  return events;
}

/// Both sides of a comparison in words.
struct Names {
  std::string_view one, other;

  template <typename T>
  [[nodiscard]] std::string differ(const std::string& what, T a, T b) const {
    return fmt::format("{} {} on {}, {} on {}", what, a, one, b, other);
  }
};

std::string differing_byte(const Names& names, std::string_view where, std::span<const std::byte> one,
                           std::span<const std::byte> other) {
  if (one.size() != other.size())
    return names.differ(fmt::format("the bytes of {} are", where), one.size(), other.size());
  const auto [a, b] = std::ranges::mismatch(one, other);
  if (a == one.end()) return {};
  return names.differ(fmt::format("{} byte {:#x} is", where, a - one.begin()),
                      fmt::format("{:#04x}", std::to_integer<unsigned>(*a)),
                      fmt::format("{:#04x}", std::to_integer<unsigned>(*b)));
}

}  // namespace

std::string first_difference(const RunRecord& one, const RunRecord& other) {
  constexpr size_t kFaultCode = 4;  // of kRegisters
  if (one.events.empty() && one.registers.at(kFaultCode) == 0)
    return "no command was taken and none refused, so nothing was compared";
  const Names names{one.core, other.core};
  const auto a = sorted(one.events), b = sorted(other.events);
  for (size_t i = 0; i < std::max(a.size(), b.size()); i++)
    if (i >= a.size() || i >= b.size() || a[i] != b[i])
      return fmt::format("event {} of {}: {}: {}; {}: {}", i, a.size(), one.core, event_text(a, i), other.core,
                         event_text(b, i));
  constexpr std::string_view kRegisters[] = {"STATUS",     "INTERRUPT",     "FIRST_ACCEPT_CYCLE", "LAST_RETIRE_CYCLE",
                                             "FAULT_CODE", "FAULT_ADDRESS", "FAULT_CYCLE",        "FAULT_COUNT"};
  for (size_t i = 0; i < std::size(kRegisters); i++)
    if (one.registers.at(i) != other.registers.at(i))
      return names.differ(fmt::format("{} is", kRegisters[i]), fmt::format("{:#x}", one.registers[i]),
                          fmt::format("{:#x}", other.registers[i]));
  if (one.end_cycle != other.end_cycle) return names.differ("the first idle cycle is", one.end_cycle, other.end_cycle);
  for (size_t i = 0; i < WEFT_COUNTERS; i++)
    if (one.counters.at(i) != other.counters.at(i))
      return names.differ(fmt::format("counter {} is", spec::counter_name(static_cast<unsigned>(i))), one.counters[i],
                          other.counters[i]);
  for (const auto& [where, in_one, in_other] :
       {std::tuple("VMEM", &one.vmem, &other.vmem), std::tuple("ACC", &one.acc, &other.acc),
        std::tuple("memory", &one.memory, &other.memory)})
    if (auto text = differing_byte(names, where, *in_one, *in_other); !text.empty()) return text;
  return {};
}

}  // namespace weft::random
