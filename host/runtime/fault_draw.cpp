// Each kind is as likely as every other; its fields are drawn from what the kind can have.
#include "host/runtime/fault_draw.hpp"

#include <random>

#include "host/runtime/fault_schedule.hpp"
#include "weft/spec/names.hpp"

namespace weft::runtime {
namespace {

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}
  /// From 0 to below - 1.
  uint64_t below(uint64_t below) { return random_() % below; }
  uint64_t from_one_to(uint64_t most) { return 1 + below(most); }
  template <typename T>
  const T& one_of(const std::vector<T>& values) {
    return values[below(values.size())];
  }
  /// One bit of `bits` or, one time in four, two.
  uint64_t flips(unsigned bits) {
    const uint64_t first = uint64_t{1} << below(bits);
    if (below(4) != 0) return first;
    return first | uint64_t{1} << below(bits);
  }

 private:
  std::mt19937_64 random_;
};

bool fatal(uint32_t kind) {
  return kind == WEFT_INJECTED_FAULT_DEVICE_GONE || kind == WEFT_INJECTED_FAULT_SIMULATOR_EXIT ||
         kind == WEFT_INJECTED_FAULT_RESET_STUCK;
}

// INJECT_PLACE of spec/core_csr.toml
uint64_t place(uint64_t queue, uint64_t code, uint64_t command, uint64_t beat) {
  return queue | code << 8 | command << 16 | beat << 32;
}

void draw_core_fault(Draw& draw, const spec::Chip& chip, const FaultTargets& targets, weft_fault_injection& fault) {
  constexpr unsigned kGranuleBytes = 8, kDataBits = 64, kAccDataBits = 32;
  const uint64_t command = draw.from_one_to(targets.core_commands);
  switch (fault.kind) {
    case WEFT_INJECTED_FAULT_CORE_VMEM_FLIP:
      fault.value[0] = draw.below(targets.vmem_bytes / kGranuleBytes) * kGranuleBytes;
      fault.value[1] = draw.flips(kDataBits);
      fault.value[2] = place(0, 0, draw.below(3), 0);
      return;
    case WEFT_INJECTED_FAULT_CORE_ACC_FLIP:
      fault.value[0] = draw.below(2 * chip.n) | draw.below(chip.n) << 16;
      fault.value[1] = draw.flips(kAccDataBits);
      fault.value[2] = place(0, 0, draw.below(3), 0);
      return;
    case WEFT_INJECTED_FAULT_CORE_BUS_ERROR:
      fault.value[2] =
          place(draw.below(2) == 0 ? WEFT_QUEUE_DMA_IN : WEFT_QUEUE_DMA_OUT, 0, command, draw.from_one_to(4));
      return;
    case WEFT_INJECTED_FAULT_CORE_RAISE:
      fault.value[0] = draw.below(targets.vmem_bytes);
      fault.value[2] = place(draw.below(spec::kQueueNames.size()), draw.from_one_to(WEFT_LAST_FAULT), command, 0);
      return;
    default:
      fault.value[2] = place(draw.below(spec::kQueueNames.size()), 0, command, 0);
      return;
  }
}

}  // namespace

weft_fault_injection draw_fault(uint64_t seed, const spec::Chip& chip, const FaultTargets& targets) {
  Draw draw(seed);
  std::vector<uint32_t> kinds;
  for (const auto& known : spec::kInjectedFaultNames)
    if (known.value != WEFT_INJECTED_FAULT_BOOT_STOP && !is_link_fault(static_cast<uint32_t>(known.value)) &&
        (targets.fatal || !fatal(static_cast<uint32_t>(known.value))))
      kinds.push_back(static_cast<uint32_t>(known.value));
  weft_fault_injection fault = WEFT_INIT(weft_fault_injection);
  fault.kind = static_cast<weft_injected_fault>(draw.one_of(kinds));
  fault.nth = static_cast<uint32_t>(draw.from_one_to(targets.occasions));
  fault.count = 1;
  switch (fault.kind) {
    case WEFT_INJECTED_FAULT_DOORBELL_VALUE:
      fault.value[0] = draw.below(2) == 0 ? draw.below(64) : draw.below(uint64_t{1} << 32);
      [[fallthrough]];
    case WEFT_INJECTED_FAULT_DOORBELL_LOST:
    case WEFT_INJECTED_FAULT_COMPLETION_LOST:
    case WEFT_INJECTED_FAULT_COMPLETION_TORN:
    case WEFT_INJECTED_FAULT_COMPLETION_REPEATED:
    case WEFT_INJECTED_FAULT_DEVICE_GONE:
    case WEFT_INJECTED_FAULT_SIMULATOR_EXIT:
      fault.target = draw.one_of(targets.queues);
      break;
    case WEFT_INJECTED_FAULT_COMPLETION_FLIP:
      fault.target = draw.one_of(targets.queues);
      fault.value[0] = draw.below(8 * sizeof(weft_completion_entry));
      break;
    case WEFT_INJECTED_FAULT_INTERRUPT_SPURIOUS:
      fault.value[0] = draw.below(2) == 0 ? 1 : draw.from_one_to(1000);
      [[fallthrough]];
    case WEFT_INJECTED_FAULT_INTERRUPT_LOST:
      fault.target = draw.below(4) == 0 ? 0 : draw.one_of(targets.queues);
      break;
    case WEFT_INJECTED_FAULT_HOST_READ_FLIP:
      fault.value[0] = draw.below(uint64_t{1} << 20);
      break;
    default:
      if (fault.kind >= WEFT_INJECTED_FAULT_CORE_VMEM_FLIP) {
        fault.nth = static_cast<uint32_t>(draw.from_one_to(2));
        draw_core_fault(draw, chip, targets, fault);
      }
      break;
  }
  return fault;
}

}  // namespace weft::runtime
