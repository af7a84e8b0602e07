/// From a program of whole arrays to the program of each device: operators on parts, and the collectives between them.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/compiler/ir/devices.hpp"
#include "host/compiler/ir/module.hpp"
#include "host/compiler/result.hpp"

namespace weft::compiler::localise {

/// An input that a device's program has beside the inputs of the whole program: the device's tile of one of them, or of
/// a constant.
struct Extra {
  std::optional<size_t> input;  ///< of which the device has all
  ir::TensorPtr constant;       ///< if there is no input
  ir::Tiling tiling;
};

/// One program for all devices. Its inputs are the device's tiles of the whole program's, then `extras`; its outputs the
/// device's tiles. Collectives outside of regions have the attribute "together": all devices come to them.
struct LocalProgram {
  ir::Module module;
  std::vector<Extra> extras;
  std::vector<ir::Tiling> outputs;  ///< how they lie
  std::map<std::string, uint64_t>
      replicated;  ///< operators that each device computes whole, though their operands are cut
};

/// Parts of constants that products multiply by: of what is summed, and of what stays. A dimension that they do not
/// divide is in one part.
struct WeightTiling {
  int64_t summed = 1, kept = 1;
  int64_t scatter_unit = 0;  ///< a sum of parts lies in parts itself, of so many of its last dimension; 0: it is whole
  std::vector<int64_t> summed_place = {}, kept_place = {};  ///< by device, if there are several parts
};

/// `inputs`, `outputs`: the tilings of the module's. `open`: outputs, by number, that lie as their operators leave them.
/// UNSUPPORTED names the reason: a manual computation over some of the devices. Parts of sums (unreduced): those of an
/// input are added up first, and of an output the first part is all of it.
[[nodiscard]] Result<LocalProgram> localise(const ir::Module& module, const std::vector<ir::Tiling>& inputs,
                                            const std::vector<ir::Tiling>& outputs, size_t devices,
                                            const WeightTiling& weights = {}, const std::vector<bool>& open = {});

}  // namespace weft::compiler::localise
