// Boot and rings by docs/reference/host_interface.md.
#include "testbench/tenant/raw_device.hpp"

#include <fcntl.h>

#include <atomic>

#include "base/crc32c.hpp"

namespace weft::tenant {
namespace {

constexpr uint64_t kPage = 4096;
constexpr int kBootMs = 5000;

template <typename T>
void store(std::span<std::byte> memory, uint64_t at, const T& value) {
  std::memcpy(&memory[at], &value, sizeof value);
}

}  // namespace

weft_submission_entry entry_of(uint8_t opcode, uint64_t arg0, uint64_t arg1, uint64_t size) {
  weft_submission_entry entry{};
  entry.opcode = opcode;
  entry.arg0 = arg0;
  entry.arg1 = arg1;
  entry.size = size;
  return entry;
}

RawDevice::RawDevice(RawClient client) : client_(std::move(client)), memory_(kBytes, F_SEAL_SHRINK | F_SEAL_GROW) {}

bool RawDevice::map() {
  if (!mapped_) mapped_ = client_.map(memory_.fd(), 0, kBase, kBytes) == 0;
  return mapped_;
}

std::optional<uint64_t> RawDevice::take(uint64_t bytes) {
  const uint64_t at = free_;
  const uint64_t whole = (bytes + kPage - 1) / kPage * kPage;
  if (at + whole > kBytes) return std::nullopt;
  free_ += whole;
  std::memset(&memory()[at], 0, whole);
  return at;
}

bool RawDevice::boot() {
  booted_ = false;
  if (!map() || !client_.request(kReset, {})) return false;
  free_ = 0;
  const auto submission = take(WEFT_LIMIT_ADMIN_RING_ENTRIES * sizeof(weft_submission_entry));
  const auto completion = take(WEFT_LIMIT_ADMIN_RING_ENTRIES * sizeof(weft_completion_entry));
  const auto log = take(WEFT_LIMIT_LOG_ENTRIES * sizeof(weft_log_record));
  const auto fault = take(WEFT_LIMIT_FAULT_ENTRIES * sizeof(weft_fault_record));
  const auto page = take(kPage);
  weft_parameter_page parameters{};
  parameters.magic = WEFT_MAGIC;
  parameters.abi_version = WEFT_ABI_MAJOR << 16 | WEFT_ABI_MINOR;
  parameters.nonce = ++nonce_;
  parameters.admin_submission_iova = kBase + *submission;
  parameters.admin_completion_iova = kBase + *completion;
  parameters.log_iova = kBase + *log;
  parameters.fault_iova = kBase + *fault;
  store(memory(), *page, parameters);
  const int64_t deadline = now_ms() + kBootMs;
  // A reset is over when the function is there again; a boot before that is not heard.
  while (client_.read(kBar0, WEFT_REG_DEVICE_STATE, 4) != uint64_t{WEFT_DEVICE_STATE_PRESENT})
    if (now_ms() > deadline || !client_.valid()) return false;
  if (client_.write(kBar0, WEFT_REG_PARAMETER_PAGE, kBase + *page, 8) != 0) return false;
  if (client_.write(kBar0, WEFT_REG_BOOT_CONTROL, 1, 4) != 0) return false;
  while (client_.read(kBar0, WEFT_REG_BOOT_ANSWER_NONCE, 8) != nonce_)
    if (now_ms() > deadline || !client_.valid()) return false;
  admin_ = {0, WEFT_LIMIT_ADMIN_RING_ENTRIES, *submission, *completion, 0, 0};
  booted_ = true;
  return true;
}

std::optional<Ring> RawDevice::create_queue(unsigned queue, uint32_t entries, uint64_t priority) {
  const auto submission = take(entries * sizeof(weft_submission_entry));
  const auto completion = take(entries * sizeof(weft_completion_entry));
  if (!submission || !completion) return std::nullopt;
  (void)client_.post(kBar2, uint64_t{8} * queue, 0);
  (void)client_.post(kBar2, uint64_t{8} * queue + 4, 0);
  const uint64_t size = entries | uint64_t{entries} << 16 | uint64_t{queue} << 32 | priority << 48;
  const auto code =
      run(admin_, entry_of(WEFT_ADMIN_OPCODE_CREATE_QUEUE, kBase + *submission, kBase + *completion, size));
  if (!code || *code != WEFT_ERROR_OK) return std::nullopt;
  return Ring{queue, entries, *submission, *completion, 0, 0};
}

void RawDevice::put(Ring& ring, weft_submission_entry entry) const {
  entry.command_id = static_cast<uint16_t>(ring.tail % 4096);
  const auto bytes = std::as_bytes(std::span(&entry, 1));
  entry.crc32c = weft::crc32c(bytes.first(offsetof(weft_submission_entry, crc32c))) ^ (ring.tail / ring.entries);
  store(memory(), ring.submission + ring.tail % ring.entries * sizeof entry, entry);
  ring.tail++;
  std::atomic_thread_fence(std::memory_order_release);
}

std::optional<unsigned> RawDevice::complete(Ring& ring, int patience_ms) {
  const uint64_t at = ring.completion + ring.head % ring.entries * sizeof(weft_completion_entry);
  const uint32_t phase = (ring.head / ring.entries + 1) % 2;
  const int64_t deadline = now_ms() + patience_ms;
  for (;;) {
    weft_completion_entry entry;
    std::memcpy(&entry, &memory()[at], sizeof entry);
    if ((entry.status & 1) == phase) {
      ring.head++;
      (void)client_.post(kBar2, uint64_t{8} * ring.queue + 4, ring.head);
      return entry.status >> 5 & 0x7fff;
    }
    if (now_ms() > deadline || !client_.read(kBar0, WEFT_REG_DEVICE_STATE, 4)) return std::nullopt;
  }
}

std::optional<unsigned> RawDevice::run(Ring& ring, const weft_submission_entry& entry) {
  put(ring, entry);
  doorbell(ring);
  return complete(ring);
}

}  // namespace weft::tenant
