// Fault schedules in TOML: any text gives a schedule or an error with a line; what is written is read again.
#include <string_view>

#include "host/runtime/fault_schedule.hpp"
#include "testbench/fuzz/fuzz_target.hpp"

using namespace weft;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto schedule =
      runtime::read_fault_schedule(std::string_view(reinterpret_cast<const char*>(data), size), "input");
  if (!schedule.ok()) {
    fuzz::require(schedule.error().message.starts_with("input"), "an error names the file");
    return 0;
  }
  for (const auto& fault : schedule.value())
    fuzz::require(!runtime::describe_fault(fault).empty(), "a fault has words");
  const std::string text = runtime::write_fault_schedule(schedule.value());
  const auto again = runtime::read_fault_schedule(text, "written");
  fuzz::require(again.ok(), "what is written is read");
  fuzz::require(runtime::write_fault_schedule(again.value()) == text, "what is read is the same");
  return 0;
}
