#include "model/chip/image_report.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "firmware/bare/registers.hpp"
#include "firmware/state.hpp"
#include "model/rv32/instruction.hpp"

namespace weft::chip {
namespace {

constexpr size_t kRomBytes = 64 * 1024;
constexpr size_t kDeepestBacktrace = 16;
constexpr unsigned kStackPointer = 2, kReturnAddress = 1;
constexpr size_t kRegistersOnALine = 8;
constexpr const char* kRegisterNames[32] = {"zero", "ra", "sp", "gp", "tp",  "t0",  "t1", "t2", "s0", "s1", "a0",
                                            "a1",   "a2", "a3", "a4", "a5",  "a6",  "a7", "s2", "s3", "s4", "s5",
                                            "s6",   "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6"};

uint32_t crc32_of(std::span<const std::byte> bytes) {
  return static_cast<uint32_t>(
      ::crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

/// The instruction before `address` is a call.
bool behind_call(std::span<const std::byte> rom, uint32_t address) {
  if (address < 4 || address > rom.size() || (address & 1) != 0) return false;
  uint32_t word = 0;
  std::memcpy(&word, &rom[address - 4], sizeof word);
  const rv32::Instruction whole = rv32::decode(word), half = rv32::decode(word >> 16);
  const auto calls = [](const rv32::Instruction& i, unsigned length) {
    return i.length == length && i.rd == kReturnAddress && (i.op == rv32::Op::kJal || i.op == rv32::Op::kJalr);
  };
  return calls(whole, 4) || calls(half, 2);
}

}  // namespace

std::string image_error(const fw::Image& image) {
  if (image.rom.size() <= rv32::Processor::kResetOffset || image.rom.size() > kRomBytes)
    return fmt::format("the firmware's image has {} bytes; a ROM of {} bytes holds more than {} of them",
                       image.rom.size(), kRomBytes, rv32::Processor::kResetOffset);
  if (const uint32_t crc = crc32_of(image.rom); crc != image.crc)
    return fmt::format("the firmware's image has the checksum {:08x}; its bytes have {:08x}", image.crc, crc);
  if (image.state_address != fw::bare::kStateBase || image.state_bytes != sizeof(fw::State))
    return fmt::format("the firmware's image has {} bytes of state at {:#x}; this simulator knows {} at {:#x}",
                       image.state_bytes, image.state_address, sizeof(fw::State), fw::bare::kStateBase);
  return {};
}

std::string image_place(const fw::Image& image, uint32_t pc) {
  const auto after = std::upper_bound(image.functions.begin(), image.functions.end(), pc,
                                      [](uint32_t at, const fw::ImageFunction& f) { return at < f.address; });
  if (after == image.functions.begin() || pc >= image.rom.size()) return fmt::format("{:#010x}", pc);
  const fw::ImageFunction& function = *std::prev(after);
  return fmt::format("{:#07x} {}+{:#x}", pc, function.name, pc - function.address);
}

std::string image_backtrace(const fw::Image& image, const rv32::Processor& processor) {
  std::string text = image_place(image, processor.pc());
  size_t depth = 0;
  const auto caller = [&](uint32_t address) {
    if (!behind_call(processor.rom(), address) || depth == kDeepestBacktrace) return;
    text += "\n  from " + image_place(image, address);
    depth++;
  };
  caller(processor.x()[kReturnAddress]);
  // A stack that has overflowed left SRAM at its start: what it holds begins there.
  const uint32_t pointer = processor.x()[kStackPointer] & ~3u;
  const uint32_t lowest = static_cast<uint32_t>(fw::bare::kSramBase);
  const bool overflowed = pointer < lowest && lowest - pointer <= fw::bare::kStackBytes;
  for (uint32_t at = overflowed ? 0 : pointer - lowest; at < fw::bare::kStackBytes; at += 4) {
    uint32_t word = 0;
    std::memcpy(&word, &processor.sram()[at], sizeof word);
    caller(word);
  }
  return text;
}

std::string register_lines(const rv32::Processor& processor) {
  std::string text;
  for (size_t i = 0; i < std::size(kRegisterNames); i++)
    text += fmt::format("{}{} {:08x}", i % kRegistersOnALine == 0 ? "\n  " : "  ", kRegisterNames[i], processor.x()[i]);
  return text;
}

}  // namespace weft::chip
