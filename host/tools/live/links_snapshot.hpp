/// All links of a slice at one moment: from the management socket's text, or from a slice that this process has open.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/compiler/result.hpp"
#include "weft/weft.h"

namespace weft::tools {

/// What a chip sends by one port, since the simulator began.
struct LinkSnapshot {
  uint32_t chip = 0, port = 0;
  std::optional<uint64_t> neighbor;
  std::string state;  ///< of both directions: up, retraining, down, absent
  uint64_t downs = 0, packets = 0, payload_bytes = 0, wire_bytes = 0, frame_errors = 0;
  uint64_t busy_cycles = 0, replay_cycles = 0;
};

struct LinksSnapshot {
  std::string place;  ///< folder, or name of the slice
  std::string preset;
  uint32_t chips = 0;
  std::array<uint32_t, 3> size{};
  std::array<bool, 3> wraps{};
  bool twisted = false;
  uint64_t link_bytes_per_second = 0, clock_hz = 0;
  uint32_t pid = 0;  ///< of weft-sim; 0: not told
  uint64_t cycle = 0;
  std::vector<LinkSnapshot> links;  ///< by chip, then port
};

/// "3 +x": chip and port.
[[nodiscard]] std::string link_name(uint32_t chip, uint32_t port);
/// A link as people write it, "3:+x" or "3,+x". INVALID_ARGUMENT says what is wrong.
[[nodiscard]] Result<std::pair<uint32_t, uint32_t>> parse_link_name(std::string_view text);

/// From a reply to "links". ABI_MISMATCH: of another version; DEVICE_LOST: no such reply, the message says why.
[[nodiscard]] Result<LinksSnapshot> parse_links_snapshot(std::string_view reply);

/// Of an open slice; `name` is its place. Any error of the driver.
[[nodiscard]] Result<LinksSnapshot> links_of(weft_slice* slice, const std::string& name);

}  // namespace weft::tools
