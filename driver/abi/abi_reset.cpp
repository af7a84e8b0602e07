// C ABI: resets.
#include "driver/abi/abi.hpp"

using namespace weft::driver;
using namespace weft::driver::abi;

weft_status weft_reset(weft_device* device, weft_queue* queue, weft_reset_level level, weft_reset_report* report) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(device);
    weft_reset_report filled = WEFT_INIT(weft_reset_report);
    if (report != nullptr) {
      if (Status s = check_size(report, "report"); !s.ok()) return s;
    }
    if (number_of(level) < WEFT_RESET_LEVEL_QUEUE || number_of(level) > WEFT_RESET_LEVEL_DEVICE)
      return Status(WEFT_ERROR_INVALID_ARGUMENT, "there are the levels queue, engine and device");
    if ((level == WEFT_RESET_LEVEL_QUEUE) != (queue != nullptr))
      return Status(WEFT_ERROR_INVALID_ARGUMENT, "level queue resets 'queue', the other levels have none");
    if (queue != nullptr && queue->device != device->device)
      return Status(WEFT_ERROR_INVALID_ARGUMENT, "the queue belongs to another device");
    Status status;
    switch (level) {
      case WEFT_RESET_LEVEL_QUEUE:
        status = device->device->reset_queue(queue->queue, filled);
        break;
      case WEFT_RESET_LEVEL_ENGINE:
        status = device->device->reset_core(filled);
        break;
      case WEFT_RESET_LEVEL_DEVICE:
        status = device->device->reset(&filled);
        break;
    }
    if (report != nullptr && filled.level != 0) give(filled, report);
    return status;
  });
}
