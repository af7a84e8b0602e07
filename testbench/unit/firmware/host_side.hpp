/// The host of firmware tests: parameter page, rings, entries with CRC, programs, argument lists.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "firmware/state.hpp"
#include "mock_hal.hpp"

namespace mock {

// The host's memory, by IOVA.
inline constexpr uint64_t kPage = kHostBase;
inline constexpr uint64_t kAdminSubmission = kHostBase + 0x1000;
inline constexpr uint64_t kAdminCompletion = kHostBase + 0x2000;
inline constexpr uint64_t kLog = kHostBase + 0x3000;
inline constexpr uint64_t kFaults = kHostBase + 0x6000;
inline constexpr uint64_t kRings = kHostBase + 0x10000;   ///< 128 KiB a queue: submission, completion in the upper half
inline constexpr uint64_t kLists = kHostBase + 0x300000;  ///< argument lists, 4 KiB each
inline constexpr uint64_t kImage = 0x20000;               ///< program image in HBM
inline constexpr uint64_t kData = 0x200000;               ///< arguments in HBM

/// One pair of rings as the host sees it.
struct HostRing {
  uint32_t id = 0;
  uint64_t submission = 0, completion = 0;
  uint32_t entries = 0, completion_entries = 0;
  uint32_t tail = 0, completion_head = 0;
};

struct Host {
  uint32_t function;
  std::array<HostRing, weft::fw::kQueues> rings;

  /// Writes a parameter page of the function and requests the boot.
  explicit Host(uint32_t function = 0);
  void request_boot() const;
  weft_parameter_page& page() const;

  /// Puts an entry (CRC filled in) into the ring without ringing.
  void put(uint32_t queue, weft_submission_entry entry);
  /// Puts bytes as they are.
  void put_raw(uint32_t queue, const weft_submission_entry& entry);
  void ring(uint32_t queue);
  void submit(uint32_t queue, weft_submission_entry entry) { put(queue, entry), ring(queue); }
  /// CREATE_QUEUE with the usual place of its rings; runs when the admin queue gets to it.
  void create(uint32_t queue, uint32_t entries, uint32_t completion_entries);
  /// Completions that have arrived since the last call, by phase.
  std::vector<weft_completion_entry> drain(uint32_t queue);
  /// CREATE_QUEUE for a queue that feeds the completion ring of `ring`.
  void create_guest(uint32_t queue, uint32_t entries, uint32_t ring);
  weft_fault_record fault(uint64_t number) const;
};

weft_submission_entry entry(uint8_t opcode, uint16_t id = 0);
void seal(weft_submission_entry& entry);

/// A program image builder: `counts` commands a queue, tags 0, 1, 2, ... within each queue, queue number in byte 20.
std::vector<uint8_t> make_image(const std::array<uint32_t, WEFT_CORE_QUEUES>& counts, uint32_t arguments = 0,
                                uint64_t scratch = 0, uint64_t constants = 0);
/// At kImage of the function's HBM; `base`: where its share begins.
void place_image(const std::vector<uint8_t>& image, uint64_t base = 0);
weft_submission_entry load_entry(uint64_t bytes);

/// Writes an argument list of `count` 256-byte HBM arguments at kLists + 4096 * index; returns its IOVA.
uint64_t make_list(uint32_t index, uint32_t count, uint32_t function = 0);
/// Puts its CRC into a list that was changed.
void seal_list(uint32_t index, uint32_t function = 0);
weft_launch_argument& argument(uint32_t index, uint32_t number, uint32_t function = 0);
weft_submission_entry launch_entry(uint64_t program, uint64_t list, uint16_t id = 0, uint32_t kernel = 0);

/// The firmware's state as before any boot, its functions with their shares of HBM. After reset(); the same object each
/// time.
weft::fw::State& make_state();

/// A queue of the function over both of its rings, without CREATE_QUEUE.
void open_pair(weft::fw::Function& function, uint32_t id, uint64_t submission_iova, uint32_t entries,
               uint64_t completion_iova, uint32_t completion_entries);

/// Runs main_loop() until the script is used up.
void run_firmware();

/// reset() and a host; the script's first step can begin to submit.
Host boot();

}  // namespace mock
