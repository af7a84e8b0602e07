// io_setup(2), io_submit(2), io_getevents(2): the C library has no functions for them.
#include "model/server/event_signal.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace weft::server {
namespace {

constexpr unsigned kInFlight = 64;  // finished requests that the kernel keeps for us

}  // namespace

std::unique_ptr<EventSignal> EventSignal::make(std::string& error) {
  std::unique_ptr<EventSignal> signal(new EventSignal);
  signal->source_ = FileDescriptor(::memfd_create("weft-signal", MFD_CLOEXEC));
  const char byte = 0;
  if (!signal->source_.valid() || ::write(signal->source_.get(), &byte, sizeof byte) != sizeof byte) {
    error = fmt::format("no file for interrupts: {}", std::strerror(errno));
    return nullptr;
  }
  if (::syscall(SYS_io_setup, kInFlight, &signal->context_) != 0) {
    error = fmt::format(
        "interrupts need the kernel's asynchronous I/O, and io_setup says: {} (ENOSYS: the kernel has none; EAGAIN: "
        "/proc/sys/fs/aio-max-nr is used up)",
        std::strerror(errno));
    return nullptr;
  }
  return signal;
}

EventSignal::~EventSignal() {
  if (context_ != 0) ::syscall(SYS_io_destroy, context_);
}

long EventSignal::submit(int fd) {
  char byte = 0;
  iocb request{};
  request.aio_lio_opcode = IOCB_CMD_PREAD;
  request.aio_fildes = static_cast<uint32_t>(source_.get());
  request.aio_buf = reinterpret_cast<uintptr_t>(&byte);  // finished when io_submit() returns: the byte is in memory
  request.aio_nbytes = sizeof byte;
  request.aio_flags = IOCB_FLAG_RESFD;
  request.aio_resfd = static_cast<uint32_t>(fd);
  iocb* requests = &request;
  return ::syscall(SYS_io_submit, context_, 1, &requests);
}

bool EventSignal::send(int fd) {
  if (++sent_ == kInFlight) forget_finished();
  if (submit(fd) == 1) return true;
  if (errno != EAGAIN) return false;
  forget_finished();
  return submit(fd) == 1;
}

void EventSignal::forget_finished() {
  std::array<io_event, kInFlight> events;
  (void)::syscall(SYS_io_getevents, context_, 0, kInFlight, events.data(), nullptr);
  sent_ = 0;
}

}  // namespace weft::server
