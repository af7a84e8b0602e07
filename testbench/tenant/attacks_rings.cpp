// What the device reads from the tenant's memory: rings, entries, doorbells, pages, programs.
#include <algorithm>
#include <atomic>

#include "base/crc32c.hpp"
#include "testbench/tenant/tenant.hpp"

namespace weft::tenant {
namespace {

constexpr uint64_t kHbm = WEFT_LIMIT_ADDRESS_FLAG_HBM;
/// Until the watchdog ends a launch without progress. The firmware ends it after 256 times that, whatever the limit of
/// its function is (firmware/core/launch.hpp).
constexpr uint64_t kHangCycles = WEFT_CORE_WATCHDOG_DEFAULT_CYCLES + 100'000;

/// An entry with a fitting check and fields that fit each other as chance has it.
weft_submission_entry odd_entry(Random& random, bool admin) {
  weft_submission_entry entry = entry_of(static_cast<uint8_t>(admin ? random.between(64, 84) : random.between(0, 10)),
                                         random.odd_value(), random.odd_value(), random.odd_value());
  if (random.one_in(3)) entry.arg1 = RawDevice::kBase + random.below(RawDevice::kBytes);
  if (random.one_in(3)) entry.arg0 = kHbm | random.below(8u << 20);
  if (random.one_in(2)) entry.size = random.below(1u << 20);
  if (random.one_in(4)) entry.flags = static_cast<uint8_t>(random.word());
  if (random.one_in(8)) entry.wait_id = static_cast<uint16_t>(random.below(70)), entry.wait_value = random.odd_value();
  if (random.one_in(8))
    entry.signal_id = static_cast<uint16_t>(random.below(70)), entry.signal_value = random.odd_value();
  if (random.one_in(3)) entry.budget_kcycles = static_cast<uint32_t>(random.between(1, 1000));
  return entry;
}

bool odd_boot(Tenant& tenant) {
  RawDevice* const device = tenant.device();
  if (device == nullptr) return false;
  Random& random = tenant.random;
  device->forget();
  bool acted = false;
  for (uint64_t i = random.between(2, 8); i != 0; i--) {
    weft_parameter_page page{};
    page.magic = random.one_in(4) ? static_cast<uint32_t>(random.word()) : WEFT_MAGIC;
    page.abi_version = random.one_in(4) ? static_cast<uint32_t>(random.word()) : WEFT_ABI_MAJOR << 16;
    page.nonce = random.odd_value();
    for (uint64_t* field : {&page.admin_submission_iova, &page.admin_completion_iova, &page.log_iova, &page.fault_iova})
      *field = random.odd_value();
    page.feature_mask = random.odd_value();
    const uint64_t at = random.below(RawDevice::kBytes / 4096) * 4096;
    std::memcpy(&device->memory()[at], &page, sizeof page);
    acted |= device->client().write(kBar0, WEFT_REG_PARAMETER_PAGE,
                                    random.one_in(4) ? random.odd_value() : RawDevice::kBase + at, 8) >= 0;
    (void)device->client().write(kBar0, WEFT_REG_BOOT_CONTROL, random.one_in(5) ? random.word() : 1, 4);
    for (unsigned q = 0; q < 4; q++) (void)device->client().post(kBar2, 8 * random.below(17), random.word());
    (void)device->client().read(kBar0, WEFT_REG_BOOT_STAGE, 4);
    if (random.one_in(2)) (void)device->client().request(kReset, {});
  }
  return acted;
}

bool odd_entries(Tenant& tenant) {
  RawDevice* const device = tenant.booted();
  if (device == nullptr) return false;
  auto ring = device->create_queue(static_cast<unsigned>(tenant.random.between(1, 16)), 64);
  if (!ring) return false;
  const uint64_t count = tenant.random.between(10, 60);
  for (uint64_t i = 0; i < count; i++) device->put(*ring, odd_entry(tenant.random, false));
  device->doorbell(*ring);
  unsigned completed = 0;
  for (uint64_t i = 0; i < count && device->complete(*ring, 60); i++) completed++;
  device->forget();
  return completed != 0;
}

bool odd_admin(Tenant& tenant) {
  RawDevice* const device = tenant.booted();
  if (device == nullptr) return false;
  unsigned completed = 0;
  for (uint64_t i = tenant.random.between(10, 60); i != 0; i--) {
    device->put(device->admin(), odd_entry(tenant.random, true));
    device->doorbell(device->admin());
    if (!device->complete(device->admin(), 40)) break;
    completed++;
  }
  device->forget();
  return completed != 0;
}

/// Entries, ring and completions that change while the device reads and writes them.
bool changing_memory(Tenant& tenant) {
  RawDevice* const device = tenant.booted();
  if (device == nullptr) return false;
  auto ring = device->create_queue(static_cast<unsigned>(tenant.random.between(1, 16)), 32);
  const auto reserved = device->hbm_reserved();
  if (!ring || !reserved) return false;
  const std::span<std::byte> rings = device->memory().subspan(0, 256 * 1024);
  std::atomic<bool> stop{false};
  std::jthread writer([&stop, rings, random = Random(tenant.random.word())]() mutable {
    while (!stop.load(std::memory_order_relaxed)) {
      const auto value = static_cast<unsigned char>(random.word());
      std::atomic_ref(reinterpret_cast<unsigned char&>(rings[random.below(rings.size())]))
          .store(value, std::memory_order_relaxed);
    }
  });
  for (unsigned i = 0; i < 200; i++) {
    device->put(*ring, entry_of(WEFT_QUEUE_OPCODE_COPY, RawDevice::kBase + (1u << 20), kHbm | *reserved, 4096));
    device->doorbell(*ring);
    if (i % 16 == 0) (void)device->client().read(kBar0, WEFT_REG_CYCLES, 8);
  }
  stop = true;
  device->forget();
  return true;
}

bool lying_doorbells(Tenant& tenant) {
  RawDevice* const device = tenant.booted();
  if (device == nullptr) return false;
  std::vector<Ring> rings;
  for (unsigned q = 1; q <= 3; q++)
    if (auto ring = device->create_queue(q, 16)) rings.push_back(*ring);
  for (uint64_t i = tenant.random.between(20, 200); i != 0; i--)
    (void)device->client().post(kBar2, tenant.random.below(40) * 4,
                                tenant.random.one_in(2) ? tenant.random.odd_value() : tenant.random.below(40),
                                tenant.random.pick({1u, 2u, 4u, 8u}));
  const bool acted = device->client().read(kBar0, WEFT_REG_CYCLES, 8).has_value();
  device->forget();
  return acted && !rings.empty();
}

/// All queues full of large copies, with the highest priority.
bool greedy_copies(Tenant& tenant) {
  RawDevice* const device = tenant.booted();
  if (device == nullptr) return false;
  const auto reserved = device->hbm_reserved();
  if (!reserved) return false;
  unsigned rung = 0;
  for (unsigned q = 1; q <= 6; q++) {
    auto ring = device->create_queue(q, 32, WEFT_QUEUE_PRIORITY_HIGH);
    if (!ring) break;
    for (unsigned i = 0; i < 8; i++) {
      const uint64_t bytes = tenant.random.between(1, 512 * 1024) * 4;
      if (tenant.random.one_in(2)) {
        device->put(*ring,
                    entry_of(WEFT_QUEUE_OPCODE_FILL, tenant.random.word() & UINT32_MAX, kHbm | *reserved, bytes));
      } else {
        device->put(*ring, entry_of(WEFT_QUEUE_OPCODE_COPY, RawDevice::kBase + (1u << 20), kHbm | *reserved, bytes));
      }
    }
    device->doorbell(*ring);
    rung++;
  }
  device->forget();  // its rings may be anywhere by now
  return rung != 0;
}

/// A program with garbage for commands, or whose only command waits for what never comes.
Bytes program_image(Random& random, uint64_t fingerprint, bool hangs) {
  const uint64_t commands = hangs ? 1 : random.between(1, 64);
  weft_program_header header{};
  header.magic = WEFT_MAGIC;
  header.isa_version = 1;
  header.chip_fingerprint = fingerprint;
  header.kernel_count = 1;
  header.commands_offset = 192;
  header.commands_bytes = commands * 64;
  header.image_bytes = 192 + commands * 64;
  weft_program_kernel kernel{};
  for (unsigned q = 0; q < 5; q++) kernel.queue_count[q] = static_cast<uint32_t>(q == (hangs ? 4 : 0) ? commands : 0);
  kernel.vmem_bytes = 4096;
  Bytes image = joined(bytes_of(header), bytes_of(kernel));
  Bytes body = random.bytes(commands * 64);
  if (hangs) {  // it waits for semaphore 0, which nothing posts
    std::fill(body.begin(), body.end(), std::byte{0});
    body[0] = std::byte{WEFT_OPCODE_WAIT};
    std::fill(body.begin() + 5, body.begin() + 8, std::byte{0xff});
    body[8] = std::byte{1};
  } else {
    for (uint64_t i = 0; i < commands; i++)
      body[i * 64] = static_cast<std::byte>(random.below(24)), body[i * 64 + 1] = std::byte{0};
  }
  image = joined(std::move(image), body);
  if (!hangs && random.one_in(3)) image[random.below(image.size())] ^= static_cast<std::byte>(random.word());
  return image;
}

constexpr int kPatienceMs = 1500;

/// Loads and launches; how many launches were completed, each within `patience_ms` of wall time.
unsigned launch(Tenant& tenant, RawDevice& device, bool hangs, unsigned times, int patience_ms = kPatienceMs) {
  const auto fingerprint = device.client().read(kBar0, WEFT_REG_CHIP_FINGERPRINT, 8);
  const auto reserved = device.hbm_reserved();
  auto ring = device.create_queue(5, 16);
  const auto place = device.take(16384), list = device.take(4096);
  if (!fingerprint || !reserved || !ring || !place || !list) return 0;
  const Bytes image = program_image(tenant.random, *fingerprint, hangs);
  std::memcpy(&device.memory()[*place], image.data(), image.size());
  const uint64_t hbm = (*reserved + 63) / 64 * 64;
  if (device.run(*ring, entry_of(WEFT_QUEUE_OPCODE_COPY, RawDevice::kBase + *place, kHbm | hbm, image.size())) !=
      WEFT_ERROR_OK)
    return 0;
  const auto loaded = device.run(device.admin(), entry_of(WEFT_ADMIN_OPCODE_LOAD_PROGRAM, hbm, 0, image.size()));
  weft_completion_entry completion;
  std::memcpy(&completion,
              &device.memory()[device.admin().completion +
                               (device.admin().head - 1) % device.admin().entries * sizeof completion],
              sizeof completion);
  if (!loaded || (*loaded != WEFT_ERROR_OK && hangs)) return 0;
  weft_launch_list arguments{};  // none
  arguments.crc32c = weft::crc32c(std::as_bytes(std::span(&arguments, 1)));
  std::memcpy(&device.memory()[*list], &arguments, sizeof arguments);
  unsigned completed = 0;
  for (unsigned i = 0; i < times; i++) {
    device.put(*ring, entry_of(WEFT_QUEUE_OPCODE_LAUNCH, completion.start_cycle, RawDevice::kBase + *list, 0));
    device.doorbell(*ring);
    completed += device.complete(*ring, patience_ms) ? 1 : 0;
  }
  return completed;
}

bool odd_programs(Tenant& tenant) {
  RawDevice* const device = tenant.booted();
  return device != nullptr && launch(tenant, *device, false, 4) != 0;
}

bool hanging_program(Tenant& tenant) {
  RawDevice* const device = tenant.booted();
  return device != nullptr && launch(tenant, *device, true, 1) != 0;
}

/// The same with the longest watchdog that the device takes: a minute and more of a processor if the RTL of Ibex runs the
/// firmware.
constexpr int kLongPatienceMs = 300'000;

bool patient_program(Tenant& tenant) {
  RawDevice* const device = tenant.booted();
  if (device == nullptr) return false;
  (void)device->run(device->admin(), entry_of(WEFT_ADMIN_OPCODE_SET_TIMEOUT, 0, 0, UINT64_MAX));
  return launch(tenant, *device, true, 1, kLongPatienceMs) != 0;
}

/// Commands that wait: for semaphores that nobody raises, for news, for room in a ring that is never drained.
bool endless_waits(Tenant& tenant) {
  RawDevice* const device = tenant.booted();
  if (device == nullptr) return false;
  const auto made = device->run(device->admin(), entry_of(WEFT_ADMIN_OPCODE_CREATE_TIMELINE, 0, 0, 9));
  for (unsigned i = 0; i < 6; i++) {
    device->put(device->admin(), entry_of(WEFT_ADMIN_OPCODE_ASYNC_EVENT));
    device->doorbell(device->admin());
  }
  for (unsigned q = 1; q <= 4; q++) {
    auto ring = device->create_queue(q, 8);
    if (!ring) break;
    for (unsigned i = 0; i < 8; i++) {
      weft_submission_entry entry = entry_of(q % 2 == 0 ? WEFT_QUEUE_OPCODE_WAIT : WEFT_QUEUE_OPCODE_NOP);
      if (q % 2 == 0) entry.wait_id = 9, entry.wait_value = 5 + i;
      device->put(*ring, entry);
    }
    device->doorbell(*ring);
  }
  device->forget();
  return made.has_value();
}

constexpr Attack kAttacks[] = {
    {"odd_boot", 4, odd_boot, "parameter pages with odd addresses, boots in a row"},
    {"odd_entries", 6, odd_entries, "entries with a fitting check and odd fields"},
    {"odd_admin", 6, odd_admin, "admin commands with odd fields"},
    {"changing_memory", 6, changing_memory, "rings that change while the device reads them"},
    {"lying_doorbells", 4, lying_doorbells, "doorbells of all widths with odd values"},
    {"greedy_copies", 4, greedy_copies, "six queues of large copies at the highest priority"},
    {"odd_programs", 4, odd_programs, "programs of random commands"},
    {"hanging_program", 2, hanging_program, "a program that waits for ever", kHangCycles},
    {"patient_program", 1, patient_program, "the same, with a watchdog of for ever", 256 * kHangCycles},
    {"endless_waits", 4, endless_waits, "commands that wait for what nobody does"},
};

}  // namespace

std::span<const Attack> ring_attacks() { return kAttacks; }

}  // namespace weft::tenant
