/// Runs a program on a core and judges what it did.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "model/core/tensor_core.hpp"
#include "testbench/random/random_program.hpp"

namespace weft::random {

/// What a run showed.
struct Verdict {
  bool passed = false;
  std::string report;  ///< the first thing that is wrong; empty if passed
  uint64_t cycles = 0;
  uint64_t commands = 0;    ///< retired
  uint64_t last_cycle = 0;  ///< of interest: that of a lockstep mismatch, else the last of the run
};

/// Runs `program` on a fresh core. Wrong is: a command whose effect differs from golden's (lockstep); VMEM, ACC, HBM or
/// host memory that differ at the end from a golden execution, in program order, of the commands that retired; another
/// fault than the expected one; a legal program that does not retire all its commands or leaves a semaphore above 0; a
/// hazard. `options`: waves.
[[nodiscard]] Verdict run_program(const Program& program, core::CoreKind kind, const core::CoreOptions& options = {});

/// Why no program of `chip` runs on such a core, which is not in this build, in words that name both; else empty.
[[nodiscard]] std::string missing_core(const spec::Chip& chip, core::CoreKind kind,
                                       core::ArrayForm array = core::ArrayForm::kFast);

/// Makes the core that a program runs on. nullptr and a message in `error`: there is none.
using CoreMaker = std::function<std::unique_ptr<core::TensorCore>(
    const spec::Chip& chip, core::MemoryBus& bus, const core::CoreOptions& options, std::string& error)>;

/// The same on a core of another maker, whose counters and registers are all read at the end: what watches the core's
/// pins sees them.
[[nodiscard]] Verdict run_program(const Program& program, const CoreMaker& make, const core::CoreOptions& options);

/// Two cores that must agree in every cycle.
enum class Comparison : uint8_t {
  kCores,   ///< the RTL and the fast core
  kArrays,  ///< the RTL with the structural array and with the fast one
};

/// Runs `program` on both cores, in the same memory. Wrong is: what run_program() finds wrong on either; a start or a
/// retirement in another cycle; another fault register, counter or byte at the end. `options`: of the first core.
[[nodiscard]] Verdict compare(const Program& program, Comparison comparison, const core::CoreOptions& options = {});

}  // namespace weft::random
