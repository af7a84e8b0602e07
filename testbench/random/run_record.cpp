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

std::string differing_byte(std::string_view where, std::span<const std::byte> rtl, std::span<const std::byte> fast) {
  if (rtl.size() != fast.size())
    return fmt::format("{} has {} bytes on the RTL, {} on the fast core", where, rtl.size(), fast.size());
  const auto [a, b] = std::ranges::mismatch(rtl, fast);
  if (a == rtl.end()) return {};
  return fmt::format("{} byte {:#x} is {:#04x} on the RTL, {:#04x} on the fast core", where, a - rtl.begin(),
                     std::to_integer<unsigned>(*a), std::to_integer<unsigned>(*b));
}

}  // namespace

std::string first_difference(const RunRecord& rtl, const RunRecord& fast) {
  constexpr size_t kFaultCode = 4;  // of kRegisters
  if (rtl.events.empty() && rtl.registers.at(kFaultCode) == 0)
    return "no command was taken and none refused, so nothing was compared";
  const auto a = sorted(rtl.events), b = sorted(fast.events);
  for (size_t i = 0; i < std::max(a.size(), b.size()); i++)
    if (i >= a.size() || i >= b.size() || a[i] != b[i])
      return fmt::format("event {} of {}: RTL: {}; fast core: {}", i, a.size(), event_text(a, i), event_text(b, i));
  constexpr std::string_view kRegisters[] = {"STATUS",     "INTERRUPT",     "FIRST_ACCEPT_CYCLE", "LAST_RETIRE_CYCLE",
                                             "FAULT_CODE", "FAULT_ADDRESS", "FAULT_CYCLE",        "FAULT_COUNT"};
  for (size_t i = 0; i < std::size(kRegisters); i++)
    if (rtl.registers.at(i) != fast.registers.at(i))
      return fmt::format("{} is {:#x} on the RTL, {:#x} on the fast core", kRegisters[i], rtl.registers[i],
                         fast.registers[i]);
  if (rtl.end_cycle != fast.end_cycle)
    return fmt::format("the RTL is idle from cycle {} on, the fast core from {}", rtl.end_cycle, fast.end_cycle);
  for (size_t i = 0; i < WEFT_COUNTERS; i++)
    if (rtl.counters.at(i) != fast.counters.at(i))
      return fmt::format("counter {} is {} on the RTL, {} on the fast core",
                         spec::counter_name(static_cast<unsigned>(i)), rtl.counters[i], fast.counters[i]);
  for (const auto& [where, of_rtl, of_fast] :
       {std::tuple("VMEM", &rtl.vmem, &fast.vmem), std::tuple("ACC", &rtl.acc, &fast.acc),
        std::tuple("memory", &rtl.memory, &fast.memory)})
    if (auto text = differing_byte(where, *of_rtl, *of_fast); !text.empty()) return text;
  return {};
}

}  // namespace weft::random
