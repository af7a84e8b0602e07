/* Two queues and the host, in step by one timeline semaphore: fill, copy, look. Nobody waits for an event in between.
 */
#include "check.h"

enum { kBytes = 1 << 16 };

int main(int argc, char** argv) {
  weft_device* device = NULL;
  weft_queue *fills = NULL, *copies = NULL;
  weft_buffer *host = NULL, *hbm = NULL;
  weft_semaphore* semaphore = NULL;
  void* pointer = NULL;
  CHECK(weft_open(argc > 1 ? argv[1] : "sim:nano", &device));
  CHECK(weft_queue_create(device, NULL, &fills));
  CHECK(weft_queue_create(device, NULL, &copies));
  CHECK(weft_buffer_create(device, WEFT_MEMORY_HOST, kBytes, &host));
  CHECK(weft_buffer_create(device, WEFT_MEMORY_HBM, kBytes, &hbm));
  CHECK(weft_buffer_map(host, &pointer));
  CHECK(weft_semaphore_create(device, 0, &semaphore));

  uint32_t wrong = 0;
  for (uint32_t round = 0; round < 4; round++) {
    /* 3 round + 1: the host has read; + 2: filled; + 3: copied. A command may wait before its signal is submitted. */
    weft_command_options fill = WEFT_INIT(weft_command_options), copy = WEFT_INIT(weft_command_options);
    fill.wait_semaphore = fill.signal_semaphore = copy.wait_semaphore = copy.signal_semaphore = semaphore;
    fill.wait_value = 3 * round + 1, fill.signal_value = 3 * round + 2;
    copy.wait_value = 3 * round + 2, copy.signal_value = 3 * round + 3;
    CHECK(weft_copy(copies, host, 0, hbm, 0, kBytes, &copy, NULL));
    CHECK(weft_fill(fills, hbm, 0, kBytes, 0xabc0 + round, &fill, NULL));
    CHECK(weft_semaphore_signal(semaphore, 3 * round + 1));
    CHECK(weft_semaphore_wait(semaphore, 3 * round + 3, NULL));
    for (uint32_t i = 0; i < kBytes / 4; i++) wrong += ((const uint32_t*)pointer)[i] != 0xabc0 + round;
  }
  uint64_t value = 0;
  CHECK(weft_semaphore_get_value(semaphore, &value));
  printf("4 rounds, the semaphore stands at %llu, %u words are wrong\n", (unsigned long long)value, wrong);

  weft_semaphore_release(semaphore);
  weft_buffer_release(hbm);
  weft_buffer_release(host);
  CHECK(weft_queue_release(copies));
  CHECK(weft_queue_release(fills));
  CHECK(weft_close(device, NULL));
  return wrong != 0;
}
