// Which faults exist, and the count of their occasions.
#include "model/chip/fault_injector.hpp"

#include "model/ici/topology.hpp"

namespace weft::chip {
namespace {

enum class Target : uint8_t { kNone, kQueue, kVector, kBootStage, kPort };

constexpr uint64_t kMaxSpurious = 65536;
constexpr uint64_t kMaxLinkCycles = 1'000'000'000;
constexpr uint64_t kMaxBitErrors = 100'000'000;  // in 10^12
constexpr uint64_t kCompletionBits = 8 * sizeof(weft_completion_entry);

/// What a kind's fields may be: its target, the largest value0, and whether it uses all four values.
struct Shape {
  bool exists = false;
  Target target = Target::kNone;
  uint64_t least0 = 0;
  uint64_t most0 = 0;
  bool all_values = false;
};

Shape shape_of(uint32_t kind) {
  switch (kind) {
    case WEFT_INJECTED_FAULT_DOORBELL_LOST:
    case WEFT_INJECTED_FAULT_COMPLETION_LOST:
    case WEFT_INJECTED_FAULT_COMPLETION_TORN:
    case WEFT_INJECTED_FAULT_COMPLETION_REPEATED:
    case WEFT_INJECTED_FAULT_DEVICE_GONE:
    case WEFT_INJECTED_FAULT_SIMULATOR_EXIT:
      return {.exists = true, .target = Target::kQueue};
    case WEFT_INJECTED_FAULT_DOORBELL_VALUE:
      return {.exists = true, .target = Target::kQueue, .most0 = UINT32_MAX};
    case WEFT_INJECTED_FAULT_COMPLETION_FLIP:
      return {.exists = true, .target = Target::kQueue, .most0 = kCompletionBits - 1};
    case WEFT_INJECTED_FAULT_INTERRUPT_LOST:
      return {.exists = true, .target = Target::kVector};
    case WEFT_INJECTED_FAULT_INTERRUPT_SPURIOUS:
      return {.exists = true, .target = Target::kVector, .least0 = 1, .most0 = kMaxSpurious};
    case WEFT_INJECTED_FAULT_BOOT_STOP:
      return {.exists = true, .target = Target::kBootStage};
    case WEFT_INJECTED_FAULT_LINK_DOWN:
    case WEFT_INJECTED_FAULT_LINK_DARK:
    case WEFT_INJECTED_FAULT_CHIP_CUT:
      return {.exists = true, .target = Target::kPort};
    case WEFT_INJECTED_FAULT_LINK_FLAP:
    case WEFT_INJECTED_FAULT_LINK_CREDIT_LATE:
      return {.exists = true, .target = Target::kPort, .least0 = 1, .most0 = kMaxLinkCycles};
    case WEFT_INJECTED_FAULT_LINK_BIT_ERRORS:
      return {.exists = true, .target = Target::kPort, .least0 = 1, .most0 = kMaxBitErrors};
    case WEFT_INJECTED_FAULT_HOST_READ_FLIP:
      return {.exists = true, .most0 = UINT64_MAX};
    case WEFT_INJECTED_FAULT_HOST_READ_ERROR:
    case WEFT_INJECTED_FAULT_HOST_READ_ONES:
    case WEFT_INJECTED_FAULT_HOST_WRITE_ERROR:
    case WEFT_INJECTED_FAULT_HBM_READ_ERROR:
    case WEFT_INJECTED_FAULT_COPY_ERROR:
    case WEFT_INJECTED_FAULT_COPY_STALL:
    case WEFT_INJECTED_FAULT_FIRMWARE_DEAD:
    case WEFT_INJECTED_FAULT_FIRMWARE_LOOPS:
    case WEFT_INJECTED_FAULT_FIRMWARE_DEAF:
    case WEFT_INJECTED_FAULT_CORE_RESET_STUCK:
    case WEFT_INJECTED_FAULT_RESET_STUCK:
      return {.exists = true};
    case WEFT_INJECTED_FAULT_CORE_VMEM_FLIP:
    case WEFT_INJECTED_FAULT_CORE_ACC_FLIP:
    case WEFT_INJECTED_FAULT_CORE_NOT_READY:
    case WEFT_INJECTED_FAULT_CORE_NOT_DONE:
    case WEFT_INJECTED_FAULT_CORE_LOST_DONE:
    case WEFT_INJECTED_FAULT_CORE_LOST_POST:
    case WEFT_INJECTED_FAULT_CORE_BUS_ERROR:
    case WEFT_INJECTED_FAULT_CORE_RAISE:
      return {.exists = true, .most0 = UINT64_MAX, .all_values = true};  // the core checks them
    default:
      return {};
  }
}

uint32_t most_target(Target target) {
  switch (target) {
    case Target::kNone:
      return 0;
    case Target::kQueue:
      return WEFT_LIMIT_IO_QUEUES;
    case Target::kVector:
      return WEFT_PCI_MSIX_VECTORS - 1;
    case Target::kBootStage:
      return WEFT_BOOT_STAGE_READY;
    case Target::kPort:
      return ici::kPorts - 1;
  }
  return 0;
}

}  // namespace

bool FaultInjector::legal(const InjectedFault& fault) const {
  const Shape shape = shape_of(fault.kind);
  if (!shape.exists || fault.nth == 0 || fault.count == 0) return false;
  if (fault.target > most_target(shape.target)) return false;
  if (shape.target == Target::kPort && (ports_ >> fault.target & 1) == 0) return false;
  if (fault.value[0] < shape.least0 || fault.value[0] > shape.most0) return false;
  return shape.all_values || (fault.value[1] == 0 && fault.value[2] == 0 && fault.value[3] == 0);
}

bool FaultInjector::arm(const InjectedFault& fault, By by) {
  refused_ = armed_.size() == kMaxArmed || !legal(fault);
  if (refused_) return false;
  armed_.push_back({.fault = fault, .by = by});
  if (listener_) listener_(&fault);
  return true;
}

bool FaultInjector::is_of_links(uint32_t kind) { return shape_of(kind).target == Target::kPort; }

void FaultInjector::disarm() {
  armed_.clear();
  acted_ = 0;
  refused_ = false;
  if (listener_) listener_(nullptr);
}

const InjectedFault* FaultInjector::occasion(weft_injected_fault kind, uint32_t target) {
  if (armed_.empty()) return nullptr;
  const InjectedFault* found = nullptr;
  for (size_t i = 0; i < armed_.size(); i++) {
    Armed& armed = armed_[i];
    if (armed.fault.kind != kind || armed.fault.target != target) continue;
    if (armed.seen < armed.fault.nth) armed.seen++;
    if (armed.seen < armed.fault.nth || found != nullptr) continue;
    acting_ = armed.fault;
    found = &acting_;
    acted_++;
    if (armed.fault.count != InjectedFault::kForEver && ++armed.acted == armed.fault.count)
      armed_.erase(armed_.begin() + static_cast<std::ptrdiff_t>(i--));
  }
  return found;
}

uint64_t FaultInjector::status() const {
  return armed_.size() | (refused_ ? WEFT_REG_INJECT_STATUS_REFUSED : 0) |
         WEFT_TO_FIELD(WEFT_REG_INJECT_STATUS_ACTED, uint64_t{acted_});
}

}  // namespace weft::chip
