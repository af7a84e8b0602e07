/// Faults that a test asks for, and the occasions at which they act.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "weft/spec/spec.h"

namespace weft::chip {

/// What the INJECT registers say when INJECT_CONTROL is written (spec/host_interface.toml, `injected_fault`).
struct InjectedFault {
  static constexpr uint32_t kForEver = UINT32_MAX;

  uint32_t kind = 0;    ///< weft_injected_fault
  uint32_t target = 0;  ///< queue, vector, boot stage or port
  uint32_t nth = 1;     ///< first occasion at which it acts, from 1
  uint32_t count = 1;   ///< occasions in a row, or kForEver
  std::array<uint64_t, 4> value{};
};

/// A fault is placed by occasions (the n-th doorbell of a queue, the n-th launch), never by time: so it means the same
/// to every core. The parts of the chip ask at each occasion, and do themselves what the fault says. Owner: the chip;
/// one thread.
class FaultInjector {
 public:
  static constexpr size_t kMaxArmed = 16;

  /// `ports`: bit p: port p has a neighbour, so faults of links may name it.
  explicit FaultInjector(uint32_t ports = 0) : ports_(ports) {}

  /// Of a link, or of all links of the chip: it acts on packets that leave.
  [[nodiscard]] static bool is_of_links(uint32_t kind);
  /// Hears of each fault that is armed, and with nullptr of disarm().
  void tell(std::function<void(const InjectedFault*)> listener) { listener_ = std::move(listener); }

  enum class By : uint8_t { kHost, kObserver };

  /// False: refused, nothing changed: kMaxArmed are armed, the kind does not exist, or a field is out of its range.
  bool arm(const InjectedFault& fault, By by = By::kHost);
  /// Forgets all and clears acted().
  void disarm();

  /// An occasion of `kind` at `target` (0 where the kind has none). Returns the fault that acts at it, valid until the
  /// next call; nullptr: none does. A fault that has acted `count` times is gone.
  [[nodiscard]] const InjectedFault* occasion(weft_injected_fault kind, uint32_t target = 0);

  [[nodiscard]] size_t armed() const { return armed_.size(); }
  [[nodiscard]] bool armed_by_host() const {
    return std::ranges::any_of(armed_, [](const Armed& armed) { return armed.by == By::kHost; });
  }
  /// Occasions at which a fault acted since disarm().
  [[nodiscard]] uint32_t acted() const { return acted_; }
  /// INJECT_STATUS.
  [[nodiscard]] uint64_t status() const;

 private:
  struct Armed {
    InjectedFault fault;
    By by = By::kHost;
    uint32_t seen = 0;  // occasions
    uint32_t acted = 0;
  };

  [[nodiscard]] bool legal(const InjectedFault& fault) const;

  uint32_t ports_;
  std::function<void(const InjectedFault*)> listener_;
  std::vector<Armed> armed_;
  InjectedFault acting_;
  uint32_t acted_ = 0;
  bool refused_ = false;
};

}  // namespace weft::chip
