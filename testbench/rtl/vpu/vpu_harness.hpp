/// The VPU at a preset of N = 8 between models of VMEM and ACC that refuse at random; checks the ports' contracts while it runs.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "testbench/rtl/bench/verilated_bench.hpp"
#include "testbench/rtl/vpu/command_reference.hpp"

class WEFT_MODEL;

namespace weft::vpu_test {

/// When a command passed each of its stations, in cycles; -1: not yet.
struct CommandTimes {
  int64_t accepted = -1;
  int64_t first_request = -1;
  int64_t first_write = -1;
  int64_t last_write = -1;
  int64_t done = -1;
  uint64_t writes = 0;
};

/// Sums over all cycles since construction: cycles, but rows, a_granted, b_granted and kept_granted are rows.
struct Counters {
  uint64_t busy = 0, stalled = 0, idle = 0, rows = 0, nans = 0, infinities = 0;
  uint64_t read_refused = 0, write_refused = 0, a_granted = 0, b_granted = 0, kept_granted = 0;
};

struct ReportedFault {
  Fault fault;
  uint16_t tag;
  int64_t cycle;
};

/// Owns the Verilated model and both memories. Single-threaded. A broken contract is kept in violation() (the first
/// one).
class VpuHarness {
 public:
  /// Each request is refused with probability `refused_percent` / 100.
  VpuHarness(uint64_t seed, unsigned refused_percent);
  ~VpuHarness();

  /// Queues a command; it is offered as soon as those before it are taken.
  void push(const spec::VpuCommand& command);
  /// Simulates one cycle.
  void cycle();
  /// Simulates until every command is done or one has faulted. False: not within `limit_cycles`.
  [[nodiscard]] bool run(uint64_t limit_cycles = 200'000);

  /// One value for each command pushed, in order.
  const std::vector<CommandTimes>& times() const { return times_; }
  const Counters& counters() const { return counters_; }
  const std::optional<ReportedFault>& fault() const { return fault_; }
  const std::string& violation() const { return violation_; }
  int64_t now() const { return now_; }
  bool active() const;
  bool ready() const;
  uint64_t faults_reported() const { return faults_reported_; }

  Vmem vmem;
  Acc acc;

 private:
  struct Request {
    bool req = false;
    uint32_t addr = 0;
    bool pair = false;
    bool upper = false;
    bool granted = false;
    bool operator==(const Request&) const = default;
  };
  using Port = std::array<Request, kSublanes>;  ///< of each row of a group
  using Data = std::array<uint32_t, kSublanes * kN>;
  void violate(const std::string& what);
  /// A bit for each row that is granted, which its request notes.
  uint8_t grant(Port& port);
  void check_port(const char* name, const Port& before, const Port& now, uint32_t limit);
  [[nodiscard]] static bool any_granted(const Port& port);
  [[nodiscard]] static bool any_refused(const Port& port);
  [[nodiscard]] static uint64_t rows_granted(const Port& port);
  void drive();
  void sample_requests();
  void answer_requests();
  void track();
  void check_outputs();
  void access_memories();

  std::unique_ptr<VerilatedContext> context_;  // outlives the model
  std::unique_ptr<WEFT_MODEL> model_;
  std::unique_ptr<bench::Waves<WEFT_MODEL>> waves_;
  std::mt19937_64 random_;
  unsigned refused_percent_;
  std::deque<spec::VpuCommand> offered_;
  std::vector<CommandTimes> times_;
  std::vector<bool> of_acc_;  ///< by command: operand a lies in ACC
  size_t taken_ = 0, retired_ = 0;
  Counters counters_;
  std::optional<ReportedFault> fault_;
  uint64_t faults_reported_ = 0;
  std::string violation_;
  int64_t now_ = 0;
  Port va_, vb_, vw_, acc_port_;
  Data a_data_{}, b_data_{}, acc_data_{}, write_data_{};
};

}  // namespace weft::vpu_test
