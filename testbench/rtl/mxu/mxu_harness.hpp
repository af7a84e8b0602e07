/// Drives the Verilated MXU: commands with or without pauses, a VMEM that may refuse, the VPU's read port, counters.
/// Two models of the same unit (the array as loops, and as PE instances) run side by side and are compared in each
/// cycle.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "testbench/rtl/bench/verilated_bench.hpp"
#include "testbench/rtl/mxu/mxu_reference.hpp"
#include "weft/spec/chips.hpp"

class WEFT_MXU_MODEL;
class WEFT_MXU_STRUCTURAL;

namespace weft::mxu_bench {

/// Cycles in each state, and sums over all cycles.
struct Counters {
  uint64_t busy = 0, weight_wait = 0, acc_wait = 0, vmem_wait = 0, drain = 0, idle = 0, macs = 0;
  bool overflow = false;
};

struct Fault {
  uint64_t cycle = 0;
  uint8_t code = 0;
  uint16_t tag = 0;
  uint64_t address = 0;
};

class Harness {
 public:
  static constexpr unsigned kN = 8;
  static constexpr unsigned kLatency = WEFT_MXU_PE_LATENCY;  ///< L of the preset
  static constexpr unsigned kDepth = kLatency * kN;          ///< a row's issue to its first result, less one
  static constexpr unsigned kFlight = kDepth + kN;           ///< a row's issue to its last result
  static constexpr unsigned kVmemWords = 16384;
  static constexpr unsigned kBankRows = 64;

  explicit Harness(uint64_t seed);
  ~Harness();

  /// Both units into reset for a cycle; a refused or unfinished command is forgotten. VMEM and ACC stay.
  void reset();

  /// Appends a command; it is offered as soon as those before it are taken.
  void push(const spec::MxuCommand& command) { waiting_.push_back(command); }
  /// One cycle.
  void step();
  /// Steps until nothing is waiting and the unit is not active; false after `limit` cycles.
  [[nodiscard]] bool run(uint64_t limit = 1000000);

  /// Steps until `reached()`; false after `limit` cycles.
  template <class Condition>
  [[nodiscard]] bool step_until(Condition reached, uint64_t limit = 100000) {
    for (; limit != 0 && !reached(); limit--) step();
    return reached();
  }

  /// Reads an ACC row through the VPU's port, stepping until it is granted; empty if it never is.
  std::vector<uint32_t> read_row(unsigned row);
  /// Asks for `row` in the next step, once.
  void request_row(unsigned row) { acc_request_ = static_cast<int>(row); }

  /// Flips two bits of an ACC element in the next step, so that ECC cannot correct it.
  void poison_acc(unsigned row, unsigned column) { acc_flip_ = row * kN + column; }

  std::vector<uint16_t> vmem;            ///< kVmemWords words of kN lanes
  std::map<unsigned, uint8_t> poisoned;  ///< by word: granules that ECC cannot correct, a bit each
  unsigned x_refusals = 0;               ///< percent of requests
  unsigned w_refusals = 0;
  unsigned command_pauses = 0;  ///< percent of cycles in which no command is offered
  std::mt19937_64 random;

  // What happened so far.
  Counters counters;
  uint64_t cycle = 0;
  std::vector<uint64_t> accepted, done;  ///< cycles
  std::vector<Fault> faults;
  bool ready = false, active = false;  ///< in the last step
  bool acc_granted = false;            ///< in the last step
  std::vector<uint32_t> acc_data;      ///< of the request granted one step earlier, else empty
  uint64_t differing_cycles = 0;       ///< in which the two models did not agree on every output

 private:
  template <class Top>
  void drive(Top& top) const;
  [[nodiscard]] bool outputs_agree() const;

  std::unique_ptr<VerilatedContext> context_;  // outlives the models
  std::unique_ptr<WEFT_MXU_MODEL> loops_;
  std::unique_ptr<WEFT_MXU_STRUCTURAL> pes_;
  std::unique_ptr<bench::Waves<WEFT_MXU_MODEL>> waves_;
  std::deque<spec::MxuCommand> waiting_;
  spec::Command offered_{};
  bool offering_ = false, reset_ = false;
  bool x_grant_ = false, w_grant_ = false, x_pending_ = false, w_pending_ = false;
  unsigned x_word_ = 0, w_word_ = 0;
  int acc_request_ = -1;
  std::optional<unsigned> acc_flip_;  // element
};

// What every test of the harness writes.
using spec::MxuCommand;
inline constexpr unsigned kN = Harness::kN, kBankRows = Harness::kBankRows;

}  // namespace weft::mxu_bench
