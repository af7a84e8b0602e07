/* A program with an event loop of its own: epoll sleeps on the device's descriptor beside a timer; no thread waits. */
#define _GNU_SOURCE  // CLOCK_MONOTONIC
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "check.h"

enum { kCommands = 32, kBytes = 1 << 18 };

int main(int argc, char** argv) {
  weft_device* device = NULL;
  weft_queue* queue = NULL;
  weft_buffer* buffer = NULL;
  weft_event* events[kCommands] = {NULL};
  int descriptor = -1;
  CHECK(weft_open(argc > 1 ? argv[1] : "sim:nano", &device));
  CHECK(weft_queue_create(device, NULL, &queue));
  CHECK(weft_buffer_create(device, WEFT_MEMORY_HBM, kBytes, &buffer));
  CHECK(weft_device_get_descriptor(device, &descriptor));

  const int loop = epoll_create1(EPOLL_CLOEXEC), timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  const struct itimerspec second = {{1, 0}, {1, 0}};
  struct epoll_event of_device = {.events = EPOLLIN, .data.fd = descriptor},
                     of_timer = {.events = EPOLLIN, .data.fd = timer};
  if (loop < 0 || timer < 0 || timerfd_settime(timer, 0, &second, NULL) != 0 ||
      epoll_ctl(loop, EPOLL_CTL_ADD, descriptor, &of_device) != 0 ||
      epoll_ctl(loop, EPOLL_CTL_ADD, timer, &of_timer) != 0) {
    perror("epoll");
    return 1;
  }
  for (uint32_t i = 0; i < kCommands; i++) CHECK(weft_fill(queue, buffer, 0, kBytes, i, NULL, &events[i]));

  unsigned done = 0, seconds = 0;
  while (done < kCommands && seconds < 60) {
    struct epoll_event ready;
    if (epoll_wait(loop, &ready, 1, -1) != 1) continue;
    if (ready.data.fd == timer) {
      uint64_t expired = 0;
      if (read(timer, &expired, sizeof expired) == sizeof expired) seconds += (unsigned)expired;
      continue;
    }
    CHECK(weft_device_process(device)); /* looks, does not wait */
    for (weft_event_info info = WEFT_INIT(weft_event_info); done < kCommands; done++) {
      CHECK(weft_event_query(events[done], &info));
      if (info.done == 0) break; /* commands of a queue end in their order */
      if (info.status != WEFT_ERROR_OK) printf("command %u: %s\n", done, weft_status_name(info.status));
      weft_event_release(events[done]);
    }
  }
  printf("%u of %d commands have ended\n", done, kCommands);

  close(timer);
  close(loop);
  weft_buffer_release(buffer);
  CHECK(weft_queue_release(queue));
  CHECK(weft_close(device, NULL));
  return done != kCommands;
}
