/// The recording of a slice in memory.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "model/record/recording.hpp"

namespace weft::record {

/// The recordings of all chips of a slice, by number; nothing in `error`. Empty, and a message in `error` that names the
/// file: one is missing or damaged (Extent), or it is of another slice, preset, firmware or ABI than that of chip 0.
[[nodiscard]] std::vector<std::unique_ptr<Recording>> load_slice(const std::string& folder, Recording::Extent extent,
                                                                 std::string& error);

}  // namespace weft::record
