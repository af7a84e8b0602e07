/// One end of a link: what is sent arrives at the other end exactly once and in order, whatever the wire does to
/// frames.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "model/ici/frame.hpp"
#include "model/ici/link_state.hpp"
#include "model/ici/routing.hpp"
#include "model/ici/time.hpp"

namespace weft::ici {

struct LinkEndOptions {
  unsigned window_frames = 1024;  ///< sent and not acknowledged, at most half of the sequence numbers
  uint16_t credit_frames = 512;   ///< of a receive buffer, each channel, < 32768
  Femtoseconds replay_timeout = 8 * kMicrosecond;
  Femtoseconds update_period = 16 * kMicrosecond;  ///< of acknowledgement and credits when nothing else goes that way
  unsigned replay_limit = 8;                       ///< timeouts without progress until retraining
  unsigned retrain_limit = 3;                      ///< retrainings without progress until the link is down
  Femtoseconds retrain_time = 50 * kMicrosecond;

  /// From the first frame that is not acknowledged to the link's being down, if nothing is any more.
  [[nodiscard]] constexpr Femtoseconds give_up_time() const {
    return (retrain_limit + 1) * replay_limit * replay_timeout + retrain_limit * retrain_time;
  }
};

struct LinkEndCounters {
  uint64_t data_frames = 0;  ///< sent, replays included
  uint64_t replayed_frames = 0;
  uint64_t bad_frames = 0;                 ///< received: damaged
  uint64_t out_of_sequence = 0;            ///< received: whole, but not the next one
  uint64_t negative_acknowledgements = 0;  ///< sent
  uint64_t timeouts = 0, retrainings = 0;
  uint64_t credit_stalls = 0;  ///< times that a transmitter was free and no channel with data had a credit
};

/// Go-back-N with credits. Passive: the owner asks for the next frame whenever the transmitter is free, hands over what
/// comes in, and asks again at next_timer(). One thread.
class LinkEnd {
 public:
  using Deliver = std::function<void(unsigned channel, std::vector<std::byte> payload)>;

  LinkEnd(const LinkEndOptions& options, Deliver deliver) : options_(options), deliver_(std::move(deliver)) {}

  /// Adds a frame's payload, 1 to 256 bytes, to what a channel has to send.
  void send(unsigned channel, std::vector<std::byte> payload);

  /// What the transmitter sends next; nothing if there is nothing to send now.
  std::optional<std::vector<std::byte>> next_frame(Femtoseconds now);

  /// Bytes from the wire, of one frame, damaged or not.
  void receive(std::span<const std::byte> bytes, Femtoseconds now);

  /// The layer above has taken a frame out of a channel's buffer.
  void consume(unsigned channel, Femtoseconds now);

  /// When next_frame must be asked although nothing has happened; kNever if there is no such time.
  [[nodiscard]] Femtoseconds next_timer() const;

  [[nodiscard]] LinkState state() const { return state_; }
  [[nodiscard]] const LinkEndCounters& counters() const { return counters_; }
  [[nodiscard]] size_t unacknowledged() const { return replay_buffer_.size(); }

 private:
  struct Sent {
    uint8_t channel;
    std::vector<std::byte> payload;
  };
  struct Channel {
    std::deque<std::vector<std::byte>> to_send;
    uint16_t sent = 0;      // frames, modulo 2^16
    uint16_t freed = 0;     // of those, taken out of the other end's buffer, as last heard
    uint16_t consumed = 0;  // frames received and taken out of this end's buffer
    bool owes_update = false;
  };

  void acknowledge(uint16_t expected, Femtoseconds now);
  void go_back(Femtoseconds now);
  void time_out(Femtoseconds now);
  [[nodiscard]] Frame header(FrameType type, unsigned channel);
  std::optional<std::vector<std::byte>> replay_or_new(Femtoseconds now);

  LinkEndOptions options_;
  Deliver deliver_;
  std::array<Channel, kChannels> channels_;
  unsigned turn_ = 0;  // the channel that was served last
  unsigned update_turn_ = 0;
  // sender
  std::deque<Sent> replay_buffer_;  // sent and not acknowledged; the first has number first_
  uint16_t first_ = 0;
  size_t next_ = 0;  // in the replay buffer: to be sent next, its size if nothing is to be replayed
  Femtoseconds replay_at_ = kNever;
  unsigned timeouts_in_a_row_ = 0, retrainings_in_a_row_ = 0;
  Femtoseconds trained_at_ = 0;
  // receiver
  uint16_t expected_ = 0;
  bool negative_due_ = false, negative_sent_ = false, acknowledgement_due_ = false;
  Femtoseconds update_at_ = kNever;
  LinkState state_ = LinkState::kUp;
  LinkEndCounters counters_;
};

}  // namespace weft::ici
