#include "model/ici/link_end.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <iostream>
#include <map>
#include <random>

using namespace weft::ici;

namespace {

constexpr uint64_t kBytesPerSecond = 45'000'000'000;

/// What the wire does to a frame.
struct Wire {
  double bit_error_rate = 0, drop = 0, duplicate = 0;
  double late = 0;  // share of frames that arrive up to 3 us late, behind those that were sent after them
  Femtoseconds latency = kMicrosecond;
  bool cut = false;
};

/// Two ends and the wires between them; the layer above takes a frame out of its buffer as soon as it is there, or when
/// told.
class Pair {
 public:
  Pair(const LinkEndOptions& options, const Wire& to_right, const Wire& to_left, unsigned seed)
      : wires_{to_right, to_left}, random_(seed), ends_{LinkEnd(options, deliver(0)), LinkEnd(options, deliver(1))} {}

  LinkEnd& end(unsigned side) { return ends_[side]; }
  Wire& wire(unsigned from) { return wires_[from]; }
  const std::vector<std::vector<std::byte>>& received(unsigned side, unsigned channel) {
    return received_[side][channel];
  }
  Femtoseconds now() const { return now_; }
  bool consumes = true;

  /// Runs until nothing happens any more or the time is over.
  void run(Femtoseconds until = kNever) {
    for (;;) {
      for (const unsigned side : {0u, 1u}) transmit(side);
      Femtoseconds next = flying_.empty() ? kNever : flying_.begin()->first;
      for (const unsigned side : {0u, 1u}) {
        if (free_at_[side] > now_) next = std::min(next, free_at_[side]);
        next = std::min(next, std::max({now_ + 1, free_at_[side], ends_[side].next_timer()}));
      }
      if (next == kNever || next > until) return;
      now_ = next;
      while (!flying_.empty() && flying_.begin()->first <= now_) {
        const auto flight = flying_.begin()->second;
        flying_.erase(flying_.begin());
        ends_[flight.to].receive(flight.bytes, now_);
      }
    }
  }

 private:
  struct Flight {
    unsigned to;
    std::vector<std::byte> bytes;
  };

  LinkEnd::Deliver deliver(unsigned side) {
    return [this, side](unsigned channel, std::vector<std::byte> payload) {
      received_[side][channel].push_back(std::move(payload));
      if (consumes) ends_[side].consume(channel, now_);
    };
  }

  void transmit(unsigned side) {
    if (free_at_[side] > now_) return;
    auto bytes = ends_[side].next_frame(now_);
    if (!bytes) return;
    const auto& wire = wires_[side];
    free_at_[side] = now_ + transfer_time(bytes->size(), kBytesPerSecond);
    const auto arrival = free_at_[side] + wire.latency;
    std::uniform_real_distribution<double> chance;
    if (wire.cut || chance(random_) < wire.drop) return;
    const double bad = -std::expm1(static_cast<double>(8 * bytes->size()) * std::log1p(-wire.bit_error_rate));
    if (chance(random_) < bad) (*bytes)[random_() % bytes->size()] ^= static_cast<std::byte>(1u << random_() % 8);
    const bool late = wire.late > 0 && chance(random_) < wire.late;
    flying_.emplace(arrival + (late ? kNanosecond * (random_() % 3000) : 0), Flight{1 - side, *bytes});
    if (chance(random_) < wire.duplicate)
      flying_.emplace(arrival + kNanosecond * (random_() % 3000), Flight{1 - side, *bytes});
  }

