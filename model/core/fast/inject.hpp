/// The INJECT registers of the fast core: rtl/csr/inject.sv said again.
#pragma once
#include <array>
#include <bit>
#include <cstdint>

#include "model/golden/check.hpp"
#include "weft/spec/chips.hpp"
#include "weft/spec/spec.h"

namespace weft::core::fast {

/// What becomes of a command's end.
struct Marks {
  bool not_done = false, lost_done = false, lost_post = false;
  uint32_t fail_beat = 0;  ///< DMA: this beat is answered with an error; 0: none
};

/// Registers, what is armed, and the counts of commands. Bits are flipped by whoever owns the memory: arm() tells.
class Injector {
 public:
  struct Place {
    unsigned queue = 0, code = 0;
    uint32_t n = 0, beat = 0;
  };
  explicit Injector(const spec::Chip& chip) : chip_(chip) {}

  [[nodiscard]] static bool owns(uint32_t offset) {
    return offset >= WEFT_CSR_INJECT_ADDRESS && offset <= WEFT_CSR_INJECT_STATUS;
  }
  /// A write of a register. True: `kind` was armed, and a flip is for the caller to make (n 0) or to wait for.
  bool write(uint32_t offset, uint64_t value) {
    switch (offset) {
      case WEFT_CSR_INJECT_ADDRESS:
        address_ = value;
        return false;
      case WEFT_CSR_INJECT_DATA:
        data_ = value;
        return false;
      case WEFT_CSR_INJECT_CHECK:
        check_ = value;
        return false;
      case WEFT_CSR_INJECT_PLACE:
        place_ = value;
        return false;
      case WEFT_CSR_INJECT_ARM:
        return arm(value);
      default:
        return false;
    }
  }
  /// A register but INJECT_STATUS, whose bits of flips the caller knows.
  [[nodiscard]] uint64_t read(uint32_t offset) const {
    switch (offset) {
      case WEFT_CSR_INJECT_ADDRESS:
        return address_;
      case WEFT_CSR_INJECT_DATA:
        return data_;
      case WEFT_CSR_INJECT_CHECK:
        return check_;
      case WEFT_CSR_INJECT_PLACE:
        return place_;
      default:
        return 0;
    }
  }
  [[nodiscard]] uint64_t status() const {
    return uint64_t{armed_} | WEFT_TO_FIELD(WEFT_CSR_INJECT_STATUS_ACTED, uint64_t{acted_}) |
           (refused_ ? WEFT_CSR_INJECT_STATUS_REFUSED : 0);
  }
  void reset() {
    armed_ = acted_ = 0;
    refused_ = false;
  }

  // The parameters of the flip that was just armed.
  [[nodiscard]] uint64_t address() const { return address_; }
  [[nodiscard]] uint64_t data() const { return data_; }
  [[nodiscard]] uint8_t check() const { return static_cast<uint8_t>(check_); }
  [[nodiscard]] Place place() const { return decode(place_); }
  void flipped(weft_inject_kind kind) {
    armed_ &= ~(1u << kind);
    acted_ |= 1u << kind;
  }
  [[nodiscard]] bool armed(weft_inject_kind kind) const { return (armed_ >> kind & 1) != 0; }

  /// No unit is ready for the queue's next command.
  [[nodiscard]] bool holds(unsigned queue) { return here(WEFT_INJECT_KIND_NOT_READY, queue); }
  /// The queue's head, which is being checked, is to be refused with the fault of raise_place().
  [[nodiscard]] bool raises(unsigned queue) const { return here(WEFT_INJECT_KIND_RAISE, queue); }
  [[nodiscard]] const Place& raise_place() const { return kinds_[WEFT_INJECT_KIND_RAISE].place; }
  [[nodiscard]] uint64_t raise_address() const { return raise_address_; }
  void checked(unsigned queue) { count(WEFT_INJECT_KIND_RAISE, queue); }
  /// A unit takes the queue's next command.
  Marks start(unsigned queue) {
    if (armed_ == 0) return {};
    Marks marks{here(WEFT_INJECT_KIND_NOT_DONE, queue), here(WEFT_INJECT_KIND_LOST_DONE, queue),
                here(WEFT_INJECT_KIND_LOST_POST, queue),
                here(WEFT_INJECT_KIND_BUS_ERROR, queue) ? kinds_[WEFT_INJECT_KIND_BUS_ERROR].place.beat : 0};
    for (const auto kind : {WEFT_INJECT_KIND_NOT_READY, WEFT_INJECT_KIND_NOT_DONE, WEFT_INJECT_KIND_LOST_DONE,
                            WEFT_INJECT_KIND_LOST_POST, WEFT_INJECT_KIND_BUS_ERROR})
      count(kind, queue);
    return marks;
  }
  /// Once a cycle: a queue that is held shows in the status.
  void settle() {
    const auto& kind = kinds_[WEFT_INJECT_KIND_NOT_READY];
    if (armed(WEFT_INJECT_KIND_NOT_READY) && kind.count + 1 == kind.place.n) acted_ |= 1u << WEFT_INJECT_KIND_NOT_READY;
  }

