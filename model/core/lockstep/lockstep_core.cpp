// The RTL core with the golden model beside it.
#include "model/core/lockstep/lockstep_core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "model/core/command/command_text.hpp"
#include "model/core/command/segment_writes.hpp"
#include "model/core/lockstep/mismatch_text.hpp"
#include "model/golden/remote.hpp"
#include "weft/spec/names.hpp"

namespace weft::core {
LockstepCore::LockstepCore(std::unique_ptr<RtlCore> rtl) : rtl_(std::move(rtl)), golden_(rtl_->chip()) {
  rtl_->set_tap(this);
  rtl_->set_observer(this);
}

bool LockstepCore::push(unsigned queue, const spec::Command& command) {
  if (!cut_off_.empty()) take_from_rtl();
  return rtl_->push(queue, command);
}

void LockstepCore::command_started(weft_unit_index unit, const spec::Command& command, uint64_t cycle) {
  Flight& flight = flights_[unit].emplace_back();
  flight.command = command;
  flight.segments = golden_.segments();
  const spec::Chip& chip = rtl_->chip();
  if (!golden::check_unit(command, queue_of_unit(unit), chip, golden_.segments(), rtl_->place())) {
    flight.ranges = golden::written_ranges(command, chip, golden_.segments());
    flight.accesses = command_accesses(command, chip, golden_.segments());
    if (is_mxu(unit)) {
      const auto product = spec::decode_mxu(command);
      flight.rows = product.m;
      flight.tiles = golden::matmul_tiles(product, chip).count;
    }
  }
  if (observer_ != nullptr) observer_->command_started(unit, command, cycle);
}

void LockstepCore::command_retired(weft_unit_index unit, const spec::Command& command, uint64_t cycle) {
  Flight flight = std::move(flights_[unit].front());
  flights_[unit].pop_front();
  std::swap(golden_.segments(), flight.segments);
  if (!mismatch_.differs) {
    unit_ = unit;
    command_ = &flight.command;
    compare_inputs(flight);
    if (flight.tiles != 0) {
      const auto product = spec::decode_mxu(command);
      const auto first = golden_.acc_row(golden::first_acc_row(product, rtl_->chip()));
      seeds_.assign(first.data(), first.data() + size_t{product.m} * rtl_->chip().n);
    }
    const auto fault = golden_.execute(command, queue_of_unit(unit), *this, rtl_->place());
    if (fault)
      differs_in_unit(
          fmt::format("the golden model refuses it: {}, address {}", spec::fault_name(fault->code), fault->address));
    compare_outputs(flight);
    commands_compared_++;
  }
  std::swap(golden_.segments(), flight.segments);
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

void LockstepCore::csr_written(uint32_t offset, uint64_t value) { write_segment(golden_.segments(), offset, value); }

void LockstepCore::vmem_received(uint64_t byte_address, std::span<const std::byte> data) {
  std::memcpy(golden_.vmem().data() + byte_address, data.data(), data.size());
}

void LockstepCore::record(Ring<Beat>& beats, weft_address_space space, uint64_t address,
                          std::span<const std::byte> data) {
  Beat& beat = beats.push();
  beat.cycle = rtl_->cycle();
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
      differs_in_unit(fmt::format(
          "the golden model reads {} address 0x{:x}, the RTL {}", spec::address_space_name(space), address + done,
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
  const auto copy = spec::decode_dma(*command_);
  const uint64_t base = golden::is_remote(copy.header) ? 0 : golden_.segments()[copy.dst_seg].base;
  for (size_t done = 0; done < data.size();) {
    if (beats.empty() || beats.front().space != space || beats.front().address + beats.front().used != address + done) {
      differs_in_unit(fmt::format(
          "the golden model writes {} address 0x{:x}, the RTL {}", spec::address_space_name(space), address + done,
          beats.empty() ? "writes nothing more"
                        : fmt::format("writes 0x{:x}", beats.front().address + beats.front().used)));
      return true;
    }
    Beat& beat = beats.front();
    const size_t bytes = std::min(data.size() - done, beat.data.size() - beat.used);
    for (size_t i = 0; i < bytes; i++) {
      if (beat.data[beat.used + i] == data[done + i]) continue;
      const auto is = std::to_integer<unsigned>(beat.data[beat.used + i]),
                 should = std::to_integer<unsigned>(data[done + i]);
      const uint64_t at = address + done + i;
      differs(spec::unit_name(unit_), beat.cycle,
              fmt::format("{}{} address 0x{:x}: RTL wrote byte 0x{:02x} ({}), golden 0x{:02x} ({})",
                          memory_part_text(*command_, base, at), spec::address_space_name(space), at, is, is, should,
                          should));
      return true;
    }
    beat.used += bytes;
    done += bytes;
    if (beat.used == beat.data.size()) beats.pop();
  }
  return true;
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

void LockstepCore::differs(std::string_view unit, uint64_t cycle, const std::string& what) {
  if (mismatch_.differs) return;
  mismatch_ = {.differs = true,
               .report = fmt::format("unit {}, cycle {}: {}\n  {}", unit, cycle, what, command_text(*command_)),
               .unit = std::string(unit),
               .cycle = cycle};
}

void LockstepCore::differs_in_unit(const std::string& what) { differs(spec::unit_name(unit_), rtl_->cycle(), what); }

}  // namespace weft::core
