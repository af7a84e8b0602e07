// A chip's state page (DUMP_STATE, spec/state_page.toml): from bytes to records. A pure function; any input is safe.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driver/status.hpp"

namespace weft::driver {

/// A decoded page. Values are as the chip wrote them: an enumeration may hold a number without a name.
struct StatePage {
  weft_state_header header{};
  std::vector<weft_state_queue> queues;
  std::vector<weft_state_engine> engines;
  std::vector<weft_state_core_queue> core_queues;
  std::array<uint16_t, WEFT_SEMAPHORES> semaphores{};
  std::vector<weft_state_timeline> timelines;

  /// The engine's record; nullptr: the page has none.
  const weft_state_engine* engine(weft_engine which) const;
};

/// Checks magic, version, and that every table lies within the page and its bytes. Records may be longer than those
/// that this reader knows (the rest is skipped), not shorter. INVALID_ARGUMENT: "state page, byte <n>: <reason>".
Result<StatePage> decode_state_page(std::span<const std::byte> bytes);

}  // namespace weft::driver
