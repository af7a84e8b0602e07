/// The hostile tenant of one sequence: what it holds, and the attacks that it knows.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "testbench/tenant/raw_device.hpp"

namespace weft::tenant {

/// Where the server is, and which of its functions are whose.
struct Stage {
  std::string folder;
  unsigned first_hostile = 4;
  unsigned functions = 16;
  bool hostile_management = false;  ///< management requests that harm: a server that lets anybody is attacked
  [[nodiscard]] std::string socket(unsigned function) const {
    return folder + "/function" + std::to_string(function) + ".sock";
  }
  [[nodiscard]] std::string management() const { return folder + "/management.sock"; }
};

/// Numbers from a seed.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  uint64_t word() { return engine_(); }
  /// From 0 to bound - 1.
  uint64_t below(uint64_t bound) { return engine_() % bound; }
  /// From low to high.
  uint64_t between(uint64_t low, uint64_t high) { return low + below(high - low + 1); }
  bool one_in(uint64_t n) { return below(n) == 0; }
  template <typename T, size_t N>
  T pick(const T (&choices)[N]) {
    return choices[below(N)];
  }
  template <typename T>
  T pick(std::initializer_list<T> choices) {
    return *(choices.begin() + below(choices.size()));
  }
  /// Small, or near a power of two, or anything.
  uint64_t odd_value();
  Bytes bytes(size_t count);

 private:
  std::mt19937_64 engine_;
};

/// Everything that attacks leave behind stays until the sequence ends: connections, descriptors, threads.
class Tenant {
 public:
  Tenant(const Stage& stage, uint64_t seed) : random(seed), stage_(stage) {}
  ~Tenant();
  Tenant(const Tenant&) = delete;
  Tenant& operator=(const Tenant&) = delete;

  [[nodiscard]] const Stage& stage() const { return stage_; }
  /// One of the functions that are this tenant's.
  [[nodiscard]] unsigned any_function();
  /// A function with a client after VERSION and its memory mapped; an earlier one that still works is used again.
  /// nullptr: the server does not let it in.
  RawDevice* device();
  /// The same, booted.
  RawDevice* booted();
  /// A fresh connection after VERSION to a function that no attack of this sequence has had; none has it afterwards.
  /// Not valid(): none is to be had.
  RawClient spare();
  /// The socket of a function that no attack of this sequence has had; none has it afterwards. Empty: none is left.
  std::string spare_socket();
  /// Ends what device() of this function gave, so that it must connect anew.
  void drop(const RawDevice* device);

  /// Keeps something until the end.
  void keep(RawClient client) { clients_.push_back(std::move(client)); }
  void keep(Descriptor descriptor) { descriptors_.push_back(std::move(descriptor)); }
  void keep(SharedMemory memory) { memories_.push_back(std::move(memory)); }
  /// Does something again and again beside the rest until the end, or for so many times.
  void meanwhile(std::function<void()> step, uint64_t times = UINT64_MAX);
  /// Done before anything is closed.
  void at_end(std::function<void()> step) { ends_.push_back(std::move(step)); }

  /// Harm that the tenant itself has seen.
  void complain(std::string text) { complaints_.push_back(std::move(text)); }
  [[nodiscard]] const std::vector<std::string>& complaints() const { return complaints_; }
  /// Functions that were connected to in this sequence.
  [[nodiscard]] const std::set<unsigned>& connected() const { return connected_; }

  Random random;

 private:
  [[nodiscard]] RawClient enter(const std::string& socket) const;

  const Stage& stage_;
  std::map<unsigned, std::unique_ptr<RawDevice>> devices_;
  std::set<unsigned> connected_;
  std::set<unsigned> ruined_;  // given by spare(): another client would be told BUSY
  std::vector<std::string> complaints_;
  std::vector<RawClient> clients_;
  std::vector<Descriptor> descriptors_;
  std::vector<SharedMemory> memories_;
  std::vector<std::function<void()>> ends_;
  std::vector<std::jthread> threads_;
};

/// A class of attacks.
struct Attack {
  const char* name;
  unsigned weight;  ///< how often it is drawn, against the others
  /// Whether it acted: its means reached the server. A refusal by the server is an act too.
  bool (*act)(Tenant&);
  const char* what;
  /// Device cycles for which one turn of this attack may keep an engine of the chip. Longer than the longest ordinary
  /// turn for attacks that hang the core until a watchdog ends them.
  uint64_t turn_cycles = kTurnCycles;
  /// A copy of 4 MiB over PCIe, on nano.
  static constexpr uint64_t kTurnCycles = 300'000;
};

[[nodiscard]] std::span<const Attack> message_attacks();
[[nodiscard]] std::span<const Attack> connection_attacks();
[[nodiscard]] std::span<const Attack> descriptor_attacks();
[[nodiscard]] std::span<const Attack> map_attacks();
[[nodiscard]] std::span<const Attack> ring_attacks();
[[nodiscard]] std::span<const Attack> timing_attacks();
[[nodiscard]] std::span<const Attack> outside_attacks();
/// All of them.
[[nodiscard]] std::vector<Attack> all_attacks();

}  // namespace weft::tenant
