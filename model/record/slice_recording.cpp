// Files of one folder that belong together.
#include "model/record/slice_recording.hpp"

#include <fmt/format.h>

#include "model/record/slice_recorder.hpp"

namespace weft::record {
namespace {

/// What makes it impossible that both were recorded together; empty: nothing.
std::string difference(const Recording& first, const Recording& other, uint32_t chip) {
  const FileHeader &a = first.header(), &b = other.header();
  if (other.place().slice.empty()) return "it is of a chip that stands alone";
  if (other.place().slice != first.place().slice || other.place().chips != first.place().chips)
    return fmt::format("it is of slice '{}' with {} chips, chip 0 of slice '{}' with {}", other.place().slice,
                       other.place().chips, first.place().slice, first.place().chips);
  if (other.place().optical_fs != first.place().optical_fs)
    return "its slice's optical links took another time than those of chip 0's";
  if (other.place().chip != chip) return fmt::format("it is of chip {}", other.place().chip);
  if (a.preset != b.preset || a.fingerprint != b.fingerprint || a.functions != b.functions)
    return "its chip is another one than chip 0";
  if (a.image != b.image || a.engine != b.engine || a.check_hazards != b.check_hazards || a.abi != b.abi)
    return "its firmware, ABI or hazard check is another one than that of chip 0";
  return {};
}

}  // namespace

std::vector<std::unique_ptr<Recording>> load_slice(const std::string& folder, Recording::Extent extent,
                                                   std::string& error) {
  std::vector<std::unique_ptr<Recording>> chips;
  for (uint32_t chip = 0; chip == 0 || chip < chips.front()->place().chips; chip++) {
    const std::string path = chip_path(folder, chip);
    auto recording = Recording::load(path, extent, error);
    if (recording == nullptr) return {};
    if (const std::string what = difference(chip == 0 ? *recording : *chips.front(), *recording, chip); !what.empty()) {
      error = fmt::format("{}: {}", path, what);
      return {};
    }
    chips.push_back(std::move(recording));
  }
  return chips;
}

}  // namespace weft::record
