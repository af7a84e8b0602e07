/// Collectives of L1 as the chips of a slice do them with values that lie in their memory.
#pragma once
#include <cstdint>
#include <vector>

#include "host/compiler/collectives/collective.hpp"
#include "host/compiler/ir/module.hpp"
#include "host/compiler/result.hpp"

namespace weft::compiler {

/// The chips of a program of several devices.
struct DeviceSlice {
  SliceShape shape;
  std::vector<uint32_t> chips;  ///< by device
};

/// A collective that all devices come to, whose parts are consecutive elements; its bytes are left open. UNSUPPORTED: why
/// the host does it.
[[nodiscard]] Result<Collective> device_collective(const ir::Module& module, const ir::Op& op,
                                                   const DeviceSlice& slice);

/// Whether what a device sends, or of a gathering gets, takes longer on a link than four hops do, so that a program beside it spares time.
[[nodiscard]] bool is_long(const ir::Module& module, const ir::Op& op, const DeviceSlice& slice);

/// Of a permutation: each member sends to the next one, all in rounds of one size. Empty: they do not.
[[nodiscard]] std::vector<ir::Dims> rounds_of(const ir::Dims& pairs, const ir::Dims& members);

}  // namespace weft::compiler
