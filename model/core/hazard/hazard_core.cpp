// A core whose unordered accesses are faults.
#include "model/core/hazard/hazard_core.hpp"

#include <fmt/format.h>

#include <utility>

#include "model/core/command/segment_writes.hpp"
#include "model/core/rtl/rtl_core.hpp"

namespace weft::core {
namespace {

constexpr uint64_t kStatusFaultedStopped = WEFT_CSR_STATUS_FAULTED | WEFT_CSR_STATUS_STOPPED;

}  // namespace

HazardCore::HazardCore(const spec::Chip& chip, std::unique_ptr<TensorCore> core,
                       std::function<void(const std::string&)> report)
    : core_(std::move(core)), report_(std::move(report)), checker_(chip) {
  core_->set_observer(this);
}

uint64_t HazardCore::read_csr(uint32_t offset) {
  const uint64_t value = core_->read_csr(offset);
  if (!hazard_ || (core_->read_csr(WEFT_CSR_FAULT_CODE) & WEFT_CSR_FAULT_CODE_CODE) != 0) return value;
  switch (offset) {
    case WEFT_CSR_STATUS:
      return value | kStatusFaultedStopped;
    case WEFT_CSR_INTERRUPT:
      return value | WEFT_CSR_INTERRUPT_FAULT;
    case WEFT_CSR_FAULT_CODE:
      return WEFT_FAULT_HAZARD | WEFT_TO_FIELD(WEFT_CSR_FAULT_CODE_UNIT, hazard_->second_unit) |
             WEFT_TO_FIELD(WEFT_CSR_FAULT_CODE_QUEUE, queue_of_unit(hazard_->second_unit)) |
             WEFT_TO_FIELD(WEFT_CSR_FAULT_CODE_TAG, spec::decode_header(hazard_->second).tag);
    case WEFT_CSR_FAULT_ADDRESS:
      return hazard_->range.first;
    case WEFT_CSR_FAULT_CYCLE:
      return hazard_cycle_;
    case WEFT_CSR_FAULT_COUNT:
      return value + 1;
    default:
      return value;
  }
}

void HazardCore::write_csr(uint32_t offset, uint64_t value) {
  write_segment(segments_, offset, value);
  checker_.set_segments(segments_);
  if (offset == WEFT_CSR_CONTROL && (value & WEFT_CSR_CONTROL_CORE_RESET) != 0) {
    (void)checker_.finish();  // what a reset cuts off is no hazard
    end_reports();
    tokens_.fill(0);
    hazard_.reset();
  }
  core_->write_csr(offset, value);
}

uint64_t HazardCore::advance(uint64_t until) {
  core_->advance(until);
  judge_when_idle();
  return core_->cycle();
}

uint64_t HazardCore::advance_while_busy(uint64_t until) {
  core_->advance_while_busy(until);
  judge_when_idle();
  return core_->cycle();
}

void HazardCore::judge_when_idle() {
  if (checker_.commands() != 0 && !core_->busy()) {
    judge(checker_.finish());
    end_reports();
  }
}

void HazardCore::command_started(weft_unit_index unit, const spec::Command& command, uint64_t cycle) {
  if (checker_.commands() >= kWindowCommands) judge(checker_.finish_window());
  checker_.command_started(unit, command, cycle);
  const spec::CommandHeader h = spec::decode_header(command);
  if (h.wait_sem0 < WEFT_SEMAPHORES) tokens_[h.wait_sem0] -= h.wait_count0;
  if (h.wait_sem1 < WEFT_SEMAPHORES) tokens_[h.wait_sem1] -= h.wait_count1;
  if (observer_ != nullptr) observer_->command_started(unit, command, cycle);
}

void HazardCore::command_retired(weft_unit_index unit, const spec::Command& command, uint64_t cycle) {
  checker_.command_retired(unit, command, cycle);
  const spec::CommandHeader h = spec::decode_header(command);
  if (h.post_sem0 < WEFT_SEMAPHORES) tokens_[h.post_sem0] += h.post_count0;
  if (h.post_sem1 < WEFT_SEMAPHORES) tokens_[h.post_sem1] += h.post_count1;
  if (observer_ != nullptr) observer_->command_retired(unit, command, cycle);
}

void HazardCore::judge(std::vector<Hazard> hazards) {
  for (unsigned s = 0; s < WEFT_SEMAPHORES; s++) checker_.set_semaphore(s, tokens_[s]);
  for (const Hazard& hazard : hazards)
    if (++found_ <= kReports && report_) report_(hazard.text);
  if (hazard_ || hazards.empty()) return;
  hazard_ = std::move(hazards.front());
  hazard_cycle_ = core_->cycle();
}

void HazardCore::end_reports() {
  if (found_ > kReports && report_)
    report_(fmt::format("{} pairs in all, of which the first {} are told", found_, kReports));
  found_ = 0;
}

}  // namespace weft::core