  std::array<Wire, 2> wires_;
  std::mt19937 random_;
  std::array<LinkEnd, 2> ends_;
  std::array<Femtoseconds, 2> free_at_{};
  std::multimap<Femtoseconds, Flight> flying_;
  std::array<std::map<unsigned, std::vector<std::vector<std::byte>>>, 2> received_;
  Femtoseconds now_ = 0;
};

std::vector<std::byte> payload(unsigned channel, unsigned number, size_t bytes = weft::spec::kIciFramePayloadBytes) {
  std::vector<std::byte> data(bytes, static_cast<std::byte>(channel));
  for (size_t i = 0; i < 4 && i < bytes; i++) data[i] = static_cast<std::byte>(number >> (8 * i));
  return data;
}

/// Sends so many frames from each side on each of these channels and checks that the other side has them all, once and
/// in order.
void exchange(Pair& pair, unsigned frames, const std::vector<unsigned>& channels) {
  for (const unsigned side : {0u, 1u})
    for (unsigned i = 0; i < frames; i++)
      for (const auto channel : channels) pair.end(side).send(channel, payload(channel, i));
  pair.run();
  for (const unsigned side : {0u, 1u})
    for (const auto channel : channels) {
      INFO("side " << side << " channel " << channel);
      const auto& got = pair.received(side, channel);
      REQUIRE(got.size() == frames);
      for (unsigned i = 0; i < frames; i++) REQUIRE(got[i] == payload(channel, i));
    }
}

}  // namespace

TEST_CASE("frame: what is encoded is decoded") {
  Frame frame{FrameType::kData, 4095, 1234, 25, 65535, payload(3, 7)};
  CHECK(decode(encode(frame)) == frame);
  frame = Frame{FrameType::kNegative, 0, 1, 0, 2, {}};
  CHECK(encode(frame).size() == 10);
  CHECK(decode(encode(frame)) == frame);
}

TEST_CASE("frame: every single and double flip is noticed") {
  const Frame frame{FrameType::kData, 17, 3, 1, 9, payload(1, 1, 8)};
  const auto good = encode(frame);
  for (size_t a = 0; a < 8 * good.size(); a++)
    for (size_t b = a; b < 8 * good.size(); b++) {
      auto bad = good;
      bad[a / 8] ^= static_cast<std::byte>(1u << a % 8);
      if (b != a) bad[b / 8] ^= static_cast<std::byte>(1u << b % 8);
      REQUIRE_FALSE(decode(bad).has_value());
    }
}

TEST_CASE("frame: garbage of any length is refused") {
  std::mt19937 random(3);
  for (size_t length = 0; length < 400; length++) {
    std::vector<std::byte> bytes(length);
    for (auto& byte : bytes) byte = static_cast<std::byte>(random());
    REQUIRE_FALSE(decode(bytes).has_value());
  }
}

TEST_CASE("a clean link delivers everything and replays nothing") {
  Pair pair({}, {}, {}, 1);
  exchange(pair, 5000, {0, 3, 25});
  CHECK(pair.end(0).counters().replayed_frames == 0);
  CHECK(pair.end(0).unacknowledged() == 0);
}

TEST_CASE("flipped, lost, doubled and reordered frames are delivered exactly once and in order") {
  const unsigned seed = 12;
  std::cout << "seed " << seed << "\n";
  const Wire wires[] = {{.bit_error_rate = 1e-5},
                        {.drop = 0.05},
                        {.late = 0.05},
                        {.duplicate = 0.1},
                        {.bit_error_rate = 1e-4, .drop = 0.02, .duplicate = 0.05, .late = 0.02}};
  for (const auto& wire : wires) {
    INFO("bit errors " << wire.bit_error_rate << " drop " << wire.drop << " duplicate " << wire.duplicate);
    Pair pair({}, wire, wire, seed);
    exchange(pair, 1500, {0, 1});
    CHECK(pair.end(0).state() == LinkState::kUp);
    CHECK(pair.end(0).unacknowledged() == 0);
  }
}

TEST_CASE("a window of one frame still moves") {
  Pair pair({.window_frames = 1}, {.drop = 0.1}, {.drop = 0.1}, 4);
  exchange(pair, 100, {0});
}

