// Interrupts of every ring, and timeline semaphores between queues.
#include <fmt/format.h>

#include <vector>

#include "driver/abi/abi.hpp"
#include "driver/transport/registers.hpp"
#include "host/tools/selftest/driver_handles.hpp"
#include "host/tools/selftest/selftest.hpp"

namespace weft::tools {
namespace {

constexpr uint64_t kDeadlineCycles = 50'000'000;

Result<QueueHandle> make_queue(weft_device* device) {
  weft_queue_options options = WEFT_INIT(weft_queue_options);
  options.entries = 4;
  weft_queue* queue = nullptr;
  if (const auto status = weft_queue_create(device, &options, &queue); status != WEFT_ERROR_OK)
    return Error{status, driver_words(status)};
  return QueueHandle(queue);
}

uint64_t lost_interrupts(weft_device* device) {
  weft_device_statistics statistics = WEFT_INIT(weft_device_statistics);
  return weft_device_get_statistics(device, &statistics) == WEFT_ERROR_OK ? statistics.lost_interrupts : UINT64_MAX;
}

/// Bits of INTERRUPT_STATUS that `action` sets.
template <typename Action>
Result<uint32_t> vectors_raised(driver::Transport& transport, Action&& action) {
  const auto cleared = driver::write32(transport, WEFT_REG_INTERRUPT_STATUS, driver::kAllOnes);
  if (!cleared.ok()) return Error{cleared.code(), cleared.message()};
  if (auto status = action(); !status.ok()) return status.error();
  const auto raised = driver::read32(transport, WEFT_REG_INTERRUPT_STATUS);
  if (!raised.ok()) return Error{raised.status().code(), raised.status().message()};
  return raised.value();
}

Status wait_for(weft_event* event) {
  const EventHandle handle(event);
  weft_wait_options options = WEFT_INIT(weft_wait_options);
  options.deadline_cycles = kDeadlineCycles;
  options.until_idle = 1;  // nobody but this thread would signal
  if (const auto status = weft_event_wait(event, &options); status != WEFT_ERROR_OK)
    return Error{status, driver_words(status)};
  return Ok{};
}

Status run_nop(weft_queue* queue) {
  weft_event* event = nullptr;
  if (const auto status = weft_nop(queue, nullptr, &event); status != WEFT_ERROR_OK)
    return Error{status, driver_words(status)};
  return wait_for(event);
}

Result<uint32_t> id_of(weft_queue* queue) {
  weft_queue_info info = WEFT_INIT(weft_queue_info);
  if (const auto status = weft_queue_get_info(queue, &info); status != WEFT_ERROR_OK)
    return Error{status, driver_words(status)};
  return info.id;
}

Result<SemaphoreHandle> make_semaphore(weft_device* device, uint64_t value) {
  weft_semaphore* semaphore = nullptr;
  if (const auto status = weft_semaphore_create(device, value, &semaphore); status != WEFT_ERROR_OK)
    return Error{status, driver_words(status)};
  return SemaphoreHandle(semaphore);
}

/// `first` waits for `go` and raises `done` to `value`; `second` waits for `done`. Then the host raises `go`.
std::string pass_on(weft_queue* first, weft_queue* second, weft_semaphore* go, weft_semaphore* done, uint64_t value) {
  weft_command_options options = WEFT_INIT(weft_command_options);
  options.wait_semaphore = go;
  options.wait_value = options.signal_value = value;
  options.signal_semaphore = done;
  weft_event *link = nullptr, *end = nullptr;
  if (const auto status = weft_nop(first, &options, &link); status != WEFT_ERROR_OK) return driver_words(status);
  const EventHandle link_handle(link);
  if (const auto status = weft_wait(second, done, value, nullptr, &end); status != WEFT_ERROR_OK)
    return driver_words(status);
  weft_event_info early = WEFT_INIT(weft_event_info);
  if (weft_event_query(end, &early) == WEFT_ERROR_OK && early.done != 0) {
    weft_event_release(end);
    return fmt::format("the wait for {} ended before anybody had raised it", value);
  }
  if (const auto status = weft_semaphore_signal(go, value); status != WEFT_ERROR_OK) {
    weft_event_release(end);
    return driver_words(status);
  }
  if (auto status = wait_for(end); !status.ok()) return status.error().message;
  uint64_t reached = 0;
  if (const auto status = weft_semaphore_get_value(done, &reached); status != WEFT_ERROR_OK)
    return driver_words(status);
  return reached == value ? std::string() : fmt::format("the semaphore stands at {}, not at {}", reached, value);
}

}  // namespace

CheckResult check_interrupts(runtime::Session& session) {
  constexpr const char* kName = "interrupts";
  weft_device* device = session.device();
  driver::Transport& transport = device->device->transport();
  const uint64_t lost_before = lost_interrupts(device);
  uint32_t seen = 0;
  const auto expect = [&](uint32_t vector, auto&& action) -> std::string {
    const auto raised = vectors_raised(transport, action);
    if (!raised.ok()) return fmt::format("vector {}: {}", vector, raised.error().message);
    if ((raised.value() >> vector & 1) == 0)
      return fmt::format("vector {} was not raised; INTERRUPT_STATUS is {:#x}", vector, raised.value());
    seen |= 1u << vector;
    return {};
  };
  std::string wrong = expect(0, [&]() -> Status {  // an admin command
    if (const auto status = weft_device_set_watchdog(device, 0); status != WEFT_ERROR_OK)
      return Error{status, driver_words(status)};
    return Ok{};
  });
  std::vector<QueueHandle> queues;
  for (weft_queue* next = session.queue(); next != nullptr && wrong.empty();) {
    const auto id = id_of(next);
    if (!id.ok()) return failed(kName, id.error().message);
    wrong = expect(id.value(), [&] { return run_nop(next); });
    auto another = make_queue(device);
    next = another.ok() ? another.value().get() : nullptr;
    if (another.ok()) queues.push_back(std::move(another.value()));
  }
  if (wrong.empty() && queues.size() + 1 != WEFT_LIMIT_IO_QUEUES)
    wrong = fmt::format("{} queues could be made, not {}", queues.size() + 1, +WEFT_LIMIT_IO_QUEUES);
  if (!wrong.empty()) return failed(kName, wrong);
  if (const uint64_t lost = lost_interrupts(device) - lost_before; lost != 0)
    return failed(kName,
                  fmt::format("{} of {} interrupts were raised and did not arrive", lost, +WEFT_PCI_MSIX_VECTORS));
  return passed(kName, fmt::format("{} of {} MSI-X vectors raised by their rings and delivered",
                                   __builtin_popcount(seen), +WEFT_PCI_MSIX_VECTORS));
}

CheckResult check_timelines(runtime::Session& session) {
  constexpr const char* kName = "timelines";
  constexpr uint64_t kRounds = 32;
  const auto second = make_queue(session.device());
  const auto go = make_semaphore(session.device(), 0);
  const auto done = make_semaphore(session.device(), 0);
  if (!second.ok()) return failed(kName, second.error().message);
  if (!go.ok()) return failed(kName, go.error().message);
  if (!done.ok()) return failed(kName, done.error().message);
  uint64_t value = 0;
  for (uint64_t round = 1; round <= kRounds; round++) {
    value += round % 2 == 0 ? uint64_t{1} << round : 1;
    const bool swap = round % 2 == 0;
    const auto wrong =
        pass_on(swap ? second.value().get() : session.queue(), swap ? session.queue() : second.value().get(),
                go.value().get(), done.value().get(), value);
    if (!wrong.empty()) return failed(kName, fmt::format("round {}: {}", round, wrong));
  }
  return passed(kName, fmt::format("{} rounds host -> queue -> queue, values up to {}", kRounds, value));
}

}  // namespace weft::tools
