/// MSI-X: table, pending bits, masks, and the way out to whoever delivers the vectors.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/spec/spec.h"

namespace weft::chip {

/// Where a vector goes: the server's eventfds.
class InterruptSink {
 public:
  virtual ~InterruptSink() = default;
  /// False: nobody listens to this vector; it stays pending.
  virtual bool signal(unsigned vector) = 0;
};

/// BAR4: table entries {address low, address high, data, control} from 0, pending bits at kPendingOffset. A vector that
/// may not be delivered (MSI-X off, function or vector masked, no listener) is kept as a pending bit and delivered when
/// it may. Address and data are stored only: delivery is by the sink. Owner: Function; not thread-safe.
class Msix {
 public:
  static constexpr unsigned kVectors = WEFT_PCI_MSIX_VECTORS;
  static constexpr uint64_t kPendingOffset = 4096;
  static constexpr unsigned kEntryBytes = 16;

  Msix() { reset(); }

  /// Power-up state: off, every vector masked, nothing pending.
  void reset();
  /// Forgets what is pending; masks stay.
  void clear_pending() { pending_ = 0; }

  /// Aligned 4-byte accesses within BAR4. Unused offsets read 0 and ignore writes. `enabled`: the bits of the bytes
  /// that are written.
  [[nodiscard]] uint32_t read(uint64_t offset) const;
  void write(uint64_t offset, uint32_t value, uint32_t enabled = UINT32_MAX);

  void raise(unsigned vector);
  void set_vector_mask(unsigned vector, bool masked);
  [[nodiscard]] bool vector_masked(unsigned vector) const { return (table_[vector][kControl] & kMaskBit) != 0; }
  /// Enable and function mask of the capability's message control.
  void set_control(bool enabled, bool function_masked);
  /// nullptr: nobody listens. Outlives this object or is removed before.
  void set_sink(InterruptSink* sink);
  /// A listener was added: delivers what waited for it.
  void deliver();
  [[nodiscard]] uint64_t pending() const { return pending_; }

 private:
  static constexpr unsigned kControl = 3;
  static constexpr uint32_t kMaskBit = 1;

  std::array<std::array<uint32_t, 4>, kVectors> table_{};
  uint64_t pending_ = 0;
  bool enabled_ = false;
  bool function_masked_ = false;
  InterruptSink* sink_ = nullptr;
};

}  // namespace weft::chip
