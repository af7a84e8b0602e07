/// Signals eventfds of others without ever waiting for them.
#pragma once
#include <linux/aio_abi.h>

#include <memory>
#include <string>

#include "model/server/file_descriptor.hpp"

namespace weft::server {

/// write() of an eventfd waits while its counter is full. Its other holders can fill it at any moment, and O_NONBLOCK
/// is theirs as well, because the flag belongs to the shared description. So the kernel signals it instead, as the end
/// of an asynchronous read (io_submit(2), IOCB_FLAG_RESFD) of one byte that is there: that adds one, or leaves a full
/// counter as it is, and returns. One for all clients; one thread.
class EventSignal {
 public:
  /// nullptr and a sentence in `error`: the kernel has no asynchronous I/O, or no more of it for this process.
  static std::unique_ptr<EventSignal> make(std::string& error);
  ~EventSignal();
  EventSignal(const EventSignal&) = delete;
  EventSignal& operator=(const EventSignal&) = delete;

  /// False: `fd` is no eventfd, or the kernel has no memory.
  [[nodiscard]] bool send(int fd);

 private:
  EventSignal() = default;
  [[nodiscard]] long submit(int fd);
  void forget_finished();

  FileDescriptor source_;
  aio_context_t context_ = 0;
  unsigned sent_ = 0;  // since forget_finished()
};

}  // namespace weft::server
