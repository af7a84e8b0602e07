/// From neighbour to neighbour with all that is under way in VMEM: no rank reads HBM to add or to pass on.
#pragma once
#include <cstdint>

#include "host/compiler/collectives/collective_mesh.hpp"
#include "host/compiler/executable/program_builder.hpp"

namespace weft::compiler {

/// Adds the commands of a rank of an all-gather, reduce-scatter or all-reduce to `program`. Needs
/// resident_vmem_bytes() of VMEM, for itself. `dtype`: of additions. The first command of dma_out waits for `gate`.
/// Uses semaphores 0 to 32 and 48 to 59. `link_bytes_per_second`: what orders the steps of axes of different length;
/// 0: not known.
void schedule_resident(ProgramBuilder& program, const CollectiveMesh& mesh, const Collective& collective,
                       weft_vpu_dtype dtype, unsigned gate, uint64_t link_bytes_per_second);

/// VMEM that a rank needs for it.
[[nodiscard]] uint64_t resident_vmem_bytes(const spec::Chip& chip, const CollectiveMesh& mesh,
                                           const Collective& collective);

/// What goes from neighbour to neighbour goes this way: its kind does, and VMEM has room for it.
[[nodiscard]] bool is_resident(const spec::Chip& chip, const CollectiveMesh& mesh, const Collective& collective);

/// Bytes of a row of f32, which pieces in VMEM are whole numbers of.
[[nodiscard]] inline uint64_t resident_row_bytes(const spec::Chip& chip) { return 2 * uint64_t{chip.word_bytes}; }

}  // namespace weft::compiler
