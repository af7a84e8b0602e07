// Formats of the RISC-V unprivileged ISA, version 20191213: chapter 24 (RV32/64G listings), chapter 16 (compressed).
#include "model/rv32/instruction.hpp"

namespace weft::rv32 {
namespace {

/// Bits hi to lo of a word, shifted down.
constexpr uint32_t bits(uint32_t word, unsigned hi, unsigned lo) { return word >> lo & ((2u << (hi - lo)) - 1); }
constexpr uint32_t bit(uint32_t word, unsigned at) { return word >> at & 1; }
constexpr int32_t sign_extend(uint32_t value, unsigned width) {
  return static_cast<int32_t>(value << (32 - width)) >> (32 - width);
}
constexpr uint8_t reg(uint32_t word, unsigned lo) { return static_cast<uint8_t>(word >> lo & 31); }
/// One of x8 to x15, which compressed instructions name in three bits.
constexpr uint8_t short_reg(uint32_t word, unsigned lo) { return static_cast<uint8_t>(8 + (word >> lo & 7)); }

constexpr Op kBranches[] = {Op::kBeq, Op::kBne, Op::kIllegal, Op::kIllegal, Op::kBlt, Op::kBge, Op::kBltu, Op::kBgeu};
constexpr Op kLoads[] = {Op::kLb, Op::kLh, Op::kLw, Op::kIllegal, Op::kLbu, Op::kLhu, Op::kIllegal, Op::kIllegal};
constexpr Op kStores[] = {Op::kSb,      Op::kSh,      Op::kSw,      Op::kIllegal,
                          Op::kIllegal, Op::kIllegal, Op::kIllegal, Op::kIllegal};
constexpr Op kImmediates[] = {Op::kAddi, Op::kSlli, Op::kSlti, Op::kSltiu, Op::kXori, Op::kSrli, Op::kOri, Op::kAndi};
constexpr Op kRegisters[] = {Op::kAdd, Op::kSll, Op::kSlt, Op::kSltu, Op::kXor, Op::kSrl, Op::kOr, Op::kAnd};
constexpr Op kMultiplies[] = {Op::kMul, Op::kMulh, Op::kMulhsu, Op::kMulhu, Op::kDiv, Op::kDivu, Op::kRem, Op::kRemu};
constexpr Op kCsrs[] = {Op::kIllegal, Op::kCsrrw,  Op::kCsrrs,  Op::kCsrrc,
                        Op::kIllegal, Op::kCsrrwi, Op::kCsrrsi, Op::kCsrrci};

int32_t store_immediate(uint32_t w) { return sign_extend(bits(w, 31, 25) << 5 | bits(w, 11, 7), 12); }
int32_t branch_immediate(uint32_t w) {
  return sign_extend(bit(w, 31) << 12 | bit(w, 7) << 11 | bits(w, 30, 25) << 5 | bits(w, 11, 8) << 1, 13);
}
int32_t jump_immediate(uint32_t w) {
  return sign_extend(bit(w, 31) << 20 | bits(w, 19, 12) << 12 | bit(w, 20) << 11 | bits(w, 30, 21) << 1, 21);
}

Instruction shift_or_immediate(uint32_t w, Instruction i) {
  const uint32_t funct3 = bits(w, 14, 12), funct7 = bits(w, 31, 25);
  i.op = kImmediates[funct3];
  i.imm = sign_extend(bits(w, 31, 20), 12);
  if (funct3 == 1 || funct3 == 5) {
    if (funct3 == 5 && funct7 == 0x20) {
      i.op = Op::kSrai;
    } else if (funct7 != 0) {
      return {};
    }
    i.imm = static_cast<int32_t>(bits(w, 24, 20));
  }
  return i;
}

Instruction register_operation(uint32_t w, Instruction i) {
  const uint32_t funct3 = bits(w, 14, 12);
  switch (bits(w, 31, 25)) {
    case 0x00:
      i.op = kRegisters[funct3];
      break;
    case 0x01:
      i.op = kMultiplies[funct3];
      break;
    case 0x20:
      i.op = funct3 == 0 ? Op::kSub : funct3 == 5 ? Op::kSra : Op::kIllegal;
      break;
    default:
      return {};
  }
  i.rs2 = reg(w, 20);
  return i;
}

Instruction system_operation(uint32_t w, Instruction i) {
  switch (w) {
    case 0x0000'0073:
      return {.op = Op::kEcall};
    case 0x0010'0073:
      return {.op = Op::kEbreak};
    case 0x1050'0073:
      return {.op = Op::kWfi};
    case 0x3020'0073:
      return {.op = Op::kMret};
    default:
      break;
  }
  i.op = kCsrs[bits(w, 14, 12)];
  i.imm = static_cast<int32_t>(bits(w, 31, 20));
  return i;
}

Instruction decode_whole(uint32_t w) {
  const uint32_t funct3 = bits(w, 14, 12);
  Instruction i{.rd = reg(w, 7), .rs1 = reg(w, 15)};
  switch (w & 0x7f) {
    case 0x37:
      return {.op = Op::kLui, .rd = i.rd, .imm = static_cast<int32_t>(w & 0xffff'f000)};
    case 0x17:
      return {.op = Op::kAuipc, .rd = i.rd, .imm = static_cast<int32_t>(w & 0xffff'f000)};
    case 0x6f:
      return {.op = Op::kJal, .rd = i.rd, .imm = jump_immediate(w)};
    case 0x67:
      i.op = funct3 == 0 ? Op::kJalr : Op::kIllegal;
      i.imm = sign_extend(bits(w, 31, 20), 12);
      return i;
    case 0x63:
      return {.op = kBranches[funct3], .rs1 = i.rs1, .rs2 = reg(w, 20), .imm = branch_immediate(w)};
    case 0x03:
      i.op = kLoads[funct3];
      i.imm = sign_extend(bits(w, 31, 20), 12);
      return i;
    case 0x23:
      return {.op = kStores[funct3], .rs1 = i.rs1, .rs2 = reg(w, 20), .imm = store_immediate(w)};
    case 0x13:
      return shift_or_immediate(w, i);
    case 0x33:
      return register_operation(w, i);
    case 0x0f:  // fence, and fence.i: memory is in order, code lies in ROM
      return {.op = funct3 <= 1 ? Op::kFence : Op::kIllegal};
    case 0x73:
      return system_operation(w, i);
    default:
      return {};
  }
}

// Immediates of compressed instructions.
int32_t c_imm6(uint32_t w) { return sign_extend(bit(w, 12) << 5 | bits(w, 6, 2), 6); }
int32_t c_word_offset(uint32_t w) {
  return static_cast<int32_t>(bit(w, 5) << 6 | bits(w, 12, 10) << 3 | bit(w, 6) << 2);
}
int32_t c_jump(uint32_t w) {
  return sign_extend(bit(w, 12) << 11 | bit(w, 8) << 10 | bits(w, 10, 9) << 8 | bit(w, 6) << 7 | bit(w, 7) << 6 |
                         bit(w, 2) << 5 | bit(w, 11) << 4 | bits(w, 5, 3) << 1,
                     12);
}
int32_t c_branch(uint32_t w) {
  return sign_extend(bit(w, 12) << 8 | bits(w, 6, 5) << 6 | bit(w, 2) << 5 | bits(w, 11, 10) << 3 | bits(w, 4, 3) << 1,
                     9);
}
int32_t c_stack_add(uint32_t w) {  // c.addi16sp
  return sign_extend(bit(w, 12) << 9 | bits(w, 4, 3) << 7 | bit(w, 5) << 6 | bit(w, 2) << 5 | bit(w, 6) << 4, 10);
}
int32_t c_stack_address(uint32_t w) {  // c.addi4spn
  return static_cast<int32_t>(bits(w, 10, 7) << 6 | bits(w, 12, 11) << 4 | bit(w, 5) << 3 | bit(w, 6) << 2);
}
int32_t c_stack_load(uint32_t w) {
  return static_cast<int32_t>(bits(w, 3, 2) << 6 | bit(w, 12) << 5 | bits(w, 6, 4) << 2);
}
int32_t c_stack_store(uint32_t w) { return static_cast<int32_t>(bits(w, 8, 7) << 6 | bits(w, 12, 9) << 2); }

Instruction c_arithmetic(uint32_t w) {
  const uint8_t rd = short_reg(w, 7), rs2 = short_reg(w, 2);
  constexpr Op kPairs[] = {Op::kSub, Op::kXor, Op::kOr, Op::kAnd};
  switch (bits(w, 11, 10)) {
    case 0:
    case 1:
      if (bit(w, 12) != 0) return {};  // shift by 32 and more: RV32 reserves it
      return {.op = bit(w, 10) != 0 ? Op::kSrai : Op::kSrli,
              .rd = rd,
              .rs1 = rd,
              .imm = static_cast<int32_t>(bits(w, 6, 2))};
    case 2:
      return {.op = Op::kAndi, .rd = rd, .rs1 = rd, .imm = c_imm6(w)};
    default:
      if (bit(w, 12) != 0) return {};
      return {.op = kPairs[bits(w, 6, 5)], .rd = rd, .rs1 = rd, .rs2 = rs2};
  }
}

Instruction c_jumps_and_moves(uint32_t w) {
  const uint8_t rd = reg(w, 7), rs2 = reg(w, 2);
  if (bit(w, 12) == 0) {
    if (rs2 != 0) return {.op = Op::kAdd, .rd = rd, .rs2 = rs2};
    return rd == 0 ? Instruction{} : Instruction{.op = Op::kJalr, .rs1 = rd};
  }
  if (rs2 != 0) return {.op = Op::kAdd, .rd = rd, .rs1 = rd, .rs2 = rs2};
  if (rd == 0) return {.op = Op::kEbreak};
  return {.op = Op::kJalr, .rd = 1, .rs1 = rd};
}

Instruction decode_compressed(uint32_t w) {
  const uint8_t rd = reg(w, 7);
  switch ((w & 3) << 3 | bits(w, 15, 13)) {
    case 000:
      if (c_stack_address(w) == 0) return {};
      return {.op = Op::kAddi, .rd = short_reg(w, 2), .rs1 = 2, .imm = c_stack_address(w)};
    case 002:
      return {.op = Op::kLw, .rd = short_reg(w, 2), .rs1 = short_reg(w, 7), .imm = c_word_offset(w)};
    case 006:
      return {.op = Op::kSw, .rs1 = short_reg(w, 7), .rs2 = short_reg(w, 2), .imm = c_word_offset(w)};
    case 010:
      return {.op = Op::kAddi, .rd = rd, .rs1 = rd, .imm = c_imm6(w)};
    case 011:
      return {.op = Op::kJal, .rd = 1, .imm = c_jump(w)};
    case 012:
      return {.op = Op::kAddi, .rd = rd, .imm = c_imm6(w)};
    case 013:
      if (c_imm6(w) == 0) return {};
      if (rd == 2) return {.op = Op::kAddi, .rd = 2, .rs1 = 2, .imm = c_stack_add(w)};
      return {.op = Op::kLui, .rd = rd, .imm = static_cast<int32_t>(static_cast<uint32_t>(c_imm6(w)) << 12)};
    case 014:
      return c_arithmetic(w);
    case 015:
      return {.op = Op::kJal, .imm = c_jump(w)};
    case 016:
    case 017:
      return {.op = bit(w, 13) != 0 ? Op::kBne : Op::kBeq, .rs1 = short_reg(w, 7), .imm = c_branch(w)};
    case 020:
      if (bit(w, 12) != 0) return {};
      return {.op = Op::kSlli, .rd = rd, .rs1 = rd, .imm = static_cast<int32_t>(bits(w, 6, 2))};
    case 022:
      if (rd == 0) return {};
      return {.op = Op::kLw, .rd = rd, .rs1 = 2, .imm = c_stack_load(w)};
    case 024:
      return c_jumps_and_moves(w);
    case 026:
      return {.op = Op::kSw, .rs1 = 2, .rs2 = reg(w, 2), .imm = c_stack_store(w)};
    default:
      return {};  // floating point, and what is reserved
  }
}

}  // namespace

Instruction decode(uint32_t word) {
  const bool whole = (word & 3) == 3;
  Instruction instruction = whole ? decode_whole(word) : decode_compressed(word & 0xffff);
  if (instruction.op == Op::kIllegal) instruction = {};
  instruction.length = whole ? 4 : 2;
  return instruction;
}

}  // namespace weft::rv32
