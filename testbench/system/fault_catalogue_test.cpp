// Every kind of injected fault on the whole stack: the code that the caller sees, the recovery, the invariants of
// host/tools/inject/fault_trial.hpp; and the same outcome on both cores.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "host/runtime/fault_schedule.hpp"
#include "host/tools/inject/fault_trial.hpp"
#include "weft/spec/names.hpp"

using namespace weft;
using tools::FaultTrial;
using tools::Recovery;

namespace {

struct Entry {
  std::string schedule;
  weft_status status;  ///< that the first caller sees who does not see OK
  Recovery recovery;
};

/// A fault of `kind` with further lines of TOML.
std::string fault(const std::string& kind, const std::string& lines = {}) {
  return "[[fault]]\nkind = \"" + kind + "\"\n" + lines + "\n";
}

// Queue 1 carries the copies and the launch, queue 2 the service commands.
const std::vector<Entry> kCatalogue{
    {fault("doorbell_lost", "queue = 1\nnth = 4"), WEFT_ERROR_TIMEOUT_WAIT, Recovery::kReset},
    {fault("doorbell_lost", "queue = 1\nnth = 1"), WEFT_ERROR_TIMEOUT_WAIT, Recovery::kReset},
    {fault("doorbell_value", "queue = 1\nnth = 4\nvalue = 100"), WEFT_ERROR_BAD_DOORBELL, Recovery::kReset},
    {fault("doorbell_value", "queue = 1\nnth = 3\nvalue = 1"), WEFT_ERROR_BAD_DOORBELL, Recovery::kReset},
    // The ring stands at 4 after the reset and a run without faults: the second doorbell repeats the first.
    {fault("doorbell_value", "queue = 1\nnth = 2\nvalue = 5"), WEFT_ERROR_TIMEOUT_WAIT, Recovery::kReset},
    {fault("interrupt_lost", "vector = 1\ncount = \"for ever\"") +
         fault("interrupt_lost", "vector = 2\ncount = \"for ever\""),
     WEFT_ERROR_OK, Recovery::kNone},
    {fault("interrupt_lost", "vector = 1\ncount = \"for ever\""), WEFT_ERROR_OK, Recovery::kNone},
    {fault("interrupt_spurious", "vector = 1\nvalue = 1"), WEFT_ERROR_OK, Recovery::kNone},
    {fault("interrupt_spurious", "vector = 0\nvalue = 1000"), WEFT_ERROR_OK, Recovery::kNone},
    {fault("host_read_error", "nth = 2"), WEFT_ERROR_DMA_FAULT, Recovery::kReset},
    {fault("host_read_flip", "nth = 1\nvalue = 77"), WEFT_ERROR_BAD_DESCRIPTOR, Recovery::kNone},
    {fault("host_read_flip", "nth = 5\nvalue = 200"), WEFT_ERROR_BAD_DESCRIPTOR, Recovery::kNone},
    {fault("host_read_ones", "nth = 1"), WEFT_ERROR_TIMEOUT_WAIT, Recovery::kReset},
    {fault("hbm_read_error", "nth = 1"), WEFT_ERROR_DMA_FAULT, Recovery::kNone},
    {fault("completion_lost", "queue = 1\nnth = 3"), WEFT_ERROR_TIMEOUT_WAIT, Recovery::kReset},
    {fault("completion_flip", "queue = 1\nnth = 3\nvalue = 195"), WEFT_ERROR_TIMEOUT_WAIT, Recovery::kReset},
    {fault("completion_flip", "queue = 1\nnth = 3\nvalue = 3"), WEFT_ERROR_TIMEOUT_WAIT, Recovery::kReset},
    {fault("completion_flip", "queue = 2\nnth = 2\nvalue = 229"), WEFT_ERROR_TIMEOUT_WAIT, Recovery::kReset},
    {fault("completion_torn", "queue = 1\nnth = 3"), WEFT_ERROR_TIMEOUT_WAIT, Recovery::kReset},
    {fault("completion_repeated", "queue = 1\nnth = 3"), WEFT_ERROR_TIMEOUT_WAIT, Recovery::kReset},
    {fault("copy_error", "nth = 1"), WEFT_ERROR_DMA_FAULT, Recovery::kNone},
    {fault("copy_stall", "nth = 2"), WEFT_ERROR_DEVICE_HUNG, Recovery::kNone},
    {fault("firmware_dead", "nth = 2"), WEFT_ERROR_DEVICE_HUNG, Recovery::kReset},
    {fault("firmware_loops", "nth = 2"), WEFT_ERROR_DEVICE_HUNG, Recovery::kReset},
    {fault("firmware_deaf", "nth = 2"), WEFT_ERROR_DEVICE_HUNG, Recovery::kReset},
    {fault("core_reset_stuck"), WEFT_ERROR_FIRMWARE_PANIC, Recovery::kReset},
    {fault("core_vmem_flip", "address = 0\ndata = 1\ncommand = 1"), WEFT_ERROR_OK, Recovery::kNone},
    {fault("core_acc_flip", "address = 0\ndata = 1\ncommand = 1"), WEFT_ERROR_OK, Recovery::kNone},
    {fault("core_vmem_flip", "address = 0\ndata = 3\ncommand = 1"), WEFT_ERROR_COMPUTE_FAULT, Recovery::kNone},
    {fault("core_not_done", "queue = \"mxu\"\ncommand = 1"), WEFT_ERROR_DEVICE_HUNG, Recovery::kNone},
    {fault("core_lost_done", "queue = \"dma_in\"\ncommand = 1"), WEFT_ERROR_DEVICE_HUNG, Recovery::kNone},
    {fault("core_lost_done", "queue = \"dma_out\"\ncommand = 1"), WEFT_ERROR_DEVICE_HUNG, Recovery::kNone},
    {fault("core_not_ready", "queue = \"mxu\"\ncommand = 1"), WEFT_ERROR_DEVICE_HUNG, Recovery::kNone},
    {fault("core_not_done", "queue = \"dma_in\"\ncommand = 1"), WEFT_ERROR_DEVICE_HUNG, Recovery::kNone},
    {fault("core_lost_done", "queue = \"vpu\"\ncommand = 1"), WEFT_ERROR_DEVICE_HUNG, Recovery::kNone},
    {fault("core_lost_post", "queue = \"dma_in\"\ncommand = 1"), WEFT_ERROR_DEVICE_HUNG, Recovery::kNone},
    {fault("core_bus_error", "queue = \"dma_in\"\ncommand = 1\nbeat = 1"), WEFT_ERROR_DMA_FAULT, Recovery::kNone},
    {fault("core_raise", "queue = \"mxu\"\ncommand = 1\ncode = \"ALIGNMENT\""), WEFT_ERROR_COMPUTE_FAULT,
     Recovery::kNone},
    {fault("core_raise", "queue = \"vpu\"\ncommand = 1\ncode = \"ICI\""), WEFT_ERROR_ICI_FAULT, Recovery::kNone},
    {fault("host_write_error") + fault("core_raise", "queue = \"mxu\"\ncommand = 1\ncode = \"RANGE\""),
     WEFT_ERROR_DMA_FAULT, Recovery::kNone},
    {fault("reset_stuck") + fault("firmware_dead", "nth = 2"), WEFT_ERROR_DEVICE_HUNG, Recovery::kReopened},
    {fault("device_gone", "queue = 1\nnth = 2"), WEFT_ERROR_DEVICE_LOST, Recovery::kReopened},
    {fault("simulator_exit", "queue = 1\nnth = 2"), WEFT_ERROR_DEVICE_LOST, Recovery::kReopened},
};

constexpr uint64_t kRtlWatchdogCycles = 100'000;

/// What of a trial must be the same on both cores.
std::string told(const tools::TrialResult& result) {
  std::string text;
  for (const auto& command : result.commands)
    text += command.name + ": " + weft_status_name(command.status) +
            (command.waited_out ? " after a wait in vain" : "") + "\n";
  return text;
}

}  // namespace

