/// What weft dump prints of a function of a live chip.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "host/compiler/result.hpp"
#include "host/tools/live/function_dump.hpp"

namespace weft::tools {

/// What of it is wanted.
struct DumpSelection {
  std::optional<uint32_t> queue;  ///< rings of this one only
  bool log_only = false;          ///< firmware log and nothing else
};

/// For people: the function, its queues and engines and who waits for whom (the state page), then the entries of each
/// ring, fault records, and the firmware's log.
[[nodiscard]] std::string dump_text(const FunctionDump& dump, const DumpSelection& selection);

/// The same as one JSON object.
[[nodiscard]] std::string dump_json(const FunctionDump& dump, const DumpSelection& selection);

/// What a file holds that weft dump was given: a hang report (JSON) or a state page. Text or JSON of it.
/// INVALID_ARGUMENT: it is neither, or is damaged; the message says where.
[[nodiscard]] Result<std::string> dump_file(const std::string& path, bool json);

}  // namespace weft::tools
