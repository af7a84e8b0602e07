// Memory for argument lists that a slot of a queue has no room for: those of kernels with a control list.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "driver/memory/host_memory.hpp"

namespace weft::driver {

/// A pool. Lists come back to it when their launches end, so a queue maps as many as it has had in flight at a time.
/// Thread-safe.
class LargeLists {
 public:
  using List = std::unique_ptr<HostMemory>;

  LargeLists(std::shared_ptr<Transport> transport, std::shared_ptr<IovaSpace> space)
      : transport_(std::move(transport)), space_(std::move(space)) {}

  /// Adds lists to `out` until there are `count`, each with room for the longest list and its profile. NO_HOST_MEMORY
  /// and what a map may fail with. Waits for the device's answer.
  Status acquire(size_t count, std::vector<List>& out);

  /// The list's launch has ended, or was not submitted. Null: nothing happens.
  void give_back(List list) noexcept;

 private:
  std::shared_ptr<Transport> transport_;
  std::shared_ptr<IovaSpace> space_;
  std::mutex mutex_;
  size_t made_ = 0;  ///< spare_ has room for as many
  std::vector<List> spare_;
};

}  // namespace weft::driver
