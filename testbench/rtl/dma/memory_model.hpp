/// HBM and host memory behind the DMA engine's memory port: bytes, latency, bandwidth, refusals and errors.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <random>
#include <vector>

namespace weft::bench {

/// How the memory behaves. All cycles are core cycles.
struct MemoryTiming {
  unsigned latency_cycles = 20;
  double bytes_per_cycle = 1e9;       ///< reads and writes together
  unsigned refuse_percent = 0;        ///< a request is not accepted, an answer is late, with this chance in a cycle
  unsigned booked_ahead_cycles = 64;  ///< a request is refused when more transfer time than this is booked
};

/// One space: bytes from `base` on; anything else is a bus error.
struct Space {
  uint64_t base = 0;
  std::vector<uint8_t> bytes;
};

/// Plays the memory side of the port. Not thread safe. One tick a clock cycle; the order within a channel is kept,
/// channels overtake.
class MemoryModel {
 public:
  struct Request {
    unsigned channel = 0;
    unsigned space = 0;
    uint64_t address = 0;
    unsigned bytes = 0;
  };
  struct Answer {
    unsigned channel = 0;
    bool error = false;
    uint64_t ready_cycle = 0;
    std::vector<uint8_t> data;
  };

  MemoryModel(MemoryTiming timing, unsigned seed) : timing_(timing), random_(seed) {}

  Space& space(unsigned number) { return spaces_[number]; }
  void set_timing(const MemoryTiming& timing) { timing_ = timing; }
  /// The next accesses that touch this address answer with an error.
  void poison(unsigned space, uint64_t address) { poisoned_ = {space, address}; }

  /// Decides what the ports show in this cycle.
  void begin_cycle(uint64_t cycle);
  bool read_ready() const { return read_ready_; }
  bool write_ready() const { return write_ready_; }
  /// The answer shown on mrsp, nullptr: none. Stays until taken.
  const Answer* read_answer() const { return shown_ < 0 ? nullptr : &reads_[static_cast<unsigned>(shown_)].front(); }
  /// The acknowledgement shown on mack in this cycle, nullptr: none.
  const Answer* write_answer() const { return acked_ < 0 ? nullptr : &writes_[static_cast<unsigned>(acked_)].front(); }

  // what happened at the end of the cycle
  void accept_read(const Request& request);
  void take_read_answer();
  void accept_write(const Request& request, const uint8_t* data);
  void take_write_answer();
  /// A beat has left for another chip: acknowledged as it would be written, in its channel's order.
  void accept_remote(unsigned channel);

  uint64_t read_bytes = 0, write_bytes = 0;            ///< accepted
  uint64_t first_read_cycle = 0, last_read_cycle = 0;  ///< of accepted read requests

 private:
  uint8_t* find(const Request& request);
  uint64_t book(unsigned bytes);
  bool chance() { return timing_.refuse_percent && random_() % 100 < timing_.refuse_percent; }

  MemoryTiming timing_;
  std::mt19937 random_;
  std::array<Space, 4> spaces_;
  std::pair<unsigned, uint64_t> poisoned_{0, 0};
  std::array<std::deque<Answer>, 4> reads_, writes_;
  uint64_t cycle_ = 0;
  double booked_until_ = 0;
  bool read_ready_ = false, write_ready_ = false;
  int shown_ = -1, acked_ = -1;
};

}  // namespace weft::bench