TEST_CASE("nothing is sent without a credit, and a credit that is lost heals") {
  Pair pair({.credit_frames = 4}, {}, {}, 2);
  pair.consumes = false;
  for (unsigned i = 0; i < 20; i++) pair.end(0).send(0, payload(0, i));
  for (unsigned i = 0; i < 20; i++) pair.end(0).send(1, payload(1, i));
  pair.run(kMillisecond);
  CHECK(pair.received(1, 0).size() == 4);
  CHECK(pair.received(1, 1).size() == 4);
  CHECK(pair.end(0).counters().credit_stalls > 0);
  pair.wire(1).cut = true;  // the first news of freed buffers is lost
  for (unsigned i = 0; i < 4; i++) pair.end(1).consume(0, pair.now());
  pair.run(pair.now() + 2 * kMicrosecond);
  CHECK(pair.received(1, 0).size() == 4);
  pair.wire(1).cut = false;
  pair.run(kMillisecond * 2);
  CHECK(pair.received(1, 0).size() == 8);
  CHECK(pair.received(1, 1).size() == 4);
}

TEST_CASE("a link that is cut retrains, and goes down after its limit") {
  Pair pair({}, {}, {}, 6);
  for (unsigned i = 0; i < 3000; i++) pair.end(0).send(0, payload(0, i));
  pair.run(5 * kMicrosecond);
  pair.wire(0).cut = true;
  pair.run(100 * kMicrosecond);
  CHECK(pair.end(0).state() == LinkState::kRetraining);
  pair.wire(0).cut = false;
  pair.run(kMillisecond);
  CHECK(pair.end(0).state() == LinkState::kUp);
  CHECK(pair.received(1, 0).size() == 3000);
  pair.wire(0).cut = true;
  pair.end(0).send(0, payload(0, 0));
  pair.run();
  CHECK(pair.end(0).state() == LinkState::kDown);
  CHECK(pair.end(0).counters().retrainings >= 3);
  CHECK(pair.end(0).next_timer() == kNever);
}

TEST_CASE("a link that is dark in one direction goes down within its time, and delivers nothing twice") {
  for (const unsigned dark : {0u, 1u}) {
    INFO("frames of side " << dark << " are lost");
    const LinkEndOptions options;
    Pair pair(options, {}, {}, 9);
    for (unsigned i = 0; i < 3000; i++) pair.end(0).send(0, payload(0, i));
    pair.run(5 * kMicrosecond);
    pair.wire(dark).cut = true;
    const auto begin = pair.now();
    pair.run();
    CHECK(pair.end(0).state() == LinkState::kDown);
    CHECK(pair.now() - begin <= options.give_up_time() + options.update_period);
    const auto& got = pair.received(1, 0);
    REQUIRE(got.size() <= 3000);
    for (unsigned i = 0; i < got.size(); i++) REQUIRE(got[i] == payload(0, i));
  }
}

TEST_CASE("goodput is that of go-back-N") {
  for (const double rate : {0.0, 1e-7, 1e-6, 1e-5}) {
    INFO("bit error rate " << rate);
    Pair pair({}, {.bit_error_rate = rate}, {}, 8);
    const unsigned frames = 60000;
    for (unsigned i = 0; i < frames; i++) pair.end(0).send(0, payload(0, i));
    while (pair.received(1, 0).size() < frames) pair.run(pair.now() + 10 * kMicrosecond);
    const auto frame_bytes = 266.0;
    const double p = -std::expm1(8 * frame_bytes * std::log1p(-rate)), frame = frame_bytes / kBytesPerSecond;
    const double window =
        (frame + 2e-6) / frame + 1;  // the negative acknowledgement is a frame behind another one at most
    const double clean = frame * frames, time = static_cast<double>(pair.now()) * 1e-15;
    CHECK(clean / time == Approx((1 - p) / (1 - p + p * window)).epsilon(rate >= 1e-6 ? 0.06 : 0.02));
  }
}
