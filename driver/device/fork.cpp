// Handlers of pthread_atfork.
#include "driver/device/fork.hpp"

#include <pthread.h>

#include <atomic>
#include <mutex>
#include <vector>

#include "driver/log/log.hpp"
#include "driver/report/report_file.hpp"
#include "driver/transport/file_descriptor.hpp"

namespace weft::driver {
namespace {

std::atomic<uint32_t> generation{0};

/// The process's own locks, outermost first: no other thread of the parent holds one while the child is made. Locks in
/// objects of devices are left alone, since the child never takes them.
void before() {
  report_fork_mutex().lock();
  log_fork_mutex().lock();
  DescriptorList::mutex().lock();
}

void unlock() {
  DescriptorList::mutex().unlock();
  log_fork_mutex().unlock();
  report_fork_mutex().unlock();
}

/// The other end of a connection sees the parent's end although this process lives on.
void in_child() {
  DescriptorList::close_all();
  generation.fetch_add(1);
  unlock();
}

const int kHandlers = pthread_atfork(before, unlock, in_child);

}  // namespace

uint32_t fork_generation() { return kHandlers == 0 ? generation.load() : 0; }

void abandon(const void* handle) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<const void*>;
  const std::lock_guard lock(mutex);
  kept->push_back(handle);
}

}  // namespace weft::driver
