/// A function of the chip at the end of a raw client: memory, boot, rings, and nothing between them and the tenant.
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "testbench/tenant/raw_client.hpp"
#include "weft/spec/spec.h"

namespace weft::tenant {

/// A submission ring and its completion ring in the device's memory.
struct Ring {
  unsigned queue = 0;
  uint32_t entries = 0;
  uint64_t submission = 0, completion = 0;  ///< offsets in the memory
  uint32_t tail = 0, head = 0;              ///< free-running
};

/// Client, memory of 4 MiB at IOVA kBase, and what of it has been given out. Every wait ends.
class RawDevice {
 public:
  static constexpr uint64_t kBase = 0x100000000;
  static constexpr uint64_t kBytes = 4u << 20;
  static constexpr unsigned kQueues = WEFT_LIMIT_IO_QUEUES;

  /// Takes a client after VERSION.
  explicit RawDevice(RawClient client);

  [[nodiscard]] RawClient& client() { return client_; }
  [[nodiscard]] std::span<std::byte> memory() const { return memory_.bytes(); }
  [[nodiscard]] int memory_fd() const { return memory_.fd(); }

  /// Maps the memory if it is not mapped. False: refused or no reply.
  bool map();
  /// Resets and boots, with empty admin rings. False: not ready in time.
  bool boot();
  [[nodiscard]] bool booted() const { return booted_; }
  /// The device was reset or its rings were destroyed: boot() is needed before commands.
  void forget() { booted_ = false; }

  /// Takes part of the memory, zeroed. Nothing is left: nothing.
  std::optional<uint64_t> take(uint64_t bytes);
  /// CREATE_QUEUE through the admin ring. Nothing: refused or no completion in time.
  std::optional<Ring> create_queue(unsigned queue, uint32_t entries, uint64_t priority = 0);

  /// Writes an entry with its check at the ring's tail; no doorbell.
  void put(Ring& ring, weft_submission_entry entry) const;
  void doorbell(const Ring& ring) { (void)client_.post(kBar2, uint64_t{8} * ring.queue, ring.tail); }
  /// The code of the next completion; nothing in time: nothing.
  std::optional<unsigned> complete(Ring& ring, int patience_ms = RawClient::kPatienceMs);
  /// One entry with its doorbell and completion.
  std::optional<unsigned> run(Ring& ring, const weft_submission_entry& entry);

  [[nodiscard]] Ring& admin() { return admin_; }
  std::optional<uint64_t> hbm_reserved() { return client_.read(kBar0, WEFT_REG_HBM_RESERVED_BYTES, 8); }

 private:
  RawClient client_;
  SharedMemory memory_;
  bool mapped_ = false, booted_ = false;
  uint64_t free_ = 0;
  uint64_t nonce_ = 1;
  Ring admin_;
};

/// An entry with these fields and zeros.
[[nodiscard]] weft_submission_entry entry_of(uint8_t opcode, uint64_t arg0 = 0, uint64_t arg1 = 0, uint64_t size = 0);

}  // namespace weft::tenant
