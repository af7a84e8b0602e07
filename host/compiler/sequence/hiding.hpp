/// Where in a program's time the data of a collective travel unseen: beside an MXU or the vector unit at work.
#pragma once
#include <cstdint>
#include <vector>

#include "host/compiler/sequence/timeline.hpp"

namespace weft::compiler {

/// When a collective begins, counted from the program's beginning, and how many times its own time it may take.
struct Hiding {
  uint64_t delay = 0;
  double stretch = 1;
  uint64_t seen = 0;  ///< cycles of links, of `sent`, beside which the chip does not compute
};

/// `work`: of the program, ascending and apart. `sent`: of one chip in the collective, counted from its beginning; its
/// spans may meet, if they are of several links. The earliest place at which hardly more cycles are seen than at any.
[[nodiscard]] Hiding hiding(const std::vector<CycleSpan>& work, uint64_t program_cycles,
                            const std::vector<CycleSpan>& sent, uint64_t collective_cycles);

}  // namespace weft::compiler
