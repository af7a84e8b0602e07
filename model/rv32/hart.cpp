#include "model/rv32/hart.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "model/rv32/ibex_cycles.hpp"

namespace weft::rv32 {
namespace {

constexpr uint32_t kMie = 1u << 3, kMpie = 1u << 7, kMachineMode = 3u << 11;  // mstatus
constexpr uint32_t kMeie = 1u << 11;                                          // mie, mip
constexpr uint32_t kVectored = 1;
constexpr uint32_t kMisa = 1u << 30 | 1u << 12 | 1u << 8 | 1u << 2;  // RV32, extensions M, I, C

// CSR numbers, chapter 2 of the privileged ISA.
enum : uint32_t {
  kCsrMstatus = 0x300,
  kCsrMisa = 0x301,
  kCsrMie = 0x304,
  kCsrMtvec = 0x305,
  kCsrMscratch = 0x340,
  kCsrMepc = 0x341,
  kCsrMcause = 0x342,
  kCsrMtval = 0x343,
  kCsrMip = 0x344,
  kCsrMcycle = 0xb00,
  kCsrMinstret = 0xb02,
  kCsrMcycleh = 0xb80,
  kCsrMinstreth = 0xb82,
  kCsrMvendorid = 0xf11,
  kCsrMarchid = 0xf12,
  kCsrMimpid = 0xf13,
  kCsrMhartid = 0xf14,
};

uint32_t high_product(int64_t a, int64_t b) { return static_cast<uint32_t>(static_cast<uint64_t>(a * b) >> 32); }

uint32_t divide(uint32_t a, uint32_t b) {
  if (b == 0) return UINT32_MAX;
  if (a == 0x8000'0000 && b == UINT32_MAX) return a;
  return static_cast<uint32_t>(static_cast<int32_t>(a) / static_cast<int32_t>(b));
}

uint32_t remainder(uint32_t a, uint32_t b) {
  if (b == 0) return a;
  if (a == 0x8000'0000 && b == UINT32_MAX) return 0;
  return static_cast<uint32_t>(static_cast<int32_t>(a) % static_cast<int32_t>(b));
}

uint32_t half_of(uint64_t counter, bool high) { return static_cast<uint32_t>(high ? counter >> 32 : counter); }

/// Replaces half `high` of a counter.
uint64_t with_half(uint64_t counter, bool high, uint32_t value) {
  return high ? (counter & UINT32_MAX) | uint64_t{value} << 32 : (counter & ~uint64_t{UINT32_MAX}) | value;
}

}  // namespace

const char* cause_name(Cause cause) {
  switch (cause) {
    case Cause::kFetchFault:
      return "instruction access fault";
    case Cause::kIllegal:
      return "illegal instruction";
    case Cause::kBreakpoint:
      return "breakpoint";
    case Cause::kLoadFault:
      return "load access fault";
    case Cause::kStoreFault:
      return "store access fault";
    case Cause::kEcall:
      return "environment call";
  }
  return "unknown exception";
}

std::shared_ptr<const Code> decode_rom(std::span<const std::byte> image) {
  auto code = std::make_shared<Code>();
  code->rom = padded_rom(image);
  const std::vector<std::byte>& rom = code->rom;
  code->instructions.resize(rom.size() / 2);
  for (size_t at = 0; at < code->instructions.size(); at++) {
    Instruction& instruction = code->instructions[at];
    uint32_t word = 0;
    std::memcpy(&word, &rom[2 * at], std::min<size_t>(sizeof word, rom.size() - 2 * at));
    instruction = decode(word);
    if (2 * at + instruction.length > rom.size()) instruction.op = Op::kIllegal;  // its second half is not there
  }
  return code;
}

Hart::Hart(const Layout& layout, Bus& bus, std::shared_ptr<const Code> code)
    : Processor(layout, code->rom, bus), code_(std::move(code)) {
  reset();
}

void Hart::reset() {
  std::fill(std::begin(x_), std::end(x_), 0u);
  csrs_ = Csrs{.mtvec = (layout_.rom_base & ~0xffu) | kVectored};
  pc_ = layout_.rom_base + kResetOffset;
  cycles_ += kResetCycles;
  waiting_ = false;
}

bool Hart::load(uint32_t address, unsigned bytes, uint32_t& value) {
  value = 0;
  if (const uint32_t offset = address - layout_.sram_base; within(offset, sram_.size(), bytes)) {
    std::memcpy(&value, &sram_[offset], bytes);
    return true;
  }
  if (const uint32_t offset = address - layout_.rom_base; within(offset, rom_.size(), bytes)) {
    std::memcpy(&value, &rom_[offset], bytes);
    return true;
  }
  return address % bytes == 0 && bus_.load(address, bytes, value);
}

bool Hart::store(uint32_t address, unsigned bytes, uint32_t value) {
  if (const uint32_t offset = address - layout_.sram_base; within(offset, sram_.size(), bytes)) {
    std::memcpy(&sram_[offset], &value, bytes);
    return true;
  }
  if (within(address - layout_.rom_base, rom_.size(), 1)) return false;
  return address % bytes == 0 && bus_.store(address, bytes, value);
}

bool Hart::read_csr(uint32_t number, uint32_t& value) const {
  switch (number) {
    case kCsrMstatus:
      value = csrs_.mstatus | kMachineMode;
      return true;
    case kCsrMisa:
      value = kMisa;
      return true;
    case kCsrMie:
      value = csrs_.mie;
      return true;
    case kCsrMtvec:
      value = csrs_.mtvec;
      return true;
    case kCsrMscratch:
      value = csrs_.mscratch;
      return true;
    case kCsrMepc:
      value = csrs_.mepc;
      return true;
    case kCsrMcause:
      value = csrs_.mcause;
      return true;
    case kCsrMtval:
      value = csrs_.mtval;
      return true;
    case kCsrMip:
      value = external_interrupt_ ? kMeie : 0;
      return true;
    case kCsrMcycle:
    case kCsrMcycleh:
      value = half_of(cycles_ + mcycle_ahead_, number == kCsrMcycleh);
      return true;
    case kCsrMinstret:
    case kCsrMinstreth:
      value = half_of(instructions_ + minstret_ahead_, number == kCsrMinstreth);
      return true;
    case kCsrMvendorid:
    case kCsrMarchid:
    case kCsrMimpid:
    case kCsrMhartid:
      value = 0;
      return true;
    default:
      return false;
  }
}

bool Hart::write_csr(uint32_t number, uint32_t value) {
  switch (number) {
    case kCsrMstatus:
      csrs_.mstatus = value & (kMie | kMpie);
      cycles_ += kFlushCycles;
      return true;
    case kCsrMie:
      csrs_.mie = value & kMeie;
      cycles_ += kFlushCycles;
      return true;
    case kCsrMtvec:
      csrs_.mtvec = (value & ~0xffu) | kVectored;
      return true;
    case kCsrMscratch:
      csrs_.mscratch = value;
      return true;
    case kCsrMepc:
      csrs_.mepc = value & ~1u;
      return true;
    case kCsrMcause:
      csrs_.mcause = value & 0x8000'001f;
      return true;
    case kCsrMtval:
      csrs_.mtval = value;
      return true;
    case kCsrMcycle:
    case kCsrMcycleh:
      mcycle_ahead_ = with_half(cycles_ + mcycle_ahead_, number == kCsrMcycleh, value) - cycles_;
      return true;
    case kCsrMinstret:
    case kCsrMinstreth:
      minstret_ahead_ = with_half(instructions_ + minstret_ahead_, number == kCsrMinstreth, value) - instructions_;
      return true;
    case kCsrMisa:
    case kCsrMip:
      return true;  // what is written is ignored
    default:
      return false;
  }
}

bool Hart::csr(const Instruction& i, uint32_t& old) {
  const auto number = static_cast<uint32_t>(i.imm);
  const bool immediate = i.op == Op::kCsrrwi || i.op == Op::kCsrrsi || i.op == Op::kCsrrci;
  const uint32_t operand = immediate ? i.rs1 : x_[i.rs1];
  if (!read_csr(number, old)) return false;
  switch (i.op) {
    case Op::kCsrrw:
    case Op::kCsrrwi:
      return write_csr(number, operand);
    case Op::kCsrrs:
    case Op::kCsrrsi:
      return i.rs1 == 0 || write_csr(number, old | operand);
    default:
      return i.rs1 == 0 || write_csr(number, old & ~operand);
  }
}

void Hart::trap(uint32_t cause, uint32_t value) {
  csrs_.mepc = pc_;
  csrs_.mcause = cause;
  csrs_.mtval = value;
  csrs_.mstatus = (csrs_.mstatus & kMie) != 0 ? kMpie : 0;
  const uint32_t base = csrs_.mtvec & ~0xffu;
  const bool interrupt = (cause >> 31) != 0;
  pc_ = interrupt ? base + 4 * (cause & 31) : base;
  cycles_ += kTrapCycles;
  traps_++;
}

void Hart::raise(Cause cause, uint32_t value) {
  bus_.exception(cause, value);
  trap(static_cast<uint32_t>(cause), value);
}

bool Hart::interrupt_pending() const { return external_interrupt_ && (csrs_.mie & kMeie) != 0; }

unsigned Hart::fetch_cycles(uint32_t target) const {
  const uint32_t offset = target - layout_.rom_base;
  return (target & 2) != 0 && offset < rom_.size() && code_->instructions[offset / 2].length == 4
             ? kUnalignedTargetCycles
             : 0;
}

uint32_t Hart::encoding(uint32_t address) const {
  const uint32_t offset = address - layout_.rom_base;
  uint32_t word = 0;
  std::memcpy(&word, &rom_[offset], std::min<size_t>(code_->instructions[offset / 2].length, rom_.size() - offset));
  return word;
}

Stop Hart::run(uint64_t limit) {
  while (cycles_ < limit) {
    attention_ = false;
    if (waiting_) {
      if (!interrupt_pending()) return Stop::kWaiting;
      waiting_ = false;
      cycles_ += kWakeCycles;
    }
    if (interrupt_pending() && (csrs_.mstatus & kMie) != 0) trap(kExternalInterrupt, 0);
    if (within(pc_ - layout_.rom_base, rom_.size(), 2)) {
      waiting_ = execute(limit);
      continue;
    }
    if (pc_ == (csrs_.mtvec & ~0xffu)) return Stop::kLockedUp;
    raise(Cause::kFetchFault, pc_);
    cycles_++;
  }
  return waiting_ && !interrupt_pending() ? Stop::kWaiting : Stop::kLimit;
}

bool Hart::execute(uint64_t limit) {
  const auto raised = [this](Cause cause, uint32_t value) {
    raise(cause, value);
    return false;
  };
  const auto access_failed = [this](Cause cause, uint32_t address) {
    cycles_ += kAccessCycles;
    raise(cause, address);
    return false;
  };
  const Instruction* const code = code_->instructions.data();
  while (cycles_ < limit && !attention_) {
    const uint32_t offset = pc_ - layout_.rom_base;
    if (offset >= rom_.size()) return false;
    const Instruction& i = code[offset / 2];
    const uint32_t a = x_[i.rs1], b = x_[i.rs2], imm = static_cast<uint32_t>(i.imm);
    const auto signed_a = static_cast<int32_t>(a), signed_b = static_cast<int32_t>(b);
    uint32_t next = pc_ + i.length;
    uint32_t result = 0;
    cycles_++;
    const auto branch = [&](bool taken) {
      if (taken) {
        next = pc_ + imm;
        cycles_ += kTakenBranchCycles + fetch_cycles(next);
      }
    };
    const auto access_cycles = [&](uint32_t address, unsigned bytes) {
      return (address & 3) + bytes > 4 ? kSplitAccessCycles : kAccessCycles;
    };
    switch (i.op) {
      // clang-format off
      case Op::kLui: result = imm; break;
      case Op::kAuipc: result = pc_ + imm; break;
      case Op::kJal: result = next; next = pc_ + imm; cycles_ += kJumpCycles + fetch_cycles(next); break;
      case Op::kJalr: result = next; next = (a + imm) & ~1u; cycles_ += kJumpCycles + fetch_cycles(next); break;
      case Op::kBeq: branch(a == b); break;
      case Op::kBne: branch(a != b); break;
      case Op::kBlt: branch(signed_a < signed_b); break;
      case Op::kBge: branch(signed_a >= signed_b); break;
      case Op::kBltu: branch(a < b); break;
      case Op::kBgeu: branch(a >= b); break;
      case Op::kAddi: result = a + imm; break;
      case Op::kSlti: result = signed_a < i.imm ? 1 : 0; break;
      case Op::kSltiu: result = a < imm ? 1 : 0; break;
      case Op::kXori: result = a ^ imm; break;
      case Op::kOri: result = a | imm; break;
      case Op::kAndi: result = a & imm; break;
      case Op::kSlli: result = a << imm; break;
      case Op::kSrli: result = a >> imm; break;
      case Op::kSrai: result = static_cast<uint32_t>(signed_a >> imm); break;
      case Op::kAdd: result = a + b; break;
      case Op::kSub: result = a - b; break;
      case Op::kSll: result = a << (b & 31); break;
      case Op::kSlt: result = signed_a < signed_b ? 1 : 0; break;
      case Op::kSltu: result = a < b ? 1 : 0; break;
      case Op::kXor: result = a ^ b; break;
      case Op::kSrl: result = a >> (b & 31); break;
      case Op::kSra: result = static_cast<uint32_t>(signed_a >> (b & 31)); break;
      case Op::kOr: result = a | b; break;
      case Op::kAnd: result = a & b; break;
      case Op::kMul: result = a * b; break;
      case Op::kMulh: result = high_product(signed_a, signed_b); cycles_ += kMultiplyHighCycles; break;
      case Op::kMulhsu: result = high_product(signed_a, int64_t{b}); cycles_ += kMultiplyHighCycles; break;
      case Op::kMulhu: result = static_cast<uint32_t>(uint64_t{a} * b >> 32); cycles_ += kMultiplyHighCycles; break;
      case Op::kDiv: result = divide(a, b); cycles_ += b == 0 ? kDivideByZeroCycles : kDivideCycles; break;
      case Op::kDivu: result = b == 0 ? UINT32_MAX : a / b; cycles_ += b == 0 ? kDivideByZeroCycles : kDivideCycles; break;
      case Op::kRem: result = remainder(a, b); cycles_ += b == 0 ? kDivideByZeroCycles : kDivideCycles; break;
      case Op::kRemu: result = b == 0 ? a : a % b; cycles_ += b == 0 ? kDivideByZeroCycles : kDivideCycles; break;
      case Op::kFence: break;
      // clang-format on
      case Op::kLb:
      case Op::kLbu:
        if (!load(a + imm, 1, result)) return access_failed(Cause::kLoadFault, a + imm);
        if (i.op == Op::kLb) result = static_cast<uint32_t>(static_cast<int32_t>(static_cast<int8_t>(result)));
        cycles_ += kAccessCycles;
        break;
      case Op::kLh:
      case Op::kLhu:
        if (!load(a + imm, 2, result)) return access_failed(Cause::kLoadFault, a + imm);
        if (i.op == Op::kLh) result = static_cast<uint32_t>(static_cast<int32_t>(static_cast<int16_t>(result)));
        cycles_ += access_cycles(a + imm, 2);
        break;
      case Op::kLw:
        if (!load(a + imm, 4, result)) return access_failed(Cause::kLoadFault, a + imm);
        cycles_ += access_cycles(a + imm, 4);
        break;
      case Op::kSb:
        if (!store(a + imm, 1, b)) return access_failed(Cause::kStoreFault, a + imm);
        cycles_ += kAccessCycles;
        break;
      case Op::kSh:
        if (!store(a + imm, 2, b)) return access_failed(Cause::kStoreFault, a + imm);
        cycles_ += access_cycles(a + imm, 2);
        break;
      case Op::kSw:
        if (!store(a + imm, 4, b)) return access_failed(Cause::kStoreFault, a + imm);
        cycles_ += access_cycles(a + imm, 4);
        break;
      case Op::kCsrrw:
      case Op::kCsrrs:
      case Op::kCsrrc:
      case Op::kCsrrwi:
      case Op::kCsrrsi:
      case Op::kCsrrci:
        if (!csr(i, result)) return raised(Cause::kIllegal, encoding(pc_));
        break;
      case Op::kMret:
        csrs_.mstatus = kMpie | ((csrs_.mstatus & kMpie) != 0 ? kMie : 0);
        pc_ = csrs_.mepc;
        cycles_ += kReturnCycles + fetch_cycles(pc_);
        instructions_++;
        return false;  // an interrupt may be enabled now
      case Op::kWfi:
        pc_ = next;
        cycles_ += kSleepCycles;
        instructions_++;
        return true;
      case Op::kEcall:
        return raised(Cause::kEcall, 0);
      case Op::kEbreak:
        return raised(Cause::kBreakpoint, 0);
      case Op::kIllegal:
        return raised(Cause::kIllegal, encoding(pc_));
    }
    if (i.rd != 0) x_[i.rd] = result;
    pc_ = next;
    instructions_++;
    if (i.op >= Op::kCsrrw) attention_ = true;  // it may have enabled the interrupt
  }
  return false;
}

}  // namespace weft::rv32
