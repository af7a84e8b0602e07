/// One PCIe function as the host sees it: configuration space, registers, doorbells, MSI-X, and its view of host
/// memory.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "model/chip/fault_injector.hpp"
#include "model/chip/host_memory.hpp"
#include "model/chip/msix.hpp"
#include "model/chip/pci_config.hpp"
#include "model/chip/registers.hpp"
#include "weft/spec/chips.hpp"

namespace weft::chip {

/// What the function asks of its chip; called at once, from within an access of the host.
class FunctionEvents {
 public:
  virtual ~FunctionEvents() = default;
  [[nodiscard]] virtual uint64_t device_cycle() const = 0;
  /// A doorbell or a boot request: the manager has something to do.
  virtual void wake_manager() = 0;
  /// The function's host has reset it: its registers are as new already, what it holds on the device ends.
  virtual void function_reset(unsigned function) = 0;
  /// The function's host has gone, as above; nothing of it may be left.
  virtual void function_left(unsigned function) = 0;
  virtual void snapshot(std::array<uint64_t, WEFT_COUNTERS>& counters) = 0;
  /// FIRMWARE_STATUS of this moment.
  [[nodiscard]] virtual uint32_t firmware_status() { return 0; }
  /// The injected fault SIMULATOR_EXIT acts.
  virtual void simulator_exits() = 0;
};

/// Regions of the function.
enum class Region : uint8_t { kRegisters, kDoorbells, kMsix, kConfig };

/// What the host of one function may do to all tenants of the process.
struct HostRights {
  bool hold = true;    ///< stop simulated time (SIM_HOLD)
  bool inject = true;  ///< arm injected faults (INJECT_CONTROL)
};

/// Bytes of a region.
[[nodiscard]] uint64_t region_bytes(Region region);

/// Owner: the chip. Called between slices of simulated time by the server, and by the manager; one thread. No access
/// takes simulated time.
class Function final : private RegisterEvents, private PciConfigEvents {
 public:
  static constexpr unsigned kQueues = WEFT_LIMIT_IO_QUEUES + 1;  ///< the admin queue is 0

  /// `index`: its number on the chip.
  Function(const spec::Chip& chip, core::CoreKind kind, unsigned index, FunctionEvents& events,
           const SliceRegisters& slice = {});

  /// Host accesses. 0 or an errno, and then nothing has changed: EINVAL (outside of the region, or of a size or
  /// alignment that the region does not take), EPERM (a write that the host has no right to, see set_rights()).
  /// Registers, doorbells and MSI-X take 1, 2, 4 and 8 bytes at multiples of their size, reads also any multiple of 4
  /// bytes at a multiple of 4. A register has 4 bytes: a smaller write leaves its other bytes as they are, a write of 8
  /// bytes is one write of a register of 8 bytes, and else two. Configuration space takes any size.
  [[nodiscard]] int read(Region region, uint64_t offset, std::span<std::byte> out);
  [[nodiscard]] int write(Region region, uint64_t offset, std::span<const std::byte> data);
  /// The write would hold time (SIM_HOLD): the host may, and does not hold it yet.
  [[nodiscard]] bool asks_to_hold(Region region, uint64_t offset, std::span<const std::byte> data) const;

  /// From now on, what the loop of simulated time asks of it is told there, as of function `number` of all chips; it
  /// outlives this object.
  void tell(Attention& attention, size_t number) {
    attention_ = &attention;
    number_ = number;
    attention.claim(number);
    registers_.tell(attention, number);
  }

  /// From now on. Taking a right away changes nothing that the host has done by it already.
  void set_rights(HostRights rights) { rights_ = rights; }

