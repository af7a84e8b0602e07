/// Small collectives: every rank sends straight to every other one, and no program on the way waits for data.
#pragma once
#include <cstdint>
#include <optional>

#include "host/compiler/collectives/collective_mesh.hpp"
#include "host/compiler/executable/program_builder.hpp"

namespace weft::compiler {

/// What the rest of the program must know of it.
struct DirectCollective {
  bool waits = false;         ///< a command waits for `gate`
  uint64_t direct_posts = 0;  ///< of kCollectiveDirect, from ranks that write this one's output
};

/// Adds the commands of a rank of an all-gather, reduce-scatter, all-reduce or broadcast to `program`. Each rank sends
/// its part of every block to the block's owner, into VMEM; the owner adds them in the documented order and sends the
/// sum to all. Needs direct_vmem_bytes() of VMEM. `dtype`: of additions. Uses semaphores 0 to 3 and 60 to 61.
[[nodiscard]] DirectCollective schedule_direct(ProgramBuilder& program, const CollectiveMesh& mesh,
                                               const Collective& collective, weft_vpu_dtype dtype, unsigned gate);

/// VMEM that a rank needs for it.
[[nodiscard]] uint64_t direct_vmem_bytes(const spec::Chip& chip, const CollectiveMesh& mesh,
                                         const Collective& collective);

}  // namespace weft::compiler
