#include "testbench/synthesis/gate_netlist.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <sstream>
#include <stdexcept>

namespace weft::gates {
namespace {

constexpr std::array<const char*, 8> kGateNames{"AND", "OR", "XOR", "NAND", "NOR", "XNOR", "ANDNOT", "ORNOT"};

class Malformed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using Pins = std::map<std::string, std::vector<Net>>;

/// A block as it is written: nets count from 0 within it.
struct Block {
  struct Instance {
    std::string module, name;
    Pins pins;
  };
  struct Macro {
    std::string name;
    uint32_t words, granules, code_bits;
    Pins pins;
  };
  Net nets = 2;
  Pins inputs, outputs;
  std::vector<Gate> gates;
  std::vector<FlipFlop> flip_flops;
  std::vector<Memory> memories;
  std::vector<Macro> macros;
  std::vector<Instance> instances;
  std::vector<std::pair<Net, Net>> same;
};

class Reader {
 public:
  explicit Reader(std::istream& in) : in_(in) {}

  /// In the order of the file.
  std::vector<std::pair<std::string, Block>> read() {
    std::vector<std::pair<std::string, Block>> blocks;
    Pins* pins = nullptr;
    while (std::getline(in_, line_)) {
      number_++;
      at_ = 0;
      const std::string kind = word();
      if (kind == "module") {
        blocks.emplace_back(word(), Block{});
        blocks.back().second.nets = net();
        pins = nullptr;
        continue;
      }
      if (blocks.empty()) fail("a line before the first module");
      Block& block = blocks.back().second;
      nets_ = block.nets;
      if (kind == "gate") {
        const GateType type = gate_type(word());
        const Net a = local(), b = local(), y = local();
        block.gates.push_back({type, a, b, y, 0});
      } else if (kind == "flop") {
        const Net d = local(), q = local();
        block.flip_flops.push_back({d, q});
      } else if (kind == "same") {
        const Net one = local(), other = local();
        block.same.emplace_back(one, other);
      } else if (kind == "in" || kind == "out") {
        const std::string port = word();
        (kind == "in" ? block.inputs : block.outputs)[port] = rest();
      } else if (kind == "instance") {
        const std::string module = word();
        block.instances.push_back({module, word(), {}});
        pins = &block.instances.back().pins;
      } else if (kind == "ram") {
        const std::string name = word();
        const Net words = net(), granules = net(), bits = net();
        block.macros.push_back({name, words, granules, bits, {}});
        pins = &block.macros.back().pins;
      } else if (kind == "pin" && pins != nullptr) {
        const std::string pin = word();
        (*pins)[pin] = rest();
      } else if (kind == "memory") {
        Memory memory{};
        memory.words = net(), memory.width = net(), memory.address_bits = net();
        memory.reads = net(), memory.writes = net();
        block.memories.push_back(memory);
      } else if (std::vector<Net>* const port = memory_port(block, kind); port != nullptr) {
        *port = rest();
      } else {
        fail("no such line: " + kind);
      }
    }
    return blocks;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw Malformed(fmt::format("line {}: {}", number_, what)); }
  static std::vector<Net>* memory_port(Block& block, const std::string& name) {
    if (block.memories.empty()) return nullptr;
    Memory& m = block.memories.back();
    if (name == "RD_ADDR") return &m.read_address;
    if (name == "RD_DATA") return &m.read_data;
    if (name == "WR_ADDR") return &m.write_address;
    if (name == "WR_DATA") return &m.write_data;
    return name == "WR_EN" ? &m.write_enable : nullptr;
  }
  std::string word() {
    const size_t end = std::min(line_.find(' ', at_), line_.size());
    std::string found = line_.substr(at_, end - at_);
    at_ = end + 1;
    return found;
  }
  [[nodiscard]] bool more() const { return at_ < line_.size(); }
  Net net() {
    Net value = 0;
    const size_t begin = at_;
    while (more() && line_[at_] != ' ') {
      if (line_[at_] < '0' || line_[at_] > '9') fail("a number is none");
      value = value * 10 + static_cast<Net>(line_[at_++] - '0');
    }
    if (at_ == begin) fail("a number is missing");
    at_++;
    return value;
  }
  Net local() {
    const Net found = net();
    if (found >= nets_) fail("a net is none of the module's");
    return found;
  }
  std::vector<Net> rest() {
    std::vector<Net> nets;
    while (more()) nets.push_back(local());
    return nets;
  }
  GateType gate_type(const std::string& name) const {
    const auto* const found = std::ranges::find(kGateNames, name);
    if (found == kGateNames.end()) fail("no such gate: " + name);
    return static_cast<GateType>(found - kGateNames.begin());
  }

