/// Checks of a device from its registers to a product, each a line with numbers.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "host/runtime/session.hpp"

namespace weft::tools {

/// How a check ended.
struct CheckResult {
  std::string name;
  bool passed = true;
  std::string numbers;  ///< what was done: "66 patterns in 6 registers"
  std::string failure;  ///< what was wrong first, where, with both values; empty if it passed
};

/// A check that passed, and one that did not.
[[nodiscard]] CheckResult passed(std::string name, std::string numbers);
[[nodiscard]] CheckResult failed(std::string name, std::string failure);

/// What a product gave, so that two can be compared.
struct ProductResult {
  std::vector<std::byte> bits;
  uint64_t cycles = 0;
};

// Each leaves the device as it found it, except for a reset. Not thread-safe.

/// Magic, versions, fingerprint, clock, and every bit of registers that can be written and read back.
[[nodiscard]] CheckResult check_registers(runtime::Session& session);
/// Markers at every power of two of the largest free piece of HBM (address lines), then address patterns and their
/// inverse in its first `pattern_bytes` (data lines and cells).
[[nodiscard]] CheckResult check_hbm(weft_device* device, weft_queue* queue, uint64_t pattern_bytes, uint64_t seed);
/// Host to HBM to host, at odd sizes and alignments; bytes beside the copies stay.
[[nodiscard]] CheckResult check_loopback(runtime::Session& session, uint64_t seed);
/// Every MSI-X vector: raised by its own ring, and delivered.
[[nodiscard]] CheckResult check_interrupts(runtime::Session& session);
/// Timeline semaphores: from the host, between two queues, and read back.
[[nodiscard]] CheckResult check_timelines(runtime::Session& session);
/// The executable of the product that the checks use.
[[nodiscard]] Result<std::vector<std::byte>> product_executable(const runtime::Session& session);
/// A product whose every element is compared with the golden model. `result` (may be null) receives bits and cycles.
[[nodiscard]] CheckResult check_product(runtime::Session& session, uint64_t seed, ProductResult* result);
/// Resets the device: steps within their bounds, one generation more; then the same product gives the bits and cycles
/// of `before`.
[[nodiscard]] CheckResult check_reset(runtime::Session& session, uint64_t seed, const ProductResult& before);

}  // namespace weft::tools
