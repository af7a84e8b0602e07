// A boot that stops at each of its stages, through the front door and on both cores: the stage is named within the
// bound, the process lives, and the device comes back once the fault is gone.
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "testbench/system/driver_handles.hpp"
#include "weft/spec/names.hpp"

using namespace weft;
using test::driver_message;
using test::Handle;

namespace {

/// What was wrong, a line each; empty: nothing. Runs on a thread of its own, where Catch must not be called.
std::string stop_at(const std::string& core, uint32_t stage) {
  const std::string who = core + ", stage " + std::string(spec::boot_stage_name(stage)) + ": ";
  weft_device* opened = nullptr;
  if (weft_status s = weft_open(("sim:nano?core=" + core).c_str(), &opened); s != WEFT_ERROR_OK)
    return who + driver_message(s) + "\n";
  const Handle<weft_device> device(opened);
  weft_fault_injection fault = WEFT_INIT(weft_fault_injection);
  fault.kind = WEFT_INJECTED_FAULT_BOOT_STOP;
  fault.target = stage;
  fault.nth = 1;
  fault.count = 1;
  if (weft_status s = weft_fault_inject(device.get(), &fault); s != WEFT_ERROR_OK)
    return who + driver_message(s) + "\n";
  std::string wrong;
  const weft_status stopped = weft_device_reset(device.get());
  const std::string message = driver_message(stopped);
  if (stopped != WEFT_ERROR_BOOT_FAILED ||
      message.find("(" + std::string(spec::boot_stage_name(stage))) == std::string::npos)
    wrong += who + "the boot that stops ends with " + message + "\n";
  weft_queue* queue = nullptr;
  if (weft_queue_create(device.get(), nullptr, &queue) == WEFT_ERROR_OK)
    wrong += who + "a failed device gives queues\n";
  (void)!weft_queue_release(queue);
  if (weft_status s = weft_device_reset(device.get()); s != WEFT_ERROR_OK)
    return wrong + who + "the next reset ends with " + driver_message(s) + "\n";
  if (weft_status s = weft_queue_create(device.get(), nullptr, &queue); s != WEFT_ERROR_OK)
    return wrong + who + driver_message(s) + "\n";
  const Handle<weft_queue> working(queue);
  weft_event* event = nullptr;
  weft_status s = weft_nop(queue, nullptr, &event);
  if (s == WEFT_ERROR_OK) s = weft_event_wait(event, nullptr);
  weft_event_release(event);
  return s == WEFT_ERROR_OK ? wrong : wrong + who + driver_message(s) + "\n";
}

}  // namespace

TEST_CASE("a boot that stops at any stage is BOOT_FAILED with the stage, and the next reset works, on both cores") {
  constexpr size_t kStages = WEFT_BOOT_STAGE_READY - WEFT_BOOT_STAGE_IMAGE_VERIFIED + 1;
  std::vector<std::string> wrong(2 * kStages);
  std::vector<std::thread> trials;
  size_t n = 0;
  for (const char* core : {"fast", "rtl"})
    for (uint32_t stage = WEFT_BOOT_STAGE_IMAGE_VERIFIED; stage <= WEFT_BOOT_STAGE_READY; stage++, n++)
      trials.emplace_back([&wrong, n, core = std::string(core), stage] { wrong[n] = stop_at(core, stage); });
  for (auto& trial : trials) trial.join();
  for (const auto& line : wrong) CHECK(line == "");
}