  std::istream& in_;
  std::string line_;
  size_t at_ = 0, number_ = 0;
  Net nets_ = 2;
};

/// All instances side by side, nets that are connected as one.
class Flattener {
 public:
  explicit Flattener(const std::vector<std::pair<std::string, Block>>& blocks) : blocks_(blocks), join_{0, 1} {
    for (uint32_t i = 0; i < blocks.size(); i++) {
      index_[blocks[i].first] = i;
      flat_.blocks.push_back(blocks[i].first);
    }
  }

  Netlist run() {
    if (blocks_.empty()) throw Malformed("no module");
    const Net base = place(0, "");
    const Block& top = blocks_[0].second;
    for (const auto& [name, nets] : top.inputs) flat_.inputs[name] = moved(nets, base);
    for (const auto& [name, nets] : top.outputs) flat_.outputs[name] = moved(nets, base);
    compress();
    check_drivers();
    return std::move(flat_);
  }

 private:
  static Net at(Net net, Net base) { return net < 2 ? net : net + base; }
  static std::vector<Net> moved(std::vector<Net> nets, Net base) {
    for (Net& net : nets) net = at(net, base);
    return nets;
  }
  Net root(Net net) {
    while (join_[net] != net) net = join_[net] = join_[join_[net]];
    return net;
  }
  void connect(Net one, Net other) {
    one = root(one), other = root(other);
    if (one != other) join_[std::max(one, other)] = std::min(one, other);
  }
  void connect(const std::vector<Net>& outside, const std::vector<Net>& inside, const std::string& what) {
    if (outside.size() != inside.size())
      throw Malformed(fmt::format("{}: {} bits are connected to {}", what, outside.size(), inside.size()));
    for (size_t i = 0; i < outside.size(); i++) connect(outside[i], inside[i]);
  }

  /// Returns what is added to a net of the block.
  Net place(uint32_t index, const std::string& path) {
    const Block& block = blocks_[index].second;
    const Net base = static_cast<Net>(join_.size()) - 2;
    join_.resize(join_.size() + block.nets - 2);
    std::iota(join_.begin() + base + 2, join_.end(), base + 2);
    for (const auto& [one, other] : block.same) connect(at(one, base), at(other, base));
    for (const Gate& g : block.gates)
      flat_.gates.push_back({g.type, at(g.a, base), at(g.b, base), at(g.y, base), index});
    for (const FlipFlop& f : block.flip_flops) flat_.flip_flops.push_back({at(f.d, base), at(f.q, base)});
    for (Memory memory : block.memories) {
      if (memory.read_address.size() != size_t{memory.reads} * memory.address_bits ||
          memory.read_data.size() != size_t{memory.reads} * memory.width ||
          memory.write_address.size() != size_t{memory.writes} * memory.address_bits ||
          memory.write_data.size() != size_t{memory.writes} * memory.width ||
          memory.write_enable.size() != memory.write_data.size())
        throw Malformed(blocks_[index].first + ": a memory whose ports are not as wide as its words");
      for (auto* port :
           {&memory.read_address, &memory.read_data, &memory.write_address, &memory.write_data, &memory.write_enable})
        *port = moved(std::move(*port), base);
      flat_.memories.push_back(std::move(memory));
    }
    for (const auto& macro : block.macros) {
      const auto pin = [&](const char* name) { return moved(macro.pins.at(name), base); };
      flat_.rams.push_back({path + macro.name, macro.words, macro.granules, macro.code_bits, pin("read_i"),
                            pin("raddr_i"), pin("rdata_o"), pin("write_i"), pin("waddr_i"), pin("wdata_i")});
    }
    for (const auto& instance : block.instances) {
      const auto found = index_.find(instance.module);
      if (found == index_.end()) throw Malformed("no module " + instance.module);
      const Net inner = place(found->second, path + instance.name + '.');
      const Block& child = blocks_[found->second].second;
      for (const auto& [name, nets] : instance.pins) {
        const Pins& ports = child.inputs.contains(name) ? child.inputs : child.outputs;
        if (!ports.contains(name)) throw Malformed(instance.module + " has no port " + name);
        connect(moved(nets, base), moved(ports.at(name), inner), path + instance.name + '.' + name);
      }
    }
    return base;
  }

