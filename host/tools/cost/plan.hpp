/// Whether a model fits a chip, and how fast it can be there, without running it: weft plan.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/tools/cost/explain.hpp"
#include "host/tools/run/model_program.hpp"

namespace weft::tools {

/// A model on one chip.
struct PlanRow {
  const spec::Chip* chip = nullptr;
  uint64_t memory_bytes = 0;     ///< of HBM: constants, commands, arguments and scratch of the largest device program
  uint64_t available_bytes = 0;  ///< of HBM, without what the firmware reserves
  uint64_t vmem_bytes = 0;       ///< that the largest device program uses
  bool resident = false;         ///< no value between layers goes through HBM
  std::optional<uint64_t> critical_batch;  ///< from which on HBM no longer binds; nothing: there is none
  double padded_share = 0;
  uint64_t bound_cycles = 0;                     ///< of the model, without padding
  uint64_t estimate_cycles = 0;                  ///< of the commands
  const char* bound_by = "-";                    ///< of the commands; "-": the device does nothing
  std::map<std::string, uint64_t> host_reasons;  ///< why the host computes operators, and how many
  std::vector<std::string> help;                 ///< what would help, the most urgent first

  [[nodiscard]] bool fits() const { return memory_bytes <= available_bytes; }
};

struct Plan {
  std::string model;
  uint64_t batch = 0;
  bool batch_is_fixed = false;  ///< no input has a symbolic first dimension
  std::vector<PlanRow> rows;
};

/// Work of the device's operators for two batches, from which that of every batch follows: each part of it is a
/// constant and a part per sample. The same batch twice: the model has one size.
struct BatchWork {
  uint64_t batch_a = 1, batch_b = 2;
  LayerWork a, b;
};

/// The smallest batch from which on an engine needs at least as long as HBM; nothing: HBM always needs longer, there is
/// no work, or the model has one size.
[[nodiscard]] std::optional<uint64_t> critical_batch(const spec::Chip& chip, const BatchWork& work);

/// Cycles that the commands of a device program take, without running them. If its values stay in VMEM, layers overlap:
/// the engine that needs most takes all the time; else a layer begins when the one before has ended. HBM's latency
/// stands at both ends.
[[nodiscard]] uint64_t estimate_cycles(const spec::Chip& chip, const ExplainedPart& part);

/// Errors of explain().
[[nodiscard]] Result<PlanRow> plan_on(const spec::Chip& chip, const ModelProgram& model, uint64_t batch,
                                      const BatchWork& work);

[[nodiscard]] std::string plan_text(const Plan& plan);
[[nodiscard]] std::string plan_json(const Plan& plan);

}  // namespace weft::tools
