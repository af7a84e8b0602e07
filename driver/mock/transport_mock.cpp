// The mock's transport side: regions, maps, interrupts, boot, reset, and the knobs.
#include "driver/mock/transport_mock.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "driver/transport/registers.hpp"

namespace weft::driver {
namespace {

constexpr uint8_t kMsixAt = 0x40;
constexpr uint16_t kMsixEnable = 0x8000;
constexpr uint32_t kMasked = 1;

}  // namespace

MockTransport::MockTransport(const spec::Chip& chip, MockFaults faults) : chip_(chip), faults_(faults) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) == 0) {
    alive_read_ = FileDescriptor(pipe[0]);
    alive_write_ = FileDescriptor(pipe[1]);
  }
  void* memory =
      ::mmap(nullptr, chip.hbm_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory != MAP_FAILED) hbm_ = static_cast<std::byte*>(memory);
  const auto put16 = [this](size_t at, uint16_t value) { std::memcpy(&config_[at], &value, sizeof value); };
  put16(0x00, WEFT_PCI_VENDOR_ID);
  put16(0x02, WEFT_PCI_DEVICE_ID);
  config_[0x34] = kMsixAt;
  config_[kMsixAt] = 0x11;
  put16(kMsixAt + 2, WEFT_PCI_MSIX_VECTORS - 1);
  vector_control_.fill(kMasked);
}

MockTransport::~MockTransport() {
  for (auto& [iova, mapping] : mappings_) ::munmap(mapping.data, mapping.bytes);
  if (hbm_ != nullptr) ::munmap(hbm_, chip_.hbm_bytes);
}

Status MockTransport::check() const {
  if (dead_) return Status(WEFT_ERROR_DEVICE_LOST, "the mock is dead");
  if (shut_down_) return Status(WEFT_ERROR_DEVICE_LOST, "the mock is shut down");
  return {};
}

Status MockTransport::read(Region region, uint64_t offset, void* data, uint32_t bytes) {
  const std::lock_guard lock(mutex_);
  if (Status s = check(); !s.ok()) return s;
  std::memset(data, faults_.all_ones ? 0xff : 0, bytes);
  if (faults_.all_ones) return {};
  if (region == Region::kConfig && offset + bytes <= config_.size()) {
    std::memcpy(data, &config_[offset], bytes);
  } else if (region == Region::kRegisters && offset < WEFT_REG_COUNTERS) {
    const uint64_t value = read_register(offset);
    std::memcpy(data, &value, std::min<size_t>(bytes, sizeof value));
    if (offset == WEFT_REG_RESET_GENERATION && state_ == WEFT_DEVICE_STATE_RESETTING) power_up(generation_ + 1);
  } else if (region == Region::kRegisters) {
    for (uint32_t i = 0; i + 8 <= bytes; i += 8) {  // counter n counts n + 1 for each completed command
      const uint64_t value = ((offset - WEFT_REG_COUNTERS + i) / 8 + 1) * progress_;
      std::memcpy(static_cast<char*>(data) + i, &value, sizeof value);
    }
  }
  return {};
}

Status MockTransport::write(Region region, uint64_t offset, const void* data, uint32_t bytes) {
  const std::lock_guard lock(mutex_);
  if (Status s = check(); !s.ok()) return s;
  uint64_t value = 0;
  std::memcpy(&value, data, std::min<size_t>(bytes, sizeof value));
  if (region == Region::kConfig && offset + bytes <= config_.size()) {
    std::memcpy(&config_[offset], data, bytes);
  } else if (region == Region::kMsix && offset / 16 < vector_control_.size() && offset % 16 == 12) {
    vector_control_[offset / 16] = static_cast<uint32_t>(value);
  } else if (region == Region::kRegisters) {
    write_register(offset, value);
  } else if (region == Region::kDoorbells) {
    const auto queue = static_cast<uint32_t>(offset / kDoorbellStride);
    if (queue >= queues_.size()) return {};
    doorbell_writes_++;
    if (offset % kDoorbellStride == 0) {
      doorbell(queue, static_cast<uint32_t>(value));
    } else {
      rings_[queue].head = static_cast<uint32_t>(value);
      if (!faults_.paused) run_pending(~0u);
    }
  }
  return {};
}

