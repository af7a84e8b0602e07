// A client that kills itself around one of its messages: doomed_client SOCKET NUMBER before|after
// Its life: open, map memory, a chain of fills in flight behind one doorbell, wait, close. All that a driver tells a
// device goes through sendmsg, so every place between two steps (an entry is written and its doorbell is not, a map is
// asked for and not answered) lies before or after some message. With NUMBER 0 it lives on, and tells how many there
// are.
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "weft/weft.h"

namespace {

std::atomic<unsigned> messages{0};
unsigned last = 0;
bool before = false;

void check(weft_status status, const char* what) {
  if (status == WEFT_ERROR_OK) return;
  std::printf("error %s: %s\n", what, weft_status_name(status));
  std::exit(1);
}

void live(const char* socket) {
  constexpr uint64_t kBytes = 1u << 20;
  constexpr size_t kLinks = 6;
  weft_device* device = nullptr;
  check(weft_open((std::string("vfio-user:") + socket).c_str(), &device), "open");
  weft_queue* queue = nullptr;
  check(weft_queue_create(device, nullptr, &queue), "queue");
  weft_buffer *host = nullptr, *hbm = nullptr;
  check(weft_buffer_create(device, WEFT_MEMORY_HOST, kBytes, &host), "host buffer");
  check(weft_buffer_create(device, WEFT_MEMORY_HBM, kBytes, &hbm), "HBM buffer");
  weft_command_options link = WEFT_INIT(weft_command_options);
  link.chain = 1;
  weft_event* event = nullptr;
  std::array<weft_command, kLinks> chain{};
  for (size_t i = 0; i < kLinks; i++) {
    weft_command& command = chain[i];
    command.size = sizeof command;
    command.opcode = WEFT_QUEUE_OPCODE_COPY;
    command.destination = i % 2 == 0 ? hbm : host;
    command.source = i % 2 == 0 ? host : hbm;
    command.bytes = kBytes;
    command.options = i + 1 < kLinks ? &link : nullptr;
    command.event = i + 1 < kLinks ? nullptr : &event;
  }
  check(weft_submit(queue, chain.data(), kLinks), "chain");
  check(weft_event_wait(event, nullptr), "wait");
  weft_event_release(event);
  weft_buffer_release(host);
  weft_buffer_release(hbm);
  check(weft_queue_release(queue), "release");
  check(weft_close(device, nullptr), "close");
}

}  // namespace

/// In the place of the C library's.
extern "C" ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  const unsigned number = ++messages;
  if (number == last && before) ::raise(SIGKILL);
  const ssize_t sent = ::syscall(SYS_sendmsg, socket, message, flags);
  if (number == last) ::raise(SIGKILL);
  return sent;
}

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: doomed_client SOCKET NUMBER before|after\n");
    return 2;
  }
  last = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10));
  before = std::string(argv[3]) == "before";
  live(argv[1]);
  std::printf("messages %u\n", messages.load());
  return 0;
}