 private:
  struct Kind {
    Place place;
    uint32_t count = 0;
  };
  static Place decode(uint64_t value) {
    return {static_cast<unsigned>(WEFT_FIELD(WEFT_CSR_INJECT_PLACE_QUEUE, value)),
            static_cast<unsigned>(WEFT_FIELD(WEFT_CSR_INJECT_PLACE_CODE, value)),
            static_cast<uint32_t>(WEFT_FIELD(WEFT_CSR_INJECT_PLACE_COMMAND, value)),
            static_cast<uint32_t>(WEFT_FIELD(WEFT_CSR_INJECT_PLACE_BEAT, value))};
  }
  [[nodiscard]] bool here(weft_inject_kind kind, unsigned queue) const {
    return armed(kind) && kinds_[kind].place.queue == queue && kinds_[kind].count + 1 == kinds_[kind].place.n;
  }
  void count(weft_inject_kind kind, unsigned queue) {
    if (!armed(kind) || kinds_[kind].place.queue != queue) return;
    if (++kinds_[kind].count == kinds_[kind].place.n) flipped(kind);
  }
  [[nodiscard]] bool legal(uint64_t kind) const {
    const Place p = place();
    const bool queue_ok = p.queue < WEFT_CORE_QUEUES && p.n != 0;
    const int bits = std::popcount(data_) + std::popcount(check_);
    switch (kind) {
      case WEFT_INJECT_KIND_NONE:
        return true;
      case WEFT_INJECT_KIND_VMEM_FLIP:
        return address_ < chip_.vmem_bytes && address_ % 8 == 0 && check_ >> 8 == 0 && (bits == 1 || bits == 2);
      case WEFT_INJECT_KIND_ACC_FLIP:
        return address_ >> 32 == 0 && (address_ & 0xffff) < golden::acc_rows(chip_) && address_ >> 16 < chip_.n &&
               data_ >> 32 == 0 && check_ >> 7 == 0 && (bits == 1 || bits == 2);
      case WEFT_INJECT_KIND_NOT_READY:
      case WEFT_INJECT_KIND_NOT_DONE:
      case WEFT_INJECT_KIND_LOST_DONE:
      case WEFT_INJECT_KIND_LOST_POST:
        return queue_ok;
      case WEFT_INJECT_KIND_BUS_ERROR:
        return queue_ok && (p.queue == WEFT_QUEUE_DMA_IN || p.queue == WEFT_QUEUE_DMA_OUT) && p.beat != 0;
      case WEFT_INJECT_KIND_RAISE:
        return queue_ok && p.code != 0 && p.code <= WEFT_LAST_FAULT;
      default:
        return false;
    }
  }
  bool arm(uint64_t value) {
    refused_ = !legal(value);
    if (refused_) return false;
    if (value == WEFT_INJECT_KIND_NONE) {
      armed_ = 0;
      return true;
    }
    const auto kind = static_cast<weft_inject_kind>(value);
    kinds_[kind] = {place(), 0};
    armed_ |= 1u << kind;
    if (kind == WEFT_INJECT_KIND_RAISE) raise_address_ = address_;
    return true;
  }

  const spec::Chip& chip_;
  uint64_t address_ = 0, data_ = 0, check_ = 0, place_ = 0, raise_address_ = 0;
  std::array<Kind, WEFT_INJECT_KIND_RAISE + 1> kinds_;
  uint32_t armed_ = 0, acted_ = 0;  // a bit a kind
  bool refused_ = false;
};

}  // namespace weft::core::fast