Status MockTransport::post(Region region, uint64_t offset, const void* data, uint32_t bytes) {
  return write(region, offset, data, bytes);
}

Status MockTransport::dma_map(int fd, uint64_t fd_offset, uint64_t iova, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (Status s = check(); !s.ok()) return s;
  if ((::fcntl(fd, F_GET_SEALS) & F_SEAL_SHRINK) == 0)
    return Status(WEFT_ERROR_INVALID_ARGUMENT, "the memory is not sealed against shrinking");
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(fd_offset));
  if (data == MAP_FAILED) return Status(WEFT_ERROR_NO_HOST_MEMORY, "mmap failed");
  mappings_[iova] = {bytes, static_cast<std::byte*>(data)};
  return {};
}

Status MockTransport::dma_unmap(uint64_t iova, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto mapping = mappings_.find(iova);
  if (mapping == mappings_.end() || mapping->second.bytes != bytes)
    return Status(WEFT_ERROR_INVALID_ARGUMENT, "not mapped");
  if (faults_.keeps_maps) return Status(WEFT_ERROR_INVALID_ARGUMENT, "the mock was told to keep its maps");
  ::munmap(mapping->second.data, bytes);
  mappings_.erase(mapping);
  return check();
}

Status MockTransport::set_irqs(std::span<const int> eventfds) {
  const std::lock_guard lock(mutex_);
  if (Status s = check(); !s.ok()) return s;
  eventfds_.clear();
  for (const int fd : eventfds) eventfds_.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  return {};
}

Status MockTransport::reset() {
  const std::lock_guard lock(mutex_);
  if (Status s = check(); !s.ok()) return s;
  power_up(generation_ + 1);
  return {};
}

void MockTransport::disconnect() {
  const std::lock_guard lock(mutex_);
  shut_down_ = true;
}

void MockTransport::die() {
  const std::lock_guard lock(mutex_);
  dead_ = true;
  alive_write_.reset();
}

std::byte* MockTransport::host(uint64_t iova, uint64_t bytes) {
  auto mapping = mappings_.upper_bound(iova);
  if (mapping == mappings_.begin()) return nullptr;
  --mapping;
  const uint64_t offset = iova - mapping->first;
  if (offset > mapping->second.bytes || bytes > mapping->second.bytes - offset) return nullptr;
  return mapping->second.data + offset;
}

std::byte* MockTransport::hbm(uint64_t address, uint64_t bytes) {
  if (address < WEFT_MANAGER_HBM_RESERVED_BYTES || address > chip_.hbm_bytes || bytes > chip_.hbm_bytes - address)
    return nullptr;
  return hbm_ + address;
}

std::byte* MockTransport::memory(uint64_t tagged_address, uint64_t bytes) {
  if ((tagged_address & WEFT_LIMIT_ADDRESS_FLAG_HBM) == 0) return host(tagged_address, bytes);
  return hbm(tagged_address & ~WEFT_LIMIT_ADDRESS_FLAG_HBM, bytes);
}

uint64_t MockTransport::read_register(uint64_t offset) const {
  constexpr uint32_t kCoreKind = 2;
  switch (offset) {
    case WEFT_REG_MAGIC:
      return faults_.magic;
    case WEFT_REG_ABI_VERSION:
      return faults_.abi_version;
    case WEFT_REG_CHIP_FINGERPRINT:
      return chip_.fingerprint;
    case WEFT_REG_CAPABILITIES:
      return WEFT_LIMIT_IO_QUEUES | WEFT_TO_FIELD(WEFT_REG_CAPABILITIES_RING_LOG2, 12u) |
             WEFT_TO_FIELD(WEFT_REG_CAPABILITIES_CORE, kCoreKind);
    case WEFT_REG_DEVICE_STATE:
      return state_;
    case WEFT_REG_BOOT_STAGE:
      return stage_;
    case WEFT_REG_BOOT_ERROR:
      return boot_error_;
    case WEFT_REG_PROGRESS:
      return progress_;
    case WEFT_REG_HEARTBEAT:
      return faults_.beats ? ++heartbeat_ : heartbeat_;
    case WEFT_REG_FIRMWARE_STATUS:
      return faults_.firmware_status;
    case WEFT_REG_FIRST_ERROR:
      return faults_.fails_after_reset ? WEFT_ERROR_DEVICE_HUNG : WEFT_ERROR_OK;
    case WEFT_REG_CYCLES:
      return cycle_;
    case WEFT_REG_RESET_GENERATION:
      return generation_;
    case WEFT_REG_BOOT_ANSWER_NONCE:
      return nonce_;
    case WEFT_REG_HBM_BYTES:
      return hbm_ != nullptr ? chip_.hbm_bytes : 0;
    case WEFT_REG_HBM_RESERVED_BYTES:
      return WEFT_MANAGER_HBM_RESERVED_BYTES;
    case WEFT_REG_WAIT_STATUS:
      return wait_status_;
    case WEFT_REG_CLOCK_HZ:
      return chip_.clock_hz;
    default:
      return 0;
  }
}

