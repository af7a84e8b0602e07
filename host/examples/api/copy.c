/* Words from the host go to the device's memory and back, beside a fill. One queue runs its commands in order. */
#include <string.h>

#include "check.h"

enum { kWords = 4096, kBytes = kWords * 4 };

int main(int argc, char** argv) {
  weft_device* device = NULL;
  weft_queue* queue = NULL;
  weft_buffer *host = NULL, *hbm = NULL;
  weft_event* event = NULL;
  void* pointer = NULL;
  CHECK(weft_open(argc > 1 ? argv[1] : "sim:nano", &device));
  CHECK(weft_queue_create(device, NULL, &queue));
  CHECK(weft_buffer_create(device, WEFT_MEMORY_HOST, kBytes, &host)); /* the device reads and writes it by DMA */
  CHECK(weft_buffer_create(device, WEFT_MEMORY_HBM, kBytes, &hbm));
  CHECK(weft_buffer_map(host, &pointer));
  uint32_t* words = pointer;
  for (uint32_t i = 0; i < kWords; i++) words[i] = i;

  CHECK(weft_copy(queue, hbm, 0, host, 0, kBytes, NULL, NULL));
  CHECK(weft_fill(queue, hbm, 0, 16, 0xffffffff, NULL, NULL)); /* over the first four words */
  CHECK(weft_copy(queue, host, 0, hbm, 0, kBytes, NULL, &event));
  CHECK(weft_event_wait(event, NULL)); /* before it `words` must not be touched */

  uint32_t wrong = 0;
  for (uint32_t i = 0; i < kWords; i++) wrong += words[i] != (i < 4 ? 0xffffffff : i);
  printf("%u of %u words are wrong\n", wrong, (unsigned)kWords);

  weft_event_release(event);
  weft_buffer_release(hbm);
  weft_buffer_release(host);
  CHECK(weft_queue_release(queue));
  CHECK(weft_close(device, NULL));
  return wrong != 0;
}