  void compress() {
    std::vector<Net> number(join_.size(), 0);
    Net next = 0;
    for (Net net = 0; net < join_.size(); net++) number[net] = root(net) == net ? next++ : number[root(net)];
    flat_.nets = next;
    const auto renumber = [&](std::vector<Net>& nets) {
      for (Net& net : nets) net = number[net];
    };
    for (Gate& g : flat_.gates) g.a = number[g.a], g.b = number[g.b], g.y = number[g.y];
    for (FlipFlop& f : flat_.flip_flops) f.d = number[f.d], f.q = number[f.q];
    for (Memory& m : flat_.memories)
      for (auto* port : {&m.read_address, &m.read_data, &m.write_address, &m.write_data, &m.write_enable})
        renumber(*port);
    for (Ram& r : flat_.rams)
      for (auto* port : {&r.read, &r.read_address, &r.read_data, &r.write, &r.write_address, &r.write_data})
        renumber(*port);
    for (auto& [name, nets] : flat_.inputs) renumber(nets);
    for (auto& [name, nets] : flat_.outputs) renumber(nets);
  }

  /// Each net that something reads has one driver.
  void check_drivers() const {
    std::vector<uint8_t> drivers(flat_.nets, 0), read(flat_.nets, 0);
    drivers[0] = drivers[1] = 1;
    const auto drive = [&](Net net) { drivers[net] = static_cast<uint8_t>(std::min(2, drivers[net] + 1)); };
    for (const auto& [name, nets] : flat_.inputs) std::ranges::for_each(nets, drive);
    for (const Gate& g : flat_.gates) drive(g.y), read[g.a] = read[g.b] = 1;
    for (const FlipFlop& f : flat_.flip_flops) drive(f.q), read[f.d] = 1;
    for (const Memory& m : flat_.memories) std::ranges::for_each(m.read_data, drive);
    for (const Ram& r : flat_.rams) std::ranges::for_each(r.read_data, drive);
    for (const auto& [name, nets] : flat_.outputs)
      for (const Net net : nets) read[net] = 1;
    for (Net net = 0; net < flat_.nets; net++) {
      if (drivers[net] > 1) throw Malformed(fmt::format("net {} has two drivers", net));
      if (drivers[net] == 0 && read[net] != 0) throw Malformed(fmt::format("net {} has no driver", net));
    }
  }

  const std::vector<std::pair<std::string, Block>>& blocks_;
  std::map<std::string, uint32_t> index_;
  std::vector<Net> join_;
  Netlist flat_;
};

}  // namespace

std::optional<Netlist> read_netlist(std::istream& in, std::string& error) {
  try {
    const auto blocks = Reader(in).read();
    return Flattener(blocks).run();
  } catch (const std::exception& malformed) {
    error = malformed.what();
    return std::nullopt;
  }
}

}  // namespace weft::gates