void MockTransport::write_register(uint64_t offset, uint64_t value) {
  switch (offset) {
    case WEFT_REG_PARAMETER_PAGE:
      page_ = value;
      return;
    case WEFT_REG_BOOT_CONTROL:
      return boot();
    case WEFT_REG_RESET_CONTROL:
      if (value != WEFT_RESET_KEY || faults_.ignore_reset) return;
      power_up(generation_ + 1);
      if (faults_.reset_twice) state_ = WEFT_DEVICE_STATE_RESETTING;
      return;
    case WEFT_REG_WAIT_ALARM:
      alarm_ = value;
      wait_status_ = value == 0 ? WEFT_WAIT_STATUS_NONE : WEFT_WAIT_STATUS_IDLE_WITH_OUTSTANDING;
      if (value == 0) return;
      if (faults_.complete_on_alarm) {
        run_pending(WEFT_LIMIT_RING_ENTRIES_MAX);
        wait_status_ = WEFT_WAIT_STATUS_ARMED;
        if (value == kAllOnes64) return;
      }
      if (value != kAllOnes64) {  // nothing happens before the alarm, so time jumps to it
        cycle_ = std::max(cycle_, value);
        wait_status_ = WEFT_WAIT_STATUS_DEADLINE;
      }
      raise(0);
      return;
    default:
      return;
  }
}

void MockTransport::raise(uint32_t vector) {
  constexpr uint32_t kControl = kMsixAt + 2;
  const bool enabled = (config_[kControl + 1] & (kMsixEnable >> 8)) != 0;
  if (faults_.lose_interrupts || !enabled || vector >= eventfds_.size() || (vector_control_[vector] & kMasked) != 0)
    return;
  const uint64_t one = 1;
  interrupts_raised_++;
  (void)!::write(eventfds_[vector].get(), &one, sizeof one);
}

void MockTransport::power_up(uint32_t generation) {
  generation_ = generation;
  state_ = faults_.fails_after_reset ? WEFT_DEVICE_STATE_FAILED : WEFT_DEVICE_STATE_PRESENT;
  stage_ = WEFT_BOOT_STAGE_ROM;
  boot_error_ = 0;
  nonce_ = page_ = fault_iova_ = log_iova_ = fault_records_ = 0;
  listeners_.clear();
  news_.clear();
  error_log_ = {};
  error_entries_ = {};
  log_records_ = 0;
  wait_status_ = 0;
  queues_ = {};
  rings_ = {};
  programs_.clear();
  timelines_.clear();
}

