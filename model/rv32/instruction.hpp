/// RV32IMC instructions, decoded: what the bits of one instruction ask for.
#pragma once
#include <cstdint>

namespace weft::rv32 {

/// Operations of RV32I 2.1, M 2.0, Zicsr and Zifencei. A compressed instruction is decoded to the one that it stands
/// for.
enum class Op : uint8_t {
  // clang-format off
  kIllegal,
  kLui, kAuipc, kJal, kJalr,
  kBeq, kBne, kBlt, kBge, kBltu, kBgeu,
  kLb, kLh, kLw, kLbu, kLhu, kSb, kSh, kSw,
  kAddi, kSlti, kSltiu, kXori, kOri, kAndi, kSlli, kSrli, kSrai,
  kAdd, kSub, kSll, kSlt, kSltu, kXor, kSrl, kSra, kOr, kAnd,
  kMul, kMulh, kMulhsu, kMulhu, kDiv, kDivu, kRem, kRemu,
  kFence, kEcall, kEbreak, kMret, kWfi,
  kCsrrw, kCsrrs, kCsrrc, kCsrrwi, kCsrrsi, kCsrrci,
  // clang-format on
};

/// An instruction. Fields that its operation does not use are 0.
struct Instruction {
  Op op = Op::kIllegal;
  uint8_t rd = 0;
  uint8_t rs1 = 0;  ///< CSR operations with an immediate: the immediate
  uint8_t rs2 = 0;
  int32_t imm = 0;     ///< sign-extended; lui and auipc: the whole upper word; CSR operations: the CSR's number
  uint8_t length = 0;  ///< bytes, 2 or 4

  friend bool operator==(const Instruction&, const Instruction&) = default;
};

/// Decodes the instruction in the low bits of `word`: 16 of them if its two lowest are not both set, else all 32. What
/// the ISA reserves, and what hints for rd = x0 there are among compressed instructions, follow the manual: reserved
/// encodings are kIllegal, hints do nothing.
[[nodiscard]] Instruction decode(uint32_t word);

}  // namespace weft::rv32
