/// What every bench of a Verilated block shares: random initial values, the count of cycles, waves, and the line that
/// reruns a failure.
///
/// Environment: WEFT_SEED, seed of the stimulus · WEFT_INITIAL_SEED, seed of what no reset sets (0: all 0) · WEFT_WAVE,
/// an FST file · WEFT_WAVE_FROM, its first cycle.
#pragma once
#include <verilated.h>
#include <verilated_fst_c.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

namespace weft::bench {

inline uint64_t environment_number(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

/// WEFT_SEED, or the bench's own; printed, so that a log tells it.
inline uint64_t stimulus_seed(uint64_t own) {
  const uint64_t seed = environment_number("WEFT_SEED", own);
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

/// Goes before the model: it says what the model's flip-flops and memories hold before they are written.
inline std::unique_ptr<VerilatedContext> make_context() {
  auto context = std::make_unique<VerilatedContext>();
  context->threads(1);  // else each context starts a pool of one thread a processor, though no model uses it
  const auto seed = static_cast<int>(environment_number("WEFT_INITIAL_SEED", 0));
  context->randReset(seed == 0 ? 0 : 2);
  context->randSeed(seed);
  if (std::getenv("WEFT_WAVE") != nullptr) context->traceEverOn(true);
  return context;
}

/// The command that repeats the running test with the same seeds and writes waves of the 2000 cycles before `cycle`.
inline std::string rerun_line(uint64_t seed, uint64_t cycle) {
  const auto number = [](uint64_t value) { return std::to_string(value); };
  return "rerun: WEFT_SEED=" + number(seed) +
         " WEFT_INITIAL_SEED=" + number(environment_number("WEFT_INITIAL_SEED", 0)) +
         " WEFT_WAVE=waves.fst WEFT_WAVE_FROM=" + number(cycle < 2000 ? 0 : cycle - 2000) + " " +
         program_invocation_name + " '" + Catch::getResultCapture().getCurrentTestName() + "'";
}

/// Keeps a context's time, and dumps a model's waves if the environment asks for them. One sample with the inputs
/// settled, one after the edge, at times 2 c and 2 c + 1.
template <class Top>
class Waves {
 public:
  Waves(VerilatedContext& context, Top& top) : context_(context) {
    const char* path = std::getenv("WEFT_WAVE");
    if constexpr (requires(VerilatedFstC* file) { top.trace(file, 99); }) {
      if (path == nullptr) return;
      file_ = std::make_unique<VerilatedFstC>();
      top.trace(file_.get(), 99);
      file_->open(path);
    } else if (path != nullptr) {
      std::printf("no waves: configure with -DWEFT_BENCH_WAVES=ON (scripts/bench --wave does)\n");
    }
  }
  ~Waves() {
    if (file_) file_->close();
  }
  Waves(const Waves&) = delete;
  Waves& operator=(const Waves&) = delete;

  void before_edge(uint64_t cycle) {
    context_.time(cycle);
    dump(cycle, 0);
  }
  void after_edge(uint64_t cycle) { dump(cycle, 1); }

 private:
  void dump(uint64_t cycle, unsigned phase) {
    if (file_ == nullptr || cycle < from_) return;
    file_->dump(2 * cycle + phase);
    file_->flush();  // a failed assertion leaves by an exception, an unexpected end by a signal
  }
  VerilatedContext& context_;
  std::unique_ptr<VerilatedFstC> file_;
  const uint64_t from_ = environment_number("WEFT_WAVE_FROM", 0);
};

/// A model with a clock clk_i and a reset rst_ni. Owns both; single-threaded. A failed assertion leaves settle() and
/// step() as a ModelFailure, which Catch reports.
template <class Top>
class VerilatedBench {
 public:
  VerilatedBench() : context_(make_context()), top(std::make_unique<Top>(context_.get())), waves_(*context_, *top) {}

  /// `cycles` edges in reset.
  void reset(unsigned cycles = 1) {
    top->rst_ni = 0;
    for (unsigned i = 0; i < cycles; i++) step();
    top->rst_ni = 1;
    settle();
  }
  /// Lets the inputs of this cycle show.
  void settle() {
    context_->time(cycle_);
    top->clk_i = 0;
    top->eval();
  }
  /// Settles, and makes the edge.
  void step() {
    settle();
    waves_.before_edge(cycle_);
    top->clk_i = 1;
    top->eval();
    waves_.after_edge(cycle_);
    cycle_++;
  }
  [[nodiscard]] uint64_t cycle() const { return cycle_; }

 private:
  std::unique_ptr<VerilatedContext> context_;  // outlives the model

 public:
  std::unique_ptr<Top> top;

 private:
  Waves<Top> waves_;
  uint64_t cycle_ = 0;
};

}  // namespace weft::bench
