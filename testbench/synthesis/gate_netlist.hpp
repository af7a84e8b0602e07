/// A core as gates of two inputs, flip-flops, memories and RAM macros: what gates.py --netlist writes, with all of its
/// instances side by side.
#pragma once
#include <array>
#include <cstdint>
#include <istream>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weft::gates {

using Net = uint32_t;  ///< 0 and 1 are the constants

enum class GateType : uint8_t { kAnd, kOr, kXor, kNand, kNor, kXnor, kAndNot, kOrNot };

struct Gate {
  GateType type;
  Net a, b, y;
  uint32_t block;  ///< index of Netlist::blocks: whose gate it is
};

struct FlipFlop {
  Net d, q;
};

/// Words that are read within a cycle and written at its end; no gates. Bits of all ports side by side.
struct Memory {
  uint32_t words, width, address_bits, reads, writes;
  std::vector<Net> read_address, read_data, write_address, write_data, write_enable;
};

/// A RAM macro: data follow a read in the next cycle.
struct Ram {
  std::string path;  ///< its instance, from the top
  uint32_t words, granules, code_bits;
  std::vector<Net> read, read_address, read_data, write, write_address, write_data;
};

struct Netlist {
  std::vector<std::string> blocks;  ///< names of the different modules
  std::vector<Gate> gates;
  std::vector<FlipFlop> flip_flops;
  std::vector<Memory> memories;
  std::vector<Ram> rams;
  std::map<std::string, std::vector<Net>> inputs, outputs;  ///< by port, from bit 0 up
  Net nets = 2;
};

/// nullopt and a message in `error`: not what gates.py writes, or a net with two drivers or none.
[[nodiscard]] std::optional<Netlist> read_netlist(std::istream& in, std::string& error);

}  // namespace weft::gates
