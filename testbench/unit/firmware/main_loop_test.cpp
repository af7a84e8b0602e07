// The whole firmware against hosts that write garbage.
#include <cstring>
#include <random>

#include "check.hpp"
#include "host_side.hpp"

using namespace mock;

namespace {

constexpr unsigned kSeeds = 40;

/// What the firmware may write: answer, rings, records, and the destinations in HBM and host memory that the fuzz uses.
void guard() {
  auto& w = machine().writable;
  w = {{WEFT_ADDRESS_SPACE_HOST, kPage + offsetof(weft_parameter_page, answer_version), 24},
       {WEFT_ADDRESS_SPACE_HOST, kAdminCompletion, WEFT_LIMIT_ADMIN_RING_ENTRIES * sizeof(weft_completion_entry)},
       {WEFT_ADDRESS_SPACE_HOST, kLog, WEFT_LIMIT_LOG_ENTRIES * sizeof(weft_log_record)},
       {WEFT_ADDRESS_SPACE_HOST, kFaults, WEFT_LIMIT_FAULT_ENTRIES * sizeof(weft_fault_record)},
       {WEFT_ADDRESS_SPACE_HOST, kLists, 0x10000},
       {WEFT_ADDRESS_SPACE_HBM, 0, WEFT_MANAGER_HBM_RESERVED_BYTES}};
  for (uint32_t q = 0; q < 16; q++)
    w.push_back({WEFT_ADDRESS_SPACE_HOST, kRings + q * 0x20000 + 0x10000, 16 * sizeof(weft_completion_entry)});
}

}  // namespace

static void random_entries_with_good_and_bad_crcs_complete_exactly_once_and_write_nowhere_else(void**) {
  std::printf("seeds 1 to %u\n", kSeeds);
  for (unsigned seed = 1; seed <= kSeeds; seed++) {
    std::mt19937_64 random(seed);
    Host host = boot();
    guard();
    const auto image = make_image({40, 30, 20, 10, 5}, 2);
    place_image(image);
    uint64_t program = 0;
    uint32_t sent = 0, received = 0;
    machine().script = {[&] {
                          host.create(1, 16, 16);
                          host.create(2, 16, 16);
                          host.submit(0, load_entry(image.size()));
                        },
                        [&] {
                          program = host.drain(0).at(2).start_cycle;
                          make_list(0, 2);
                        }};
    for (int step = 0; step < 30; step++) {
      machine().script.push_back([&] {
        for (uint32_t q = 1; q <= 2; q++) {
          received += static_cast<uint32_t>(host.drain(q).size());
          const uint32_t room = 16 - (host.rings[q].tail - host.rings[q].completion_head);
          for (uint32_t i = 0; i < room && i < random() % 17; i++) {
            weft_submission_entry e{};
            switch (random() % 6) {
              case 0: {  // pure noise
                for (size_t b = 0; b < sizeof e; b += 8) {
                  const uint64_t noise = random();
                  std::memcpy(reinterpret_cast<uint8_t*>(&e) + b, &noise, 8);
                }
                if (random() % 2 == 0) seal(e);
                host.put_raw(q, e);
                break;
              }
              case 1:  // a launch with one byte wrong
              case 2:
                e = launch_entry(program, kLists, 1);
                reinterpret_cast<uint8_t*>(&e)[random() % 60] = static_cast<uint8_t>(random());
                host.put(q, e);
                break;
              case 3:
                host.put(q, launch_entry(program, kLists + 8 * (random() % 64), 2));
                break;
              case 4:
                host.put(q, launch_entry(program, kLists, 3));
                break;
              default:
                host.put(q, entry(static_cast<uint8_t>(random() % 12), 4));
                break;
            }
            sent++;
          }
          host.ring(q);
        }
      });
    }
    for (int n = 0; n < 3; n++) {
      machine().script.push_back([&] {
        for (uint32_t q = 1; q <= 2; q++) received += static_cast<uint32_t>(host.drain(q).size());
      });
    }
    run_firmware();
    assert_false(machine().hung);
    assert_int_equal(machine().script_next, machine().script.size());
    assert_int_equal(sent, received);
    assert_true(sent > 50);
    assert_int_equal(machine().stray_writes, 0);
  }
}

static void random_doorbells_images_and_bus_errors_never_hang_the_firmware(void**) {
  std::printf("seeds 1 to %u\n", kSeeds);
  for (unsigned seed = 1; seed <= kSeeds; seed++) {
    std::mt19937_64 random(seed * 7919);
    Host host = boot();
    guard();
    machine().script = {[&] {
      for (uint32_t q = 1; q <= 6; q++) host.create(q, 16, 16);
    }};
    for (int step = 0; step < 60; step++) {
      machine().script.push_back([&] {
        auto image = make_image({20, 20, 20, 20, 20}, 2);
        for (int n = 0; n < 3; n++) image[random() % 192] = static_cast<uint8_t>(random());
        place_image(image);
        host.drain(0);
        switch (random() % 5) {
          case 0:
            machine().ring(static_cast<uint32_t>(random() % 32), static_cast<uint32_t>(random()));
            break;
          case 1:
            machine().completion_doorbell[random() % 17] = static_cast<uint32_t>(random() % 20);
            break;
          case 2:
            machine().fail_dma_after = static_cast<int>(random() % 6);
            break;
          case 3:
            host.submit(0, load_entry(image.size()));
            break;
          default: {
            const auto q = static_cast<uint32_t>(1 + random() % 6);
            host.submit(q, launch_entry(64 + random() % 8, make_list(0, 2), 1));
            break;
          }
        }
        machine().event = true;
      });
    }
    run_firmware();
    assert_false(machine().hung);
    assert_int_equal(machine().script_next, machine().script.size());
    assert_int_equal(machine().stray_writes, 0);
  }
}

static void an_idle_firmware_sleeps(void**) {
  boot();
  run_firmware();
  assert_true(machine().waits < 5);
  assert_true(machine().registers[WEFT_REG_HEARTBEAT] < 5);
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(random_entries_with_good_and_bad_crcs_complete_exactly_once_and_write_nowhere_else),
      cmocka_unit_test(random_doorbells_images_and_bus_errors_never_hang_the_firmware),
      cmocka_unit_test(an_idle_firmware_sleeps),
  };
  return cmocka_run_group_tests_name("firmware/main_loop", tests, nullptr, nullptr);
}
