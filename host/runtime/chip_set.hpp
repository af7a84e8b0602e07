/// The chips of a slice, or one chip alone, with a queue each: what programs of several launches are made of.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host/compiler/collectives/collective.hpp"
#include "host/compiler/executable/executable_writer.hpp"
#include "host/compiler/result.hpp"
#include "host/runtime/driver_handles.hpp"
#include "host/runtime/session.hpp"

namespace weft::runtime {

/// Open devices. Not thread-safe. Buffers and programs must be released before it. Errors of the driver name the chip
/// if there are several.
class ChipSet {
 public:
  ChipSet(ChipSet&&) noexcept;
  ChipSet& operator=(ChipSet&&) noexcept;
  ~ChipSet();

  [[nodiscard]] static Result<ChipSet> open_chip(const Target& target);
  /// `name` as weft_slice_open takes it.
  [[nodiscard]] static Result<ChipSet> open_slice(const std::string& name);

  [[nodiscard]] const compiler::SliceShape& shape() const;
  [[nodiscard]] uint32_t chips() const { return shape().chips(); }
  /// All chips of a slice are of one preset.
  [[nodiscard]] const spec::Chip& chip() const;
  [[nodiscard]] uint64_t link_bytes_per_second() const;
  [[nodiscard]] weft_queue* queue(uint32_t chip) const;
  [[nodiscard]] weft_device* device(uint32_t chip) const;
  /// Null: one chip alone.
  [[nodiscard]] weft_slice* slice() const;

  /// A slice's time stands still between them, so that what is submitted meanwhile begins in one device cycle. One chip
  /// alone: nothing; nor where the simulator refuses it, because others use it as well.
  [[nodiscard]] Status hold();
  [[nodiscard]] Status resume();

  [[nodiscard]] Result<ProgramHandle> load(uint32_t chip, const compiler::Kernel& kernel) const;
  [[nodiscard]] Result<BufferHandle> buffer(uint32_t chip, weft_memory memory, uint64_t bytes) const;
  /// Bytes into a buffer, at an offset, and out of it. Both wait.
  [[nodiscard]] Status write(uint32_t chip, const BufferHandle& buffer, uint64_t offset,
                             std::span<const std::byte> data) const;
  [[nodiscard]] Result<std::vector<std::byte>> read(uint32_t chip, const BufferHandle& buffer, uint64_t offset,
                                                    uint64_t bytes) const;

  /// The driver's last error, with the chip's number if there are several.
  [[nodiscard]] Error error(uint32_t chip, weft_status status) const;

 private:
  struct State;
  explicit ChipSet(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace weft::runtime
