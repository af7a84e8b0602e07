// Construction, reset, and the news that pass between the parts.
#include "model/chip/chip.hpp"

#include <csignal>

namespace weft::chip {
namespace {

std::vector<HostMemory*> host_memories(const std::vector<std::unique_ptr<Function>>& functions) {
  std::vector<HostMemory*> memories;
  for (const auto& function : functions) memories.push_back(&function->host_memory());
  return memories;
}

}  // namespace

std::unique_ptr<Chip> Chip::make(const char* name, const ChipOptions& options, CoreClock& clock, std::string& error) {
  auto hbm = SparseMemory::make(options.preset->hbm_bytes, error);
  if (hbm == nullptr) return nullptr;
  std::unique_ptr<Chip> chip(new Chip(name, options, std::move(hbm)));
  if (!chip->attach_core(options, clock, error)) return nullptr;
  return chip;
}

std::vector<std::unique_ptr<Function>> Chip::make_functions(const ChipOptions& options) {
  std::vector<std::unique_ptr<Function>> functions;
  FunctionEvents& events = *this;
  for (unsigned i = 0; i < options.functions; i++)
    functions.push_back(std::make_unique<Function>(preset_, options.kind, i, events, options.slice));
  return functions;
}

Chip::Chip(sc_core::sc_module_name name, const ChipOptions& options, std::unique_ptr<SparseMemory> hbm)
    : sc_module(name),
      preset_(*options.preset),
      time_(preset_.clock_hz),
      hbm_(std::move(hbm)),
      functions_(make_functions(options)),
      bus_(preset_, *hbm_, host_memories(functions_)),
      report_mismatch_(options.report_mismatch) {}

bool Chip::attach_core(const ChipOptions& options, CoreClock& clock, std::string& error) {
  auto core = options.make_core(bus_, error);
  if (core == nullptr) return false;
  CoreHostEvents& core_events = *this;
  const std::string prefix = name();
  core_ = std::make_unique<CoreHost>(time_, std::move(core), options.find_mismatch, core_events, clock);
  copy_ = std::make_unique<CopyEngine>((prefix + "_copy").c_str(), time_, bus_, [this] { manager_->wake(); });
  manager_ = std::make_unique<Manager>((prefix + "_manager").c_str(), time_, preset_, *core_, bus_, *copy_, functions_);
  manager_->report_failures(options.report_firmware);
  if (options.firmware != nullptr && !manager_->load(*options.firmware, options.make_processor, error)) return false;
  if (!options.bus_log.empty() && !manager_->write_bus_log(options.bus_log, error)) return false;
  if (functions_.size() > 1)
    manager_->on_unanswered([this] { device_reset(static_cast<unsigned>(functions_.size())); });
  if (options.trace == nullptr) return true;
  constexpr uint32_t kNumber = 0xffff;  // of ICI_CHIP
  trace_ = std::make_unique<TraceWriter>(options.trace, options.slice.chip & kNumber, preset_.clock_hz,
                                         [this] { return functions_.front()->registers().trace_enabled(); });
  functions_.front()->registers().enable_trace();
  core_->core().set_observer(trace_.get());
  manager_->set_trace(trace_.get());
  return true;
}

void Chip::tell(Attention& attention, size_t first_function) {
  for (const auto& function : functions_) function->tell(attention, first_function++);
  manager_->tell(attention);
}

void Chip::set_boundary(Boundary* boundary) {
  boundary_ = boundary;
  bus_.set_boundary(boundary);
}

void Chip::simulator_exits() {
  if (boundary_ == nullptr || boundary_->simulator_exits()) (void)std::raise(SIGKILL);
}

void Chip::device_reset(unsigned function) {  // which may be none of them
  for (const auto& other : functions_) {
    if (other->index() != function) other->device_was_reset();
  }
  core_->reset();
  copy_->reset();
  manager_->reset();
}

void Chip::function_reset(unsigned function) {
  if (shared()) {
    manager_->request(function, false);
  } else {
    device_reset(function);
  }
}

void Chip::function_left(unsigned function) {
  manager_->request(function, true);
  if (shared()) return;
  device_reset(function);
  if (functions_.size() == 1) hbm_->clear();
}

void Chip::core_mismatch(const core::Mismatch& mismatch) {
  for (const auto& function : functions_) function->registers().note_error(WEFT_ERROR_GOLDEN_MISMATCH);
  if (report_mismatch_) report_mismatch_(mismatch.report);
}

}  // namespace weft::chip
