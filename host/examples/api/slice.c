/* Four chips joined by links: who is whose neighbour, and a command on each of them. */
#include "check.h"

int main(int argc, char** argv) {
  static const char* const kPorts[] = {"+x", "-x", "+y", "-y", "+z", "-z"};
  weft_slice* slice = NULL;
  weft_slice_info info = WEFT_INIT(weft_slice_info);
  CHECK(weft_slice_open(argc > 1 ? argv[1] : "sim:nano-2x2", &slice));
  CHECK(weft_slice_get_info(slice, &info));
  printf("%u chips, %u x %u x %u\n", info.chips, info.dimensions[0], info.dimensions[1], info.dimensions[2]);
  for (uint32_t chip = 0; chip < info.chips; chip++) {
    weft_chip_place place = WEFT_INIT(weft_chip_place);
    CHECK(weft_slice_get_chip(slice, chip, &place));
    printf("  chip %u at %u,%u,%u:", chip, place.coordinates[0], place.coordinates[1], place.coordinates[2]);
    for (int port = 0; port < 6; port++)
      if (place.neighbors[port] != WEFT_NO_CHIP) printf(" %s to %u", kPorts[port], place.neighbors[port]);
    printf("\n");

    weft_device* device = NULL; /* a device like any other; it belongs to the slice */
    weft_queue* queue = NULL;
    weft_event* event = NULL;
    CHECK(weft_slice_get_device(slice, chip, &device));
    CHECK(weft_queue_create(device, NULL, &queue));
    CHECK(weft_nop(queue, NULL, &event));
    CHECK(weft_event_wait(event, NULL));
    weft_event_release(event);
    CHECK(weft_queue_release(queue));
  }
  CHECK(weft_slice_close(slice, NULL));
  return 0;
}
