// The RTL core with the golden model beside it.
#include "model/core/lockstep_core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "model/core/command_text.hpp"
#include "weft/spec/names.hpp"

namespace weft::core {
namespace {

/// A value in hex and decimal, in the type that the command gives its results.
std::string value_text(uint32_t bits, unsigned vpu_dtype) {
  switch (vpu_dtype) {
    case WEFT_VPU_DTYPE_F32:
      return fmt::format("0x{:08x} ({})", bits, std::bit_cast<float>(bits));
    case WEFT_VPU_DTYPE_BF16:
      return fmt::format("0x{:04x} ({})", bits, std::bit_cast<float>(bits << 16));
    default:
      return fmt::format("0x{:08x} ({})", bits, static_cast<int32_t>(bits));
  }
}

/// Type of what a command writes, as a vpu_dtype; i32 for bytes that DMA moves.
unsigned result_dtype(const spec::Command& command) {
  const spec::OpcodeInfo* opcode = spec::find_opcode(command.bytes[0]);
  if (opcode == nullptr) return WEFT_VPU_DTYPE_I32;
  if (opcode->body == spec::Body::kMxu)
    return spec::decode_mxu(command).dtype == WEFT_MXU_DTYPE_BF16 ? WEFT_VPU_DTYPE_F32 : WEFT_VPU_DTYPE_I32;
  if (opcode->body == spec::Body::kVpu) return spec::decode_vpu(command).dst_dtype;
  return WEFT_VPU_DTYPE_I32;
}

/// Row of the VPU command's result in which a VMEM word lies; rows are searched because strides may be 0.
std::string vpu_row_text(const spec::Command& command, uint64_t word) {
  const spec::OpcodeInfo* opcode = spec::find_opcode(command.bytes[0]);
  if (opcode == nullptr || opcode->body != spec::Body::kVpu) return {};
  const spec::VpuCommand vpu = spec::decode_vpu(command);
  const unsigned words = golden::words_per_row(vpu.dst_dtype);
  for (uint64_t row = 0; row < vpu.rows; row++) {
    const uint64_t first = vpu.d_addr + row * vpu.d_stride;
    if (word >= first && word < first + words) return fmt::format("row {}, ", row);
  }
  return {};
}

}  // namespace

LockstepCore::LockstepCore(std::unique_ptr<RtlCore> rtl) : rtl_(std::move(rtl)), golden_(rtl_->chip()) {
  rtl_->set_tap(this);
  rtl_->set_observer(this);
}

bool LockstepCore::push(unsigned queue, const spec::Command& command) {
  if (!cut_off_.empty()) take_from_rtl();
  return rtl_->push(queue, command);
}

void LockstepCore::command_started(weft_unit_index unit, const spec::Command& command, uint64_t cycle) {
  Flight flight{command, {}};
  if (!golden::check_unit(command, queue_of_unit(unit), rtl_->chip(), golden_.segments()))
    flight.ranges = golden::written_ranges(command, rtl_->chip(), golden_.segments());
  flights_[unit].push_back(std::move(flight));
  if (observer_ != nullptr) observer_->command_started(unit, command, cycle);
}

void LockstepCore::command_retired(weft_unit_index unit, const spec::Command& command, uint64_t cycle) {
  const Flight flight = std::move(flights_[unit].front());
  flights_[unit].pop_front();
  if (!mismatch_.differs) {
    unit_ = unit;
    command_ = &flight.command;
    const auto fault = golden_.execute(command, queue_of_unit(unit), *this);
    if (fault)
      differs(
          fmt::format("the golden model refuses it: {}, address {}", spec::fault_name(fault->code), fault->address));
    compare(flight);
    commands_compared_++;
  }
  if (observer_ != nullptr) observer_->command_retired(unit, command, cycle);
}

void LockstepCore::core_reset() {
  for (auto& unit : flights_) {
    for (auto& flight : unit) cut_off_.push_back(std::move(flight.ranges));
    unit.clear();
  }
  for (auto& channel : reads_) channel.clear();
  for (auto& channel : writes_) channel.clear();
}

void LockstepCore::csr_written(uint32_t offset, uint64_t value) {
  constexpr uint32_t kStride = WEFT_CSR_SEGMENT_BASE_STRIDE;
  if (offset < WEFT_CSR_SEGMENT_BASE || offset >= WEFT_CSR_SEGMENT_BASE + WEFT_SEGMENTS * kStride) return;
  auto& segment = golden_.segments()[(offset - WEFT_CSR_SEGMENT_BASE) / kStride];
  const uint32_t field = (offset - WEFT_CSR_SEGMENT_BASE) % kStride;
  if (field == 0) segment.base = value;
  if (field == WEFT_CSR_SEGMENT_LIMIT - WEFT_CSR_SEGMENT_BASE) segment.limit = value;
  if (field == WEFT_CSR_SEGMENT_ATTRIBUTES - WEFT_CSR_SEGMENT_BASE) {
    segment.space = static_cast<weft_address_space>(value & 3);
    segment.readable = (value >> 2 & 1) != 0;
    segment.writable = (value >> 3 & 1) != 0;
  }
}

void LockstepCore::record(Ring<Beat>& beats, weft_address_space space, uint64_t address,
                          std::span<const std::byte> data) {
  Beat& beat = beats.push();
  beat.space = space;
  beat.address = address;
  beat.data.assign(data.begin(), data.end());
  beat.used = 0;
}

void LockstepCore::memory_read(unsigned channel, weft_address_space space, uint64_t address,
                               std::span<const std::byte> data, bool) {
  if (!mismatch_.differs) record(reads_[channel], space, address, data);
}

void LockstepCore::memory_written(unsigned channel, weft_address_space space, uint64_t address,
                                  std::span<const std::byte> data, bool) {
  if (!mismatch_.differs) record(writes_[channel], space, address, data);
}

bool LockstepCore::read(weft_address_space space, uint64_t address, std::span<std::byte> out) {
  if (unit_ >= WEFT_CORE_DMA_CHANNELS) return false;
  auto& beats = reads_[unit_];
  for (size_t done = 0; done < out.size();) {
    if (beats.empty() || beats.front().space != space || beats.front().address + beats.front().used != address + done) {
      differs(fmt::format("the golden model reads {} address 0x{:x}, the RTL {}", spec::address_space_name(space),
                          address + done,
                          beats.empty() ? "reads nothing more"
                                        : fmt::format("reads 0x{:x}", beats.front().address + beats.front().used)));
      return true;  // the difference is told; the golden model goes on with what there is
    }
    Beat& beat = beats.front();
    const size_t bytes = std::min(out.size() - done, beat.data.size() - beat.used);
    std::memcpy(out.data() + done, beat.data.data() + beat.used, bytes);
    beat.used += bytes;
    done += bytes;
    if (beat.used == beat.data.size()) beats.pop();
  }
  return true;
}

bool LockstepCore::write(weft_address_space space, uint64_t address, std::span<const std::byte> data) {
  if (unit_ >= WEFT_CORE_DMA_CHANNELS) return false;
  auto& beats = writes_[unit_];
  for (size_t done = 0; done < data.size();) {
    if (beats.empty() || beats.front().space != space || beats.front().address + beats.front().used != address + done) {
      differs(fmt::format("the golden model writes {} address 0x{:x}, the RTL {}", spec::address_space_name(space),
                          address + done,
                          beats.empty() ? "writes nothing more"
                                        : fmt::format("writes 0x{:x}", beats.front().address + beats.front().used)));
      return true;
    }
    Beat& beat = beats.front();
    const size_t bytes = std::min(data.size() - done, beat.data.size() - beat.used);
    for (size_t i = 0; i < bytes; i++) {
      if (beat.data[beat.used + i] == data[done + i]) continue;
      differs(fmt::format("{} address 0x{:x}: RTL wrote byte 0x{:02x} ({}), golden 0x{:02x} ({})",
                          spec::address_space_name(space), address + done + i,
                          std::to_integer<unsigned>(beat.data[beat.used + i]),
                          std::to_integer<unsigned>(beat.data[beat.used + i]),
                          std::to_integer<unsigned>(data[done + i]), std::to_integer<unsigned>(data[done + i])));
      return true;
    }
    beat.used += bytes;
    done += bytes;
    if (beat.used == beat.data.size()) beats.pop();
  }
  return true;
}

void LockstepCore::compare(const Flight& flight) {
  for (const auto& range : flight.ranges.vmem) compare_vmem(flight.command, range.address, range.bytes);
  for (const auto& range : flight.ranges.acc)
    for (uint32_t row = range.row; row < range.row + range.rows; row++) compare_acc(flight.command, row);
}

void LockstepCore::compare_vmem(const spec::Command& command, uint64_t address, uint64_t bytes) {
  std::array<std::byte, 4096> rtl;
  for (uint64_t done = 0; done < bytes && !mismatch_.differs;) {
    const uint64_t chunk = std::min<uint64_t>(rtl.size(), bytes - done);
    const auto golden = golden_.vmem().subspan(address + done, chunk);
    const bool inside = rtl_->peek_vmem(address + done, std::span(rtl).first(chunk));
    if (inside && std::memcmp(rtl.data(), golden.data(), chunk) == 0) {
      done += chunk;
      continue;
    }
    const unsigned dtype = result_dtype(command);
    const unsigned element = dtype == WEFT_VPU_DTYPE_BF16 ? 2 : 4;
    for (uint64_t i = 0; i < chunk; i += element) {
      const uint64_t at = address + done + i;
      if ((inside && std::memcmp(&rtl[i], &golden[i], element) == 0) || vmem_in_flight(at) || rtl_->vmem_poisoned(at))
        continue;
      uint32_t mine = 0;
      uint32_t theirs = 0;
      std::memcpy(&mine, &rtl[i], element);
      std::memcpy(&theirs, &golden[i], element);
      const uint64_t word = at / rtl_->chip().word_bytes;
      differs(fmt::format("{}VMEM word {}, lane {} (byte 0x{:x}): RTL {}, golden {}", vpu_row_text(command, word), word,
                          at % rtl_->chip().word_bytes / element, at, value_text(mine, dtype),
                          value_text(theirs, dtype)));
      return;
    }
    done += chunk;
  }
}

void LockstepCore::compare_acc(const spec::Command& command, uint32_t row) {
  if (mismatch_.differs || acc_in_flight(row)) return;
  const auto golden = golden_.acc_row(row);
  std::vector<uint32_t> rtl(golden.size());
  if (!rtl_->peek_acc(row, std::as_writable_bytes(std::span(rtl))))
    return differs(fmt::format("ACC row {} does not exist in the RTL", row));
  for (size_t lane = 0; lane < rtl.size(); lane++) {
    if (rtl[lane] == golden[lane] || rtl_->acc_poisoned(row, static_cast<uint32_t>(lane))) continue;
    const unsigned dtype = result_dtype(command);
    return differs(fmt::format("row {}, ACC row {}, lane {}: RTL {}, golden {}",
                               row - spec::decode_mxu(command).acc_row, row, lane, value_text(rtl[lane], dtype),
                               value_text(golden[lane], dtype)));
  }
}

bool LockstepCore::vmem_in_flight(uint64_t address) const {
  for (const auto& unit : flights_)
    for (const auto& flight : unit)
      for (const auto& range : flight.ranges.vmem)
        if (address >= range.address && address < range.address + range.bytes) return true;
  return false;
}

bool LockstepCore::acc_in_flight(uint32_t row) const {
  for (const auto& unit : flights_)
    for (const auto& flight : unit)
      for (const auto& range : flight.ranges.acc)
        if (row >= range.row && row < range.row + range.rows) return true;
  return false;
}

void LockstepCore::take_from_rtl() {
  for (const auto& ranges : cut_off_) {
    for (const auto& range : ranges.vmem)
      (void)rtl_->peek_vmem(range.address, golden_.vmem().subspan(range.address, range.bytes));
    for (const auto& range : ranges.acc)
      for (uint32_t row = range.row; row < range.row + range.rows; row++)
        (void)rtl_->peek_acc(row, std::as_writable_bytes(golden_.acc_row(row)));
  }
  cut_off_.clear();
}

void LockstepCore::differs(const std::string& what) {
  if (mismatch_.differs) return;
  mismatch_.differs = true;
  mismatch_.report =
      fmt::format("unit {}, cycle {}: {}\n  {}", spec::unit_name(unit_), rtl_->cycle(), what, command_text(*command_));
}

}  // namespace weft::core
