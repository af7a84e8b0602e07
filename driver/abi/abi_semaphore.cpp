// C ABI: timeline semaphores.
#include "driver/abi/abi_command.hpp"

using namespace weft::driver;
using namespace weft::driver::abi;

namespace {

/// Semaphores go with a reset.
Status check_generation(const weft_semaphore& semaphore) {
  if (Status s = semaphore.device->check_not_closed(); !s.ok()) return s;
  if (semaphore.timeline->generation() == semaphore.device->generation()) return {};
  return failure(WEFT_ERROR_INVALID_STATE, "semaphore {} went with the reset of generation {}: create another",
                 semaphore.timeline->id(), semaphore.timeline->generation());
}

weft_status submit_with(weft_queue* queue, weft_queue_opcode opcode, const weft_command_options* options,
                        const weft_command_options& own, weft_event** event) {
  weft_command_options merged = own;
  static_assert(kFormerForm<weft_command_options>.size == 0);  // else it would be copied field by field up to there
  const bool unknown = options != nullptr && (!is_size_of<weft_command_options>(options->size) ||
                                              unknown_byte(*options) != 0);  // weft_submit says so
  if (options != nullptr && !unknown) {
    merged.tag = options->tag;
    merged.budget_kcycles = options->budget_kcycles;
    merged.fence_before = options->fence_before;
    merged.chain = options->chain;
    merged.profile = options->profile;
    if (opcode != WEFT_QUEUE_OPCODE_WAIT)
      merged.wait_semaphore = options->wait_semaphore, merged.wait_value = options->wait_value;
    if (opcode != WEFT_QUEUE_OPCODE_SIGNAL)
      merged.signal_semaphore = options->signal_semaphore, merged.signal_value = options->signal_value;
  }
  weft_command command = WEFT_INIT(weft_command);
  command.opcode = opcode;
  command.options = unknown ? options : &merged;
  command.event = event;
  return weft_submit(queue, &command, 1);
}

}  // namespace

weft_status weft_semaphore_create(weft_device* device, uint64_t value, weft_semaphore** semaphore) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(semaphore);
    *semaphore = nullptr;
    WEFT_REQUIRE(device);
    auto created = Timeline::create(device->device, value);
    if (!created.ok()) return created.status();
    *semaphore = new weft_semaphore{device->device, TimelineHandle(std::move(created.value()))};
    return {};
  });
}

void weft_semaphore_release(weft_semaphore* semaphore) {
  if (semaphore == nullptr || put_aside(semaphore, inherited(semaphore))) return;
  delete semaphore;
}

weft_status weft_semaphore_get_value(weft_semaphore* semaphore, uint64_t* value) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(semaphore);
    WEFT_REQUIRE(value);
    if (Status s = check_generation(*semaphore); !s.ok()) return s;
    semaphore->device->poll_owed();
    const Status failed = semaphore->timeline->failure();
    if (failed.ok()) *value = semaphore->timeline->value();
    return failed;
  });
}

weft_status weft_semaphore_signal(weft_semaphore* semaphore, uint64_t value) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(semaphore);
    if (Status s = check_generation(*semaphore); !s.ok()) return s;
    return semaphore->timeline->signal(*semaphore->device, value);
  });
}

weft_status weft_semaphore_wait(weft_semaphore* semaphore, uint64_t value, const weft_wait_options* options) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(semaphore);
    const auto limits = wait_limits(options);
    if (!limits.ok()) return limits.status();
    if (Status s = check_generation(*semaphore); !s.ok()) return s;
    return semaphore->device->wait_timeline(semaphore->timeline.share(), value, limits.value());
  });
}

weft_status weft_wait(weft_queue* queue, weft_semaphore* semaphore, uint64_t value, const weft_command_options* options,
                      weft_event** event) {
  weft_command_options own = WEFT_INIT(weft_command_options);
  own.wait_semaphore = semaphore;
  own.wait_value = value;
  return submit_with(queue, WEFT_QUEUE_OPCODE_WAIT, options, own, event);
}

weft_status weft_signal(weft_queue* queue, weft_semaphore* semaphore, uint64_t value,
                        const weft_command_options* options, weft_event** event) {
  weft_command_options own = WEFT_INIT(weft_command_options);
  own.signal_semaphore = semaphore;
  own.signal_value = value;
  return submit_with(queue, WEFT_QUEUE_OPCODE_SIGNAL, options, own, event);
}
