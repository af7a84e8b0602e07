/// Programs with control lists for tests: a tree of steps, made into a list, followed by a model of its own on the
/// host, and unrolled into a kernel without a list.
///
/// A step is d = a + b, a - b, min or max of one row of N x i32 each; rows lie in arguments. The model knows nothing of
/// entries and bindings: it walks the tree.
#pragma once
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "host/compiler/executable/executable_writer.hpp"

namespace weft::test {

/// A row of an argument: `row`, and `by` more with each turn of a loop (index into the loops that are open, 0: the
/// outermost).
struct RowPlace {
  uint32_t argument = 0;
  int64_t row = 0;
  struct Move {
    uint32_t loop;
    int64_t by;
  };
  std::vector<Move> moves = {};
};

struct ControlNode;
using ControlBody = std::vector<ControlNode>;

/// One step of the tree.
struct ControlNode {
  enum class Kind { kStep, kLoop, kWhile, kIf };
  Kind kind = Kind::kStep;
  // kStep
  weft_vpu_op op = WEFT_VPU_OP_ADD;
  RowPlace a = {}, b = {}, d = {};
  bool bind_here = true;  ///< else at the start of the list
  // kLoop, kWhile, kIf
  uint32_t turns = 0;
  RowPlace word = {};
  weft_control_condition compare = WEFT_CONTROL_CONDITION_NOT_EQUAL;
  int32_t value = 0;
  ControlBody body = {}, otherwise = {};
};

/// A whole program: `rows` rows of N x i32 in each argument.
struct ControlProgram {
  uint32_t n = 8;
  uint32_t arguments = 1;
  uint32_t rows = 1;
  ControlBody body = {};

  [[nodiscard]] uint64_t row_bytes() const { return uint64_t{n} * sizeof(int32_t); }
  [[nodiscard]] uint64_t argument_bytes() const { return rows * row_bytes(); }
};

/// Values of all arguments, one after the other.
using ControlData = std::vector<std::vector<int32_t>>;

/// What the model did: steps with their rows as they were in that turn.
struct ControlTrace {
  struct Step {
    weft_vpu_op op;
    std::array<uint32_t, 3> argument;  ///< of a, b, d
    std::array<uint32_t, 3> row;
  };
  std::vector<Step> steps;
  uint64_t conditions = 0;
};

/// Follows the tree on `data`. `max_steps`: a program that never ends is a defect of the test.
ControlTrace follow(const ControlProgram& program, ControlData& data, uint64_t max_steps = 100000);

/// The kernel with a control list; its blocks are one step each.
Result<compiler::Kernel> with_list(const spec::Chip& chip, const ControlProgram& program);

/// The same steps without a list, each behind the one before it.
compiler::Kernel unrolled(const spec::Chip& chip, const ControlProgram& program, const ControlTrace& trace);

/// A random tree that ends: loops to three deep, conditions on words that the program writes.
ControlProgram random_control_program(const spec::Chip& chip, uint64_t seed);

/// Random values, rows that conditions count in excepted.
ControlData random_control_data(const ControlProgram& program, uint64_t seed);

/// One step as a block: a and b from segments, d to one. `wait`: for that many posts of the step before; `post`: for
/// the next one.
compiler::Block step_block(const spec::Chip& chip, weft_vpu_op op, const std::array<uint8_t, 3>& segments,
                           const std::array<uint64_t, 3>& offsets = {}, bool wait = false, bool post = false);

}  // namespace weft::test
