#include "model/ici/link_end.hpp"

#include <algorithm>
#include <cassert>

namespace weft::ici {

namespace {

uint16_t sequence(unsigned number) { return static_cast<uint16_t>(number % kSequences); }

}  // namespace

void LinkEnd::send(unsigned channel, std::vector<std::byte> payload) {
  assert(channel < kChannels && !payload.empty() && payload.size() <= spec::kIciFramePayloadBytes);
  channels_[channel].to_send.push_back(std::move(payload));
}

/// A header with all that the other end should know: what this end expects, and one channel's credits.
Frame LinkEnd::header(FrameType type, unsigned channel) {
  Frame frame;
  frame.type = type;
  frame.acknowledged = expected_;
  frame.channel = static_cast<uint8_t>(channel);
  frame.credits = channels_[channel].consumed;
  channels_[channel].owes_update = false;
  acknowledgement_due_ = false;
  return frame;
}

std::optional<std::vector<std::byte>> LinkEnd::next_frame(Femtoseconds now) {
  if (state_ == LinkState::kDown) return std::nullopt;
  if (state_ == LinkState::kRetraining) {
    if (now < trained_at_) return std::nullopt;
    state_ = LinkState::kUp;
    go_back(now);
  }
  if (now >= replay_at_) time_out(now);
  if (state_ != LinkState::kUp) return std::nullopt;
  if (negative_due_) {
    negative_due_ = false;
    negative_sent_ = true;
    counters_.negative_acknowledgements++;
    return encode(header(FrameType::kNegative, 0));
  }
  if (auto data = replay_or_new(now)) return data;

  // nothing to send: an acknowledgement, or credits of a channel that owes some; at the period, of one channel after
  // the other
  auto owing =
      std::find_if(channels_.begin(), channels_.end(), [](const Channel& channel) { return channel.owes_update; });
  if (owing != channels_.end() || acknowledgement_due_)
    return encode(
        header(FrameType::kIdle, owing != channels_.end() ? static_cast<unsigned>(owing - channels_.begin()) : 0));
  if (now >= update_at_) {
    update_turn_ = (update_turn_ + 1) % kChannels;
    update_at_ = update_turn_ == 0
                     ? kNever
                     : now + options_.update_period / kChannels;  // a round through all channels, then quiet
    return encode(header(FrameType::kIdle, update_turn_));
  }
  return std::nullopt;
}

std::optional<std::vector<std::byte>> LinkEnd::replay_or_new(Femtoseconds now) {
  if (next_ == replay_buffer_.size()) {
    if (replay_buffer_.size() >= options_.window_frames) return std::nullopt;
    bool stalled = false;
    for (unsigned i = 1; i <= kChannels; i++) {
      auto& channel = channels_[(turn_ + i) % kChannels];
      if (channel.to_send.empty()) continue;
      if (static_cast<uint16_t>(channel.sent - channel.freed) >= options_.credit_frames) {
        stalled = true;
        continue;
      }
      turn_ = (turn_ + i) % kChannels;
      channel.sent++;
      replay_buffer_.push_back({static_cast<uint8_t>(turn_), std::move(channel.to_send.front())});
      channel.to_send.pop_front();
      break;
    }
    if (next_ == replay_buffer_.size()) {
      counters_.credit_stalls += stalled;
      return std::nullopt;
    }
  } else {
    counters_.replayed_frames++;
  }
  const auto& sent = replay_buffer_[next_];
  auto frame = header(FrameType::kData, sent.channel);
  frame.sequence = sequence(first_ + static_cast<unsigned>(next_));
  frame.payload = sent.payload;
  next_++;
  counters_.data_frames++;
  if (replay_at_ == kNever) replay_at_ = now + options_.replay_timeout;
  return encode(frame);
}

void LinkEnd::receive(std::span<const std::byte> bytes, Femtoseconds now) {
  if (state_ == LinkState::kDown) return;
  auto frame = decode(bytes);
  if (!frame || frame->channel >= kChannels) {
    counters_.bad_frames++;
    negative_due_ |= !negative_sent_;
    return;
  }
  acknowledge(frame->acknowledged, now);
  auto& channel = channels_[frame->channel];
  // credits only grow; an older frame that was overtaken says nothing new
  if (static_cast<int16_t>(frame->credits - channel.freed) > 0 &&
      static_cast<int16_t>(channel.sent - frame->credits) >= 0)
    channel.freed = frame->credits;
  if (frame->type == FrameType::kNegative) go_back(now);
  if (frame->type != FrameType::kData) return;

  if (frame->sequence != expected_) {
    counters_.out_of_sequence++;
    // behind: sent again although it had arrived, so the acknowledgement was lost; ahead: one is missing
    if (sequence(expected_ - frame->sequence + kSequences) <= kSequences / 2)
      acknowledgement_due_ = true;
    else
      negative_due_ |= !negative_sent_;
    return;
  }
  expected_ = sequence(expected_ + 1u);
  negative_sent_ = negative_due_ = false;
  acknowledgement_due_ = true;
  deliver_(frame->channel, std::move(frame->payload));
}

void LinkEnd::consume(unsigned channel, Femtoseconds now) {
  channels_[channel].consumed++;
  channels_[channel].owes_update = true;
  update_turn_ = 0;
  update_at_ = now + options_.update_period;
}

/// Everything before `expected` has arrived.
void LinkEnd::acknowledge(uint16_t expected, Femtoseconds now) {
  const size_t count = sequence(expected - first_ + kSequences);
  if (count == 0 || count > replay_buffer_.size()) return;  // nothing new, or an old frame
  replay_buffer_.erase(replay_buffer_.begin(), replay_buffer_.begin() + static_cast<std::ptrdiff_t>(count));
  first_ = expected;
  next_ = next_ > count ? next_ - count : 0;
  timeouts_in_a_row_ = retrainings_in_a_row_ = 0;
  replay_at_ = replay_buffer_.empty() ? kNever : now + options_.replay_timeout;
}

/// All that is not acknowledged is sent again.
void LinkEnd::go_back(Femtoseconds now) {
  next_ = 0;
  replay_at_ = replay_buffer_.empty() ? kNever : now + options_.replay_timeout;
}

void LinkEnd::time_out(Femtoseconds now) {
  counters_.timeouts++;
  // a negative acknowledgement may have been lost: the next gap asks again
  if (++timeouts_in_a_row_ < options_.replay_limit) return go_back(now);
  timeouts_in_a_row_ = 0;
  if (++retrainings_in_a_row_ > options_.retrain_limit) {
    state_ = LinkState::kDown;
    replay_at_ = update_at_ = kNever;
    return;
  }
  counters_.retrainings++;
  state_ = LinkState::kRetraining;
  trained_at_ = now + options_.retrain_time;
  replay_at_ = kNever;
}

Femtoseconds LinkEnd::next_timer() const {
  if (state_ == LinkState::kDown) return kNever;
  if (state_ == LinkState::kRetraining) return trained_at_;
  return std::min(replay_at_, update_at_);
}

}  // namespace weft::ici
