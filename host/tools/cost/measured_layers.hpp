/// Where the cycles of a model's device programs go, found without the device that it usually runs on.
#pragma once
#include "host/compiler/result.hpp"
#include "host/tools/cost/profile.hpp"
#include "host/tools/run/model_program.hpp"
#include "weft/spec/chips.hpp"

namespace weft::tools {

/// Runs each device program once, on zeros, on a fast core that writes a trace, and deals out its cycles. A launch on a
/// drained chip takes the same cycles whatever its data are (docs/architecture.md, determinism), so they are those of
/// every other launch. UNSUPPORTED: the model has no device program, or one with a control list. Errors of
/// Session::open and of profile_of(). Blocks.
[[nodiscard]] Result<Profile> measure_layers(const spec::Chip& chip, const ModelProgram& model);

}  // namespace weft::tools
