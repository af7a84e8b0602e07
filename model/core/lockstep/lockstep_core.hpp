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

#include "model/core/command/command_accesses.hpp"
#include "model/core/lockstep/write_record.hpp"
#include "model/core/rtl/rtl_core.hpp"
#include "model/core/tensor_core.hpp"
#include "model/golden/core_state.hpp"

namespace weft::core {

/// Drives the outside by an RtlCore. The golden model has its own VMEM and ACC and executes a command when the RTL
/// retires it; the data of dma_in are taken from what the RTL read. Compared are, for each command:
/// - at each write, where a unit writes: rows of ACC in the order of the product's tiles, VMEM within what the commands
///   of the unit write;
/// - at retirement, what the command read (VMEM and ACC as the golden model has them: they are blamed, not the unit),
///   what its unit wrote, that VMEM and ACC hold it, and the beats that dma_out wrote to memory.
/// So a difference names the unit whose output is wrong. Stops comparing at the first difference; the core itself runs
/// on. Bytes that a command in flight is about to overwrite are left to that one. After a core reset the ranges of the
/// commands that it cut off are taken from the RTL. One owner, one thread.
class LockstepCore final : public TensorCore, private RtlTap, private CoreObserver, private golden::MemoryAccess {
 public:
  /// `rtl` has not run yet.
  explicit LockstepCore(std::unique_ptr<RtlCore> rtl);

  [[nodiscard]] const Mismatch& mismatch() const { return mismatch_; }
  /// Commands compared so far.
  [[nodiscard]] uint64_t commands_compared() const { return commands_compared_; }
  /// The golden model's state, for tests.
  [[nodiscard]] golden::CoreState& golden_state() { return golden_; }
  /// The RTL, for tests that change its memories.
  [[nodiscard]] RtlCore& rtl() { return *rtl_; }

  [[nodiscard]] uint64_t read_csr(uint32_t offset) override { return rtl_->read_csr(offset); }
  void write_csr(uint32_t offset, uint64_t value) override { rtl_->write_csr(offset, value); }
  [[nodiscard]] bool push(unsigned queue, const spec::Command& command) override;
  [[nodiscard]] bool busy() const override { return rtl_->busy(); }
  [[nodiscard]] bool interrupt() const override { return rtl_->interrupt(); }
  [[nodiscard]] uint64_t cycle() const override { return rtl_->cycle(); }
  uint64_t advance(uint64_t until) override { return rtl_->advance(until); }
  uint64_t advance_while_busy(uint64_t until) override { return rtl_->advance_while_busy(until); }
  [[nodiscard]] bool peek_vmem(uint64_t byte_address, std::span<std::byte> out) const override {
    return rtl_->peek_vmem(byte_address, out);
  }
  [[nodiscard]] bool peek_acc(uint32_t row, std::span<std::byte> out) const override {
    return rtl_->peek_acc(row, out);
  }
  void set_observer(CoreObserver* observer) override { observer_ = observer; }

 private:
  /// A command in a unit, what it reads and writes (nothing if its unit refuses it), and what it wrote so far.
  struct Flight {
    spec::Command command;
    golden::SegmentTable segments;  // as they were when it started
    golden::WrittenRanges ranges;
    CommandAccesses accesses;
    WriteRecord writes;
    uint64_t rows = 0, tiles = 0;  // of a product
  };
  /// A beat that the RTL read or wrote; bytes before `used` have been matched.
  struct Beat {
    uint64_t cycle = 0;
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
  void vmem_written(VmemWriter writer, uint64_t first_word, unsigned words, uint64_t cycle) override;
  void acc_written(uint32_t row, std::span<const std::byte> data, uint64_t cycle) override;
  void vmem_received(uint64_t byte_address, std::span<const std::byte> data) override;
  // golden::MemoryAccess, for the command that retires
  [[nodiscard]] bool read(weft_address_space space, uint64_t address, std::span<std::byte> out) override;
  [[nodiscard]] bool write(weft_address_space space, uint64_t address, std::span<const std::byte> data) override;

  void record(Ring<Beat>& beats, weft_address_space space, uint64_t address, std::span<const std::byte> data);
  [[nodiscard]] Flight* writer_of(VmemWriter writer, uint64_t address, uint64_t bytes);
  void compare_inputs(const Flight& flight);
  void compare_outputs(const Flight& flight);
  void compare_vmem(const Flight& flight, uint64_t address, uint64_t bytes);
  void compare_product(const Flight& flight);
  void check_beats(const Flight& flight);
  [[nodiscard]] size_t find_acc_difference(uint32_t row, std::span<const uint32_t> rtl) const;
  [[nodiscard]] uint64_t first_wrong_tile(const Flight& flight);
  /// First byte in [address, address + bytes), on the element's granule, that differs and that nothing in flight, nor
  /// `but_for` (may be nullptr), writes; UINT64_MAX: none.
  [[nodiscard]] uint64_t find_vmem_difference(uint64_t address, uint64_t bytes, unsigned element,
                                              const Flight* but_for) const;
  [[nodiscard]] uint32_t rtl_element(uint64_t address, unsigned element) const;
  [[nodiscard]] uint32_t golden_element(uint64_t address, unsigned element) const;
  [[nodiscard]] bool vmem_in_flight(uint64_t address) const;
  [[nodiscard]] bool acc_in_flight(uint32_t row) const;
  void take_from_rtl();
  void differs(std::string_view unit, uint64_t cycle, const std::string& what);
  void differs_in_unit(const std::string& what);

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
  std::vector<uint32_t> seeds_;  // the rows of a product before the golden model executed it
};

}  // namespace weft::core
