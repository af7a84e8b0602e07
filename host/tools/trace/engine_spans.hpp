/// When a core's engines worked: the spans of MXU, VPU and DMA in a Chrome trace of one chip.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "host/compiler/result.hpp"

namespace weft::tools {

enum class Engine : uint8_t { kMxu, kVpu, kDma };
inline constexpr size_t kEngines = 3;

/// A command on its engine, from its start to its end, in device cycles.
struct EngineSpan {
  Engine engine = Engine::kMxu;
  uint16_t tag = 0;
  uint64_t begin = 0, end = 0;  ///< end: the first cycle behind it
};

/// In the order of the file. INVALID_ARGUMENT with the path: it cannot be read, is no trace in array form, or a span of
/// an engine has no tag or no cycles, or ends before it begins.
[[nodiscard]] Result<std::vector<EngineSpan>> read_engine_spans(const std::string& trace_path);

}  // namespace weft::tools
