/// What passes between a chip and its hosts without a message: for whoever records it, or takes the hosts' place.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/spec/spec.h"

namespace weft::chip {

/// Which part of the device reaches into host memory.
enum class Accessor : uint8_t {
  kFirmware,    ///< ring entries, parameter page, logs, fault records, state pages
  kCompletion,  ///< a completion entry
  kCopy,        ///< the copy engine
  kCore,        ///< the tensor core's DMA
};
inline constexpr unsigned kAccessors = 4;

struct HostAccess {
  Accessor by;
  unsigned function;
  uint64_t iova;
};

/// Called at once, on the simulator's thread, for every access of host memory (ChipBus makes them all), every interrupt
/// that reached a listener, and every end of a wait. The core's accesses come while it runs ahead of simulated time:
/// the cycle of such a moment means nothing, their order does.
class Boundary {
 public:
  virtual ~Boundary() = default;
  /// The device has read; `ok`: all of it was mapped. It goes on with what `data` holds afterwards.
  virtual void host_read(const HostAccess& access, std::span<std::byte> data, bool ok) = 0;
  virtual void host_written(const HostAccess& access, std::span<const std::byte> data, bool ok) = 0;
  virtual void interrupt(unsigned function, unsigned vector) = 0;
  /// An armed wait of the function's host is about to end by its alarm, or because the device is idle.
  virtual void wait_ends(unsigned function, weft_wait_status status) = 0;
  /// An observer of the simulator is about to reset the function: no client of it has asked.
  virtual void observer_resets(unsigned function) = 0;
  /// The injected fault SIMULATOR_EXIT acts. False: the process must not end.
  [[nodiscard]] virtual bool simulator_exits() = 0;
};

}  // namespace weft::chip
