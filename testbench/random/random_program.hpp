/// A program for one tensor core with all that its run depends on, and its form as a file.
#pragma once
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "model/golden/check.hpp"

namespace weft::random {

/// A command and its queue.
struct QueuedCommand {
  unsigned queue = 0;
  spec::Command command;
  bool operator==(const QueuedCommand&) const = default;
};

/// The fault in which a program must end.
struct ExpectedFault {
  weft_fault code = WEFT_FAULT_NONE;
  uint64_t address = 0;
  unsigned queue = 0;
  uint16_t tag = 0;
  bool operator==(const ExpectedFault&) const = default;
};

/// Bytes of HBM.
struct HbmBytes {
  uint64_t address = 0;
  std::vector<std::byte> bytes;
  bool operator==(const HbmBytes&) const = default;
};

/// Bytes of HBM, and of host memory, that a program of random commands may touch.
[[nodiscard]] constexpr uint64_t memory_bytes(const spec::Chip& chip) { return uint64_t{8192} * chip.word_bytes; }

/// Where HBM holds the commands of a queue for its prefetcher: beyond all that a program may touch.
[[nodiscard]] constexpr uint64_t command_address(unsigned queue, uint64_t index) {
  return (uint64_t{1} << 40) + (uint64_t{queue} << 32) + index * WEFT_COMMAND_BYTES;
}

/// Everything that a run depends on. Commands stand in program order: in each queue they come in this order, and
/// a golden execution in this order gives the expected state. Tags are unique.
struct Program {
  const spec::Chip* chip = nullptr;
  uint64_t seed = 0;           ///< from which it was generated
  uint64_t data_seed = 0;      ///< of HBM's and host memory's contents
  unsigned stall_percent = 0;  ///< cycles in which a queue is not fed
  bool jitter = false;         ///< memory latency and refusals vary
  bool prefetch = false;    ///< queues fetch their commands from HBM, in one piece or several, now and then pushed to
  uint64_t hbm_bytes = 0;   ///< 0: memory_bytes() of the chip
  bool plain_data = false;  ///< only numbers near 1 of either sign, as bf16 and as f32; no infinity, no NaN
  golden::SegmentTable segments{};
  std::vector<HbmBytes> contents;  ///< over what data_seed gives; no part of the file
  std::vector<HbmBytes> results;   ///< what must be there at the end, by another reckoning; no part of the file
  std::vector<QueuedCommand> commands;
  std::optional<ExpectedFault> fault;  ///< nothing: the program is legal
};

/// Text: one line a segment, one line a command with its disassembly as a comment.
[[nodiscard]] std::string program_text(const Program& program);
/// Nothing and a message with the line's number in `error` if the text is no program.
[[nodiscard]] std::optional<Program> parse_program(std::istream& text, std::string& error);

}  // namespace weft::random