void MockTransport::boot() {
  const auto reach = [this](uint32_t stage) {
    if (stage > faults_.stuck_after_stage) return false;
    stage_ = stage;
    return true;
  };
  state_ = WEFT_DEVICE_STATE_BOOTING;
  if (!reach(WEFT_BOOT_STAGE_IMAGE_VERIFIED) || !reach(WEFT_BOOT_STAGE_MEMORY_INITIALISED)) return;
  std::byte* at = host(page_, sizeof(weft_parameter_page));
  if (at == nullptr || faults_.boot_error != 0) {
    boot_error_ = at == nullptr ? static_cast<uint32_t>(WEFT_ERROR_DMA_FAULT) : faults_.boot_error;
    state_ = WEFT_DEVICE_STATE_FAILED;
    return;
  }
  auto& page = *reinterpret_cast<weft_parameter_page*>(at);
  page.answer_version = faults_.abi_version;
  page.answer_nonce = page.nonce;
  fault_iova_ = page.fault_iova;
  log_iova_ = page.log_iova;
  if (!reach(WEFT_BOOT_STAGE_PARAMETERS_ACCEPTED)) return;
  rings_[0] = {page.admin_completion_iova, WEFT_LIMIT_ADMIN_RING_ENTRIES};
  open_queue(0, page.admin_submission_iova, WEFT_LIMIT_ADMIN_RING_ENTRIES, 0);
  if (!reach(WEFT_BOOT_STAGE_RINGS_UP)) return;
  nonce_ = faults_.stale_ready ? page.nonce + 1 : page.nonce;
  if (!reach(WEFT_BOOT_STAGE_READY)) return;
  state_ = WEFT_DEVICE_STATE_READY;
  log(WEFT_LOG_EVENT_BOOT_STAGE, WEFT_BOOT_STAGE_READY, 0);
}

void MockTransport::configure(const std::function<void(MockFaults&)>& change) {
  const std::lock_guard lock(mutex_);
  change(faults_);
  if (!faults_.paused) run_pending(~0u);
}

void MockTransport::run(uint32_t count, uint32_t queue) {
  const std::lock_guard lock(mutex_);
  run_pending(count, queue);
}

void MockTransport::inject_completion(uint32_t queue, uint16_t command_id, uint32_t status_code, uint32_t queue_head,
                                      uint32_t named) {
  const std::lock_guard lock(mutex_);
  weft_completion_entry entry{};
  entry.command_id = command_id;
  entry.queue_id = static_cast<uint16_t>(named == kAllQueues ? queue : named);
  entry.queue_head = queue_head;
  entry.status = status_code << 5;
  write_completion(queue, entry);
  raise(queues_[queue].ring);
}

void MockTransport::raise_vector(uint32_t vector) {
  const std::lock_guard lock(mutex_);
  raise(vector);
}

void MockTransport::write_log(uint64_t argument) {
  const std::lock_guard lock(mutex_);
  log(WEFT_LOG_EVENT_QUEUE_DELETED, argument, 0);
}

void MockTransport::halt_queue(uint32_t queue, uint64_t doorbell) {
  const std::lock_guard lock(mutex_);
  if (queues_[queue].entries == 0) return;
  write_fault(queue, 0, {WEFT_ERROR_BAD_DOORBELL, doorbell, queues_[queue].head, 0});
  queues_[queue].active = false;
  queues_[queue].pending.clear();
  error_log_.halted++;
  tell(WEFT_ASYNC_EVENT_QUEUE_HALTED, queue, WEFT_ERROR_BAD_DOORBELL);
  raise(queue);
  raise(0);
}

void MockTransport::halt_firmware() {
  const std::lock_guard lock(mutex_);
  state_ = WEFT_DEVICE_STATE_FAILED;
  faults_.firmware_status = WEFT_REG_FIRMWARE_STATUS_HALTED | WEFT_WAYPOINT_FETCH;
  raise(0);
}

void MockTransport::panic(uint64_t value) {
  const std::lock_guard lock(mutex_);
  state_ = WEFT_DEVICE_STATE_FAILED;
  write_fault(0, 0, {WEFT_ERROR_FIRMWARE_PANIC, 1, value, 0});
  raise(0);
}

uint16_t MockTransport::pending_id(uint32_t queue, size_t n) const {
  const std::lock_guard lock(mutex_);
  return queues_[queue].pending.at(n).command_id;
}

size_t MockTransport::mapped_ranges() const {
  const std::lock_guard lock(mutex_);
  return mappings_.size();
}

bool MockTransport::reaches_host_memory() const {
  const std::lock_guard lock(mutex_);
  return !shut_down_ && !mappings_.empty();
}

uint64_t MockTransport::programs_loaded() const {
  const std::lock_guard lock(mutex_);
  return programs_.size();
}

}  // namespace weft::driver
