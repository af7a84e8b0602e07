/// A chip that is open, and the thread that works for it.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "host/compiler/ir/tensor.hpp"
#include "host/pjrt/error.hpp"
#include "host/runtime/driver_handles.hpp"
#include "host/runtime/session.hpp"

namespace weft::pjrt {

/// HBM that is held for the arrays of one chip. Any thread.
struct MemoryUse {
  uint64_t in_use = 0, peak = 0, allocations = 0, largest = 0;
};

/// An array: a place in HBM, and its elements on the host once the work that computes it has ended. The elements go to
/// the device when a program of the device reads them.
struct Contents {
  compiler::ir::TensorType type;
  runtime::BufferHandle place;  ///< null: an array without elements
  CompletionPtr ready = std::make_shared<Completion>();
  compiler::ir::TensorPtr tensor;  ///< written before ready ends, never afterwards
  std::function<void()> released;  ///< counts the place's bytes

  ~Contents() {
    place.reset();
    if (released) released();
  }
};
using ContentsPtr = std::shared_ptr<Contents>;

/// Work is done in the order in which it is posted, in one thread. After a fork the child has none of it.
class Chip {
 public:
  /// Any error of Session::open.
  [[nodiscard]] static Result<std::unique_ptr<Chip>> open(const runtime::Target& target);
  /// A chip of a slice, which must outlive it.
  [[nodiscard]] static Result<std::unique_ptr<Chip>> open(weft_device* device);
  /// Ends behind the work that is posted.
  ~Chip();

  [[nodiscard]] const spec::Chip& preset() const { return session_.chip(); }
  /// INVALID_STATE: the process is a child of the one that has opened the chip, or the work comes of a callback for which
  /// the chip waits.
  [[nodiscard]] Status post(std::function<void()> work);
  /// For work alone.
  [[nodiscard]] runtime::Session& session() { return session_; }

  /// An array whose elements are still to come; where there is no memory, behind the work that is posted. NO_DEVICE_MEMORY tells what was asked for and what is free.
  [[nodiscard]] Result<ContentsPtr> reserve(const compiler::ir::TensorType& type);
  [[nodiscard]] MemoryUse memory_use() const;
  [[nodiscard]] Result<weft_device_info> info() const;

 private:
  explicit Chip(runtime::Session session);
  void run();
  /// What is posted already has ended, and has given back what it held.
  void wait_for_work();

  runtime::Session session_;
  const int process_;
  std::shared_ptr<std::pair<std::mutex, MemoryUse>> memory_;  // arrays may outlive the chip
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace weft::pjrt
