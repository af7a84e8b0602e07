/// The MXU's fetch and issue, cycle by cycle.
#include "model/core/fast_core_mxu_walk.hpp"

namespace weft::core::fast {
namespace {

constexpr uint32_t kFifoDepth = 4;
constexpr uint32_t kRequestToEntry = 2;  // a word granted in cycle c may enter in c + 2

}  // namespace

MxuWalk::MxuWalk(const spec::Chip& chip, const FastTiming& timing)
    : chip_(chip),
      request_delay_(timing.mxu_first_weight - kRequestToEntry),
      last_write_(2 * size_t{chip.acc_bank_rows}) {}

void MxuWalk::add(const spec::MxuCommand& command, uint64_t taken) {
  jobs_.push_back({command, golden::matmul_tiles(command, chip_), taken});
}

bool MxuWalk::visible(const Place& p) const { return exists(p) && cycle_ >= job(p).taken + request_delay_; }

/// Weight words of the tile at `p`.
uint32_t MxuWalk::words(const Place& p) const {
  const Job& j = job(p);
  return p.tile + 1 == j.tiles.count ? static_cast<uint32_t>(j.tiles.last_words) : chip_.n;
}

void MxuWalk::next_row(Place& p) const {
  if (++p.index < job(p).command.m) return;
  p.index = 0;
  if (++p.tile < job(p).tiles.count) return;
  p.tile = 0;
  p.job++;
}

void MxuWalk::next_word(Place& p) const {
  if (++p.index < words(p)) return;
  p.index = 0;
  if (++p.tile < job(p).tiles.count) return;
  p.tile = 0;
  p.job++;
}

uint32_t MxuWalk::x_bank() const {
  const auto& c = job(x_next_).command;
  return static_cast<uint32_t>(c.x_addr + x_next_.tile * c.x_tile_stride + uint64_t{x_next_.index} * c.x_row_stride) %
         chip_.vmem_banks;
}

/// The bottom word of a tile comes first.
uint32_t MxuWalk::w_bank() const {
  const auto& c = job(w_next_).command;
  return static_cast<uint32_t>(c.w_addr + w_next_.tile * c.w_tile_stride + words(w_next_) - 1 - w_next_.index) %
         chip_.vmem_banks;
}

/// Requests of this cycle, and what the FIFOs hold in the next.
void MxuWalk::fetch(bool row_taken, bool word_taken, Cycle& out) {
  const bool x_request = visible(x_next_) && x_count_ + (x_pending_ ? 1 : 0) < kFifoDepth;
  const bool w_request = visible(w_next_) && w_count_ + (w_pending_ ? 1 : 0) < kFifoDepth;
  if (x_request) out.banks |= 1u << x_bank();
  out.w_refused = w_request && (out.banks >> w_bank() & 1) != 0;
  const bool w_granted = w_request && !out.w_refused;
  if (w_granted) out.banks |= 1u << w_bank();
  out.x_read = x_request;
  out.w_read = w_granted;
  x_count_ += (x_pending_ ? 1 : 0) - (row_taken ? 1 : 0);
  w_count_ += (w_pending_ ? 1 : 0) - (word_taken ? 1 : 0);
  x_pending_ = x_request;
  w_pending_ = w_granted;
  if (x_request) next_row(x_next_);
  if (w_granted) next_word(w_next_);
}

MxuWalk::Cycle MxuWalk::step() {
  Cycle out;
  const bool row_valid = x_count_ != 0;
  const uint64_t since_row = last_row_ == 0 ? UINT64_MAX : cycle_ + 1 - last_row_;
  const bool flight = since_row <= 2 * uint64_t{chip_.n};
  const bool no_weights = tile_start_ && !shadow_ready_;
  bool other_type = false, hazard = false;
  const spec::MxuCommand* command = nullptr;
  if (row_valid) {
    command = &job(x_head_).command;
    other_type = flight && (command->dtype == WEFT_MXU_DTYPE_INT8) != int8_;
    const bool from_acc = command->seed == WEFT_MXU_SEED_KEEP || x_head_.tile != 0;
    const uint64_t written = last_write_[command->acc_row + x_head_.index];
    hazard = from_acc && written != 0 && cycle_ + 1 - written < chip_.n;
  }
  const bool row_issue = row_valid && !other_type && !hazard && !no_weights;
  const bool swap = row_issue && x_head_.index == 0;
  const bool word_first = w_head_.index == 0;
  const bool word_issue = w_count_ != 0 && (!word_first || !shadow_busy_ || swap);
  const bool word_last = word_issue && w_head_.index + 1 == words(w_head_);
  const bool rows_left = exists(x_head_) && cycle_ > job(x_head_).taken;

  if (row_issue)
    out.state = MxuState::kBusy;
  else if (!rows_left)
    out.state = MxuState::kIdle;
  else if (other_type)
    out.state = MxuState::kDrain;
  else if (row_valid && hazard)
    out.state = MxuState::kAccWait;
  else if (no_weights)
    out.state = MxuState::kWeightWait;
  else
    out.state = MxuState::kVmemWait;

  fetch(row_issue, word_issue, out);
  shadow_busy_ = (shadow_busy_ && !swap) || word_issue;
  shadow_ready_ = (shadow_ready_ && !swap) || word_last;
  if (word_issue) next_word(w_head_);
  if (row_issue) {
    tile_start_ = x_head_.index + 1 == command->m;
    int8_ = command->dtype == WEFT_MXU_DTYPE_INT8;
    last_write_[command->acc_row + x_head_.index] = cycle_ + 1;
    last_row_ = cycle_ + 1;
    const uint64_t before = x_head_.job;
    next_row(x_head_);
    if (x_head_.job != before) {
      out.command_done = true;
      jobs_.pop_front();
      first_job_++;
    }
  }
  cycle_++;
  return out;
}

}  // namespace weft::core::fast
