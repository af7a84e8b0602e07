/// One function of a live chip as its management socket tells it: state page, rings, log, fault records. From text to
/// records; any text is safe, and the records hold what the function's host and firmware wrote, believed by nobody.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/compiler/result.hpp"
#include "host/tools/live/chip_snapshot.hpp"
#include "weft/spec/spec.h"

namespace weft::tools {

/// The last entries of a queue's rings. An entry is nothing where its memory was not mapped.
struct RingDump {
  uint32_t id = 0;
  uint32_t entries = 0;           ///< of the submission ring, from its queue; 0: not known
  uint32_t first_submission = 0;  ///< free-running index of the first entry
  std::vector<std::optional<weft_submission_entry>> submissions;
  uint32_t first_completion = 0;
  std::vector<std::optional<weft_completion_entry>> completions;
};

struct FunctionDump {
  std::string folder, preset, core;
  uint32_t chip = 0, chips = 1;  ///< which chip of how many in the folder
  uint64_t cycle = 0;
  FunctionSnapshot function;
  std::optional<ProcessorSnapshot> processor;  ///< of the chip; nothing: the firmware runs natively
  std::vector<std::byte> state_page;           ///< empty: there is none
  std::vector<weft_log_record> log;            ///< oldest first
  std::vector<weft_fault_record> faults;       ///< oldest first
  std::vector<RingDump> rings;
};

/// From a reply to {"request":"function"}. Errors as of parse_chip_snapshot.
[[nodiscard]] Result<FunctionDump> parse_function_dump(std::string_view reply);

/// Bytes of hexadecimal text; nothing if it is other text.
[[nodiscard]] std::optional<std::vector<std::byte>> parse_hex(std::string_view text);

}  // namespace weft::tools
