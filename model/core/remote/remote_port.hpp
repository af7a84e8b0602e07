/// The seam between a tensor core and the interconnect of its slice: remote writes and barriers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/core/remote/remote_runs.hpp"
#include "model/golden/check.hpp"
#include "weft/spec/commands.hpp"

namespace weft::core {

/// Up to a packet of a remote COPY's data, in the order of the command's beats.
struct RemotePiece {
  uint64_t number = 0;       ///< of the command, as RemotePort::begin gave it
  spec::DmaCommand command;  ///< destination segment, flags, post semaphore 1
  RemoteRuns runs;
  uint64_t bytes = 0;           ///< of all runs
  std::vector<std::byte> data;  ///< one after the other; empty: a core that carries none sent it
  bool last = false;            ///< of the command
};

/// What the interconnect does to a core. Called on the simulator's thread, with the core brought to the current cycle.
class RemoteCore {
 public:
  virtual ~RemoteCore() = default;
  /// Data arrive: checks the whole command against this core's segment table and writes the piece, or nothing of it.
  /// `visible` becomes the cycle in which the data are there.
  [[nodiscard]] virtual std::optional<golden::Fault> receive(const RemotePiece& piece, uint64_t& visible) = 0;
  /// A remote command's post arrives; it happens in `cycle`, not before the current one.
  virtual void receive_post(uint8_t semaphore, uint16_t count, uint64_t cycle) = 0;
  /// A command of this core is done at its receiver, or has failed there.
  virtual void acknowledge(uint64_t number, const std::optional<golden::Fault>& fault) = 0;
  /// The BARRIER that this core is at ends.
  virtual void end_barrier(const std::optional<golden::Fault>& fault) = 0;
};

/// What a core asks of the interconnect. One for each core, owned by the chip; outlives the core. One thread. Cycles
/// are the core's; what is asked for in a cycle may be ahead of simulated time and takes effect at its own.
class RemotePort {
 public:
  virtual ~RemotePort() = default;
  [[nodiscard]] virtual golden::SlicePlace place() const = 0;
  /// The core behind the port; nullptr: none any more.
  virtual void attach(RemoteCore* core) = 0;
  /// A legal remote COPY has been taken. Returns its number: commands of one core post at one receiver in the order of
  /// their numbers, each after all of its data, which come in any order.
  virtual uint64_t begin(const spec::DmaCommand& command) = 0;
  /// No room for another beat: as much is on its way as the links need to be kept busy.
  [[nodiscard]] virtual bool congested() const = 0;
  /// An empty one for the data of a piece, with the room of one that was received; or without any.
  [[nodiscard]] virtual std::vector<std::byte> buffer() { return {}; }
  /// The piece leaves at the end of `cycle`.
  virtual void send(RemotePiece piece, uint64_t cycle) = 0;
  /// The core has come to a legal BARRIER at the end of `cycle`.
  virtual void enter_barrier(const spec::BarrierCommand& command, uint64_t cycle) = 0;
  /// The core is reset: what it has on its way, and its place in a barrier, are forgotten; what others have on their
  /// way to it fails.
  virtual void core_reset() = 0;
};

}  // namespace weft::core
