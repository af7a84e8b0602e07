#include "random_code.hpp"

#include <cstring>

namespace weft::rv32::test {
namespace {

constexpr unsigned kPointer = 31;       // holds kDataBase + kScratch throughout
constexpr uint32_t kScratch = 2048;     // of the data, bytes from its start; loads and stores reach 2 KiB either way
constexpr uint32_t kScratchEnd = 4096;  // behind it: for each block 30 words before, 30 words after
constexpr unsigned kRegisters = 30;

uint32_t i_type(uint32_t opcode, uint32_t funct3, uint32_t rd, uint32_t rs1, uint32_t imm) {
  return opcode | rd << 7 | funct3 << 12 | rs1 << 15 | imm << 20;
}
uint32_t r_type(uint32_t funct7, uint32_t funct3, uint32_t rd, uint32_t rs1, uint32_t rs2) {
  return 0x33 | rd << 7 | funct3 << 12 | rs1 << 15 | rs2 << 20 | funct7 << 25;
}
uint32_t s_type(uint32_t funct3, uint32_t rs1, uint32_t rs2, uint32_t imm) {
  return 0x23 | (imm & 31) << 7 | funct3 << 12 | rs1 << 15 | rs2 << 20 | (imm >> 5 & 0x7f) << 25;
}

class Generator {
 public:
  Generator(uint64_t seed, unsigned blocks, unsigned instructions) : random_(seed) {
    program_.code.resize(kEntry - kCodeBase);
    program_.data.resize(kScratchEnd + blocks * 2 * kRegisters * 4);
    for (auto& byte : program_.data) byte = static_cast<std::byte>(random_());
    point(kPointer, kDataBase + kScratch);
    for (unsigned block = 0; block < blocks; block++) {
      const uint32_t before = kDataBase + kScratchEnd + block * 2 * kRegisters * 4;
      interesting_words(before - kDataBase);
      registers(before, true);
      for (unsigned n = 0; n < instructions; n++) instruction();
      registers(before + kRegisters * 4, false);
    }
    program_.end = here();
    write_out();
  }

  RandomCode take() { return std::move(program_); }

 private:
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  uint32_t here() const { return kCodeBase + static_cast<uint32_t>(program_.code.size()); }
  void put(uint32_t value, unsigned bytes) {
    const size_t at = program_.code.size();
    program_.code.resize(at + bytes);
    std::memcpy(&program_.code[at], &value, bytes);
  }
  void word(uint32_t value) { put(value, 4); }
  void half(uint32_t value) { put(value, 2); }

