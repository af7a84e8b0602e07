/// The manager's processor as the tools print it in JSON.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>

#include "host/tools/live/chip_snapshot.hpp"

namespace weft::tools {

/// null: the firmware runs natively.
[[nodiscard]] inline nlohmann::ordered_json processor_json(const std::optional<ProcessorSnapshot>& processor) {
  if (!processor) return nullptr;
  return {{"kind", processor->kind},
          {"image", processor->image},
          {"pc", processor->pc},
          {"registers", processor->registers},
          {"backtrace", processor->backtrace},
          {"cycles", processor->cycles},
          {"instructions", processor->instructions}};
}

}  // namespace weft::tools
