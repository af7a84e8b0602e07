/// C++ over the slices of weft.h: a kernel per chip, launched in one device cycle, on arrays in host memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host/compiler/collectives/collective.hpp"
#include "host/compiler/executable/executable_writer.hpp"
#include "host/compiler/result.hpp"
#include "weft/spec/chips.hpp"

namespace weft::runtime {

class ChipSet;

using ChipArguments = std::vector<std::vector<std::byte>>;   ///< bytes of each argument of a chip's kernel
using ChipInputs = std::vector<std::span<const std::byte>>;  ///< the same, owned by the caller

/// The inputs of a chip, asked for when its turn comes to be loaded, chip by chip: they may still be made until then.
using InputsOfChip = std::function<ChipInputs(uint32_t chip)>;

/// Whether arrays travel to the chips and back: kNone for a simulator with --timing-only, which moves no data anyway.
enum class Payload : bool { kNone, kArrays };

/// What a launch of all chips gave, by chip.
struct SliceResult {
  std::vector<ChipArguments> outputs;            ///< inputs empty; without payload all are
  std::vector<uint64_t> start_cycle, end_cycle;  ///< of each launch: first command accepted, last write visible
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
  [[nodiscard]] const ChipSet& chips() const;

  /// Loads kernels[c] on chip c with arguments[c][i] in argument i (shorter, or none, is filled up with zeros),
  /// launches on all chips while time is held, and waits for all. A kernel without commands is not launched. `in_place`:
  /// all arguments of a chip lie in the memory of its first one.
  /// INVALID_ARGUMENT: not one of each a chip, or bytes that are more than their argument has. The error of the first
  /// chip that failed, which the message names.
  [[nodiscard]] Result<SliceResult> run(const std::vector<compiler::Kernel>& kernels,
                                        const std::vector<ChipInputs>& arguments, Payload payload = Payload::kArrays,
                                        bool in_place = false);
  [[nodiscard]] Result<SliceResult> run(const std::vector<compiler::Kernel>& kernels, const InputsOfChip& inputs,
                                        Payload payload, bool in_place);

 private:
  struct State;
  explicit SliceSession(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// What each chip of a slice does in a collective; chips in no group have kernels without commands.
struct CollectiveKernels {
  std::vector<compiler::Kernel> kernels;
  bool in_place = true;  ///< all of them work in the memory of their first argument
};

/// Errors of compile_collective.
[[nodiscard]] Result<CollectiveKernels> compile_collectives(const SliceSession& session,
                                                            const compiler::Collective& collective);

/// As below. `inputs`: of chips whose kernel has arguments.
[[nodiscard]] Result<SliceResult> run_collective(SliceSession& session, const CollectiveKernels& collective,
                                                 const InputsOfChip& inputs, Payload payload = Payload::kArrays);

/// A collective on all groups of the slice (chips in no group do nothing), inputs by chip: the outputs have the bytes
/// of each chip's arguments, padding included. Errors of compile_collective and SliceSession::run; ICI_FAULT if a
/// chip's commands failed on the way.
[[nodiscard]] Result<SliceResult> run_collective(SliceSession& session, const compiler::Collective& collective,
                                                 const std::vector<std::vector<std::byte>>& inputs,
                                                 Payload payload = Payload::kArrays);

}  // namespace weft::runtime
