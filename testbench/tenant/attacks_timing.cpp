// What a client can do to time: bursts, resets in the midst of work, holds, injected faults, alarms.
#include <algorithm>

#include "testbench/tenant/tenant.hpp"

namespace weft::tenant {
namespace {

constexpr uint64_t kHbm = WEFT_LIMIT_ADDRESS_FLAG_HBM;
constexpr uint64_t kExpressControl = 0x68;  // Device Control of the PCI Express capability at 0x60

/// A queue with copies under way. Nothing: none could be made.
std::optional<Ring> busy_queue(Tenant& tenant, RawDevice& device, unsigned queue) {
  auto ring = device.create_queue(queue, 32);
  const auto reserved = device.hbm_reserved();
  if (!ring || !reserved) return std::nullopt;
  for (unsigned i = 0; i < 6; i++)
    device.put(*ring, entry_of(WEFT_QUEUE_OPCODE_COPY, RawDevice::kBase + (1u << 20), kHbm | *reserved,
                               tenant.random.between(1, 2u << 20)));
  device.doorbell(*ring);
  return ring;
}

bool doorbell_burst(Tenant& tenant) {
  RawDevice* const device = tenant.booted();
  if (device == nullptr) return false;
  auto ring = device->create_queue(2, 4096 / 16);
  if (!ring) return false;
  Bytes burst;
  for (unsigned i = 0; i < 2000; i++) {
    if (i % 8 == 0 && ring->tail < ring->entries) device->put(*ring, entry_of(WEFT_QUEUE_OPCODE_NOP));
    burst = joined(std::move(burst), region_write(kBar2, 16, ring->tail, 4, kNoReply));
  }
  const bool sent = device->client().send(burst, {}, 2000) == burst.size();
  return sent && device->client().read(kBar0, WEFT_REG_CYCLES, 8).has_value();
}

bool resets(Tenant& tenant) {
  unsigned done = 0;
  for (uint64_t i = tenant.random.between(2, 8); i != 0; i--) {
    RawDevice* const device = tenant.booted();
    if (device == nullptr) break;
    (void)busy_queue(tenant, *device, static_cast<unsigned>(tenant.random.between(1, 16)));
    for (uint64_t again = tenant.random.between(1, 4); again != 0; again--) {
      switch (tenant.random.below(3)) {
        case 0:
          done += device->client().request(kReset, {}).has_value() ? 1 : 0;
          break;
        case 1:
          done += device->client().write(kBar0, WEFT_REG_RESET_CONTROL, WEFT_RESET_KEY, 4) >= 0 ? 1 : 0;
          break;
        default:
          done += device->client().write(kConfig, kExpressControl, 0x8000, 2) >= 0 ? 1 : 0;
          break;
      }
    }
    device->forget();
  }
  return done != 0;
}

bool resets_of_queues(Tenant& tenant) {
  RawDevice* const device = tenant.booted();
  if (device == nullptr) return false;
  unsigned done = 0;
  for (unsigned q = 1; q <= 3; q++) {
    if (!busy_queue(tenant, *device, q)) break;
    const bool engine = tenant.random.one_in(2);
    done +=
        device->run(device->admin(), entry_of(engine ? WEFT_ADMIN_OPCODE_RESET_ENGINE : WEFT_ADMIN_OPCODE_RESET_QUEUE,
                                              0, 0, engine ? tenant.random.below(3) : q))
            ? 1
            : 0;
    (void)device->run(device->admin(), entry_of(WEFT_ADMIN_OPCODE_ABORT, q, 0x10000, UINT32_MAX));
  }
  device->forget();
  return done != 0;
}

bool hold(Tenant& tenant) {
  RawDevice* const device = tenant.device();
  if (device == nullptr) return false;
  const bool acted = device->client().write(kBar0, WEFT_REG_SIM_HOLD, 1, 4) >= 0;
  if (tenant.random.one_in(4)) tenant.drop(device);
  return acted;
}

/// Arms any fault and gives it its occasion.
bool inject(Tenant& tenant) {
  RawDevice* const device = tenant.booted();
  if (device == nullptr) return false;
  auto ring = device->create_queue(1, 16);
  RawClient& client = device->client();
  const auto kind = static_cast<uint32_t>(
      tenant.random.one_in(3)
          ? tenant.random.pick({WEFT_INJECTED_FAULT_SIMULATOR_EXIT, WEFT_INJECTED_FAULT_FIRMWARE_DEAD,
                                WEFT_INJECTED_FAULT_COPY_STALL, WEFT_INJECTED_FAULT_DEVICE_GONE})
          : tenant.random.between(1, 40));
  int armed = client.write(kBar0, WEFT_REG_INJECT_KIND, kind, 4);
  const bool of_queue =
      kind <= WEFT_INJECTED_FAULT_INTERRUPT_SPURIOUS || kind >= WEFT_INJECTED_FAULT_DEVICE_GONE ||
      (kind >= WEFT_INJECTED_FAULT_COMPLETION_LOST && kind <= WEFT_INJECTED_FAULT_COMPLETION_REPEATED);
  (void)client.write(kBar0, WEFT_REG_INJECT_TARGET, kind == WEFT_INJECTED_FAULT_BOOT_STOP ? 3 : of_queue ? 1 : 0, 4);
  (void)client.write(kBar0, WEFT_REG_INJECT_NTH, 1, 4);
  (void)client.write(kBar0, WEFT_REG_INJECT_COUNT, tenant.random.one_in(2) ? 1 : UINT32_MAX, 4);
  (void)client.write(kBar0, WEFT_REG_INJECT_VALUE0, tenant.random.one_in(3) ? tenant.random.below(256) : 0, 8);
  const int control = client.write(kBar0, WEFT_REG_INJECT_CONTROL, 1, 4);
  if (control >= 0) armed = control;
  if (ring) {
    device->put(*ring, entry_of(WEFT_QUEUE_OPCODE_NOP));
    device->doorbell(*ring);
    (void)device->complete(*ring, 50);
  }
  if (tenant.random.one_in(2)) (void)client.request(kReset, {}, {}, 50);
  device->forget();
  tenant.drop(device);
  return armed >= 0;
}

/// Every register, with any value, in any width.
bool scribble(Tenant& tenant) {
  RawDevice* const device = tenant.device();
  if (device == nullptr) return false;
  unsigned answered = 0;
  for (uint64_t i = tenant.random.between(30, 300); i != 0 && device->client().valid(); i--) {
    const uint32_t region = tenant.random.pick({kBar0, kBar0, kBar2, kBar4, kConfig});
    const uint64_t limit = region == kBar0 ? 0x140 : region == kConfig ? 256 : 4352;
    const uint32_t width = tenant.random.pick({1u, 2u, 4u, 8u});
    answered += device->client().write(region, tenant.random.below(limit / width) * width, tenant.random.odd_value(),
                                       width) >= 0
                    ? 1
                    : 0;
  }
  device->forget();
  tenant.drop(device);
  return answered != 0;
}

bool limits(Tenant& tenant) {
  RawDevice* const device = tenant.booted();
  if (device == nullptr) return false;
  const int error = device->client().write(kBar0, WEFT_REG_FIRMWARE_WATCHDOG,
                                           tenant.random.pick({uint64_t{1}, uint64_t{50}, uint64_t{UINT32_MAX}}), 4);
  (void)device->run(device->admin(),
                    entry_of(WEFT_ADMIN_OPCODE_SET_TIMEOUT, 0, 0, tenant.random.pick({uint64_t{1}, UINT64_MAX})));
  (void)busy_queue(tenant, *device, 4);
  for (unsigned i = 0; i < 20; i++) (void)device->client().read(kBar0, WEFT_REG_HEARTBEAT, 8);
  device->forget();
  return error >= 0;
}

bool alarms(Tenant& tenant) {
  RawDevice* const device = tenant.device();
  if (device == nullptr) return false;
  bool acted = false;
  for (uint64_t i = tenant.random.between(5, 40); i != 0; i--) {
    acted |= device->client().write(kBar0, WEFT_REG_WAIT_ALARM, tenant.random.odd_value(), 8) >= 0;
    if (tenant.random.one_in(4)) (void)device->client().read(kBar0, WEFT_REG_WAIT_STATUS, 4);
    if (tenant.random.one_in(4)) (void)device->client().write(kBar0, WEFT_REG_COUNTER_SNAPSHOT, 1, 4);
  }
  return acted;
}

constexpr Attack kAttacks[] = {
    {"doorbell_burst", 4, doorbell_burst, "2,000 doorbells in one piece"},
    {"resets", 6, resets, "resets by message, register and configuration space under copies"},
    {"resets_of_queues", 4, resets_of_queues, "resets of queues and engines, aborts"},
    {"hold", 4, hold, "SIM_HOLD, and nothing more"},
    {"inject", 6, inject, "any injected fault, with its occasion"},
    {"scribble", 4, scribble, "all registers with odd values in every width"},
    {"limits", 4, limits, "watchdogs of 1 cycle and of for ever"},
    {"alarms", 2, alarms, "waits armed at odd cycles"},
};

}  // namespace

std::span<const Attack> timing_attacks() { return kAttacks; }

}  // namespace weft::tenant
