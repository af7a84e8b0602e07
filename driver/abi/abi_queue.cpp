// C ABI: queues.
#include <algorithm>

#include "driver/abi/abi.hpp"

using namespace weft::driver;
using namespace weft::driver::abi;

namespace {

/// The queue is neither closed with its device nor gone with a reset.
Status check_alive(const weft_queue& queue) {
  if (Status s = queue.device->check_not_closed(); !s.ok()) return s;
  return queue.queue->state() == WEFT_QUEUE_STATE_DELETED ? queue.queue->refusal() : Status();
}

}  // namespace

weft_status weft_queue_create(weft_device* device, const weft_queue_options* options, weft_queue** queue) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(queue);
    *queue = nullptr;
    WEFT_REQUIRE(device);
    const auto chosen = options_or_default(options);
    if (!chosen.ok()) return chosen.status();
    constexpr uint32_t kDefaultEntries = 1024;
    const uint32_t entries = chosen.value().entries != 0 ? chosen.value().entries : kDefaultEntries;
    const uint32_t twice =
        std::min<uint32_t>(WEFT_LIMIT_RING_ENTRIES_MAX, std::min<uint32_t>(entries, WEFT_LIMIT_RING_ENTRIES_MAX) * 2);
    QueueShape shape;
    shape.entries = entries;
    shape.completion_entries = chosen.value().completion_entries;
    if (const weft_queue* host = chosen.value().completions; host != nullptr) {
      WEFT_REQUIRE(host);
      if (host->device != device->device)
        return failure(WEFT_ERROR_INVALID_ARGUMENT, "queue {} with the completion ring is of another device",
                       host->queue->id());
      shape.completions = host->queue;
    } else if (shape.completion_entries == 0) {
      shape.completion_entries = twice;
    }
    shape.priority = chosen.value().priority;
    shape.coalesce_count = chosen.value().coalesce_count;
    shape.coalesce_cycles = chosen.value().coalesce_cycles;
    auto handle = std::make_unique<weft_queue>();  // before the device has the queue
    handle->device = device->device;
    auto created = device->device->create_queue(shape);
    if (!created.ok()) return created.status();
    handle->queue = std::move(created.value());
    *queue = handle.release();
    return {};
  });
}

weft_status weft_queue_release(weft_queue* queue) {
  return guard([&]() -> Status {
    if (queue == nullptr) return {};
    if (put_aside(queue, inherited(queue))) return inherited_argument("queue");
    const Status status = queue->device->delete_queue(queue->queue);  // bad_alloc: the handle stays
    delete queue;
    return status;
  });
}

weft_status weft_queue_cancel(weft_queue* queue) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(queue);
    if (Status s = check_alive(*queue); !s.ok()) return s;
    return queue->device->cancel_all(*queue->queue);
  });
}

weft_status weft_queue_get_info(weft_queue* queue, weft_queue_info* info) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(queue);
    if (Status s = check_size(info, "info"); !s.ok()) return s;
    if (Status s = check_alive(*queue); !s.ok()) return s;
    const auto snapshot = queue->queue->snapshot();
    const weft_queue_info out{sizeof out,    queue->queue->id(), queue->queue->entries(),
                              snapshot.head, snapshot.tail,      snapshot.in_flight};
    give(out, info);
    return {};
  });
}
