/// The architectural state of a tensor core and what each command does to it, without any notion of time.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/golden/check.hpp"
#include "model/golden/lazy_memory.hpp"
#include "model/golden/matmul.hpp"
#include "model/golden/vmem.hpp"

namespace weft::golden {

/// HBM and host memory as a command sees them. Owned by the caller; called only from within CoreState::execute.
class MemoryAccess {
 public:
  virtual ~MemoryAccess() = default;
  /// Copies out.size() bytes from `address`. False: bus error.
  [[nodiscard]] virtual bool read(weft_address_space space, uint64_t address, std::span<std::byte> out) = 0;
  /// Copies `data` to `address`. False: bus error, nothing is written.
  [[nodiscard]] virtual bool write(weft_address_space space, uint64_t address, std::span<const std::byte> data) = 0;
};

/// What a command writes, for a comparison after its retirement. Ranges are in the order of writing and may overlap.
struct WrittenRanges {
  struct Vmem {
    uint64_t address, bytes;
  };
  struct Acc {  ///< all N lanes of rows `row` to `row + rows - 1`; lanes at or beyond cols hold 0
    uint32_t row, rows;
  };
  struct Memory {  ///< bus addresses: the segment's base is added
    weft_address_space space;
    uint64_t address, bytes;
  };
  std::vector<Vmem> vmem;
  std::vector<Acc> acc;
  std::vector<Memory> memory;
};
/// `command` is legal on its queue. Adjacent runs are merged.
[[nodiscard]] WrittenRanges written_ranges(const spec::Command& command, const spec::Chip& chip,
                                           const SegmentTable& segments);

/// Status counters that commands move (spec/counters.toml, group status, and mxu.macs, vpu.rows).
struct Status {
  uint64_t nan_results = 0;
  uint64_t inf_results = 0;
  bool int_overflow = false;
  uint64_t macs = 0;
  uint64_t vpu_rows = 0;
};

/// VMEM, ACC and the segment table of one core. One owner, one thread. VMEM and ACC cost host memory only where they
/// were touched.
class CoreState {
 public:
  explicit CoreState(const spec::Chip& chip, Path path = Path::kAutomatic, VmemForm form = VmemForm::kFlat);

  [[nodiscard]] const spec::Chip& chip() const { return chip_; }
  [[nodiscard]] SegmentTable& segments() { return segments_; }
  [[nodiscard]] const SegmentTable& segments() const { return segments_; }
  [[nodiscard]] Status& status() { return status_; }
  [[nodiscard]] const Status& status() const { return status_; }

  /// The arithmetic that products use.
  [[nodiscard]] Path path() const { return path_; }

  /// All of VMEM, chip.vmem_bytes. Zero after construction. Flat form only; what follows is for either.
  [[nodiscard]] std::span<std::byte> vmem() { return vmem_.bytes(); }
  [[nodiscard]] std::span<const std::byte> vmem() const { return vmem_.bytes(); }
  void read_vmem(uint64_t address, std::span<std::byte> out) const { vmem_.read(address, out); }
  void write_vmem(uint64_t address, std::span<const std::byte> data) { vmem_.write(address, data); }
  /// In place or copied to `scratch`; until VMEM is written.
  [[nodiscard]] std::span<const std::byte> view_vmem(uint64_t address, uint64_t bytes,
                                                     std::vector<std::byte>& scratch) const {
    return vmem_.view(address, bytes, scratch);
  }
  [[nodiscard]] bool vmem_is_flat() const { return vmem_.flat(); }
  /// N values of ACC row `row` < acc_rows(), counted as the VPU does: MXU after MXU.
  [[nodiscard]] std::span<uint32_t> acc_row(uint32_t row) {
    return {reinterpret_cast<uint32_t*>(acc_.bytes().data()) + size_t{row} * chip_.n, chip_.n};
  }
  [[nodiscard]] std::span<const uint32_t> acc_row(uint32_t row) const {
    return {reinterpret_cast<const uint32_t*>(acc_.bytes().data()) + size_t{row} * chip_.n, chip_.n};
  }
  /// Fault injection: flips what 8 bytes of VMEM show.
  void flip_vmem(uint64_t address, uint64_t mask) {
    std::array<std::byte, sizeof mask> bytes;
    vmem_.read(address, bytes);
    for (size_t i = 0; i < sizeof mask; i++) bytes[i] ^= static_cast<std::byte>(mask >> (8 * i));
    vmem_.write(address, bytes);
  }
  [[nodiscard]] uint32_t acc_rows() const { return golden::acc_rows(chip_); }

  /// Checks the command and does what it does to VMEM, ACC and memory; waits and posts are not looked at. A refused
  /// command writes nothing. DMA_BUS: the beats before the failing one have been written, INDEX: the rows before it. Rows and runs are done one
  /// after the other in ascending order, each read before it is written.
  /// A remote COPY writes its beats to space none, at offsets in the receiver's segment.
  std::optional<Fault> execute(const spec::Command& command, unsigned queue, MemoryAccess& memory,
                               const SlicePlace& place = {});

  /// execute() without the checks, for a command that has passed them. Only DMA_BUS can come back, and INDEX.
  std::optional<Fault> execute_checked(const spec::Command& command, unsigned queue, MemoryAccess& memory);

 private:
  const spec::Chip chip_;
  const Path path_;
  Vmem vmem_;
  LazyMemory acc_;
  SegmentTable segments_{};
  Status status_;
};

}  // namespace weft::golden
