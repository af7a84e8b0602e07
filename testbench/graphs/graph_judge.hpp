/// Runs a random network and judges every element of it.
#pragma once
#include <cstdint>
#include <string>

#include "model/core/tensor_core.hpp"
#include "testbench/graphs/graph_plan.hpp"

namespace weft::graphs {

/// What a network showed.
struct Judgement {
  std::string wrong;  ///< the first thing; empty: nothing
  uint64_t device_programs = 0, loops = 0, islands = 0, commands = 0, cycles = 0;
  uint64_t elements = 0;    ///< of results of device programs, compared bit by bit
  bool referenced = false;  ///< outputs were compared with the reference of L1
  double error = 0;         ///< then: of the outputs, relative, L2
};

/// Passes, parts, programs; each device program runs on a core of the kind with the values that the parts before it
/// gave. Wrong is: what run_program() finds, hazards among it; an element of a result that differs from the golden
/// arithmetic of the program's graph; an output of a smooth network that is far from the reference of L1, which rounds
/// no operand to bf16 and knows no device; a network that the compiler refuses.
[[nodiscard]] Judgement judge(const GraphPlan& plan, core::CoreKind kind);

}  // namespace weft::graphs
