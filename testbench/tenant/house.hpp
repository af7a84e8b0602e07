/// The server, its honest neighbours, and what is watched of them.
#pragma once
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "testbench/tenant/tenant.hpp"

namespace weft::tenant {

/// A program with its input and output in pipes; killed with this object.
class Child {
 public:
  Child(const std::string& program, const std::vector<std::string>& arguments);
  ~Child();
  Child(Child&& other) noexcept;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  Child& operator=(Child&&) = delete;

  /// From now on SIGTERM and SIGINT of this process kill its children first.
  static void end_with_this_process();

  [[nodiscard]] pid_t pid() const { return pid_; }
  void tell(const std::string& line) const;
  /// The next line of its output; nothing within `patience_ms` or at its end: nothing.
  std::optional<std::string> line(int patience_ms);
  /// What it had said and nobody had taken when ended() found its end.
  [[nodiscard]] const std::string& last_words() const { return last_words_; }
  /// "exit code 3", "signal 11", or nothing while it lives.
  std::optional<std::string> ended();

 private:
  pid_t pid_ = -1;
  int input_ = -1, output_ = -1;
  std::string buffered_, last_words_;
};

/// What the server holds of its clients.
struct Holdings {
  uint64_t descriptors = 0;
  uint64_t maps = 0;  ///< of tenants' memory
  bool operator==(const Holdings&) const = default;
};

/// What three neighbours did in a sequence.
struct Peace {
  uint64_t rounds = 0, elements = 0, differing = 0, bytes = 0, wrong = 0;
  uint64_t launch = 0, latency = 0, copy = 0;  ///< the most cycles beyond "alone"
  uint64_t again = 0, different = 0;           ///< launches alone after the attack, and those with other cycles
  uint64_t slowest_ms = 0;                     ///< of a round; a figure, not a bound
};

struct HouseOptions {
  std::string sim;        ///< weft-sim
  std::string neighbour;  ///< tenant_neighbour
  std::string core = "fast";
  std::vector<std::string> options;  ///< of weft-sim
  uint64_t growth_mib = 256;         ///< HBM of all functions is 64 MiB of it
};

/// A weft-sim of 16 functions: three neighbours, one function for visitors, twelve for the hostile tenant.
/// Every question has a bound after which the answer counts as harm.
class House {
 public:
  static constexpr unsigned kNeighbours = 3, kVisitor = 3, kFunctions = 16;
  /// Nothing that an honest process waits for takes as long.
  static constexpr int kPatienceMs = 30'000;

  House(const HouseOptions& options, uint64_t seed);
  ~House();

  [[nodiscard]] const Stage& stage() const { return stage_; }
  Stage& stage() { return stage_; }
  /// Why it could not be set up; empty: it could.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

  void go() const;
  /// Ends the round of the neighbours and adds up what they say. Sentences of harm.
  std::vector<std::string> stop(Peace& peace);
  /// An honest client comes, boots, runs a command and goes. Sentences of harm.
  std::vector<std::string> visit();
  /// The server is never idle although no cycle of the device passes. Sentences of harm.
  std::vector<std::string> look_for_spinning();
  /// All functions of `used` are free again, and nothing of their clients is left. Sentences of harm.
  std::vector<std::string> look_for_remains(const std::set<unsigned>& used);
  /// One neighbour after the other, alone: its launches take the very cycles that they took before anybody attacked.
  /// Sentences of harm.
  std::vector<std::string> look_for_changed_cycles(Peace& peace);
  /// The server lives. Sentences of harm.
  std::vector<std::string> look_for_death();

  [[nodiscard]] uint64_t resident_kib() const;
  [[nodiscard]] uint64_t peak_resident_kib() const { return peak_kib_; }

 private:
  [[nodiscard]] Holdings holdings() const;
  /// The server sleeps, and is not woken all the time. Independent of how busy the machine is.
  [[nodiscard]] bool rests() const;
  double processor_seconds() const;  ///< that the server has taken
  std::optional<uint64_t> device_cycle();

  std::string folder_;  ///< of this run
  Stage stage_;
  std::string trouble_;
  std::optional<Child> server_;
  std::vector<Child> neighbours_;
  Holdings empty_;  ///< with neighbours and nobody else
  uint64_t most_growth_kib_ = 0, first_kib_ = 0, peak_kib_ = 0;
};

}  // namespace weft::tenant
