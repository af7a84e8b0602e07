/// Submission and completion entries of the rings, field by field, as tools show them. Any bytes are safe.
#pragma once
#include <string>

#include "weft/spec/spec.h"

namespace weft::tools {

/// The status word of a completion.
struct CompletionStatus {
  uint32_t phase, origin, code;
  bool retryable, more;
};
[[nodiscard]] CompletionStatus completion_status(const weft_completion_entry& entry);

/// "LAUNCH", "CREATE_QUEUE", "opcode 200".
[[nodiscard]] std::string opcode_text(uint8_t opcode);
/// "OK", "BAD_DESCRIPTOR", "error 999".
[[nodiscard]] std::string error_text(uint32_t code);
/// "chain+interrupt"; "-": none.
[[nodiscard]] std::string flags_text(uint8_t flags);
/// What the opcode's arguments mean: "program 64, kernel 0, arguments at 0x…", "0x… (HBM) to 0x… (host), 4096 bytes".
[[nodiscard]] std::string arguments_text(const weft_submission_entry& entry);
/// The entry's CRC is that of its bytes at this free-running index of a ring of so many entries.
[[nodiscard]] bool crc_matches(const weft_submission_entry& entry, uint32_t index, uint32_t entries);

}  // namespace weft::tools
