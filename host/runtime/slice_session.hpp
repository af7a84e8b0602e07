/// C++ over the slices of weft.h: a kernel a chip, launched in one device cycle, on arrays in host memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/compiler/collective.hpp"
#include "host/compiler/executable_writer.hpp"
#include "host/compiler/result.hpp"
#include "weft/spec/chips.hpp"

namespace weft::runtime {

/// What a launch of all chips gave, by chip.
struct SliceResult {
  std::vector<std::vector<std::byte>> outputs;   ///< bytes of the last argument, if it is an output
  std::vector<uint64_t> start_cycle, end_cycle;  ///< of each chip's launch: first command accepted, last write visible
};

/// One open slice, a queue a chip. Not thread-safe. Everything it holds is released with it.
class SliceSession {
 public:
  SliceSession(SliceSession&&) noexcept;
  SliceSession& operator=(SliceSession&&) noexcept;
  ~SliceSession();

  /// `name` as weft_slice_open takes it. Any error of the driver, with its message and hint.
  [[nodiscard]] static Result<SliceSession> open(const std::string& name);

  [[nodiscard]] const compiler::SliceShape& shape() const;
  [[nodiscard]] const spec::Chip& chip() const;
  [[nodiscard]] uint64_t link_bytes_per_second() const;

  /// Loads kernels[c] on chip c with inputs[c] in its first argument (shorter is filled up with zeros) and fresh HBM in
  /// the others, launches on all chips while time is held, and waits for all. INVALID_ARGUMENT: not one of each a chip,
  /// or an input that is longer than its argument. The error of the first chip that failed, which the message names.
  [[nodiscard]] Result<SliceResult> run(const std::vector<compiler::Kernel>& kernels,
                                        const std::vector<std::vector<std::byte>>& inputs);

 private:
  struct State;
  explicit SliceSession(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// A collective on all groups of the slice: the outputs have the bytes of each chip's output argument, padding
/// included. Errors of compile_collective and SliceSession::run; ICI_FAULT if a chip's commands failed on the way.
[[nodiscard]] Result<SliceResult> run_collective(SliceSession& session, const compiler::Collective& collective,
                                                 const std::vector<std::vector<std::byte>>& inputs);

}  // namespace weft::runtime
