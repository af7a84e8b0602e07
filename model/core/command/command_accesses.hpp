/// Where a command reads and writes: VMEM, ACC, HBM and host memory.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/golden/check.hpp"

namespace weft::core {

enum class AccessSpace : uint8_t { kVmem, kAcc, kHbm, kHost };

/// Bytes [first, end) of a space; kAcc: rows.
struct AccessRange {
  AccessSpace space = AccessSpace::kVmem;
  uint64_t first = 0, end = 0;
  bool operator==(const AccessRange&) const = default;
};

/// What a command touches. Each list is sorted by space and address; ranges neither touch nor overlap.
struct CommandAccesses {
  std::vector<AccessRange> reads, writes;
};

/// `command` has passed golden::check_command. Seeds that a product keeps are part of what it writes.
[[nodiscard]] CommandAccesses command_accesses(const spec::Command& command, const spec::Chip& chip,
                                               const golden::SegmentTable& segments);

/// The first range that both touch and at least one writes; nothing if they may run at the same time.
[[nodiscard]] std::optional<AccessRange> find_conflict(const CommandAccesses& a, const CommandAccesses& b);

/// The first range in two sorted lists.
[[nodiscard]] std::optional<AccessRange> find_overlap(const std::vector<AccessRange>& a,
                                                      const std::vector<AccessRange>& b);

/// "VMEM bytes 0x40 to 0x7f", "ACC rows 3 to 9".
[[nodiscard]] std::string range_text(const AccessRange& range);

}  // namespace weft::core
