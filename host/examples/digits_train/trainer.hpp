/// Trains on the chips of a set, data-parallel: every chip has all parameters and its share of each batch.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "host/examples/digits/optdigits.hpp"
#include "host/examples/digits_train/checkpoint.hpp"
#include "host/runtime/chip_set.hpp"

namespace weft::examples {

/// What some steps gave.
struct TrainingSteps {
  std::vector<float> losses;   ///< of each step, the mean over the batch before its update
  uint64_t device_cycles = 0;  ///< first command accepted to last write visible, on the chip that took longest
};

/// A step is four or fewer kinds of launches on each chip's queue, with nothing for the host to do between them:
/// gradient of the chip's rows, an all-reduce along each axis of the slice (x, then y, then z), a copy of the loss,
/// update. Steps are submitted many at a time. Not thread-safe.
class Trainer {
 public:
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;
  ~Trainer();

  /// Compiles and loads the programs. `data` must outlive it. INVALID_ARGUMENT: a batch that the chips cannot share, or
  /// settings that do not fit the data.
  [[nodiscard]] static Result<Trainer> create(runtime::ChipSet chips, const RunSettings& settings, const Digits& data);

  [[nodiscard]] const runtime::ChipSet& chips() const;

  /// Where the run stands: step, parameters, momentum. set() takes them, on every chip; INVALID_ARGUMENT if the
  /// settings differ. get() reads them; INTERNAL if two chips have different bits.
  [[nodiscard]] Status set(const Checkpoint& state);
  [[nodiscard]] Result<Checkpoint> get() const;

  /// The next `count` steps.
  [[nodiscard]] Result<TrainingSteps> run(uint64_t count);

  /// Scores [count, kClasses] of digits, a share on every chip. The first call fixes how many digits.
  [[nodiscard]] Result<std::vector<float>> scores(const Digits& digits);

 private:
  struct State;
  explicit Trainer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Share of the digits whose label has the largest score, 0 to 1.
[[nodiscard]] double accuracy(const Digits& digits, const std::vector<float>& scores);

}  // namespace weft::examples
