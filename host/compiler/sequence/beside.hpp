/// A program and a collective as one block of commands: each queue takes the commands of both by the time at which they
/// can begin, so that data travel while the program computes.
#pragma once
#include "host/compiler/collectives/collective.hpp"
#include "host/compiler/executable/executable_writer.hpp"
#include "host/compiler/sequence/hiding.hpp"
#include "host/compiler/sequence/timeline.hpp"

namespace weft::compiler {

/// Where a collective's commands have their own places.
struct CollectivePlace {
  uint64_t vmem_bytes = 0;     ///< its VMEM begins here, a multiple of a row of f32
  uint64_t scratch_bytes = 0;  ///< and its scratch memory here
};

/// Below 48, that a program leaves: those of a collective, and one that lets it begin.
inline constexpr unsigned kSemaphoresBeside = kSemaphoresBesideProgram + 1;

/// False: the program leaves too few semaphores or too little VMEM, or one of them has a command that waits for all.
[[nodiscard]] bool can_be_beside(const spec::Chip& chip, const Kernel& program, const Kernel& collective,
                                 const CollectivePlace& place);

/// The kernels with semaphores, VMEM and scratch memory apart; they can be beside each other. `of_program` and
/// `of_collective`: when their commands begin, of the collective on this chip. Its times are `hidden.stretch` times as
/// long and begin at `hidden.delay`: its barrier waits for a command of the program that has begun by then.
[[nodiscard]] Kernel beside(const spec::Chip& chip, const Kernel& program, const Beginnings& of_program,
                            const Kernel& collective, const Beginnings& of_collective, const Hiding& hidden,
                            const CollectivePlace& place);

}  // namespace weft::compiler
