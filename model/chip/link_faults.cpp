// From fault kinds to what they do to a packet.
#include "model/chip/link_faults.hpp"

namespace weft::chip {

void add_link_trouble(FaultInjector& faults, unsigned port, const TimeBase& time, ici::LinkTrouble& trouble) {
  using Kind = ici::LinkTrouble::Kind;
  constexpr double kBits = 1e12;
  if (faults.armed() == 0) return;
  if (const InjectedFault* errors = faults.occasion(WEFT_INJECTED_FAULT_LINK_BIT_ERRORS, port))
    trouble.bit_error_rate = static_cast<double>(errors->value[0]) / kBits;
  if (const InjectedFault* late = faults.occasion(WEFT_INJECTED_FAULT_LINK_CREDIT_LATE, port))
    trouble.credit_delay_ns = static_cast<uint32_t>(time.edge_fs(late->value[0]) / ici::kNanosecond);
  if (faults.occasion(WEFT_INJECTED_FAULT_LINK_DARK, port) != nullptr) trouble.kind = Kind::kDark;
  if (const InjectedFault* flap = faults.occasion(WEFT_INJECTED_FAULT_LINK_FLAP, port)) {
    trouble.kind = Kind::kFlap;
    trouble.time = time.edge_fs(flap->value[0]);
  }
  if (faults.occasion(WEFT_INJECTED_FAULT_LINK_DOWN, port) != nullptr) trouble.kind = Kind::kDown;
  if (faults.occasion(WEFT_INJECTED_FAULT_CHIP_CUT, port) != nullptr) trouble.kind = Kind::kChipCut;
}

ici::LinkTrouble link_trouble(std::span<const std::unique_ptr<Function>> functions, unsigned port,
                              const TimeBase& time) {
  ici::LinkTrouble out;
  for (const auto& function : functions) add_link_trouble(function->faults(), port, time, out);
  return out;
}

}  // namespace weft::chip
