/// Random RV32IMC code whose outcome is plain data: an ELF program that another implementation runs too.
#pragma once
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace weft::rv32::test {

inline constexpr uint32_t kCodeBase = 0x0001'0000;
inline constexpr uint32_t kDataBase = 0x2000'0000;
inline constexpr uint32_t kEntry = kCodeBase + 0x80;

/// A program of many blocks. Each loads x1 to x30 from random words, runs random instructions (no CSRs, no system
/// calls), and stores x1 to x30. Its data: random words, a scratch area that loads and stores reach, and the registers
/// of each block. x31 points at the data.
struct RandomCode {
  std::vector<std::byte> code;  ///< from kCodeBase; the first kEntry - kCodeBase bytes are 0
  uint32_t end = 0;             ///< address behind the last block, where the data are written out by a system call
  std::vector<std::byte> data;  ///< at kDataBase, before the run
};

RandomCode random_code(uint64_t seed, unsigned blocks, unsigned instructions);

/// A static ELF executable for Linux that runs it and writes its data to standard output.
std::vector<std::byte> elf(const RandomCode& program);

}  // namespace weft::rv32::test
