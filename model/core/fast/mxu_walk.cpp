/// The MXU's fetch and issue, cycle by cycle.
#include "model/core/fast/mxu_walk.hpp"

#include <algorithm>

#include "model/core/fast/unit.hpp"

namespace weft::core::fast {
namespace {

constexpr uint32_t kFifoDepth = 4;
constexpr uint32_t kRequestToEntry = 2;  // a word granted in cycle c may enter in c + 2

}  // namespace

MxuWalk::MxuWalk(const spec::Chip& chip, const FastTiming& timing, const VmemFlips& vmem)
    : chip_(chip),
      depth_(mxu_depth(chip)),
      flight_(mxu_flight(chip)),
      swap_lead_((chip.pe_latency - 1) * (chip.n - 1)),
      request_delay_(timing.mxu_first_weight - kRequestToEntry),
      vmem_(&vmem) {}

void MxuWalk::add(const spec::MxuCommand& command, uint64_t taken) {
  if (last_write_.empty()) last_write_.resize(2 * size_t{chip_.acc_bank_rows});
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

uint64_t MxuWalk::x_word(const Place& p) const {
  const auto& c = job(p).command;
  return c.x_addr + p.tile * c.x_tile_stride + uint64_t{p.index} * c.x_row_stride;
}

/// The bottom word of a tile comes first.
uint64_t MxuWalk::w_word(const Place& p) const {
  const auto& c = job(p).command;
  return c.w_addr + p.tile * c.w_tile_stride + words(p) - 1 - p.index;
}

void MxuWalk::request_x(VmemArbiter& vmem) {
  x_request_ = {};
  if (!visible(x_next_) || x_count_ + (x_pending_ ? 1 : 0) >= kFifoDepth) return;
  x_request_ = {true, vmem.read(vmem.banks(x_word(x_next_), 1))};
}

void MxuWalk::request_w(VmemArbiter& vmem) {
  w_request_ = {};
  if (!visible(w_next_) || w_count_ + (w_pending_ ? 1 : 0) >= kFifoDepth) return;
  w_request_ = {true, vmem.read(vmem.banks(w_word(w_next_), 1))};
}

/// `lanes`: those that the command uses.
void MxuWalk::read_word(uint64_t word, uint32_t lanes, EccRead& out) const {
  const uint64_t granules = chip_.word_bytes / kGranuleBytes, first = word * granules;
  vmem_->read(first, first + granules, first + (lanes * 2 + kGranuleBytes - 1) / kGranuleBytes, out);
}

/// Address of the poison in the row of x that would enter next.
std::optional<uint64_t> MxuWalk::poisoned_row() const {
  EccRead read;
  read_word(x_word(x_head_), words(x_head_), read);
  if (!read.first_poison) return std::nullopt;
  return *read.first_poison * kGranuleBytes;
}

std::optional<uint64_t> MxuWalk::poisoned_weights() const {
  EccRead read;
  read_word(w_word(w_head_), job(w_head_).command.cols, read);
  if (!read.first_poison) return std::nullopt;
  return *read.first_poison * kGranuleBytes;
}

/// The row of x_head_ enters: it reads its seeds, unless they are forwarded, and writes its row. A poisoned seed is
/// found when its column reads it; until then rows go on entering, but none from this one on writes.
void MxuWalk::enter_acc(bool reads_acc, Cycle& out) {
  if (acc_.idle()) return;
  const auto& c = job(x_head_).command;
  const uint64_t row = golden::first_acc_row(c, chip_) + x_head_.index, first = row * chip_.n;
  if (reads_acc) {
    acc_.read(first, first + chip_.n, first + c.cols, out.acc);
    if (out.acc.first_poison) {
      const uint64_t found = cycle_ + *out.acc.first_poison - first;
      halted_ = std::min(halted_, found + 1);
      if (stop_) return;
      seeds_fault_ = std::max(found + 2, last_row_ == 0 ? 0 : last_row_ + flight_);
      stop_ = EccStop{kAccAddress | row, x_head_.job, x_head_.tile, x_head_.index};
      return;
    }
  }
  if (!stop_) (void)acc_.written(first, first + chip_.n);
}

/// Is ECC's fault raised in this cycle?
void MxuWalk::find_fault(bool no_weights, bool flight, std::optional<uint64_t> row, std::optional<uint64_t> weights,
                         Cycle& out) {
  if (stop_) {
    out.fault = cycle_ == seeds_fault_;
    return;
  }
  if (flight) return;
  if (row && !no_weights) stop_ = EccStop{*row, x_head_.job, x_head_.tile, x_head_.index};
  if (weights && no_weights) stop_ = EccStop{*weights, w_head_.job, w_head_.tile, 0};
  out.fault = stop_.has_value();
}

/// What VMEM granted in this cycle, and what the FIFOs hold in the next.
void MxuWalk::fetch(bool row_taken, bool word_taken, Cycle& out) {
  out.x_read = x_request_.granted;
  out.w_read = w_request_.granted;
  out.x_refused = x_request_.asked && !x_request_.granted;
  out.w_refused = w_request_.asked && !w_request_.granted;
  if (!vmem_->idle()) {
    if (out.x_read) read_word(x_word(x_next_), 0, out.vmem);
    if (out.w_read) read_word(w_word(w_next_), 0, out.vmem);
  }
  x_count_ += (x_pending_ ? 1 : 0) - (row_taken ? 1 : 0);
  w_count_ += (w_pending_ ? 1 : 0) - (word_taken ? 1 : 0);
  x_pending_ = out.x_read;
  w_pending_ = out.w_read;
  if (out.x_read) next_row(x_next_);
  if (out.w_read) next_word(w_next_);
}

MxuWalk::Cycle MxuWalk::step() {
  Cycle out;
  if (exhausted()) {
    cycle_++;
    return out;
  }
  const bool row_valid = x_count_ != 0;
  const uint64_t since_row = last_row_ == 0 ? UINT64_MAX : cycle_ + 1 - last_row_;
  const bool flight = since_row <= flight_;
  const bool no_weights = tile_start_ && !shadow_ready_;
  bool other_type = false, hazard = false, reads_acc = false;
  const spec::MxuCommand* command = nullptr;
  if (row_valid) {
    command = &job(x_head_).command;
    other_type = flight && (command->dtype == WEFT_MXU_DTYPE_INT8) != int8_;
    const bool from_acc = command->seed == WEFT_MXU_SEED_KEEP || x_head_.tile != 0;
    const uint64_t written = last_write_[command->acc_row + x_head_.index];
    hazard = from_acc && written != 0 && cycle_ + 1 - written < depth_;
    reads_acc = from_acc && (written == 0 || cycle_ + 1 - written != depth_);
  }
  std::optional<uint64_t> bad_row, bad_weights;
  if (!vmem_->idle()) {
    if (row_valid) bad_row = poisoned_row();
    if (w_count_ != 0) bad_weights = poisoned_weights();
  }
  const bool row_issue = row_valid && !other_type && !hazard && !no_weights && !bad_row && cycle_ < halted_;
  const bool swap = row_issue && x_head_.index == 0;
  const bool word_first = w_head_.index == 0;
  if (swap) next_load_ = cycle_ + swap_lead_;
  const bool shadow_free = (!shadow_busy_ || swap) && cycle_ >= next_load_;
  const bool word_issue = w_count_ != 0 && !bad_weights && (!word_first || shadow_free);
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

  if (bad_row || bad_weights || stop_) find_fault(no_weights, flight, bad_row, bad_weights, out);
  fetch(row_issue, word_issue, out);
  shadow_busy_ = (shadow_busy_ && !swap) || word_issue;
  shadow_ready_ = (shadow_ready_ && !swap) || word_last;
  if (word_issue) next_word(w_head_);
  if (row_issue) {
    if (reads_acc) seeds_until_[(command->acc_row + x_head_.index) / chip_.acc_bank_rows] = cycle_ + chip_.n;
    enter_acc(reads_acc, out);
    if (stop_) {
      const auto& tiles = job(x_head_).tiles;
      const uint64_t before = x_head_.tile * tiles.k_per_tile;
      out.dropped_macs = std::min<uint64_t>(tiles.k_per_tile, command->k - before) * command->cols;
    }
    tile_start_ = x_head_.index + 1 == command->m;
    int8_ = command->dtype == WEFT_MXU_DTYPE_INT8;
    last_write_[command->acc_row + x_head_.index] = cycle_ + 1;
    last_row_ = cycle_ + 1;
    const uint64_t before = x_head_.job;
    next_row(x_head_);
    if (x_head_.job != before) {
      out.command_done = !stop_ || before < stop_->job;
      out.dropped_end = !out.command_done;
      jobs_.pop_front();
      first_job_++;
    }
  }
  cycle_++;
  return out;
}

}  // namespace weft::core::fast
