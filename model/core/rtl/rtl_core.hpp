/// The tensor core as its Verilated RTL.
#pragma once
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "model/core/core_units.hpp"
#include "model/core/rtl/rtl_memory.hpp"
#include "model/core/rtl/slice_endpoint.hpp"
#include "model/core/tensor_core.hpp"

namespace weft::core {

enum class VmemWriter : uint8_t { kVpu, kDma };

/// What follows an RtlCore more closely than a CoreObserver can: the lockstep core.
class RtlTap : public MemoryTap {
 public:
  /// A register write, other than that of a core reset, is clocked into the core.
  virtual void csr_written(uint32_t offset, uint64_t value) = 0;
  /// From this cycle on the core is held in reset; nothing that was started will retire.
  virtual void core_reset() = 0;
  /// The clock edge of `cycle` wrote these words of VMEM, by the VPU or by a DMA channel; they can be peeked.
  virtual void vmem_written(VmemWriter writer, uint64_t first_word, unsigned words, uint64_t cycle) = 0;
  /// The clock edge of `cycle` wrote the last column of an ACC row, counted over all MXUs: `data` are the sums of one
  /// row and one tile.
  virtual void acc_written(uint32_t row, std::span<const std::byte> data, uint64_t cycle) = 0;
  /// Another chip wrote to VMEM; `data` is what is there now.
  virtual void vmem_received(uint64_t byte_address, std::span<const std::byte> data) = 0;
};

/// Drives a Verilated weft_core clock by clock; this class holds all that does not depend on the preset.
///
/// One owner, one thread; nothing blocks but the computation. Register writes and pushes are clocked in one a cycle in
/// the order of the calls: the first one takes effect in the next cycle, as TensorCore says. Data of a memory access
/// move when the core's request is accepted. Answers still outstanding at a core reset are dropped.
class RtlCore : public TensorCore {
 public:
  /// `remote`: the way to the other chips of a slice; nullptr: the core stands alone.
  RtlCore(const spec::Chip& chip, MemoryBus& bus, RemotePort* remote);

  [[nodiscard]] bool push(unsigned queue, const spec::Command& command) override;
  void write_csr(uint32_t offset, uint64_t value) override;
  [[nodiscard]] uint64_t cycle() const override { return cycle_; }
  void set_observer(CoreObserver* observer) override { observer_ = observer; }

  [[nodiscard]] const spec::Chip& chip() const { return chip_; }
  [[nodiscard]] golden::SlicePlace place() const { return slice_ ? slice_->place() : golden::SlicePlace{}; }
  /// A reset has been asked for or is under way.
  [[nodiscard]] bool in_reset() const { return reset_pending_ || held_in_reset(); }
  /// Writes what came from another chip, between two edges.
  void write_received(uint64_t byte_address, std::span<const std::byte> data) {
    (void)poke_vmem(byte_address, data);
    if (tap_ != nullptr) tap_->vmem_received(byte_address, data);
  }
  /// At most one; nullptr removes it.
  void set_tap(RtlTap* tap) {
    tap_ = tap;
    memory_.set_tap(tap);
  }
  /// Changes VMEM or a row of ACC behind the core's back: what other chips write, and tests. False: outside.
  [[nodiscard]] virtual bool poke_vmem(uint64_t byte_address, std::span<const std::byte> data) = 0;
  [[nodiscard]] virtual bool poke_acc(uint32_t row, std::span<const std::byte> data) = 0;
  /// Commands that a unit has taken and not retired, oldest first.
  [[nodiscard]] const std::deque<spec::Command>& started(unsigned unit) const { return started_[unit]; }

  /// An error that ECC cannot correct: what peek shows there means nothing.
  [[nodiscard]] virtual bool vmem_poisoned(uint64_t byte_address) const = 0;
  [[nodiscard]] virtual bool acc_poisoned(uint32_t row, uint32_t lane) const = 0;

 protected:
  /// A register write or a push that waits for its clock edge.
  struct Pending {
    bool is_push;
    unsigned queue;
    uint32_t offset;
    uint64_t value;
    spec::Command command;
  };
  void command_accepted(const Pending& push);
  /// The core's prefetcher puts a command into a queue.
  void command_fetched(unsigned queue, const spec::Command& command) { queued_[queue].push_back(command); }
  /// The queue takes no push, because it fetches.
  [[nodiscard]] virtual bool fetching(unsigned queue) const = 0;
  void csr_clocked(const Pending& write);
  /// After the edge that took the write of CONTROL.
  void core_was_reset();
  void command_events(uint32_t start, uint32_t retire);
  [[nodiscard]] bool held_in_reset() const { return cycle_ < reset_until_; }

  const spec::Chip chip_;
  RtlMemory memory_;
  std::optional<SliceEndpoint> slice_;  // none: the core stands alone
  uint64_t cycle_ = 0;
  uint64_t idle_credit_ = 0;  // cycles skipped since the last edge
  std::deque<Pending> pending_;
  CoreObserver* observer_ = nullptr;
  RtlTap* tap_ = nullptr;
  bool reset_clocked_ = false;  // by this cycle's edge
  bool injected_ = false;       // INJECT_ARM was written: memories may hold what a decoder does not show

 private:
  std::array<std::deque<spec::Command>, WEFT_CORE_QUEUES> queued_;
  std::array<std::deque<spec::Command>, WEFT_CORE_UNITS> started_;
  std::array<unsigned, WEFT_CORE_QUEUES> pending_pushes_{}, pending_fetches_{};
  uint64_t reset_until_ = 0;  // the core is held in reset before this cycle
  bool reset_pending_ = false;
};

/// Makes the Verilated core of a preset. nullptr and a message in `error` if the preset was not built or the wave file
/// does not open.
[[nodiscard]] std::unique_ptr<RtlCore> make_rtl_core(const spec::Chip& chip, MemoryBus& bus, const CoreOptions& options,
                                                     std::string& error);

}  // namespace weft::core
