/// Collectives between chips of an open slice, each made once and run as often as wanted.
#pragma once
#include <cstddef>
#include <vector>

#include "host/compiler/collectives/collective.hpp"
#include "host/compiler/result.hpp"
#include "host/runtime/slice_programs.hpp"

namespace weft::runtime {

/// `inputs` and `queues` by number of the chip; those of chips that take no part are not looked at. An input has the
/// bytes that the collective says. The outputs by chip, of as many bytes as the argument has: behind the data they are
/// undefined. All chips begin in one cycle. Errors of compile_collective and of the driver.
[[nodiscard]] Result<std::vector<std::vector<std::byte>>> run_collective(
    SlicePrograms& programs, const compiler::Collective& collective, const std::vector<std::vector<std::byte>>& inputs,
    const std::vector<weft_queue*>& queues, std::vector<ChipWindow>& windows);

}  // namespace weft::runtime
