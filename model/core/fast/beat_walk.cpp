/// A DMA command as beats.
#include "model/core/fast/beat_walk.hpp"

#include <algorithm>

#include "model/golden/indexed_rows.hpp"

namespace weft::core::fast {
namespace {

/// One row behind the other in VMEM, all of them in place of the table's row 0.
spec::DmaCommand runs_of(const spec::IndexedCommand& c) {
  const golden::IndexedSide rows = golden::indexed_rows(c);
  spec::DmaCommand runs;
  runs.header = c.header;
  runs.src_seg = c.src_seg, runs.dst_seg = c.dst_seg;
  runs.src_off = c.src_off, runs.dst_off = c.dst_off;
  runs.size0 = c.row_bytes, runs.size1 = c.count;
  (golden::is_gather(c) ? runs.dst_stride1 : runs.src_stride1) = static_cast<int32_t>(rows.stride);
  return runs;
}

}  // namespace

BeatWalk::BeatWalk(const spec::DmaCommand& command, bool out, const golden::Segment& segment, uint32_t beat_bytes)
    : command_(command),
      bus_(out ? golden::dma_destination(command) : golden::dma_source(command)),
      vmem_(out ? golden::dma_source(command) : golden::dma_destination(command)),
      base_(segment.base),
      space_(segment.space),
      beat_bytes_(beat_bytes),
      valid_(true) {
  enter_run();
}

BeatWalk::BeatWalk(const spec::IndexedCommand& command, const golden::Segment& segment, uint32_t beat_bytes)
    : BeatWalk(runs_of(command), !golden::is_gather(command), segment, beat_bytes) {
  indexed_ = true;
}

void BeatWalk::enter_run() {
  const auto at = [&](const golden::DmaSide& s) {
    return static_cast<uint64_t>(s.offset + i1_ * s.stride1 + i2_ * s.stride2 + i3_ * s.stride3);
  };
  run_bus_ = base_ + at(bus_);
  run_vmem_ = at(vmem_);
  last_run_ = i1_ + 1 == command_.size1 && i2_ + 1 == command_.size2 && i3_ + 1 == command_.size3;
}

void BeatWalk::advance() {
  beats_done_++;
  in_run_ += std::min(beat_bytes_, command_.size0 - in_run_);
  if (in_run_ == command_.size0) next_run();
}

void BeatWalk::pass() { next_run(); }

void BeatWalk::next_run() {
  in_run_ = 0;
  if (++i1_ == command_.size1) {
    i1_ = 0;
    if (++i2_ == command_.size2) {
      i2_ = 0;
      if (++i3_ == command_.size3) valid_ = false;
    }
  }
  if (valid_) enter_run();
}

}  // namespace weft::core::fast
