/// Memory for what must not fail halfway.
#pragma once

namespace weft::server {

/// A client's message that finds no memory is answered so. But trees of JSON allocate in their destructors, and SystemC
/// in its queues of events, where a failure ends the process. So a piece of memory is kept, and given back to the heap
/// at the moment in which an allocation fails, which then succeeds. While one exists it is the process's new-handler;
/// there is one at most. One thread.
class MemorySpare {
 public:
  MemorySpare();
  ~MemorySpare();
  MemorySpare(const MemorySpare&) = delete;
  MemorySpare& operator=(const MemorySpare&) = delete;

  /// Takes the piece again if it was given back. False: there is no memory for it now, and nothing that must not fail
  /// is to be begun.
  [[nodiscard]] bool refill();
};

}  // namespace weft::server
