/// The interconnect's end beside a Verilated core: the other side of its ici ports.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>

#include "model/core/remote/remote_port.hpp"

namespace weft::core {

class MemoryBus;
class RtlCore;

/// What the core asks for goes to its RemotePort at once; what comes back waits here for its cycle on the core's ports,
/// one acknowledgement and one post a cycle. Data that arrive are written by this class: to HBM over the core's bus, to
/// VMEM between two clock edges (docs/decisions/remote-ingress.md). One thread; called from within advance() but for
/// RemoteCore. `core`, `bus` and `port` outlive it.
class SliceEndpoint final : public RemoteCore {
 public:
  struct Acknowledgement {
    std::optional<golden::Fault> fault;
    unsigned channel;  ///< of the core's DMA
    uint16_t tag;
  };
  struct Post {
    uint64_t cycle;  ///< in which a wait may see it
    uint8_t semaphore;
    uint16_t count;
  };
  struct BarrierEnd {
    std::optional<golden::Fault> fault;
  };

  SliceEndpoint(RtlCore& core, MemoryBus& bus, RemotePort& port);
  ~SliceEndpoint() override;
  SliceEndpoint(const SliceEndpoint&) = delete;
  SliceEndpoint& operator=(const SliceEndpoint&) = delete;

  [[nodiscard]] golden::SlicePlace place() const { return port_.place(); }

  // What the core asks for in this cycle.
  [[nodiscard]] bool congested() const { return port_.congested(); }
  void open(unsigned channel, const spec::Command& command);
  void beat(unsigned channel, uint64_t offset, std::span<const std::byte> data, bool last, uint64_t cycle);
  /// A group that does not hold this chip, or holds one that does not exist, ends with a fault in the next cycle.
  void begin_barrier(const spec::Command& command, uint64_t cycle);

  // What the ports show in this cycle, nullptr: nothing. Stays until it is taken.
  [[nodiscard]] const Acknowledgement* acknowledgement() const;
  [[nodiscard]] const Post* post(uint64_t cycle) const;
  [[nodiscard]] const BarrierEnd* barrier_end() const { return barrier_end_ ? &*barrier_end_ : nullptr; }
  void take_acknowledgement() { acknowledgements_.pop_front(); }
  void take_post() { posts_.pop_front(); }
  void take_barrier_end() { barrier_end_.reset(); }
  /// Something is to be shown, now or later.
  [[nodiscard]] bool waiting() const { return !acknowledgements_.empty() || !posts_.empty() || barrier_end_; }

  /// The core was reset.
  void reset();

  // RemoteCore
  [[nodiscard]] std::optional<golden::Fault> receive(const RemotePiece& piece, uint64_t& visible) override;
  void receive_post(uint8_t semaphore, uint16_t count, uint64_t cycle) override;
  void acknowledge(uint64_t number, const std::optional<golden::Fault>& fault) override;
  void end_barrier(const std::optional<golden::Fault>& fault) override;

 private:
  struct Sending {
    uint64_t number;
    spec::DmaCommand command;
  };
  struct OnItsWay {
    unsigned channel;
    uint16_t tag;
  };
  struct Channel {
    std::deque<Sending> sending;  // announced, and not sent to the end
    RemotePiece piece;            // being put together
  };

  RtlCore& core_;
  MemoryBus& bus_;
  RemotePort& port_;
  std::array<Channel, WEFT_CORE_DMA_CHANNELS> channels_;
  std::map<uint64_t, OnItsWay> on_their_way_;  // by number
  std::deque<Acknowledgement> acknowledgements_;
  std::deque<Post> posts_;  // by cycle
  std::optional<BarrierEnd> barrier_end_;
};

}  // namespace weft::core