  /// Reset by the host: RESET_CONTROL, function-level reset, or the transport's. The maps stay; configuration space and
  /// the MSI-X set-up stay as well, except by a function-level reset, after which they are as at power-up.
  void reset();
  /// Reset by an observer of the simulator. An owner that waits is woken, looks, and finds another generation.
  void reset_by_observer();
  /// Another function's reset has become the device's.
  void device_was_reset();
  /// The client is gone: no memory of it is reached when this returns. Its maps stay, abandoned, until the device has
  /// ended all accesses (settled()).
  void disconnect();
  /// A client has left, and what it held is not yet released and cleared.
  [[nodiscard]] bool leaving() const { return leaving_; }
  /// False: a client has left and the device still ends or clears what was its. True: power-up state, nothing of a
  /// former client remains but the reset generation.
  [[nodiscard]] bool settled() const { return !leaving_; }

  [[nodiscard]] unsigned index() const { return index_; }
  [[nodiscard]] HostMemory& host_memory() { return host_memory_; }
  [[nodiscard]] Msix& msix() { return msix_; }
  [[nodiscard]] PciConfig& config() { return config_; }
  [[nodiscard]] Registers& registers() { return registers_; }
  /// Armed by this function's host; a device reset leaves them, the end of the client does not.
  [[nodiscard]] FaultInjector& faults() { return faults_; }

  /// The manager's side of the doorbells and of BOOT_CONTROL (firmware/hal.hpp).
  [[nodiscard]] uint32_t submission_tail(unsigned queue) const { return queue < kQueues ? submission_tail_[queue] : 0; }
  [[nodiscard]] uint32_t completion_head(unsigned queue) const { return queue < kQueues ? completion_head_[queue] : 0; }
  [[nodiscard]] uint64_t doorbell_cycle(unsigned queue) const { return queue < kQueues ? doorbell_cycle_[queue] : 0; }
  [[nodiscard]] bool doorbells_pending() const { return pending_doorbells_ != 0; }
  [[nodiscard]] bool boot_pending() const { return boot_requested_; }
  [[nodiscard]] uint32_t take_pending_doorbells();
  [[nodiscard]] bool take_boot_request(uint64_t& parameter_page);

 private:
  // RegisterEvents
  [[nodiscard]] uint64_t device_cycle() const override { return events_.device_cycle(); }
  void boot_requested(uint64_t parameter_page) override;
  void reset_requested() override { reset(); }
  void snapshot(std::array<uint64_t, WEFT_COUNTERS>& counters) override { events_.snapshot(counters); }
  [[nodiscard]] uint32_t firmware_status() override { return events_.firmware_status(); }
  void inject(uint32_t control, const InjectedFault& fault) override;
  [[nodiscard]] uint64_t inject_status() const override { return faults_.status(); }
  void made_present() override;
  void interrupt(unsigned vector) override;
  // PciConfigEvents
  void msix_control_changed(bool enabled, bool function_masked) override {
    msix_.set_control(enabled, function_masked);
  }
  void function_level_reset() override;

  [[nodiscard]] uint32_t read_word(Region region, uint64_t offset);
  /// `enabled`: the bits of the bytes that are written.
  void write_word(Region region, uint64_t offset, uint32_t value, uint32_t enabled = UINT32_MAX);
  [[nodiscard]] bool permits(uint64_t offset, std::span<const std::byte> data) const;
  void write_doorbell(uint64_t offset, uint32_t value, uint32_t enabled);
  /// The doorbell does not arrive, or with another value.
  [[nodiscard]] bool doorbell_swallowed(uint32_t queue, uint32_t& value);
  void clear_requests();
  void set_leaving(bool leaving);

  unsigned index_;
  FunctionEvents& events_;
  HostRights rights_;
  HostMemory host_memory_;
  Msix msix_;
  PciConfig config_;
  Registers registers_;
  FaultInjector faults_;
  std::array<uint32_t, kQueues> submission_tail_{};
  std::array<uint32_t, kQueues> completion_head_{};
  std::array<uint64_t, kQueues> doorbell_cycle_{};
  uint32_t pending_doorbells_ = 0;
  bool boot_requested_ = false;
  bool leaving_ = false;
  Attention* attention_ = nullptr;
  size_t number_ = 0;  // as attention_ counts
  uint64_t parameter_page_ = 0;
};

}  // namespace weft::chip
