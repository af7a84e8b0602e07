/// How long a model takes over batch sizes: weft bench.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/runtime/session.hpp"
#include "host/tools/cost/layers.hpp"
#include "host/tools/run/model_program.hpp"

namespace weft::tools {

/// One batch size.
struct BenchRow {
  uint64_t batch = 0;
  uint64_t device_cycles = 0;  ///< of all launches, from their first command to their last write
  uint64_t bound_cycles = 0;   ///< what the device programs need at least, one after the other
  const char* bound_by = "-";  ///< of the work of all of them
  LayerWork work;              ///< of the device
  double padded_share = 0;
  double host_seconds = 0;  ///< of islands, wall clock
  size_t islands = 0;
};

struct Bench {
  std::string model, chip, core;
  std::vector<BenchRow> rows;
};

/// A list of batch sizes, "1,8,64". INVALID_ARGUMENT: a word that is no number from 1 to 2^31, or one twice.
[[nodiscard]] Result<std::vector<uint64_t>> parse_batches(const std::string& text);

/// The batch of a model whose inputs all have the same first dimension whatever the binding; nothing: it is symbolic.
/// `one`, `two`: the model for two different batches.
[[nodiscard]] std::optional<uint64_t> fixed_batch(const compiler::ir::Module& one, const compiler::ir::Module& two);

/// Values for every input: f32 uniform in [-1, 1) by the seed, others zero.
[[nodiscard]] std::vector<compiler::ir::TensorPtr> made_inputs(const compiler::ir::Module& module, uint64_t seed);

/// Runs the model once on made inputs. `session` may be null if no part has a device program. Errors of the device.
[[nodiscard]] Result<BenchRow> bench_batch(const spec::Chip& chip, const ModelProgram& model, uint64_t batch,
                                           uint64_t seed, runtime::Session* session);

/// Samples a second of device time; 0: the device did nothing.
[[nodiscard]] double throughput_of(const spec::Chip& chip, uint64_t batch, uint64_t cycles);

[[nodiscard]] std::string bench_text(const spec::Chip& chip, const Bench& bench);
[[nodiscard]] std::string bench_json(const spec::Chip& chip, const Bench& bench);
/// An SVG of its own: throughput and latency over the batch, each with its bound. Rows without device cycles are left
/// out.
[[nodiscard]] std::string bench_picture(const spec::Chip& chip, const Bench& bench);

}  // namespace weft::tools
