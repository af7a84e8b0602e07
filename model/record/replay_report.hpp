/// What a replay has found, for people and for programs.
#pragma once
#include <string>
#include <string_view>

#include "model/record/replayer.hpp"

namespace weft::record {

struct ReplayContext {
  std::string file;
  std::string_view recorded_core;
  std::string_view core;
  std::string_view recorded_manager, manager;  ///< "native", "rv32", "ibex"
  uint32_t recorded_image = 0, image = 0;      ///< CRC-32 of the firmware's image; 0: native
  Pace pace = Pace::kCycles;
};

/// Some lines, the last one without a newline: "identical ..." or the first difference.
std::string replay_text(const ReplayContext& context, const Recording& recording, const ReplayResult& result);
/// One object, fields as docs/replay.md lists them.
std::string replay_json(const ReplayContext& context, const Recording& recording, const ReplayResult& result);

}  // namespace weft::record
