/* Commands that are recorded once, and replayed with one call each: a fill and a copy, with another pattern each time.
 */
#include "check.h"

enum { kBytes = 4096, kReplays = 8 };

int main(int argc, char** argv) {
  weft_device* device = NULL;
  weft_queue* queue = NULL;
  weft_buffer *host = NULL, *hbm = NULL;
  weft_command_buffer* recording = NULL;
  void* pointer = NULL;
  CHECK(weft_open(argc > 1 ? argv[1] : "sim:nano", &device));
  CHECK(weft_queue_create(device, NULL, &queue));
  CHECK(weft_buffer_create(device, WEFT_MEMORY_HOST, kBytes, &host));
  CHECK(weft_buffer_create(device, WEFT_MEMORY_HBM, kBytes, &hbm));
  CHECK(weft_buffer_map(host, &pointer));

  weft_command commands[2] = {WEFT_INIT(weft_command), WEFT_INIT(weft_command)};
  commands[0].opcode = WEFT_QUEUE_OPCODE_FILL;
  commands[0].destination = hbm;
  commands[0].bytes = kBytes;
  commands[1].opcode = WEFT_QUEUE_OPCODE_COPY;
  commands[1].destination = host;
  commands[1].source = hbm;
  commands[1].bytes = kBytes;
  CHECK(weft_command_buffer_create(device, commands, 2, &recording));

  uint32_t wrong = 0;
  for (uint32_t replay = 0; replay < kReplays; replay++) {
    weft_event* event = NULL;
    commands[0].pattern = 0x1000 + replay;
    CHECK(weft_command_buffer_patch(recording, 0, &commands[0]));
    CHECK(weft_command_buffer_submit(queue, recording, &event)); /* both commands with one doorbell */
    CHECK(weft_event_wait(event, NULL));                         /* of the last one */
    weft_event_release(event);
    for (uint32_t i = 0; i < kBytes / 4; i++) wrong += ((const uint32_t*)pointer)[i] != 0x1000 + replay;
  }
  printf("%d replays, %u words are wrong\n", kReplays, wrong);

  weft_command_buffer_release(recording);
  weft_buffer_release(hbm);
  weft_buffer_release(host);
  CHECK(weft_queue_release(queue));
  CHECK(weft_close(device, NULL));
  return wrong != 0;
}
