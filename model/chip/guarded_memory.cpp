// A handler of SIGBUS that jumps out of the access.
#include "model/chip/guarded_memory.hpp"

#include <setjmp.h>

#include <atomic>
#include <csignal>
#include <cstring>

namespace weft::chip {
namespace {

/// Where the access under way on this thread ends if it fails; nullptr: none is under way.
thread_local sigjmp_buf* landing = nullptr;

struct sigaction former_action;

void on_bus_error(int, siginfo_t*, void*) {
  if (landing != nullptr) siglongjmp(*landing, 1);
  // Not an access of this file: the instruction runs again, and meets the former action.
  sigaction(SIGBUS, &former_action, nullptr);
}

void install_handler() {
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;  // the jump leaves no signal blocked
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, &former_action);
}

/// Runs `access`, which must be nothing but plain loads and stores.
template <typename Access>
[[gnu::noinline]] bool guarded(const Access& access) {
  static const bool installed = (install_handler(), true);
  static_cast<void>(installed);
  sigjmp_buf here;
  if (sigsetjmp(here, 0) != 0) {
    landing = nullptr;
    return false;
  }
  landing = &here;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  access();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  landing = nullptr;
  return true;
}

}  // namespace

bool guarded_copy(std::byte* to, const std::byte* from, size_t bytes) {
  return guarded([=] { std::memcpy(to, from, bytes); });
}

bool guarded_store(std::byte* to, uint64_t value) {
  return guarded(
      [=] { std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(to)).store(value, std::memory_order_release); });
}

}  // namespace weft::chip
