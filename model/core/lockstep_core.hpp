/// The RTL core with the golden model beside it: the first difference is found at the command that made it.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/core/rtl_core.hpp"
#include "model/core/tensor_core.hpp"
#include "model/golden/core_state.hpp"

namespace weft::core {

/// Drives the outside by an RtlCore. The golden model has its own VMEM and ACC, executes a command when the RTL retires
/// it, takes the data of dma_in from what the RTL read, and compares what the command writes: VMEM, ACC, and the
/// memory writes of dma_out. Stops comparing at the first difference; the core itself runs on.
/// What a command in flight is about to overwrite is compared when that one retires. After a core reset the ranges of
/// the commands that it cut off are taken from the RTL. One owner, one thread.
class LockstepCore final : public TensorCore, private RtlTap, private CoreObserver, private golden::MemoryAccess {
 public:
  /// `rtl` has not run yet.
  explicit LockstepCore(std::unique_ptr<RtlCore> rtl);

  [[nodiscard]] const Mismatch& mismatch() const { return mismatch_; }
  /// Commands compared so far.
  [[nodiscard]] uint64_t commands_compared() const { return commands_compared_; }
  /// The golden model's state, for tests.
  [[nodiscard]] golden::CoreState& golden_state() { return golden_; }

  [[nodiscard]] uint64_t read_csr(uint32_t offset) override { return rtl_->read_csr(offset); }
  void write_csr(uint32_t offset, uint64_t value) override { rtl_->write_csr(offset, value); }
  [[nodiscard]] bool push(unsigned queue, const spec::Command& command) override;
  [[nodiscard]] bool busy() const override { return rtl_->busy(); }
  [[nodiscard]] bool interrupt() const override { return rtl_->interrupt(); }
  [[nodiscard]] uint64_t cycle() const override { return rtl_->cycle(); }
  uint64_t advance(uint64_t until) override { return rtl_->advance(until); }
  [[nodiscard]] bool peek_vmem(uint64_t byte_address, std::span<std::byte> out) const override {
    return rtl_->peek_vmem(byte_address, out);
  }
  [[nodiscard]] bool peek_acc(uint32_t row, std::span<std::byte> out) const override {
    return rtl_->peek_acc(row, out);
  }
  void set_observer(CoreObserver* observer) override { observer_ = observer; }

 private:
  /// A command in a unit, and what it writes (nothing if its unit refuses it).
  struct Flight {
    spec::Command command;
    golden::WrittenRanges ranges;
  };
  /// A beat that the RTL read or wrote; bytes before `used` have been matched.
  struct Beat {
    weft_address_space space = WEFT_ADDRESS_SPACE_NONE;
    uint64_t address = 0;
    std::vector<std::byte> data;
    size_t used = 0;
  };

  // CoreObserver
  void command_started(weft_unit_index unit, const spec::Command& command, uint64_t cycle) override;
  void command_retired(weft_unit_index unit, const spec::Command& command, uint64_t cycle) override;
  // RtlTap
  void memory_read(unsigned channel, weft_address_space space, uint64_t address, std::span<const std::byte> data,
                   bool ok) override;
  void memory_written(unsigned channel, weft_address_space space, uint64_t address, std::span<const std::byte> data,
                      bool ok) override;
  void csr_written(uint32_t offset, uint64_t value) override;
  void core_reset() override;
  // golden::MemoryAccess, for the command that retires
  [[nodiscard]] bool read(weft_address_space space, uint64_t address, std::span<std::byte> out) override;
  [[nodiscard]] bool write(weft_address_space space, uint64_t address, std::span<const std::byte> data) override;

  static void record(Ring<Beat>& beats, weft_address_space space, uint64_t address, std::span<const std::byte> data);
  void compare(const Flight& flight);
  void compare_vmem(const spec::Command& command, uint64_t address, uint64_t bytes);
  void compare_acc(const spec::Command& command, uint32_t row);
  [[nodiscard]] bool vmem_in_flight(uint64_t address) const;
  [[nodiscard]] bool acc_in_flight(uint32_t row) const;
  void take_from_rtl();
  void differs(const std::string& what);

  std::unique_ptr<RtlCore> rtl_;
  golden::CoreState golden_;
  CoreObserver* observer_ = nullptr;
  std::array<std::deque<Flight>, WEFT_CORE_UNITS> flights_;
  std::array<Ring<Beat>, WEFT_CORE_DMA_CHANNELS> reads_;
  std::array<Ring<Beat>, WEFT_CORE_DMA_CHANNELS> writes_;
  std::vector<golden::WrittenRanges> cut_off_;  // by a core reset; taken from the RTL before the next push
  Mismatch mismatch_;
  uint64_t commands_compared_ = 0;
  // The retirement that is being compared.
  unsigned unit_ = 0;
  const spec::Command* command_ = nullptr;
};

}  // namespace weft::core
