// decode() against binutils' disassembler: which operation each of all compressed and of many whole encodings is, and
// which are none.
#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "model/rv32/instruction.hpp"

namespace weft::rv32 {
namespace {

/// Operation of a mnemonic of `objdump -M no-aliases`; kIllegal for what RV32IMC does not have.
Op operation(const std::string& mnemonic) {
  static const std::map<std::string, Op> kOps = {
      {"lui", Op::kLui},         {"auipc", Op::kAuipc},   {"jal", Op::kJal},       {"jalr", Op::kJalr},
      {"beq", Op::kBeq},         {"bne", Op::kBne},       {"blt", Op::kBlt},       {"bge", Op::kBge},
      {"bltu", Op::kBltu},       {"bgeu", Op::kBgeu},     {"lb", Op::kLb},         {"lh", Op::kLh},
      {"lw", Op::kLw},           {"lbu", Op::kLbu},       {"lhu", Op::kLhu},       {"sb", Op::kSb},
      {"sh", Op::kSh},           {"sw", Op::kSw},         {"addi", Op::kAddi},     {"slti", Op::kSlti},
      {"sltiu", Op::kSltiu},     {"xori", Op::kXori},     {"ori", Op::kOri},       {"andi", Op::kAndi},
      {"slli", Op::kSlli},       {"srli", Op::kSrli},     {"srai", Op::kSrai},     {"add", Op::kAdd},
      {"sub", Op::kSub},         {"sll", Op::kSll},       {"slt", Op::kSlt},       {"sltu", Op::kSltu},
      {"xor", Op::kXor},         {"srl", Op::kSrl},       {"sra", Op::kSra},       {"or", Op::kOr},
      {"and", Op::kAnd},         {"mul", Op::kMul},       {"mulh", Op::kMulh},     {"mulhsu", Op::kMulhsu},
      {"mulhu", Op::kMulhu},     {"div", Op::kDiv},       {"divu", Op::kDivu},     {"rem", Op::kRem},
      {"remu", Op::kRemu},       {"csrrw", Op::kCsrrw},   {"csrrs", Op::kCsrrs},   {"csrrc", Op::kCsrrc},
      {"csrrwi", Op::kCsrrwi},   {"csrrsi", Op::kCsrrsi}, {"csrrci", Op::kCsrrci}, {"ecall", Op::kEcall},
      {"ebreak", Op::kEbreak},   {"mret", Op::kMret},     {"wfi", Op::kWfi},       {"c.addi4spn", Op::kAddi},
      {"c.addi16sp", Op::kAddi}, {"c.li", Op::kAddi},     {"c.nop", Op::kAddi},    {"c.mv", Op::kAdd},
      {"c.j", Op::kJal},         {"c.jr", Op::kJalr},     {"c.beqz", Op::kBeq},    {"c.bnez", Op::kBne},
      {"c.lwsp", Op::kLw},       {"c.swsp", Op::kSw},     {"c.slli64", Op::kSlli}, {"c.srli64", Op::kSrli},
      {"c.srai64", Op::kSrai}};
  const auto compressed = kOps.find(mnemonic);
  if (compressed != kOps.end()) return compressed->second;
  const bool plain = mnemonic.rfind("c.", 0) == 0 && mnemonic.rfind("c.f", 0) != 0;
  const auto whole = plain ? kOps.find(mnemonic.substr(2)) : kOps.end();
  return whole != kOps.end() ? whole->second : Op::kIllegal;
}

/// What binutils shows although RV32 reserves it: shifts by 32 and more, c.addi16sp of 0.
bool reserved(const std::string& mnemonic, uint32_t encoding) {
  if (mnemonic == "slli" || mnemonic == "srli" || mnemonic == "srai") return (encoding >> 25 & 1) != 0;
  if (mnemonic == "c.slli" || mnemonic == "c.srli" || mnemonic == "c.srai") return (encoding & 0x1000) != 0;
  return mnemonic == "c.addi16sp" && (encoding & 0x107c) == 0;
}

/// Words of 32 bits (no longer formats), most of them near an instruction.
std::vector<uint32_t> words(uint64_t seed, unsigned count) {
  constexpr uint32_t kOpcodes[] = {0x37, 0x17, 0x6f, 0x67, 0x63, 0x03, 0x23, 0x13, 0x33, 0x73};
  constexpr uint32_t kFunct7[] = {0, 1, 0x20};
  std::mt19937_64 random(seed);
  std::vector<uint32_t> out(count);
  for (uint32_t& word : out) {
    word = static_cast<uint32_t>(random()) | 3;
    if (random() % 8 != 0) word = (word & ~0x7fu) | kOpcodes[random() % std::size(kOpcodes)];
    if (random() % 2 != 0) word = (word & ~0xfe00'0000u) | kFunct7[random() % std::size(kFunct7)] << 25;
    if ((word & 0x1c) == 0x1c) word &= ~0x1cu;  // longer than 32 bits
    if ((word & 0x7f) == 0x0f) word &= ~0x0cu;  // fences: binutils refuses fields that the manual has ignored
  }
  return out;
}

}  // namespace

TEST_CASE("every encoding is the operation that binutils disassembles") {
  const uint64_t seed = 1;
  INFO("seed " << seed);
  std::vector<uint32_t> encodings;
  std::string bytes;
  const auto add = [&](uint32_t encoding, unsigned length) {
    encodings.push_back(encoding);
    for (unsigned i = 0; i < length; i++) bytes.push_back(static_cast<char>(encoding >> 8 * i));
  };
  for (uint32_t half = 0; half < 0x1'0000; half++) {
    if ((half & 3) != 3) add(half, 2);
  }
  for (const uint32_t word : words(seed, 100'000)) add(word, 4);

  const auto path = std::filesystem::temp_directory_path() / ("weft-decode-" + std::to_string(std::random_device()()));
  std::ofstream(path, std::ios::binary) << bytes;
  std::FILE* pipe =
      popen((WEFT_OBJDUMP " -D -z -b binary -m riscv:rv32 -M no-aliases,numeric " + path.string()).c_str(), "r");
  REQUIRE(pipe != nullptr);
  size_t at = 0, wrong = 0, legal = 0;
  char line[512];
  std::string first;  // of the wrong ones
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    unsigned address = 0;
    char hex[64], mnemonic[64];
    if (std::sscanf(line, " %x:\t%63[0-9a-f ]\t%63s", &address, hex, mnemonic) != 3) continue;
    REQUIRE(at < encodings.size());
    const Op expected = reserved(mnemonic, encodings[at]) ? Op::kIllegal : operation(mnemonic),
             actual = decode(encodings[at]).op;
    if (expected != actual && wrong++ < 10) first += line;
    legal += expected != Op::kIllegal ? 1 : 0;
    at++;
  }
  pclose(pipe);
  std::filesystem::remove(path);
  CHECK(at == encodings.size());
  CHECK(legal > 50'000);
  INFO(first);
  CHECK(wrong == 0);
}

}  // namespace weft::rv32
