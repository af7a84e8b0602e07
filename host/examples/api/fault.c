/* A command that goes wrong, and what the driver tells of it. The device is told to halt a queue for a bad doorbell;
 * the queue is lost with what was in it, other queues go on. */
#include "check.h"

int main(int argc, char** argv) {
  weft_device* device = NULL;
  weft_queue *queue = NULL, *other = NULL;
  weft_queue_info info = WEFT_INIT(weft_queue_info);
  weft_event *event = NULL, *fine = NULL;
  CHECK(weft_open(argc > 1 ? argv[1] : "sim:nano", &device));
  CHECK(weft_queue_create(device, NULL, &queue));
  CHECK(weft_queue_create(device, NULL, &other));
  CHECK(weft_queue_get_info(queue, &info));

  weft_fault_injection fault = WEFT_INIT(weft_fault_injection); /* simulators only: never by time, by occasion */
  fault.kind = WEFT_INJECTED_FAULT_DOORBELL_VALUE;
  fault.target = info.id;
  fault.value[0] = 0xdead;
  CHECK(weft_fault_inject(device, &fault));

  weft_command_options options = WEFT_INIT(weft_command_options);
  options.tag = 42; /* ours: it comes back in every message about the command */
  CHECK(weft_nop(queue, &options, &event));
  const weft_status status = weft_event_wait(event, NULL);
  weft_error_info error = WEFT_INIT(weft_error_info);
  CHECK(weft_event_get_error(event, &error)); /* as weft_last_error after the wait; also in a callback */
  printf("status   %s\nmessage  %s\nhint     %s\nlost     %s\ntag      %u\n", weft_status_name(status), error.message,
         error.hint, error.scope == WEFT_ERROR_SCOPE_QUEUE ? "the queue" : "something else", error.tag);

  CHECK(weft_nop(other, NULL, &fine));
  CHECK(weft_event_wait(fine, NULL));
  CHECK(weft_queue_release(queue));
  CHECK(weft_queue_create(device, NULL, &queue));
  printf("another queue goes on, and a new one has taken the place of the first\n");

  weft_event_release(event);
  weft_event_release(fine);
  CHECK(weft_queue_release(other));
  CHECK(weft_queue_release(queue));
  CHECK(weft_close(device, NULL));
  return status != WEFT_ERROR_BAD_DOORBELL;
}
