/* Opens a device, tells what it is, and lets it do nothing once. */
#include <inttypes.h>

#include "check.h"

int main(int argc, char** argv) {
  weft_device* device = NULL;
  weft_device_info info = WEFT_INIT(weft_device_info);
  CHECK(weft_open(argc > 1 ? argv[1] : "sim:nano", &device));
  CHECK(weft_device_get_info(device, &info));
  printf("%s: %" PRIu64 " MHz, %" PRIu64 " MiB of HBM, %u queues\n", info.preset, info.clock_hz / 1000000,
         info.hbm_bytes >> 20, info.max_queues);

  weft_queue* queue = NULL;
  weft_event* event = NULL;
  CHECK(weft_queue_create(device, NULL, &queue));
  CHECK(weft_nop(queue, NULL, &event)); /* returns at once; the event tells how the command ends */
  CHECK(weft_event_wait(event, NULL));
  printf("the device has done nothing, as it was told\n");

  weft_event_release(event);
  CHECK(weft_queue_release(queue));
  CHECK(weft_close(device, NULL));
  return 0;
}
