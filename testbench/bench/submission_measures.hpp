/// The measurements of submission_rate.
#pragma once
#include <cstdint>

#include "weft/weft.h"

namespace weft::bench {

struct Batches {
  double commands_per_second = 0;
  uint64_t commands = 0;
};

struct Latency {
  double median_us = 0;
  double p99_us = 0;
};

/// Throws std::runtime_error with the library's message where a call has failed.
void check(weft_status status);

/// Keeps four batches in flight, so that the host prepares one while the device runs another.
[[nodiscard]] Batches measure_batches(weft_queue* queue, uint32_t batch, double seconds);
[[nodiscard]] Latency measure_single(weft_queue* queue, uint32_t runs);
/// Entries a second of processor time: ids, entry, CRC and both rings, against a null device.
[[nodiscard]] double measure_rings(uint32_t batch, double seconds);

}  // namespace weft::bench
