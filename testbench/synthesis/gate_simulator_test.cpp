// Gates, flip-flops, memories and RAMs of small netlists, lane by lane.
#include "testbench/synthesis/gate_simulator.hpp"

#include <catch2/catch.hpp>
#include <sstream>

namespace {

using namespace weft::gates;

constexpr Lanes kAll = ~Lanes{0};

std::optional<Netlist> read(const std::string& text, std::string& error) {
  std::istringstream in(text);
  return read_netlist(in, error);
}

GateSimulator simulator(const std::string& text) {
  std::string error;
  const auto netlist = read(text, error);
  REQUIRE(error == "");
  auto made = GateSimulator::make(*netlist, error);
  REQUIRE(error == "");
  return std::move(*made);
}

std::string refusal(const std::string& text) {
  std::string error;
  const auto netlist = read(text, error);
  if (netlist) (void)GateSimulator::make(*netlist, error);
  return error;
}

TEST_CASE("each gate is its function in every lane", "[gates]") {
  std::string text = "module top 12\nin a 2\nin b 3\nout y 4 5 6 7 8 9 10 11\n";
  const char* const names[] = {"AND", "OR", "XOR", "NAND", "NOR", "XNOR", "ANDNOT", "ORNOT"};
  for (unsigned i = 0; i < 8; i++) text += "gate " + std::string(names[i]) + " 2 3 " + std::to_string(4 + i) + '\n';
  auto gates = simulator(text);
  const Lanes a = 0b1100, b = 0b1010;
  gates.set_input("a", 0, a);
  gates.set_input("b", 0, b);
  gates.settle();
  const Lanes expected[] = {a & b, a | b, a ^ b, ~(a & b), ~(a | b), ~(a ^ b), a & ~b, a | ~b};
  for (unsigned i = 0; i < 8; i++) CHECK(gates.output("y", i) == expected[i]);
  CHECK(gates.longest_path().levels == 1);
}

TEST_CASE("flip-flops take what was before the edge, in the lanes that have one", "[gates]") {
  auto gates = simulator("module top 5\nin d 2\nout q 3 4\nflop 2 3\nflop 3 4\n");
  gates.power_up(1);
  gates.set_input("d", 0, kAll);
  gates.settle();
  gates.clock(kAll);
  gates.set_input("d", 0, 0);
  gates.settle();
  const Lanes second = gates.output("q", 1);
  CHECK(gates.output("q", 0) == kAll);
  gates.clock(0b1111);
  CHECK(gates.output("q", 0) == (kAll & ~Lanes{0b1111}));
  CHECK(gates.output("q", 1) == ((second & ~Lanes{0b1111}) | 0b1111));
}

TEST_CASE("instances of a module are apart, and their path goes through both blocks", "[gates]") {
  const std::string text =
      "module top 5\nin a 2\nin b 3\nout y 4\n"
      "instance pass one\npin x 2\npin z 4\n"
      "instance pass two\npin x 3\npin z 1\n";
  CHECK(refusal(text + "module pass 4\nin x 2\nout z 3\ngate NAND 2 1 3\n").find("two drivers") != std::string::npos);
  auto gates = simulator(
      "module top 6\nin a 2\nin b 3\nout y 5\nout s 4\ninstance pass one\npin x 2\npin z 4\ngate AND 4 3 5\n"
      "module pass 5\nin x 2\nout z 3\ngate NAND 2 1 4\nsame 3 4\n");
  gates.set_input("a", 0, 0b10);
  gates.set_input("b", 0, kAll);
  gates.settle();
  CHECK(gates.output("y", 0) == ~Lanes{0b10});
  CHECK(gates.output("s", 0) == ~Lanes{0b10});
  CHECK(gates.longest_path().levels == 2);
  CHECK(gates.longest_path().blocks == std::vector<std::string>{"pass", "top"});
}

TEST_CASE("an inverted gate is inverted in its lanes", "[gates]") {
  auto gates = simulator("module top 6\nin a 2\nin b 3\nout y 5\ngate AND 2 3 4\ngate OR 4 0 5\n");
  gates.set_input("a", 0, 0b1100);
  gates.set_input("b", 0, 0b1010);
  gates.invert(0, 0b0011);
  gates.invert(1, 0b0001);
  gates.settle();
  CHECK(gates.output("y", 0) == 0b1010);
}

/// Two words of two bits: address 2, data 3 4, enable 5; read at 6.
const char* const kMemory =
    "module top 9\nin wa 2\nin wd 3 4\nin we 5\nin ra 6\nout rd 7 8\n"
    "memory 2 2 1 1 1\nRD_ADDR 6\nRD_DATA 7 8\nWR_ADDR 2\nWR_DATA 3 4\nWR_EN 5 5\n";

TEST_CASE("a memory is read at once and written at the edge, each lane its own word", "[gates]") {
  auto gates = simulator(kMemory);
  gates.power_up(1);
  const auto write = [&](Lanes address, Lanes low, Lanes high, Lanes enable) {
    gates.set_input("wa", 0, address);
    gates.set_input("wd", 0, low);
    gates.set_input("wd", 1, high);
    gates.set_input("we", 0, enable);
    gates.settle();
    gates.clock(kAll);
  };
  write(0b1010, 0b1100, 0b0110, 0b0111);  // lane 3 is not enabled
  gates.set_input("ra", 0, 0b1010);
  gates.settle();
  CHECK((gates.output("rd", 0) & 0xf) == 0b0100);
  CHECK((gates.output("rd", 1) & 0xf) == 0b0110);
  gates.set_input("ra", 0, 0b0101);  // the other word
  gates.settle();
  CHECK((gates.output("rd", 0) & 0xf) == 0);
}

/// Two words of one granule of three bits.
const char* const kRam =
    "module top 14\nin re 2\nin ra 3\nin we 4\nin wa 5\nin wd 6 7 8\nout rd 9 10 11\n"
    "ram u_macro 2 1 3\npin read_i 2\npin raddr_i 3\npin rdata_o 9 10 11\npin write_i 4\npin waddr_i 5\npin wdata_i 6 "
    "7 8\n";

TEST_CASE("a RAM shows what was read in the next cycle and keeps it, and beside a write it shows noise", "[gates]") {
  auto gates = simulator(kRam);
  gates.power_up(1);
  const auto step = [&](bool read, Lanes ra, bool write, Lanes wa, unsigned data) {
    gates.set_input("re", 0, read ? kAll : 0);
    gates.set_input("ra", 0, ra);
    gates.set_input("we", 0, write ? kAll : 0);
    gates.set_input("wa", 0, wa);
    for (unsigned bit = 0; bit < 3; bit++) gates.set_input("wd", bit, (data >> bit & 1) != 0 ? kAll : 0);
    gates.settle();
    gates.clock(kAll);
  };
  const auto seen = [&](unsigned lane) {
    unsigned value = 0;
    for (unsigned bit = 0; bit < 3; bit++) value |= static_cast<unsigned>(gates.output("rd", bit) >> lane & 1) << bit;
    return value;
  };
  step(false, 0, true, 0b01, 5);  // lane 0: word 1, all others: word 0
  step(true, 0b01, false, 0, 0);
  CHECK(seen(0) == 5);
  CHECK(seen(1) == 5);
  step(false, 0, false, 0, 0);
  CHECK(seen(1) == 5);
  CHECK(gates.ram_bits("u_macro", 1, 0, 3, 0) == 5);
  CHECK(gates.ram_bits("u_macro", 1, 0, 3, 1) == 0);
  CHECK(gates.ram_bits("u_macro", 2, 0, 3, 1) == std::nullopt);
  bool noise = false;
  for (unsigned i = 0; i < 20; i++) {
    step(true, 0, true, 0, 5);
    noise = noise || seen(1) != 5;
  }
  CHECK(noise);
  step(true, 0, true, kAll, 2);
  CHECK(seen(1) == 5);
  gates.clear_rams();
  CHECK(gates.ram_bits("u_macro", 0, 0, 3, 1) == 0);
}

TEST_CASE("what is no netlist is refused, with the reason", "[gates]") {
  CHECK(refusal("").find("no module") != std::string::npos);
  CHECK(refusal("gate AND 2 3 4\n").find("line 1") != std::string::npos);
  CHECK(refusal("module top 4\ngate MAYBE 2 3 3\n").find("no such gate: MAYBE") != std::string::npos);
  CHECK(refusal("module top 4\ngate AND 2 9 3\n").find("line 2: a net is none") != std::string::npos);
  CHECK(refusal("module top 4\ngate AND 2 x 3\n").find("line 2: a number") != std::string::npos);
  CHECK(refusal("module top 4\nout y 3\ngate AND 2 1 3\n").find("no driver") != std::string::npos);
  CHECK(refusal("module top 5\nin a 2\nout y 3\ngate AND 2 4 3\ngate OR 3 0 4\n") == "a loop of gates");
  CHECK(refusal("module top 4\nin a 2\ninstance gone u\npin x 2\n").find("no module gone") != std::string::npos);
}

}  // namespace