TEST_CASE("every fault of the catalogue is answered as the catalogue says, on both cores alike") {
  std::map<std::string, std::string> on_fast;
  for (const std::string core : {"fast", "rtl"}) {
    // The default is 2,000,000 cycles, which the fast core jumps over and the RTL counts one by one.
    auto trial = FaultTrial::open("sim:nano?core=" + core, core == "rtl" ? kRtlWatchdogCycles : 0);
    if (!trial.ok()) FAIL(trial.error().message);
    REQUIRE(trial.value().targets().queues == std::vector<uint32_t>{1, 2});
    for (const Entry& entry : kCatalogue) {
      CAPTURE(core, entry.schedule);
      const auto faults = runtime::read_fault_schedule(entry.schedule, "catalogue");
      if (!faults.ok()) FAIL(faults.error().message);
      const auto result = trial.value().run(faults.value(), FaultTrial::Pace::kOneByOne);
      if (!result.ok()) FAIL(result.error().message);
      CAPTURE(result.value().message, told(result.value()));
      CHECK(std::string(weft_status_name(result.value().first_error)) == weft_status_name(entry.status));
      CHECK(static_cast<int>(result.value().recovery) == static_cast<int>(entry.recovery));
      CHECK(result.value().acted >= 1);
      for (const auto& sentence : result.value().broken) FAIL_CHECK(sentence);
      if (core == "fast")
        on_fast[entry.schedule] = told(result.value());
      else
        CHECK(told(result.value()) == on_fast[entry.schedule]);
    }
  }
}

TEST_CASE("the catalogue names every kind of injected fault") {
  for (const auto& kind : spec::kInjectedFaultNames) {
    if (kind.value == WEFT_INJECTED_FAULT_BOOT_STOP) continue;  // boot_faults_test: there is no device yet to run on
    if (runtime::is_link_fault(static_cast<uint32_t>(kind.value))) continue;  // slice_faults_test: they need a slice
    CAPTURE(kind.name);
    const std::string line = "kind = \"" + std::string(kind.name) + "\"\n";
    CHECK(std::any_of(kCatalogue.begin(), kCatalogue.end(),
                      [&](const Entry& entry) { return entry.schedule.find(line) != std::string::npos; }));
  }
}
