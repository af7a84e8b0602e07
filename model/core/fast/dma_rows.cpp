// GATHER and SCATTER in a channel: its walks beside the rows that their indices name.
#include "model/core/fast/dma.hpp"

namespace weft::core::fast {

BeatWalk::Beat DmaChannel::front_beat() const {
  BeatWalk::Beat beat = front.beat();
  if (front.indexed()) beat.bus += rows.front()->offset;
  return beat;
}

BeatWalk::Beat DmaChannel::back_beat() const {
  BeatWalk::Beat beat = back.beat();
  if (back.indexed()) beat.bus += rows.back()->offset;
  return beat;
}

void DmaChannel::advance_front() {
  if (front.indexed() && front.run_ends()) rows.take_front();
  front.advance();
}

void DmaChannel::advance_back() {
  if (back.indexed() && back.run_ends()) rows.take_back();
  back.advance();
}

void DmaChannel::pass_front() {
  rows.take_front();
  front.pass();
}

void DmaChannel::pass_back() {
  rows.take_back();
  back.pass();
}

/// One acknowledgement a cycle; those of a dead channel fall on the floor. Of skipped rows none comes: the back passes
/// them, and meanwhile the others' are counted, up to an error.
void DmaDirection::acknowledge(uint64_t cycle) {
  std::array<bool, 2> passing{};
  for (unsigned i = 0; i < 2; i++)
    passing[i] = channels_[i].back_here() && channels_[i].back_at(DmaChannel::Row::kSkipped);
  if (const int acknowledged = earliest_answer(cycle); acknowledged >= 0) {
    DmaChannel& ch = channels_[static_cast<unsigned>(acknowledged)];
    const bool error = ch.answers.front().error;
    ch.answers.pop_front();
    moved_ = progressed_ = true;
    if (error)
      ch.waiting_error = true;
    else if (!ch.waiting_error)
      ch.waiting++;
  }
  for (unsigned i = 0; i < 2; i++) {
    DmaChannel& ch = channels_[i];
    if (passing[i]) {
      const bool last = ch.back.last_run();
      ch.pass_back();
      if (last) retire(i);
      moved_ = true;
    } else if (ch.back_here() && (ch.waiting != 0 || ch.waiting_error)) {
      take_acknowledgement(i);
    }
  }
}

void DmaDirection::take_acknowledgement(unsigned channel) {
  DmaChannel& ch = channels_[channel];
  const bool error = ch.waiting == 0 || ch.back.failing();
  if (ch.waiting != 0) ch.waiting--;
  const bool last = ch.back.beat().last;
  answer_taken(channel, error, true);
  if (last && !error) retire(channel);
}

/// Fronts pass the rows of index -1, and the rows of this cycle are made.
void DmaDirection::end_rows() {
  for (unsigned i = 0; i < 2; i++) {
    if (passing_[i]) channels_[i].pass_front();
    moved_ |= passing_[i];
    moved_ |= channels_[i].rows.clock();
  }
}

}  // namespace weft::core::fast
