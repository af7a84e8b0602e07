// Construction, reset, and the news that pass between the parts.
#include "model/chip/chip.hpp"

namespace weft::chip {

std::unique_ptr<Chip> Chip::make(const char* name, const ChipOptions& options, std::string& error) {
  auto hbm = SparseMemory::make(options.preset->hbm_bytes, error);
  if (hbm == nullptr) return nullptr;
  std::unique_ptr<Chip> chip(new Chip(name, options, std::move(hbm)));
  if (!chip->attach_core(options, error)) return nullptr;
  return chip;
}

Chip::Chip(sc_core::sc_module_name name, const ChipOptions& options, std::unique_ptr<SparseMemory> hbm)
    : sc_module(name),
      preset_(*options.preset),
      time_(preset_.clock_hz),
      hbm_(std::move(hbm)),
      function_(preset_, options.kind, *this),
      bus_(preset_, *hbm_, function_.host_memory()),
      report_mismatch_(options.report_mismatch) {}

bool Chip::attach_core(const ChipOptions& options, std::string& error) {
  auto core = options.make_core(bus_, error);
  if (core == nullptr) return false;
  CoreHostEvents& core_events = *this;
  const std::string prefix = name();
  core_ = std::make_unique<CoreHost>((prefix + "_core").c_str(), time_, std::move(core), options.find_mismatch,
                                     core_events);
  copy_ = std::make_unique<CopyEngine>((prefix + "_copy").c_str(), time_, bus_, [this] { manager_->wake(); });
  manager_ = std::make_unique<Manager>((prefix + "_manager").c_str(), time_, preset_, *core_, bus_, *copy_, function_);
  if (options.trace_path.empty()) return true;
  trace_ = TraceWriter::make(
      options.trace_path, preset_.clock_hz, [this] { return function_.registers().trace_enabled(); }, error);
  if (trace_ == nullptr) return false;
  function_.registers().enable_trace();
  core_->core().set_observer(trace_.get());
  manager_->set_trace(trace_.get());
  return true;
}

void Chip::device_reset() {
  core_->reset();
  copy_->reset();
  manager_->reset();
}

void Chip::disconnect() {
  function_.disconnect();
  hbm_->clear();
}

void Chip::core_mismatch(const core::Mismatch& mismatch) {
  function_.registers().note_error(WEFT_ERROR_GOLDEN_MISMATCH);
  if (report_mismatch_) report_mismatch_(mismatch.report);
}

}  // namespace weft::chip
