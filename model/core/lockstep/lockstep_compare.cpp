// What the lockstep core compares: each write where it leaves a unit, inputs and outputs at retirement.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "model/core/lockstep/lockstep_core.hpp"
#include "model/core/lockstep/mismatch_text.hpp"
#include "weft/spec/names.hpp"

namespace weft::core {
namespace {

constexpr std::string_view kVmem = "vmem", kAcc = "acc";  // to blame if they lost what was written

bool covers(const golden::WrittenRanges& ranges, uint64_t address, uint64_t bytes) {
  return std::ranges::any_of(ranges.vmem, [&](const auto& range) {
    return address < range.address + range.bytes && range.address < address + bytes;
  });
}

}  // namespace

/// The oldest command of the writing units that writes there.
LockstepCore::Flight* LockstepCore::writer_of(VmemWriter writer, uint64_t address, uint64_t bytes) {
  static constexpr std::array<weft_unit_index, 1> kVpu{WEFT_UNIT_VPU};
  static constexpr std::array<weft_unit_index, 2> kDma{WEFT_UNIT_DMA0, WEFT_UNIT_DMA1};
  const auto units = writer == VmemWriter::kVpu ? std::span<const weft_unit_index>(kVpu) : kDma;
  for (const auto unit : units)
    for (Flight& flight : flights_[unit])
      if (covers(flight.ranges, address, bytes)) return &flight;
  return nullptr;
}

void LockstepCore::vmem_written(VmemWriter writer, uint64_t first_word, unsigned words, uint64_t cycle) {
  if (mismatch_.differs) return;
  const uint64_t address = first_word * rtl_->chip().word_bytes, bytes = uint64_t{words} * rtl_->chip().word_bytes;
  Flight* flight = writer_of(writer, address, bytes);
  if (flight == nullptr) {
    const unsigned unit = writer == VmemWriter::kVpu ? WEFT_UNIT_VPU : WEFT_UNIT_DMA0;
    const Flight* any = flights_[unit].empty() ? nullptr : &flights_[unit].front();
    static const spec::Command kNothing{};
    command_ = any != nullptr ? &any->command : &kNothing;
    return differs(writer == VmemWriter::kVpu ? "vpu" : "dma_in", cycle,
                   fmt::format("the RTL writes VMEM words {} to {}, where no command in flight writes", first_word,
                               first_word + words - 1));
  }
  const auto data = flight->writes.add(address, bytes, cycle);
  if (!data.empty()) (void)rtl_->peek_vmem(address, data);
}

void LockstepCore::acc_written(uint32_t row, std::span<const std::byte> data, uint64_t cycle) {
  if (mismatch_.differs) return;
  static const spec::Command kNothing{};
  command_ = &kNothing;
  const unsigned unit = unit_of_mxu(row / (2 * rtl_->chip().acc_bank_rows));
  for (Flight& flight : flights_[unit]) {
    if (flight.writes.count() == flight.rows * flight.tiles) continue;  // complete
    const uint64_t tile = flight.writes.count() / flight.rows, index = flight.writes.count() % flight.rows;
    const uint64_t expected = golden::first_acc_row(spec::decode_mxu(flight.command), rtl_->chip()) + index;
    command_ = &flight.command;
    if (row != expected)
      return differs(spec::unit_name(unit), cycle,
                     fmt::format("tile {} of {}, row {}: the RTL writes ACC row {}, not {}", tile, flight.tiles, index,
                                 row, expected));
    std::ranges::copy(data.first(flight.writes.full() ? 0 : data.size()),
                      flight.writes.add(row, data.size(), cycle).data());
    return;
  }
  differs(spec::unit_name(unit), cycle,
          fmt::format("the RTL writes ACC row {}, and no product in flight has a row left", row));
}

/// VMEM and ACC as the command found them. They are what the golden model has, but for what commands in flight and the
/// command itself, in place, have written since.
void LockstepCore::compare_inputs(const Flight& flight) {
  for (const AccessRange& range : flight.accesses.reads) {
    if (mismatch_.differs) return;
    if (range.space == AccessSpace::kVmem) {
      const uint64_t at = find_vmem_difference(range.first, range.end - range.first, 4, &flight);
      if (at == UINT64_MAX) continue;
      const uint64_t word = at / rtl_->chip().word_bytes;
      return differs(kVmem, rtl_->cycle(),
                     fmt::format("what this command reads has changed since it was written: VMEM word {}, byte 0x{:x}: "
                                 "RTL {}, golden {}",
                                 word, at, value_text(rtl_element(at, 4), WEFT_VPU_DTYPE_I32),
                                 value_text(golden_element(at, 4), WEFT_VPU_DTYPE_I32)));
    }
    if (range.space != AccessSpace::kAcc) continue;
    std::vector<uint32_t> rtl(rtl_->chip().n);
    for (auto row = static_cast<uint32_t>(range.first); row < range.end; row++) {
      const auto golden = golden_.acc_row(row);
      if (acc_in_flight(row) || !rtl_->peek_acc(row, std::as_writable_bytes(std::span(rtl)))) continue;
      const auto [is, should] = std::ranges::mismatch(rtl, golden);
      if (is == rtl.end()) continue;
      return differs(
          kAcc, rtl_->cycle(),
          fmt::format("what this command reads has changed since it was written: ACC row {}, lane {}: RTL {}, "
                      "golden {}",
                      row, is - rtl.begin(), value_text(*is, WEFT_VPU_DTYPE_I32),
                      value_text(*should, WEFT_VPU_DTYPE_I32)));
    }
  }
}

void LockstepCore::compare_outputs(const Flight& flight) {
  for (const auto& range : flight.ranges.vmem) compare_vmem(flight, range.address, range.bytes);
  if (flight.tiles != 0) compare_product(flight);
  if (unit_ < WEFT_CORE_DMA_CHANNELS) check_beats(flight);
}

void LockstepCore::compare_vmem(const Flight& flight, uint64_t address, uint64_t bytes) {
  if (mismatch_.differs) return;
  const unsigned dtype = result_dtype(flight.command), element = element_bytes(dtype);
  const uint64_t at = find_vmem_difference(address, bytes, element, nullptr);
  if (at == UINT64_MAX) return;
  const uint32_t is = rtl_element(at, element), should = golden_element(at, element);
  const uint64_t word_bytes = rtl_->chip().word_bytes;
  const std::string where =
      fmt::format("{}VMEM word {}, lane {} (byte 0x{:x})", vmem_part_text(flight.command, rtl_->chip(), at),
                  at / word_bytes, at % word_bytes / element, at);
  const WriteRecord::Write* write = flight.writes.find(at, element);
  if (write == nullptr && !flight.writes.full())
    return differs_in_unit(fmt::format("{}: the RTL did not write it; VMEM holds {}, golden {}", where,
                                       value_text(is, dtype), value_text(should, dtype)));
  uint32_t wrote = is;
  if (write != nullptr) std::memcpy(&wrote, flight.writes.data(*write).data() + (at - write->address), element);
  if (wrote == should)
    return differs(kVmem, rtl_->cycle(),
                   fmt::format("{}: RTL {}, golden {}; {} wrote it rightly in cycle {}, VMEM has lost it", where,
                               value_text(is, dtype), value_text(should, dtype), spec::unit_name(unit_), write->cycle));
  differs(spec::unit_name(unit_), write != nullptr ? write->cycle : rtl_->cycle(),
          fmt::format("{}: RTL {}, golden {}", where, value_text(wrote, dtype), value_text(should, dtype)));
}

/// The last tile's rows as the MXU wrote them, then ACC itself.
void LockstepCore::compare_product(const Flight& flight) {
  const auto product = spec::decode_mxu(flight.command);
  const unsigned dtype = result_dtype(flight.command);
  if (mismatch_.differs) return;
  if (flight.writes.count() != flight.rows * flight.tiles)
    return differs_in_unit(fmt::format("it retired after {} of {} rows ({} tiles of {})", flight.writes.count(),
                                       flight.rows * flight.tiles, flight.tiles, flight.rows));
  std::vector<uint32_t> rtl(rtl_->chip().n);
  for (uint32_t r = 0; r < product.m; r++) {
    const uint32_t row = golden::first_acc_row(product, rtl_->chip()) + r;
    const auto values = [&](size_t lane) {
      return fmt::format("row {}, ACC row {}, lane {}: RTL {}, golden {}", r, row, lane, value_text(rtl[lane], dtype),
                         value_text(golden_.acc_row(row)[lane], dtype));
    };
    const WriteRecord::Write* write = flight.writes.write((flight.tiles - 1) * flight.rows + r);
    if (write != nullptr) {
      std::memcpy(rtl.data(), flight.writes.data(*write).data(), rtl.size() * sizeof rtl[0]);
      if (const size_t lane = find_acc_difference(row, rtl); lane != rtl.size()) {
        const std::string text = values(lane);
        const uint64_t tile = first_wrong_tile(flight);  // spoils the golden state
        const WriteRecord::Write* first = flight.writes.write(tile * flight.rows + r);
        return differs(spec::unit_name(unit_), first != nullptr ? first->cycle : write->cycle,
                       fmt::format("tile {} of {}, {}", tile, flight.tiles, text));
      }
    }
    if (acc_in_flight(row) || !rtl_->peek_acc(row, std::as_writable_bytes(std::span(rtl)))) continue;
    if (const size_t lane = find_acc_difference(row, rtl); lane != rtl.size())
      return differs(write != nullptr ? kAcc : spec::unit_name(unit_), rtl_->cycle(),
                     values(lane) + (write != nullptr ? "; " + std::string(spec::unit_name(unit_)) +
                                                            " wrote it rightly, ACC has lost it"
                                                      : ""));
  }
}

/// First lane whose value is not golden's and not poisoned; N if all are.
size_t LockstepCore::find_acc_difference(uint32_t row, std::span<const uint32_t> rtl) const {
  const auto golden = golden_.acc_row(row);
  size_t lane = 0;
  while (lane < rtl.size() && (rtl[lane] == golden[lane] || rtl_->acc_poisoned(row, static_cast<uint32_t>(lane))))
    lane++;
  return lane;
}

/// Executes the product again, a tile more each time, until a row differs from what the MXU wrote for that tile. The
/// golden state is spoilt, and no longer needed.
uint64_t LockstepCore::first_wrong_tile(const Flight& flight) {
  auto product = spec::decode_mxu(flight.command);
  const uint64_t k = product.k, k_per_tile = golden::matmul_tiles(product, rtl_->chip()).k_per_tile;
  for (uint64_t tile = 0; tile < flight.tiles; tile++) {
    product.k = static_cast<uint32_t>(std::min<uint64_t>(k, (tile + 1) * k_per_tile));
    std::ranges::copy(seeds_, golden_.acc_row(golden::first_acc_row(product, rtl_->chip())).data());
    (void)golden_.execute_checked(spec::encode(product), WEFT_QUEUE_MXU, *this);
    for (uint32_t r = 0; r < product.m; r++) {
      const WriteRecord::Write* write = flight.writes.write(tile * flight.rows + r);
      if (write == nullptr) break;
      const auto golden = std::as_bytes(golden_.acc_row(golden::first_acc_row(product, rtl_->chip()) + r));
      if (!std::ranges::equal(flight.writes.data(*write), golden)) return tile;
    }
  }
  return flight.tiles - 1;
}

/// Every beat of the RTL has its place in the golden execution, unless a command behind it is at work already.
void LockstepCore::check_beats(const Flight&) {
  if (mismatch_.differs || !flights_[unit_].empty()) return;
  for (const auto* beats : {&reads_[unit_], &writes_[unit_]}) {
    if (beats->empty()) continue;
    const Beat& beat = beats->front();
    return differs(spec::unit_name(unit_), beat.cycle,
                   fmt::format("the RTL {} {} address 0x{:x}, which the command does not touch",
                               beats == &reads_[unit_] ? "reads" : "writes", spec::address_space_name(beat.space),
                               beat.address + beat.used));
  }
}

uint64_t LockstepCore::find_vmem_difference(uint64_t address, uint64_t bytes, unsigned element,
                                            const Flight* but_for) const {
  std::array<std::byte, 4096> rtl;
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t chunk = std::min<uint64_t>(rtl.size(), bytes - done);
    const auto golden = golden_.vmem().subspan(address + done, chunk);
    const bool inside = rtl_->peek_vmem(address + done, std::span(rtl).first(chunk));
    if (!inside || std::memcmp(rtl.data(), golden.data(), chunk) != 0) {
      for (uint64_t i = 0; i < chunk; i += element)
        if ((!inside || std::memcmp(&rtl[i], &golden[i], element) != 0) && !vmem_in_flight(address + done + i) &&
            !rtl_->vmem_poisoned(address + done + i) &&
            (but_for == nullptr || !covers(but_for->ranges, address + done + i, 1)))
          return address + done + i;
    }
    done += chunk;
  }
  return UINT64_MAX;
}

uint32_t LockstepCore::rtl_element(uint64_t address, unsigned element) const {
  std::array<std::byte, 4> bytes{};
  (void)rtl_->peek_vmem(address, std::span(bytes).first(element));
  uint32_t value = 0;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

uint32_t LockstepCore::golden_element(uint64_t address, unsigned element) const {
  uint32_t value = 0;
  std::memcpy(&value, golden_.vmem().data() + address, element);
  return value;
}

bool LockstepCore::vmem_in_flight(uint64_t address) const {
  for (const auto& unit : flights_)
    for (const auto& flight : unit)
      if (covers(flight.ranges, address, 1)) return true;
  return false;
}

bool LockstepCore::acc_in_flight(uint32_t row) const {
  for (const auto& unit : flights_)
    for (const auto& flight : unit)
      for (const auto& range : flight.ranges.acc)
        if (row >= range.row && row < range.row + range.rows) return true;
  return false;
}

}  // namespace weft::core
