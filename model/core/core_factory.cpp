// Which core stands behind the interface.
#include <utility>

#include "model/core/fast/fast_core.hpp"
#include "model/core/hazard/hazard_core.hpp"
#include "model/core/lockstep/lockstep_core.hpp"
#include "model/core/rtl/rtl_core.hpp"
#include "model/core/tensor_core.hpp"

namespace weft::core {

namespace {

std::unique_ptr<TensorCore> make_unchecked(CoreKind kind, const spec::Chip& chip, MemoryBus& bus,
                                           const CoreOptions& options, std::string& error) {
  if (options.timing_only && kind != CoreKind::kFast) {
    error = "timing only is of the fast core: RTL computes what it carries";
    return nullptr;
  }
  switch (kind) {
    case CoreKind::kRtl:
      return make_rtl_core(chip, bus, options, error);
    case CoreKind::kFast:
      return std::make_unique<FastCore>(chip, bus, FastTiming{.carries_data = !options.timing_only}, options.remote);
    case CoreKind::kLockstep: {
      auto rtl = make_rtl_core(chip, bus, options, error);
      if (!rtl) return nullptr;
      return std::make_unique<LockstepCore>(std::move(rtl));
    }
  }
  error = "no such kind of core";
  return nullptr;
}

}  // namespace

std::unique_ptr<TensorCore> make_core(CoreKind kind, const spec::Chip& chip, MemoryBus& bus, const CoreOptions& options,
                                      std::string& error) {
  auto core = make_unchecked(kind, chip, bus, options, error);
  // What a chip of a slice does may be ordered by way of another chip, which a checker of one core cannot know.
  if (core == nullptr || !options.check_hazards || options.remote != nullptr) return core;
  return std::make_unique<HazardCore>(chip, std::move(core), options.report_hazard);
}

Mismatch find_mismatch(const TensorCore& core) {
  const auto* checked = dynamic_cast<const HazardCore*>(&core);
  const auto* lockstep = dynamic_cast<const LockstepCore*>(checked == nullptr ? &core : &checked->core());
  return lockstep == nullptr ? Mismatch{} : lockstep->mismatch();
}

bool parse_core_kind(std::string_view text, CoreKind& kind) {
  if (text == "rtl")
    kind = CoreKind::kRtl;
  else if (text == "fast")
    kind = CoreKind::kFast;
  else if (text == "lockstep")
    kind = CoreKind::kLockstep;
  else
    return false;
  return true;
}

bool parse_array_form(std::string_view text, ArrayForm& form) {
  if (text != "fast" && text != "structural") return false;
  form = text == "fast" ? ArrayForm::kFast : ArrayForm::kStructural;
  return true;
}

}  // namespace weft::core
