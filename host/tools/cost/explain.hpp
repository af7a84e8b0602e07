/// What a model's layers cost on a chip before anything has run: weft compile --explain.
#pragma once
#include <string>
#include <vector>

#include "host/tools/cost/layer_costs.hpp"
#include "host/tools/cost/layers.hpp"
#include "host/tools/run/model_program.hpp"

namespace weft::tools {

enum class Place : uint8_t { kVmem, kHbm };

/// A layer with its commands.
struct ExplainedLayer {
  Layer layer;
  CommandCosts costs;
  Place result = Place::kVmem;
  std::vector<Place> operands;  ///< by Layer::operands
};

/// A device program, or an island.
struct ExplainedPart {
  size_t number = 0;                   ///< of the model's parts
  bool device = false;                 ///< else an island, which has nothing but its number
  std::vector<ExplainedLayer> layers;  ///< in the order of the program
  CommandCosts other;                  ///< commands of no layer
  ProgramCosts program;                ///< its `layers` are empty
};

struct Explanation {
  std::vector<ExplainedPart> parts;

  /// Of all device programs.
  [[nodiscard]] LayerWork work() const;
  [[nodiscard]] CommandCosts costs() const;
  [[nodiscard]] uint64_t cycle_estimate() const;
};

/// Errors of command_costs().
[[nodiscard]] Result<Explanation> explain(const spec::Chip& chip, const ModelProgram& model);

/// A table of layers, islands with their reasons, sums; the same for a program.
[[nodiscard]] std::string explain_text(const spec::Chip& chip, const std::string& title, const ModelProgram& model,
                                       const Explanation& explanation);
[[nodiscard]] std::string explain_json(const spec::Chip& chip, const std::string& title, const ModelProgram& model,
                                       const Explanation& explanation);

/// What of the MXUs' cycles padding takes: rows, columns and K that fill the array and are no element of a matrix.
/// 0 to 1; 0 if there is no product.
[[nodiscard]] double padded_share(const spec::Chip& chip, uint64_t macs, uint64_t mxu_cycles);

}  // namespace weft::tools
