/// Simulates a netlist of gates 64 times at once: bit l of each net belongs to lane l. Lanes share the gates and
/// nothing else: each has its inputs, its flip-flops, its memories, its clock edges.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "testbench/synthesis/gate_netlist.hpp"

namespace weft::gates {

using Lanes = uint64_t;

/// The path of most gates between flip-flops, memories and ports, across all blocks.
struct LongestPath {
  uint32_t levels = 0;
  std::vector<std::string> blocks;  ///< that it goes through, without repetition of neighbours
};

class GateSimulator {
 public:
  /// nullopt and a message in `error`: a loop of gates.
  [[nodiscard]] static std::optional<GateSimulator> make(const Netlist& netlist, std::string& error);

  /// What flip-flops and the RAMs' outputs hold: random bits in each lane. Memories and RAMs hold 0.
  void power_up(uint64_t seed);
  /// RAMs hold 0 again.
  void clear_rams();
  /// The value of a port's bit in all lanes. Takes effect in settle().
  void set_input(const std::string& port, size_t bit, Lanes value);
  /// The gates' and memories' outputs follow what is before them.
  void settle();
  /// A clock edge in these lanes, after settle().
  void clock(Lanes lanes);
  [[nodiscard]] Lanes output(const std::string& port, size_t bit) const;

  /// Where a port's bits are in nets(), which is quicker than a name for each.
  [[nodiscard]] const std::vector<Net>& input_nets(const std::string& port) const { return inputs_.at(port); }
  [[nodiscard]] const std::vector<Net>& output_nets(const std::string& port) const { return outputs_.at(port); }
  [[nodiscard]] Lanes& net(Net net) { return values_[net]; }

  /// From the next settle() on the gate's output is inverted in these lanes. `gate`: index of Netlist::gates.
  void invert(size_t gate, Lanes lanes);

  /// Bits first to first + count, at most 64, of a RAM's word in one lane; nullopt: there is none.
  [[nodiscard]] std::optional<uint64_t> ram_bits(const std::string& path, uint32_t word, uint32_t first, uint32_t count,
                                                 unsigned lane) const;
  [[nodiscard]] const LongestPath& longest_path() const { return longest_; }

 private:
  /// Gates of one type, or one memory read port, whose outputs lie one after the other.
  struct Run {
    GateType type;
    uint32_t first;  ///< of operands_; their results are the nets from results_ + first on
    uint32_t count;
  };
  struct ReadPort {
    uint32_t memory, port;
  };
  struct Step {  ///< of settle(): the runs up to `runs`, then one read port, if there is one
    uint32_t runs;
    int read;
  };
  struct State {
    std::vector<Lanes> bits;  ///< word after word
  };
  struct Inversion {
    uint32_t operand;
    Lanes lanes;
  };
  GateSimulator() = default;
  void run(const Run& run);
  void read(const ReadPort& port);
  void write(const Memory& memory, State& state, uint32_t port, Lanes lanes);
  void clock(const Ram& ram, State& state, Lanes lanes, std::vector<Lanes>& read);

  std::vector<Lanes> values_;                  ///< of each net
  std::vector<std::pair<Net, Net>> operands_;  ///< of each gate, in the order in which they are computed
  std::vector<uint32_t> operand_of_gate_;
  Net results_ = 0;  ///< the net of operand 0's result
  std::vector<Run> runs_;
  std::vector<Step> steps_;
  std::vector<ReadPort> read_ports_;
  std::vector<FlipFlop> flip_flops_;
  std::vector<Memory> memories_;
  std::vector<Ram> rams_;
  std::vector<State> memory_states_, ram_states_;
  std::map<std::string, std::vector<Net>> inputs_, outputs_;
  std::vector<Inversion> inversions_;
  std::vector<Lanes> next_;
  uint32_t noise_ = 1;
  LongestPath longest_;
};

}  // namespace weft::gates
