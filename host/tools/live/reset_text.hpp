/// Reports of resets, for people and programs.
#pragma once
#include <string>

#include "weft/weft.h"

namespace weft::tools {

/// "stop_fetch"
[[nodiscard]] std::string reset_step_text(uint32_t step);

/// Level, generation, who was guilty, and each step with its cycles and bound; ends with a newline.
[[nodiscard]] std::string reset_text(const weft_reset_report& report);
/// The same as one JSON object.
[[nodiscard]] std::string reset_json(const weft_reset_report& report);

}  // namespace weft::tools
