// fork: a child that calls the driver of its parent is told INVALID_STATE, at once, whatever other threads do
// meanwhile.
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>

#include "testbench/lifetime/caller.hpp"

namespace weft::lifetime {
namespace {

/// What the child tells of one call, through a pipe. No more than the child can do without a lock.
struct Told {
  uint32_t call;
  uint32_t status;
  int64_t took_us;
};

}  // namespace

void Caller::fork_child() {
  const auto device = world_.devices.pick(draw_);
  const auto queue = world_.queues.pick(draw_);
  const auto event = world_.events.pick(draw_);
  const auto semaphore = world_.semaphores.pick(draw_);
  const auto buffer = world_.buffers.pick(draw_);
  int ends[2];
  if (::pipe(ends) != 0) return world_.fail("pipe: no descriptors");
  pid_t child = -1;
  (void)call(Call::k_fork, [&] {
    child = ::fork();
    return WEFT_ERROR_OK;
  });
  if (child == 0) {
    const auto tell = [&](Call kind, auto&& function) {
      const Told begun{static_cast<uint32_t>(kind), ~0u, 0};  // so that the parent knows which call does not return
      (void)!::write(ends[1], &begun, sizeof begun);
      const int64_t begin = now_us();
      const weft_status status = function();
      const Told told{static_cast<uint32_t>(kind), static_cast<uint32_t>(status), now_us() - begin};
      (void)!::write(ends[1], &told, sizeof told);
    };
    if (device) {
      uint64_t cycle = 0;
      weft_queue* made = nullptr;
      weft_semaphore* new_semaphore = nullptr;
      weft_buffer* memory = nullptr;
      tell(Call::k_device_cycle, [&] { return weft_device_cycle(device->handle, &cycle); });
      tell(Call::k_queue_create, [&] { return weft_queue_create(device->handle, nullptr, &made); });
      tell(Call::k_semaphore_create, [&] { return weft_semaphore_create(device->handle, 0, &new_semaphore); });
      tell(Call::k_buffer_create, [&] { return weft_buffer_create(device->handle, WEFT_MEMORY_HBM, 64, &memory); });
      tell(Call::k_device_reset, [&] { return weft_device_reset(device->handle); });
    }
    if (queue) {
      weft_event* submitted = nullptr;
      weft_queue_info info = WEFT_INIT(weft_queue_info);
      tell(Call::k_nop, [&] { return weft_nop(queue->handle, nullptr, &submitted); });
      tell(Call::k_queue_get_info, [&] { return weft_queue_get_info(queue->handle, &info); });
      tell(Call::k_queue_cancel, [&] { return weft_queue_cancel(queue->handle); });
    }
    if (event) {
      weft_event_info info = WEFT_INIT(weft_event_info);
      tell(Call::k_event_query, [&] { return weft_event_query(event->handle, &info); });
      tell(Call::k_event_wait, [&] { return weft_event_wait(event->handle, nullptr); });
      tell(Call::k_event_cancel, [&] { return weft_event_cancel(event->handle); });
    }
    if (semaphore) {
      uint64_t value = 0;
      tell(Call::k_semaphore_get_value, [&] { return weft_semaphore_get_value(semaphore->handle, &value); });
      tell(Call::k_semaphore_signal, [&] { return weft_semaphore_signal(semaphore->handle, 1'000'000); });
      tell(Call::k_semaphore_wait, [&] { return weft_semaphore_wait(semaphore->handle, 1'000'000, nullptr); });
      tell(Call::k_semaphore_release, [&] {  // "void": nothing happens
        weft_semaphore_release(semaphore->handle);
        return WEFT_ERROR_INVALID_STATE;
      });
    }
    if (buffer) {
      void* pointer = nullptr;
      tell(Call::k_buffer_map, [&] { return weft_buffer_map(buffer->handle, &pointer); });
      tell(Call::k_buffer_release, [&] {
        weft_buffer_release(buffer->handle);
        return WEFT_ERROR_INVALID_STATE;
      });
    }
    if (queue) tell(Call::k_queue_release, [&] { return weft_queue_release(queue->handle); });
    if (device) tell(Call::k_close, [&] { return weft_close(device->handle, nullptr); });
    ::_exit(0);
  }
  ::close(ends[1]);
  if (child < 0) {
    ::close(ends[0]);
    return world_.fail("fork: no process");
  }
  const int64_t last_us = now_us() + world_.slack_ms() * 1000;
  Told told{};
  bool in_call = false;
  for (;;) {
    pollfd readable{ends[0], POLLIN, 0};
    const int64_t left_ms = (last_us - now_us()) / 1000;
    if (left_ms <= 0 || ::poll(&readable, 1, static_cast<int>(left_ms)) <= 0) {
      ::kill(child, SIGKILL);
      world_.fail(fmt::format("in a forked child {} has not returned for {} ms",
                              in_call ? name_of(static_cast<Call>(told.call)) : "nothing", world_.slack_ms()));
      break;
    }
    if (::read(ends[0], &told, sizeof told) != sizeof told) break;
    in_call = told.status == ~0u;
    if (in_call) continue;
    world_.findings.checked("call in a forked child");
    // "weft_close [...] give the handle back and do nothing else"
    const bool closes = static_cast<Call>(told.call) == Call::k_close;
    const weft_status allowed = closes ? WEFT_ERROR_OK : WEFT_ERROR_INVALID_STATE;
    if (static_cast<weft_status>(told.status) != allowed)
      world_.fail(fmt::format("in a forked child {} returned {}; allowed: {}", name_of(static_cast<Call>(told.call)),
                              weft_status_name(static_cast<weft_status>(told.status)), weft_status_name(allowed)));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
    world_.fail(fmt::format("a forked child ended with signal {} in {}", WTERMSIG(status),
                            name_of(static_cast<Call>(told.call))));
}

}  // namespace weft::lifetime
