// What each injected fault does.
#include "model/chip/manager_faults.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "base/crc32c.hpp"

namespace weft::chip {
namespace {

constexpr uint32_t kCopyBusError = 2;
constexpr uint32_t kBitsPerByte = 8;

static_assert(WEFT_INJECTED_FAULT_CORE_RAISE - WEFT_INJECTED_FAULT_CORE_VMEM_FLIP ==
                  WEFT_INJECT_KIND_RAISE - WEFT_INJECT_KIND_VMEM_FLIP,
              "the core's kinds follow one another as the core's own do");

}  // namespace

void ManagerFaults::restart() {
  for (auto& queues : last_completion_) queues.fill({});
  copy_ = Copy::kNone;
  core_stuck_ = core_fresh_ = false;
}

const InjectedFault* ManagerFaults::anywhere(weft_injected_fault kind) {
  for (const auto& function : functions_)
    if (const InjectedFault* fault = function->faults().occasion(kind)) return fault;
  return nullptr;
}

bool ManagerFaults::read(fw::Location from, std::span<std::byte> data, bool ok) {
  if (from.space == WEFT_ADDRESS_SPACE_HBM) return anywhere(WEFT_INJECTED_FAULT_HBM_READ_ERROR) == nullptr && ok;
  FaultInjector& faults = functions_[from.function]->faults();
  if (faults.occasion(WEFT_INJECTED_FAULT_HOST_READ_ERROR) != nullptr) return false;
  if (const InjectedFault* flip = faults.occasion(WEFT_INJECTED_FAULT_HOST_READ_FLIP)) {
    const uint64_t bit = flip->value[0] % (data.size() * kBitsPerByte);
    data[bit / kBitsPerByte] ^= std::byte{1} << bit % kBitsPerByte;
  }
  if (faults.occasion(WEFT_INJECTED_FAULT_HOST_READ_ONES) != nullptr) std::ranges::fill(data, std::byte{0xff});
  return ok;
}

bool ManagerFaults::write_fails(fw::Location to) {
  return to.space == WEFT_ADDRESS_SPACE_HOST &&
         functions_[to.function]->faults().occasion(WEFT_INJECTED_FAULT_HOST_WRITE_ERROR) != nullptr;
}

ManagerFaults::CompletionWrite ManagerFaults::completion(uint32_t function, uint32_t queue,
                                                         weft_completion_entry& entry) {
  FaultInjector& faults = functions_[function]->faults();
  weft_completion_entry& last = last_completion_[function][queue];
  const weft_completion_entry before = std::exchange(last, entry);
  if (faults.occasion(WEFT_INJECTED_FAULT_COMPLETION_LOST, queue) != nullptr) return CompletionWrite::kNone;
  if (faults.occasion(WEFT_INJECTED_FAULT_COMPLETION_REPEATED, queue) != nullptr) {
    const uint32_t phase = WEFT_STATUS_PHASE(entry.status);
    entry = before;
    entry.status = (before.status & ~1u) | phase;
    entry.status = WEFT_STATUS_WITH_CHECK(entry.status, 0);
    entry.status = WEFT_STATUS_WITH_CHECK(entry.status, weft::crc32c(std::as_bytes(std::span(&entry, 1))));
  }
  if (const InjectedFault* flip = faults.occasion(WEFT_INJECTED_FAULT_COMPLETION_FLIP, queue))
    std::as_writable_bytes(std::span(&entry, 1))[flip->value[0] / kBitsPerByte] ^= std::byte{1}
                                                                                   << flip->value[0] % kBitsPerByte;
  return faults.occasion(WEFT_INJECTED_FAULT_COMPLETION_TORN, queue) != nullptr ? CompletionWrite::kLastWord
                                                                                : CompletionWrite::kWhole;
}

bool ManagerFaults::copy_swallowed() {
  if (anywhere(WEFT_INJECTED_FAULT_COPY_ERROR) != nullptr) copy_ = Copy::kFails;
  if (anywhere(WEFT_INJECTED_FAULT_COPY_STALL) != nullptr) copy_ = Copy::kStalls;
  return copy_ != Copy::kNone;
}

uint32_t ManagerFaults::copy_result() {
  if (copy_ != Copy::kFails) return 0;
  copy_ = Copy::kNone;
  return kCopyBusError;
}

void ManagerFaults::core_resets() {
  core_fresh_ = true;
  if (anywhere(WEFT_INJECTED_FAULT_CORE_RESET_STUCK) != nullptr) core_stuck_ = true;
}

void ManagerFaults::core_fed() {
  if (!core_fresh_) return;
  core_fresh_ = false;
  for (uint32_t kind = WEFT_INJECTED_FAULT_CORE_VMEM_FLIP; kind <= WEFT_INJECTED_FAULT_CORE_RAISE; kind++) {
    const InjectedFault* fault = anywhere(static_cast<weft_injected_fault>(kind));
    if (fault != nullptr) arm_core(kind - WEFT_INJECTED_FAULT_CORE_VMEM_FLIP + WEFT_INJECT_KIND_VMEM_FLIP, *fault);
  }
}

void ManagerFaults::arm_core(uint32_t core_kind, const InjectedFault& fault) {
  core_.write_csr(WEFT_CSR_INJECT_ADDRESS, fault.value[0]);
  core_.write_csr(WEFT_CSR_INJECT_DATA, fault.value[1]);
  core_.write_csr(WEFT_CSR_INJECT_PLACE, fault.value[2]);
  core_.write_csr(WEFT_CSR_INJECT_CHECK, fault.value[3]);
  core_.write_csr(WEFT_CSR_INJECT_ARM, core_kind);
}

bool ManagerFaults::boot_stops(uint32_t function, uint32_t stage) {
  for (uint32_t f = 0; f < functions_.size(); f++)
    if ((function == f || function == fw::hal::kAllFunctions) &&
        functions_[f]->faults().occasion(WEFT_INJECTED_FAULT_BOOT_STOP, stage) != nullptr)
      return true;
  return false;
}

Ailment ManagerFaults::sleeps() {
  for (const auto& function : functions_) {
    if (function->faults().armed() == 0) continue;
    for (uint32_t vector = 0; vector < WEFT_PCI_MSIX_VECTORS; vector++) {
      const InjectedFault* fault = function->faults().occasion(WEFT_INJECTED_FAULT_INTERRUPT_SPURIOUS, vector);
      for (uint64_t times = fault == nullptr ? 0 : fault->value[0]; times != 0; times--)
        function->registers().raise(vector);
    }
  }
  if (anywhere(WEFT_INJECTED_FAULT_FIRMWARE_DEAD) != nullptr) return Ailment::kDead;
  if (anywhere(WEFT_INJECTED_FAULT_FIRMWARE_LOOPS) != nullptr) return Ailment::kLoops;
  if (anywhere(WEFT_INJECTED_FAULT_FIRMWARE_DEAF) != nullptr) return Ailment::kDeaf;
  return Ailment::kNone;
}

}  // namespace weft::chip
