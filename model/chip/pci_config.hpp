/// PCI configuration space of one function.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::chip {

/// What a write to configuration space sets off; called at once, from within the write.
class PciConfigEvents {
 public:
  virtual ~PciConfigEvents() = default;
  virtual void msix_control_changed(bool enabled, bool function_masked) = 0;
  /// Function-level reset was written to the PCIe capability.
  virtual void function_level_reset() = 0;
};

/// Type 0 header: three 64-bit memory BARs (0, 2, 4), a capability list of MSI-X and PCIe, no extended capability.
/// Each byte has a mask of writable bits; that alone makes BAR sizing work. Owner: Function; not thread-safe.
class PciConfig {
 public:
  static constexpr uint64_t kBytes = 4096;
  static constexpr unsigned kMsixCapability = 0x40;
  static constexpr unsigned kPcieCapability = 0x60;
  static constexpr unsigned kMsixControl = kMsixCapability + 2;
  static constexpr uint16_t kMsixEnable = 1 << 15;
  static constexpr uint16_t kMsixFunctionMask = 1 << 14;

  explicit PciConfig(PciConfigEvents& events);

  /// Power-up state. No event is sent.
  void reset();

  /// Any offset and size within kBytes; the caller has checked the bounds.
  void read(uint64_t offset, std::span<std::byte> out) const;
  void write(uint64_t offset, std::span<const std::byte> data);

  /// Sets or clears MSI-X Enable, as an operating system's interrupt set-up does.
  void enable_msix(bool enabled);

 private:
  void put(unsigned offset, unsigned bytes, uint64_t value, uint64_t writable);
  void put_bar(unsigned index, uint64_t bytes);
  [[nodiscard]] uint16_t msix_control() const;

  PciConfigEvents& events_;
  std::array<uint8_t, kBytes> value_{};
  std::array<uint8_t, kBytes> writable_{};
};

}  // namespace weft::chip
