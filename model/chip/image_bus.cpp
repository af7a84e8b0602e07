#include "model/chip/image_bus.hpp"

#include <cstring>
#include <utility>

#include "base/crc32c.hpp"
#include "firmware/bare/registers.hpp"
#include "firmware/hal.hpp"
#include "model/chip/bus_log.hpp"
#include "model/chip/manager.hpp"

namespace weft::chip {

using namespace weft::fw::bare;

namespace {

constexpr uint32_t kQueues = 5;
constexpr uint32_t kDmaBytes = 4096;         // of one DMA
constexpr uint32_t kLongestCrc = 32 * 1024;  // an argument list of a control list

constexpr uint32_t offset_from(uintptr_t base, uint32_t address) { return address - static_cast<uint32_t>(base); }

void set_half(uint64_t& value, bool high, uint32_t word) {
  value = high ? (value & UINT32_MAX) | uint64_t{word} << 32 : (value & ~uint64_t{UINT32_MAX}) | word;
}

uint32_t half(uint64_t value, bool high) { return static_cast<uint32_t>(high ? value >> 32 : value); }

fw::Location place(uint32_t space, uint32_t function, uint64_t address) {
  return {static_cast<weft_address_space>(space & 3), function & 0xff, address};
}

}  // namespace

void ImageBus::pay() {
  manager_.charge(static_cast<uint32_t>(processor_->cycles() - paid_));
  paid_ = processor_->cycles();
}

void ImageBus::reset() {
  paid_ = processor_->cycles();
  read_ = written_ = {};
  alarm_ = UINT64_MAX;
  crc_ = 0;
}

void ImageBus::wake() {
  woken_ = processor_->instructions();
  awaits_handler_ = true;
}

template <typename Read>
uint32_t ImageBus::read_half(uint32_t address, Read read) {
  if (address == read_.address) {
    read_.address = 1;
    return half(read_.value, true);
  }
  read_ = {address + 4, read()};
  return half(read_.value, false);
}

bool ImageBus::load(uint32_t address, unsigned bytes, uint32_t& value) {
  if (bytes != 4) return false;
  pay();
  if (!load_register(address, value)) return false;
  if (log_ == nullptr) return true;
  log_->load(address, value);
  constexpr uint32_t kDone = 1;
  if (address == kManager + kDmaStatus && value == kDone) {
    const uint32_t count = dma_control_ & 0xffff;
    (dma_control_ >> 18 & 1) != 0 ? log_->drained(source(dma_sram_, count)) : log_->filled(sram(dma_sram_, count));
  }
  return true;
}

bool ImageBus::load_register(uint32_t address, uint32_t& value) {
  if (const uint32_t offset = offset_from(kFunction, address); offset < manager_.functions() * kFunctionStride) {
    const auto function = static_cast<uint32_t>(offset / kFunctionStride);
    value = read_half(address, [&] { return manager_.function_read(function, offset % kFunctionStride); });
    return true;
  }
  if (const uint32_t offset = offset_from(kManager, address); offset < kManagerBytes)
    return load_manager(offset, value);
  if (const uint32_t offset = offset_from(kDoorbell, address); offset < manager_.functions() * kDoorbellStride)
    return load_doorbell(offset, value);
  if (const uint32_t offset = offset_from(kPush, address); offset < kQueues * WEFT_COMMAND_BYTES) {
    if (offset % WEFT_COMMAND_BYTES != 0) return false;
    value = push(offset / WEFT_COMMAND_BYTES) ? 1 : 0;
    return true;
  }
  if (const uint32_t offset = offset_from(kCore, address); offset < kCoreBytes) {
    value = read_half(address, [&] { return manager_.csr_read(offset); });
    return true;
  }
  return false;
}

bool ImageBus::load_doorbell(uint32_t offset, uint32_t& value) {
  const auto function = static_cast<uint32_t>(offset / kDoorbellStride);
  const auto at = static_cast<uint32_t>(offset % kDoorbellStride);
  const uint32_t queue = at / 16;
  switch (at) {
    case kDoorbellPending:
      value = manager_.doorbell_pending(function);
      return true;
    case kBootRequested:
      value = manager_.boot_requested(function, &parameter_page_) ? 1 : 0;
      return true;
    case kParameterPage:
    case kParameterPage + 4:
      value = half(parameter_page_, at != kParameterPage);
      return true;
    default:
      break;
  }
  if (queue > WEFT_LIMIT_IO_QUEUES) return false;
  switch (at % 16) {
    case 0:
      value = manager_.doorbell_submission(function, queue);
      return true;
    case 4:
      value = manager_.doorbell_completion(function, queue);
      return true;
    default:
      value = read_half(offset, [&] { return manager_.doorbell_cycle(function, queue); });
      return true;
  }
}

bool ImageBus::load_manager(uint32_t offset, uint32_t& value) {
  const spec::Chip& chip = manager_.chip();
  const bool high = offset % 8 != 0;
  switch (offset) {
    case kFunctions:
      value = manager_.functions();
      return true;
    case kRequests:
      value = manager_.function_requests(&departures_);
      return true;
    case kDepartures:
      value = departures_;
      return true;
    case kRunning:
      value = manager_.running() ? 1 : 0;
      return true;
    case kEvent:
      value = 1;
      processor_->set_external_interrupt(false);
      return true;
    case kWakeCauses:
      value = manager_.wake_causes();
      return true;
    case kCycle:
    case kCycle + 4:
      value = read_half(offset, [&] { return manager_.now(); });
      return true;
    case kFingerprint:
    case kFingerprint + 4:
      value = half(chip.fingerprint, high);
      return true;
    case kHbmBytes:
    case kHbmBytes + 4:
      value = half(chip.hbm_bytes, high);
      return true;
    case kVmemBytes:
    case kVmemBytes + 4:
      value = half(chip.vmem_bytes, high);
      return true;
    case kMxuRows:
      value = static_cast<uint32_t>(chip.n);
      return true;
    case kAccBankRows:
      value = static_cast<uint32_t>(chip.acc_bank_rows);
      return true;
    case kMxus:
      value = static_cast<uint32_t>(chip.num_mxu);
      return true;
    case kDmaStatus:
      value = dma();
      return true;
    case kCopyStatus:
      value = manager_.copy_busy() ? kCopyRunning : manager_.copy_result();
      return true;
    case kCrcResult:
      value = crc_;
      return true;
    default:
      return false;
  }
}

std::span<std::byte> ImageBus::sram(uint32_t address, uint32_t bytes) {
  const std::span<std::byte> memory = processor_->sram();
  const uint32_t offset = address - static_cast<uint32_t>(kSramBase);
  if (offset >= memory.size() || memory.size() - offset < bytes) return {};
  return memory.subspan(offset, bytes);
}

std::span<const std::byte> ImageBus::source(uint32_t address, uint32_t bytes) {
  const std::span<const std::byte> rom = processor_->rom();  // at address 0: constants
  if (address < rom.size() && rom.size() - address >= bytes) return rom.subspan(address, bytes);
  return sram(address, bytes);
}

uint32_t ImageBus::dma() {
  constexpr uint32_t kDone = 1, kBusError = 2;
  const uint32_t bytes = dma_control_ & 0xffff, function = dma_control_ >> 24;
  const bool write = (dma_control_ >> 18 & 1) != 0;
  const uint32_t ring = std::exchange(completion_ring_, 0);
  if (bytes == 0 || bytes > kDmaBytes || function >= manager_.functions()) return kBusError;
  const fw::Location where = place(dma_control_ >> 16, function, dma_address_);
  if (!write) {
    const std::span<std::byte> memory = sram(dma_sram_, bytes);
    return memory.size() == bytes && manager_.dma_read(where, memory) ? kDone : kBusError;
  }
  const std::span<const std::byte> memory = source(dma_sram_, bytes);
  if (memory.size() != bytes) return kBusError;
  if (ring == 0) return manager_.dma_write(where, memory) ? kDone : kBusError;
  weft_completion_entry entry;
  if (bytes != sizeof entry) return kBusError;
  std::memcpy(&entry, memory.data(), sizeof entry);
  return manager_.completion_write(function, ring - 1, dma_address_, entry) ? kDone : kBusError;
}

bool ImageBus::push(uint32_t queue) { return manager_.push_command(queue, windows_[queue].data()); }

bool ImageBus::store(uint32_t address, unsigned bytes, uint32_t value) {
  if (bytes != 4) return false;
  pay();
  if (!store_register(address, value)) return false;
  if (log_ != nullptr) log_->store(address, value);
  return true;
}

bool ImageBus::store_register(uint32_t address, uint32_t value) {
  if (const uint32_t offset = offset_from(kManager, address); offset < kManagerBytes)
    return store_manager(offset, value);
  if (const uint32_t offset = offset_from(kPush, address); offset < kQueues * WEFT_COMMAND_BYTES) {
    std::memcpy(&windows_[offset / WEFT_COMMAND_BYTES][offset % WEFT_COMMAND_BYTES], &value, sizeof value);
    return true;
  }
  const uint32_t function_offset = offset_from(kFunction, address), core_offset = offset_from(kCore, address);
  const bool function = function_offset < (WEFT_LIMIT_FUNCTIONS + 1) * kFunctionStride;
  if (!function && core_offset >= kCoreBytes) return false;
  if (address != written_.address) {
    written_ = {address + 4, value};
    return true;
  }
  written_.address = 1;
  set_half(written_.value, true, value);
  if (!function) {
    manager_.csr_write(core_offset - 4, written_.value);
    return true;
  }
  const auto block = static_cast<uint32_t>(function_offset / kFunctionStride);
  if (block != WEFT_LIMIT_FUNCTIONS && block >= manager_.functions()) return false;
  manager_.function_write(block == WEFT_LIMIT_FUNCTIONS ? fw::hal::kAllFunctions : block,
                          static_cast<uint32_t>(function_offset % kFunctionStride) - 4, written_.value);
  return true;
}

bool ImageBus::store_manager(uint32_t offset, uint32_t value) {
  switch (offset) {
    case kCoreFunction:
      if (value >= manager_.functions()) return false;
      manager_.core_function(value);
      return true;
    case kRaise:
      if (value >> 16 >= manager_.functions()) return false;
      manager_.raise_interrupt(value >> 16, value & 0xffff);
      return true;
    case kAlarm:
    case kAlarm + 4:
      set_half(alarm_, offset != kAlarm, value);
      return true;
    case kWaypoint:
      if (awaits_handler_ && value != WEFT_WAYPOINT_IDLE) handler_instructions_ = processor_->instructions() - woken_;
      awaits_handler_ = false;
      manager_.show_waypoint(value);
      return true;
    case kDmaAddress:
    case kDmaAddress + 4:
      set_half(dma_address_, offset != kDmaAddress, value);
      return true;
    case kDmaSram:
      dma_sram_ = value;
      return true;
    case kDmaCompletion:
      completion_ring_ = value;
      return true;
    case kDmaControl:
      dma_control_ = value;
      return true;
    case kCopySource:
    case kCopySource + 4:
      set_half(copy_source_, offset != kCopySource, value);
      return true;
    case kCopyDestination:
    case kCopyDestination + 4:
      set_half(copy_destination_, offset != kCopyDestination, value);
      return true;
    case kCopyBytes:
    case kCopyBytes + 4:
      set_half(copy_bytes_, offset != kCopyBytes, value);
      return true;
    case kCopyControl:
      if ((value & kCopyAbort) != 0) {
        (void)manager_.copy_abort();
      } else {
        (void)manager_.copy_start(place(value, value >> 8, copy_source_),
                                  place(value >> 2, value >> 16, copy_destination_), copy_bytes_);
      }
      return true;
    case kCrcSram:
      crc_sram_ = value;
      return true;
    case kCrcBytes: {
      if (value > kLongestCrc) return false;
      const std::span<const std::byte> bytes = source(crc_sram_, value);
      if (bytes.size() != value) return false;
      crc_ = manager_.crc32c(bytes);
      return true;
    }
    default:
      return false;
  }
}

}  // namespace weft::chip
