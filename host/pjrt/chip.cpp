// The thread of a chip, and the memory of its arrays.
#include "host/pjrt/chip.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "host/pjrt/callbacks.hpp"
#include "host/runtime/driver_error.hpp"

namespace weft::pjrt {

Result<std::unique_ptr<Chip>> Chip::open(const runtime::Target& target) {
  auto session = runtime::Session::open(target);
  if (!session.ok()) return session.error();
  return std::unique_ptr<Chip>(new Chip(std::move(session.value())));
}

Result<std::unique_ptr<Chip>> Chip::open(weft_device* device) {
  auto session = runtime::Session::on(device);
  if (!session.ok()) return session.error();
  return std::unique_ptr<Chip>(new Chip(std::move(session.value())));
}

Chip::Chip(runtime::Session session)
    : session_(std::move(session)),
      process_(getpid()),
      memory_(std::make_shared<std::pair<std::mutex, MemoryUse>>()),
      thread_([this] { run(); }) {}

Chip::~Chip() {
  if (process_ != getpid()) {  // the thread is the parent's
    thread_.detach();
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
  (void)!session_.close().ok();
}

void Chip::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || !work_.empty(); });
    if (work_.empty()) return;
    const auto work = std::move(work_.front());
    work_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

Status Chip::post(std::function<void()> work) {
  if (process_ != getpid())
    return weft::Error{WEFT_ERROR_INVALID_STATE,
                       fmt::format("this process was forked from process {}, which has the Weft devices; start JAX in "
                                   "the child (multiprocessing's 'spawn') instead",
                                   process_)};
  if (in_callback() && std::this_thread::get_id() == thread_.get_id())
    return weft::Error{WEFT_ERROR_INVALID_STATE,
                       "a callback starts work on the chip that waits for the callback; compute on the CPU in it, or "
                       "with NumPy"};
  {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
  }
  changed_.notify_all();
  return Ok{};
}

void Chip::wait_for_work() {
  if (std::this_thread::get_id() == thread_.get_id()) return;
  const auto done = std::make_shared<Completion>();
  if (post([done] { done->finish(); }).ok()) (void)done->wait();
}

Result<ContentsPtr> Chip::reserve(const compiler::ir::TensorType& type) {
  auto contents = std::make_shared<Contents>();
  contents->type = type;
  const uint64_t bytes = type.bytes();
  if (bytes == 0) return contents;
  weft_buffer* buffer = nullptr;
  auto status = weft_buffer_create(session_.device(), WEFT_MEMORY_HBM, bytes, &buffer);
  if (status == WEFT_ERROR_NO_DEVICE_MEMORY) {  // the work under way still holds arrays that were deleted
    wait_for_work();
    status = weft_buffer_create(session_.device(), WEFT_MEMORY_HBM, bytes, &buffer);
  }
  if (status != WEFT_ERROR_OK) {
    auto error = runtime::driver_error(status);
    error.message = fmt::format("an array {}: {}", type.text(), error.message);
    return error;
  }
  contents->place.reset(buffer);
  {
    const std::lock_guard lock(memory_->first);
    MemoryUse& use = memory_->second;
    use.in_use += bytes;
    use.peak = std::max(use.peak, use.in_use);
    use.largest = std::max(use.largest, bytes);
    use.allocations++;
  }
  contents->released = [memory = memory_, bytes] {
    const std::lock_guard lock(memory->first);
    memory->second.in_use -= bytes;
  };
  return contents;
}

MemoryUse Chip::memory_use() const {
  const std::lock_guard lock(memory_->first);
  return memory_->second;
}

Result<weft_device_info> Chip::info() const {
  weft_device_info info = WEFT_INIT(weft_device_info);
  if (const auto status = weft_device_get_info(session_.device(), &info); status != WEFT_ERROR_OK)
    return runtime::driver_error(status);
  return info;
}

}  // namespace weft::pjrt