  /// Half of a block's registers start at the ends of the number line.
  void interesting_words(size_t at) {
    constexpr uint32_t kEnds[] = {0, 1, 2, 0xffff'ffff, 0xffff'fffe, 0x7fff'ffff, 0x8000'0000, 0x8000'0001, 0xffff, 31};
    for (unsigned r = 0; r < kRegisters; r++) {
      if (below(2) == 0) std::memcpy(&program_.data[at + 4 * r], &kEnds[below(std::size(kEnds))], 4);
    }
  }

  /// rd = address, by lui and addi.
  void point(uint32_t rd, uint32_t address) {
    word(0x37 | rd << 7 | ((address + 0x800) & 0xffff'f000));
    word(i_type(0x13, 0, rd, rd, address & 0xfff));
  }

  void registers(uint32_t at, bool load) {
    point(kPointer, at);
    for (uint32_t r = 1; r <= kRegisters; r++) {
      word(load ? i_type(0x03, 2, r, kPointer, 4 * (r - 1)) : s_type(2, kPointer, r, 4 * (r - 1)));
    }
    point(kPointer, kDataBase + kScratch);
  }

  uint32_t any() { return below(31); }         // x0 to x30
  uint32_t written() { return below(31); }     // never x31
  uint32_t shorter() { return 8 + below(8); }  // x8 to x15

  void instruction() {
    switch (below(10)) {
      case 0:
      case 1:
        return immediate();
      case 2:
      case 3:
        return word(r_type(below(3) == 0 ? 0 : 1, below(8), written(), any(), any()));
      case 4:
        return word(r_type(0x20, below(2) * 5, written(), any(), any()));
      case 5:
        return access();
      case 6:
        return jump();
      case 7:
        return word((below(2) == 0 ? 0x37 : 0x17) | written() << 7 | below(1 << 20) << 12);
      default:
        return compressed();
    }
  }

  void immediate() {
    const uint32_t funct3 = below(8);
    uint32_t imm = below(1 << 12);
    if (funct3 == 1) imm &= 31;
    if (funct3 == 5) imm = (imm & 31) | below(2) << 10;
    word(i_type(0x13, funct3, written(), any(), imm));
  }

  void access() {
    constexpr uint32_t kLoads[] = {0, 1, 2, 4, 5};
    const uint32_t offset = below(2 * kScratch - 4) - kScratch;  // any alignment
    if (below(2) == 0) return word(i_type(0x03, kLoads[below(5)], written(), kPointer, offset & 0xfff));
    word(s_type(below(3), kPointer, any(), offset));
  }

  /// Over one instruction, taken or not.
  void jump() {
    constexpr uint32_t kConditions[] = {0, 1, 4, 5, 6, 7};
    switch (below(5)) {
      case 0: {  // c.beqz, c.bnez over 4 bytes: offset 6, c.b: imm[5|8:6|4:3|2:1] spread
        half(0xc001 | below(2) << 13 | (shorter() - 8) << 7 | 3u << 3);
        return immediate();
      }
      case 1:
        word(0x6f | written() << 7 | 8u << 20);  // jal +8
        return immediate();
      case 2: {  // auipc rd, 0; jalr rd', 12(rd)
        const uint32_t base = 1 + below(30);
        word(0x17 | base << 7);
        word(i_type(0x67, 0, written(), base, 12 | below(2)));  // bit 0 is dropped
        return immediate();
      }
      case 3:
        half(0xa001 | 3u << 3);  // c.j +6
        return immediate();
      default:
        word(0x63 | kConditions[below(6)] << 12 | any() << 15 | any() << 20 | 8u << 7);
        return immediate();
    }
  }

  void compressed() {
    const uint32_t imm5 = below(32), sign = below(2) << 12;
    switch (below(12)) {
      case 0:  // c.addi4spn, not 0
        return half(0x0000 | (1 + below(255)) << 5 | (shorter() - 8) << 2);
      case 1:  // c.addi
        return half(0x0001 | sign | written() << 7 | imm5 << 2);
      case 2:  // c.li
        return half(0x4001 | sign | written() << 7 | imm5 << 2);
      case 3:  // c.lui or c.addi16sp, not 0
        return half(0x6001 | sign | written() << 7 | (1 + below(31)) << 2);
      case 4:  // c.srli, c.srai
        return half(0x8001 | below(2) << 10 | (shorter() - 8) << 7 | imm5 << 2);
      case 5:  // c.andi
        return half(0x8801 | sign | (shorter() - 8) << 7 | imm5 << 2);
      case 6:  // c.sub, c.xor, c.or, c.and
        return half(0x8c01 | (shorter() - 8) << 7 | below(4) << 5 | (shorter() - 8) << 2);
      case 7:  // c.slli
        return half(0x0002 | written() << 7 | imm5 << 2);
      case 8:  // c.mv, c.add
        return half(0x8002 | sign | written() << 7 | (1 + below(30)) << 2);
      case 9: {  // c.lw, c.sw
        const uint32_t base = shorter();
        point(base, kDataBase + kScratch);
        return half((below(2) == 0 ? 0x4000 : 0xc000) | below(8) << 10 | (base - 8) << 7 | below(4) << 5 |
                    (shorter() - 8) << 2);
      }
      case 10:  // c.lwsp
        point(2, kDataBase + kScratch);
        return half(0x4002 | sign | (1 + below(30)) << 7 | imm5 << 2);
      default:  // c.swsp
        point(2, kDataBase + kScratch);
        return half(0xc002 | below(64) << 7 | any() << 2);
    }
  }

  /// write(1, data, size); exit(0), by Linux's numbers.
  void write_out() {
    const auto load = [this](uint32_t rd, uint32_t value) { point(rd, value); };
    load(10, 1);
    load(11, kDataBase);
    load(12, static_cast<uint32_t>(program_.data.size()));
    load(17, 64);
    word(0x73);
    load(10, 0);
    load(17, 93);
    word(0x73);
  }

  std::mt19937_64 random_;
  RandomCode program_;
};

}  // namespace

RandomCode random_code(uint64_t seed, unsigned blocks, unsigned instructions) {
  return Generator(seed, blocks, instructions).take();
}

std::vector<std::byte> elf(const RandomCode& program) {
  constexpr uint32_t kHeader = 52, kSegment = 32, kPage = 4096;
  std::vector<std::byte> file;
  const auto put = [&file](auto value) {
    const size_t at = file.size();
    file.resize(at + sizeof value);
    std::memcpy(&file[at], &value, sizeof value);
  };
  const auto bytes = [](const std::vector<std::byte>& part) { return static_cast<uint32_t>(part.size()); };
  const uint32_t data_at = (kPage + bytes(program.code) + kPage - 1) / kPage * kPage;
  for (const uint8_t byte : {0x7f, 0x45, 0x4c, 0x46, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}) put(byte);
  put(uint16_t{2}), put(uint16_t{243}), put(uint32_t{1});             // executable, RISC-V
  put(kEntry), put(kHeader), put(uint32_t{0}), put(uint32_t{1});      // flags: RVC
  put(uint16_t{kHeader}), put(uint16_t{kSegment}), put(uint16_t{2});  // two segments
  put(uint16_t{40}), put(uint16_t{0}), put(uint16_t{0});
  const auto segment = [&](uint32_t at, uint32_t address, uint32_t size, uint32_t flags) {
    put(uint32_t{1}), put(at), put(address), put(address), put(size), put(size), put(flags), put(kPage);
  };
  segment(kPage, kCodeBase, bytes(program.code), 5);
  segment(data_at, kDataBase, bytes(program.data), 6);
  file.resize(kPage);
  file.insert(file.end(), program.code.begin(), program.code.end());
  file.resize(data_at);
  file.insert(file.end(), program.data.begin(), program.data.end());
  return file;
}

}  // namespace weft::rv32::test
