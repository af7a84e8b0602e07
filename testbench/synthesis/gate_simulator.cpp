#include "testbench/synthesis/gate_simulator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <random>

namespace weft::gates {
namespace {

constexpr Lanes kAll = ~Lanes{0};

/// Calls visit(index, lanes) for each index that `address` has in some of `lanes`; bits from 0 up.
template <typename Visit>
void for_each_index(const std::vector<Lanes>& values, const Net* address, uint32_t bits, Lanes lanes,
                    const Visit& visit) {
  while (lanes != 0) {
    const int lane = std::countr_zero(lanes);
    uint64_t index = 0;
    Lanes same = lanes;
    for (uint32_t bit = 0; bit < bits; bit++) {
      const Lanes value = values[address[bit]];
      const bool one = (value >> lane & 1) != 0;
      index |= uint64_t{one} << bit;
      same &= one ? value : ~value;
    }
    visit(index, same);
    lanes &= ~same;
  }
}

uint32_t log2_of(uint32_t words) { return static_cast<uint32_t>(std::bit_width(words - 1)); }

/// Levels of what is between flip-flops, and an order in which it can be computed.
struct Order {
  std::vector<uint32_t> rank;       ///< of each gate: after all that it needs
  std::vector<uint32_t> read_rank;  ///< of each read port
  std::vector<uint32_t> depth;      ///< of each gate: gates from a flip-flop, memory or port to its output
  std::vector<int> driver;          ///< of each net: its gate, or -1
  bool loop = false;
};

Order find_order(const Netlist& netlist, const std::vector<std::pair<uint32_t, uint32_t>>& read_ports) {
  Order order;
  const size_t gates = netlist.gates.size(), nodes = gates + read_ports.size();
  order.driver.assign(netlist.nets, -1);
  std::vector<std::vector<Net>> needs_of_read(read_ports.size());
  for (size_t g = 0; g < gates; g++) order.driver[netlist.gates[g].y] = static_cast<int>(g);
  for (size_t r = 0; r < read_ports.size(); r++) {
    const Memory& memory = netlist.memories[read_ports[r].first];
    const uint32_t port = read_ports[r].second;
    for (uint32_t bit = 0; bit < memory.width; bit++)
      order.driver[memory.read_data[port * memory.width + bit]] = static_cast<int>(gates + r);
    const auto first = memory.read_address.begin() + port * memory.address_bits;
    needs_of_read[r].assign(first, first + memory.address_bits);
  }
  // who needs a node: counted, then filled in
  std::vector<uint32_t> missing(nodes, 0), offsets(nodes + 1, 0);
  const auto for_each_need = [&](const auto& visit) {
    for (size_t g = 0; g < gates; g++)
      for (const Net net : {netlist.gates[g].a, netlist.gates[g].b})
        if (order.driver[net] >= 0) visit(static_cast<size_t>(order.driver[net]), g);
    for (size_t r = 0; r < read_ports.size(); r++)
      for (const Net net : needs_of_read[r])
        if (order.driver[net] >= 0) visit(static_cast<size_t>(order.driver[net]), gates + r);
  };
  for_each_need([&](size_t from, size_t to) { offsets[from + 1]++, missing[to]++; });
  for (size_t n = 0; n < nodes; n++) offsets[n + 1] += offsets[n];
  std::vector<uint32_t> users(offsets[nodes]), filled(offsets.begin(), offsets.end() - 1);
  for_each_need([&](size_t from, size_t to) { users[filled[from]++] = static_cast<uint32_t>(to); });
  std::vector<uint32_t> rank(nodes, 0), depth(nodes, 0), ready;
  for (uint32_t n = 0; n < nodes; n++)
    if (missing[n] == 0) ready.push_back(n);
  size_t done = 0;
  for (; done < ready.size(); done++) {
    const uint32_t node = ready[done];
    const bool gate = node < gates;
    if (gate) depth[node]++;
    for (uint32_t i = offsets[node]; i < offsets[node + 1]; i++) {
      const uint32_t user = users[i];
      rank[user] = std::max(rank[user], rank[node] + 1);
      if (gate) depth[user] = std::max(depth[user], depth[node]);
      if (--missing[user] == 0) ready.push_back(user);
    }
  }
  order.loop = done != nodes;
  order.rank.assign(rank.begin(), rank.begin() + static_cast<std::ptrdiff_t>(gates));
  order.read_rank.assign(rank.begin() + static_cast<std::ptrdiff_t>(gates), rank.end());
  order.depth.assign(depth.begin(), depth.begin() + static_cast<std::ptrdiff_t>(gates));
  return order;
}

LongestPath find_longest(const Netlist& netlist, const Order& order) {
  LongestPath path;
  const auto deepest = std::ranges::max_element(order.depth);
  if (deepest == order.depth.end()) return path;
  path.levels = *deepest;
  for (int gate = static_cast<int>(deepest - order.depth.begin()); gate >= 0;) {
    const Gate& g = netlist.gates[static_cast<size_t>(gate)];
    if (path.blocks.empty() || path.blocks.back() != netlist.blocks[g.block])
      path.blocks.push_back(netlist.blocks[g.block]);
    const uint32_t before = order.depth[static_cast<size_t>(gate)] - 1;
    gate = -1;
    for (const Net net : {g.a, g.b}) {
      const int driver = order.driver[net];
      if (before != 0 && driver >= 0 && static_cast<size_t>(driver) < netlist.gates.size() &&
          order.depth[static_cast<size_t>(driver)] == before)
        gate = driver;
    }
  }
  std::ranges::reverse(path.blocks);
  return path;
}

}  // namespace

std::optional<GateSimulator> GateSimulator::make(const Netlist& netlist, std::string& error) {
  std::vector<std::pair<uint32_t, uint32_t>> ports;
  for (uint32_t m = 0; m < netlist.memories.size(); m++)
    for (uint32_t port = 0; port < netlist.memories[m].reads; port++) ports.emplace_back(m, port);
  const Order order = find_order(netlist, ports);
  if (order.loop) {
    error = "a loop of gates";
    return std::nullopt;
  }
  GateSimulator made;
  made.longest_ = find_longest(netlist, order);
  // Gates by rank and type; their outputs get the highest nets, in that order.
  std::vector<uint32_t> gates(netlist.gates.size());
  for (uint32_t g = 0; g < gates.size(); g++) gates[g] = g;
  std::ranges::sort(
      gates, {}, [&](uint32_t g) { return std::tuple(order.rank[g], netlist.gates[g].type, netlist.gates[g].a, g); });
  std::vector<Net> number(netlist.nets, 0);
  std::vector<bool> of_gate(netlist.nets, false);
  for (const Gate& g : netlist.gates) of_gate[g.y] = true;
  Net next = 0;
  for (Net net = 0; net < netlist.nets; net++)
    if (!of_gate[net]) number[net] = next++;
  made.results_ = next;
  for (const uint32_t g : gates) number[netlist.gates[g].y] = next++;
  made.operand_of_gate_.resize(gates.size());
  made.operands_.reserve(gates.size());
  std::vector<uint32_t> reads(ports.size());
  for (uint32_t r = 0; r < reads.size(); r++) reads[r] = r;
  std::ranges::sort(reads, {}, [&](uint32_t r) { return order.read_rank[r]; });
  size_t next_read = 0;
  for (size_t i = 0; i < gates.size(); i++) {
    const Gate& g = netlist.gates[gates[i]];
    // a read port whose rank is lower than the gate's comes before it
    for (; next_read < reads.size() && order.read_rank[reads[next_read]] < order.rank[gates[i]]; next_read++)
      made.steps_.push_back({static_cast<uint32_t>(made.runs_.size()), static_cast<int>(reads[next_read])});
    const bool fresh = made.runs_.empty() || made.runs_.back().type != g.type ||
                       order.rank[gates[i]] != order.rank[gates[i - 1]] ||
                       (!made.steps_.empty() && made.steps_.back().runs == made.runs_.size());
    if (fresh) made.runs_.push_back({g.type, static_cast<uint32_t>(i), 0});
    made.runs_.back().count++;
    made.operand_of_gate_[gates[i]] = static_cast<uint32_t>(i);
    made.operands_.emplace_back(number[g.a], number[g.b]);
  }
  for (; next_read < reads.size(); next_read++)
    made.steps_.push_back({static_cast<uint32_t>(made.runs_.size()), static_cast<int>(reads[next_read])});
  made.steps_.push_back({static_cast<uint32_t>(made.runs_.size()), -1});
  for (const auto& [memory, port] : ports) made.read_ports_.push_back({memory, port});

  const auto renumber = [&](std::vector<Net>& nets) {
    for (Net& net : nets) net = number[net];
  };
  made.flip_flops_ = netlist.flip_flops;
  for (FlipFlop& f : made.flip_flops_) f.d = number[f.d], f.q = number[f.q];
  made.memories_ = netlist.memories;
  for (Memory& m : made.memories_) {
    for (auto* port : {&m.read_address, &m.read_data, &m.write_address, &m.write_data, &m.write_enable})
      renumber(*port);
    made.memory_states_.push_back({std::vector<Lanes>(size_t{m.words} * m.width)});
  }
  made.rams_ = netlist.rams;
  for (Ram& r : made.rams_) {
    for (auto* port : {&r.read, &r.read_address, &r.read_data, &r.write, &r.write_address, &r.write_data})
      renumber(*port);
    made.ram_states_.push_back({std::vector<Lanes>(size_t{r.words} * r.granules * r.code_bits)});
  }
  made.inputs_ = netlist.inputs;
  made.outputs_ = netlist.outputs;
  for (auto& [name, nets] : made.inputs_) renumber(nets);
  for (auto& [name, nets] : made.outputs_) renumber(nets);
  made.values_.assign(netlist.nets, 0);
  made.values_[1] = kAll;
  made.next_.resize(made.flip_flops_.size());
  return made;
}

void GateSimulator::power_up(uint64_t seed) {
  std::mt19937_64 random(seed);
  for (const FlipFlop& f : flip_flops_) values_[f.q] = random();
  for (const Ram& r : rams_)
    for (const Net net : r.read_data) values_[net] = random();
  for (auto* states : {&memory_states_, &ram_states_})
    for (State& state : *states) std::ranges::fill(state.bits, 0);
  inversions_.clear();
}

void GateSimulator::clear_rams() {
  for (State& state : ram_states_) std::ranges::fill(state.bits, 0);
}

void GateSimulator::set_input(const std::string& port, size_t bit, Lanes value) {
  values_[inputs_.at(port).at(bit)] = value;
}

Lanes GateSimulator::output(const std::string& port, size_t bit) const { return values_[outputs_.at(port).at(bit)]; }

void GateSimulator::invert(size_t gate, Lanes lanes) {
  inversions_.push_back({operand_of_gate_.at(gate), lanes});
  std::ranges::sort(inversions_, {}, &Inversion::operand);
}

void GateSimulator::run(const Run& run) {
  const std::pair<Net, Net>* operands = operands_.data() + run.first;
  Lanes* results = values_.data() + results_ + run.first;
  const Lanes* values = values_.data();
  const auto all = [&](const auto& gate) {
    for (uint32_t i = 0; i < run.count; i++) results[i] = gate(values[operands[i].first], values[operands[i].second]);
  };
  switch (run.type) {
    case GateType::kAnd:
      return all([](Lanes a, Lanes b) { return a & b; });
    case GateType::kOr:
      return all([](Lanes a, Lanes b) { return a | b; });
    case GateType::kXor:
      return all([](Lanes a, Lanes b) { return a ^ b; });
    case GateType::kNand:
      return all([](Lanes a, Lanes b) { return ~(a & b); });
    case GateType::kNor:
      return all([](Lanes a, Lanes b) { return ~(a | b); });
    case GateType::kXnor:
      return all([](Lanes a, Lanes b) { return ~(a ^ b); });
    case GateType::kAndNot:
      return all([](Lanes a, Lanes b) { return a & ~b; });
    case GateType::kOrNot:
      return all([](Lanes a, Lanes b) { return a | ~b; });
  }
}

void GateSimulator::read(const ReadPort& port) {
  const Memory& memory = memories_[port.memory];
  const std::vector<Lanes>& bits = memory_states_[port.memory].bits;
  const Net* data = memory.read_data.data() + size_t{port.port} * memory.width;
  for (uint32_t bit = 0; bit < memory.width; bit++) values_[data[bit]] = 0;
  // the address is not among the data: the values of the data may change on the way
  for_each_index(values_, memory.read_address.data() + size_t{port.port} * memory.address_bits, memory.address_bits,
                 kAll, [&](uint64_t word, Lanes lanes) {
                   if (word >= memory.words) return;
                   const Lanes* stored = bits.data() + word * memory.width;
                   for (uint32_t bit = 0; bit < memory.width; bit++) values_[data[bit]] |= stored[bit] & lanes;
                 });
}

void GateSimulator::settle() {
  uint32_t next = 0;
  size_t inversion = 0;
  for (const Step& step : steps_) {
    for (; next < step.runs; next++) {
      Run rest = runs_[next];
      const uint32_t end = rest.first + rest.count;
      for (; inversion < inversions_.size() && inversions_[inversion].operand < end; inversion++) {
        const uint32_t operand = inversions_[inversion].operand;
        run({rest.type, rest.first, operand + 1 - rest.first});
        values_[results_ + operand] ^= inversions_[inversion].lanes;
        rest.first = operand + 1;
      }
      rest.count = end - rest.first;
      if (rest.count != 0) run(rest);
    }
    if (step.read >= 0) read(read_ports_[static_cast<size_t>(step.read)]);
  }
}

void GateSimulator::write(const Memory& memory, State& state, uint32_t port, Lanes lanes) {
  const size_t first = size_t{port} * memory.width;
  Lanes any = 0;
  for (uint32_t bit = 0; bit < memory.width; bit++) any |= values_[memory.write_enable[first + bit]];
  for_each_index(values_, memory.write_address.data() + size_t{port} * memory.address_bits, memory.address_bits,
                 any & lanes, [&](uint64_t word, Lanes same) {
                   if (word >= memory.words) return;
                   for (uint32_t bit = 0; bit < memory.width; bit++) {
                     const Lanes enable = values_[memory.write_enable[first + bit]] & same;
                     Lanes& stored = state.bits[word * memory.width + bit];
                     stored = (stored & ~enable) | (values_[memory.write_data[first + bit]] & enable);
                   }
                 });
}

void GateSimulator::clock(const Ram& ram, State& state, Lanes lanes, std::vector<Lanes>& read) {
  const uint32_t width = ram.granules * ram.code_bits, bits = log2_of(ram.words);
  const Lanes reads = values_[ram.read[0]] & lanes;
  read.clear();
  for (const Net net : ram.read_data) read.push_back(values_[net] & ~reads);
  // a granule that is written where it is read reads as noise
  Lanes meets = reads;
  for (uint32_t bit = 0; bit < bits; bit++)
    meets &= ~(values_[ram.read_address[bit]] ^ values_[ram.write_address[bit]]);
  for_each_index(values_, ram.read_address.data(), bits, reads, [&](uint64_t word, Lanes same) {
    if (word >= ram.words) return;
    for (uint32_t bit = 0; bit < width; bit++) {
      noise_ = noise_ * 1664525 + 1013904223;
      const Lanes noise = meets & values_[ram.write[bit / ram.code_bits]] & ((noise_ >> 31) != 0 ? kAll : 0);
      read[bit] |= (state.bits[word * width + bit] ^ noise) & same;
    }
  });
  Lanes writes = 0;
  for (const Net net : ram.write) writes |= values_[net];
  for_each_index(values_, ram.write_address.data(), bits, writes & lanes, [&](uint64_t word, Lanes same) {
    if (word >= ram.words) return;
    for (uint32_t bit = 0; bit < width; bit++) {
      const Lanes enable = values_[ram.write[bit / ram.code_bits]] & same;
      Lanes& stored = state.bits[word * width + bit];
      stored = (stored & ~enable) | (values_[ram.write_data[bit]] & enable);
    }
  });
}

void GateSimulator::clock(Lanes lanes) {
  for (size_t f = 0; f < flip_flops_.size(); f++)
    next_[f] = (values_[flip_flops_[f].q] & ~lanes) | (values_[flip_flops_[f].d] & lanes);
  std::vector<std::vector<Lanes>> reads(rams_.size());
  for (size_t r = 0; r < rams_.size(); r++) clock(rams_[r], ram_states_[r], lanes, reads[r]);
  // of two ports that write one word the later one stays
  for (size_t m = 0; m < memories_.size(); m++)
    for (uint32_t port = 0; port < memories_[m].writes; port++) write(memories_[m], memory_states_[m], port, lanes);
  for (size_t f = 0; f < flip_flops_.size(); f++) values_[flip_flops_[f].q] = next_[f];
  for (size_t r = 0; r < rams_.size(); r++)
    for (size_t bit = 0; bit < rams_[r].read_data.size(); bit++) values_[rams_[r].read_data[bit]] = reads[r][bit];
}

std::optional<uint64_t> GateSimulator::ram_bits(const std::string& path, uint32_t word, uint32_t first, uint32_t count,
                                                unsigned lane) const {
  const auto ram = std::ranges::find(rams_, path, &Ram::path);
  if (ram == rams_.end() || word >= ram->words || first + count > ram->granules * ram->code_bits) return std::nullopt;
  const State& state = ram_states_[static_cast<size_t>(ram - rams_.begin())];
  uint64_t value = 0;
  for (uint32_t i = 0; i < count; i++)
    value |= (state.bits[size_t{word} * ram->granules * ram->code_bits + first + i] >> lane & 1) << i;
  return value;
}

}  // namespace weft::gates
