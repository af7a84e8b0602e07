// Several functions at once: what one names never reaches another, and what a reset or a departure takes back.
#include "firmware/admin/function_release.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "check.hpp"
#include "firmware/boot.hpp"
#include "host_side.hpp"

using namespace mock;
using namespace weft::fw;
using E = weft_submission_entry;

namespace {

constexpr uint64_t kHbm = kHbmAddressBit;
constexpr uint64_t kReserved = WEFT_MANAGER_HBM_RESERVED_BYTES;
constexpr uint64_t kShare = kHbmBytes / 2;  ///< of two functions
constexpr uint64_t kMine = 0x100000;        ///< a place in either share
constexpr uint64_t kBuffer = kHostBase + 0x200000;

E copy(uint64_t source, uint64_t destination, uint64_t bytes, uint8_t opcode = WEFT_QUEUE_OPCODE_COPY) {
  E e = entry(opcode);
  e.arg0 = source;
  e.arg1 = destination;
  e.size = bytes;
  return e;
}

/// Two functions that boot with queue 1 each, each with a program of `counts` commands.
struct Two {
  Two() {
    reset();
    machine().functions = 2;
    hosts[0].emplace(0);
    hosts[1].emplace(1);
    for (uint32_t f = 0; f < 2; f++) place_image(image, f * kShare);
    machine().script = {[this] {
                          for (Host* host : {&a(), &b()}) {
                            host->create(1, 8, 8);
                            host->submit(0, load_entry(image.size()));
                          }
                        },
                        [this] {
                          for (uint32_t f = 0; f < 2; f++) {
                            const auto done = hosts[f]->drain(0);
                            assert_int_equal(CODE(done.at(0)), WEFT_ERROR_OK);
                            assert_int_equal(CODE(done.at(1)), WEFT_ERROR_OK);
                            program[f] = done[1].start_cycle;
                          }
                        }};
  }
  Host& a() { return *hosts[0]; }
  Host& b() { return *hosts[1]; }
  void then(std::function<void()> step) { machine().script.push_back(std::move(step)); }
  void run() {
    run_firmware();
    assert_false(machine().hung);
    assert_int_equal(machine().script_next, machine().script.size());
  }
  void request(uint32_t function, bool departed) {
    Side& side = machine().side(function);  // what the hardware does at once
    side.submission_doorbell.fill(0);
    side.completion_doorbell.fill(0);
    side.doorbell_pending = 0;
    side.registers[WEFT_REG_DEVICE_STATE] = WEFT_DEVICE_STATE_RESETTING;
    machine().requests |= 1u << function;
    if (departed) machine().departed |= 1u << function;
    machine().event = true;
  }
  E launch(uint32_t function) {
    const uint64_t list = make_list(0, 2, function);
    for (uint32_t i = 0; i < 2; i++) argument(0, i, function).address = kMine + i * 256;
    seal_list(0, function);
    return launch_entry(program[function], list);
  }
  uint64_t device_state(uint32_t function) { return machine().side(function).registers[WEFT_REG_DEVICE_STATE]; }

  std::vector<uint8_t> image = make_image({4, 3, 2, 2, 1}, 2);
  std::optional<Host> hosts[2];
  uint64_t program[2] = {};
};

}  // namespace

static void each_function_sees_its_share_of_hbm_and_boots_by_itself(void**) {
  Two two;
  two.run();
  for (uint32_t f = 0; f < 2; f++) {
    assert_int_equal(two.device_state(f), WEFT_DEVICE_STATE_READY);
    assert_int_equal(machine().side(f).registers[WEFT_REG_HBM_BYTES], kShare);
    assert_int_equal(machine().side(f).interrupts.size(), 1);
  }
}

static void shares_do_not_overlap_and_fill_the_memory_for_any_number_of_functions(void**) {
  for (uint32_t count = 1; count <= WEFT_LIMIT_FUNCTIONS; count++) {
    reset();
    machine().functions = count;
    const State& state = make_state();
    uint64_t end = 0;
    for (uint32_t f = 0; f < count; f++) {
      const Function& function = state.functions[f];
      assert_int_equal(function.hbm_base, end);
      assert_int_equal(function.hbm_base % kShareAlignment, 0);
      assert_int_equal(function.hbm_bytes, state.functions[0].hbm_bytes);
      end += function.hbm_bytes;
    }
    assert_true(end <= kHbmBytes && kHbmBytes - end < count * kShareAlignment);
  }
}

static void the_same_address_is_another_place_for_each_function(void**) {
  Two two;
  two.then([&] {
    two.a().submit(1, copy(0x11111111, kHbm | kMine, 64, WEFT_QUEUE_OPCODE_FILL));
    two.b().submit(1, copy(0x22222222, kHbm | kMine, 64, WEFT_QUEUE_OPCODE_FILL));
  });
  two.then([&] {
    two.a().submit(1, copy(kHbm | kMine, kBuffer, 64));
    two.b().submit(1, copy(kHbm | kMine, kBuffer, 64));
  });
  two.run();
  assert_int_equal(machine().hbm[kMine], 0x11);
  assert_int_equal(machine().hbm[kShare + kMine], 0x22);
  assert_int_equal(*machine().find(WEFT_ADDRESS_SPACE_HOST, kBuffer, 1, 0), 0x11);
  assert_int_equal(*machine().find(WEFT_ADDRESS_SPACE_HOST, kBuffer, 1, 1), 0x22);
}

/// Device addresses that are not the function's own, for an access of 64 bytes: below, beyond, across its end, and what
/// would wrap into its neighbour.
static const uint64_t kForeign[] = {0,
                                    kReserved - 64,
                                    kShare,
                                    kShare - 32,
                                    kShare + kMine,
                                    2 * kShare - 64,
                                    kHbmBytes,
                                    (UINT64_C(1) << 63) - kShare,
                                    (UINT64_C(1) << 63) - kShare + kMine,
                                    (UINT64_C(1) << 63) - 64};

static void foreign_addresses_are_refused_in_every_field_of_every_entry(void**) {
  for (uint32_t f = 0; f < 2; f++) {
    for (const uint64_t address : kForeign) {
      Two two;
      std::vector<weft_completion_entry> io, admin;
      Host& host = *two.hosts[f];
      machine().writable.clear();
      const std::vector<uint8_t> before(machine().hbm.begin(), machine().hbm.end());
      two.then([&] {
        host.put(1, copy(kHbm | address, kBuffer, 64));
        host.put(1, copy(kBuffer, kHbm | address, 64));
        host.put(1, copy(0x77777777, kHbm | address, 64, WEFT_QUEUE_OPCODE_FILL));
        host.ring(1);
        E load = load_entry(two.image.size());
        load.arg0 = address;
        host.submit(0, load);
      });
      two.then([&] {
        io = host.drain(1);
        admin = host.drain(0);
        for (uint32_t i = 0; i < 2; i++) {  // each argument of a launch
          E launch = two.launch(f);
          argument(0, i, f).address = address & ~UINT64_C(15);
          argument(0, i, f).size_bytes = 64;
          seal_list(0, f);
          host.submit(1, launch);
        }
      });
      two.then([&] {});
      two.run();
      for (const auto& c : host.drain(1)) io.push_back(c);
      assert_int_equal(io.size(), 5);
      for (const auto& c : io) assert_int_equal(CODE(c), WEFT_ERROR_INVALID_ARGUMENT);
      assert_int_equal(CODE(admin.at(0)), WEFT_ERROR_INVALID_ARGUMENT);
      assert_int_equal(machine().copies.size(), 0);
      assert_int_equal(machine().core.accepted[0].size(), 0);
      assert_true(std::equal(before.begin() + kReserved, before.end(), machine().hbm.begin() + kReserved));
    }
  }
}

static void programs_of_one_function_are_unknown_to_the_other(void**) {
  Two two;
  two.then([&] {
    E unload = entry(WEFT_ADMIN_OPCODE_UNLOAD_PROGRAM);
    unload.arg0 = two.program[0];
    two.a().submit(0, unload);
  });
  two.then([&] {
    assert_int_equal(CODE(two.a().drain(0).at(0)), WEFT_ERROR_OK);
    two.a().submit(1, launch_entry(two.program[1], make_list(0, 2, 0)));  // the id is alive, but in function 1
    two.b().submit(1, two.launch(1));
  });
  two.run();
  assert_int_equal(CODE(two.a().drain(1).at(0)), WEFT_ERROR_INVALID_ARGUMENT);
  assert_int_equal(CODE(two.b().drain(1).at(0)), WEFT_ERROR_OK);
}

static void the_address_of_a_command_that_cannot_be_read_counts_from_its_functions_share(void**) {
  Two two;
  machine().core.read_command = [](uint64_t) -> const uint8_t* { return nullptr; };
  two.then([&] { two.b().submit(1, two.launch(1)); });
  two.then([&] {
    assert_int_equal(CODE(two.b().drain(1).at(0)), WEFT_ERROR_DMA_FAULT);
    const auto record = two.b().fault(1);
    assert_int_equal(record.fault_code, WEFT_FAULT_COMMAND_FETCH);
    assert_in_range(record.fault_address, kImage, kImage + two.image.size() - 1);
  });
  two.run();
}

static void segments_of_a_launch_lie_in_its_functions_share_and_host(void**) {
  Two two;
  two.then([&] { two.b().submit(1, two.launch(1)); });
  machine().core.service_cycles.fill(1000);
  machine().at_cycle[200'000] = [&] {};
  two.run();
  assert_int_equal(CODE(two.b().drain(1).at(0)), WEFT_ERROR_OK);
  assert_int_equal(machine().core.base(3), kShare + kMine);
  assert_int_equal(machine().core.base(4), kShare + kMine + 256);
  assert_int_equal(machine().core_function, 1);
}

static void functions_take_turns_on_the_core_however_many_queues_one_has(void**) {
  Two two;
  std::vector<uint32_t> order;
  two.then([&] {
    for (uint32_t q = 2; q <= 6; q++) two.a().create(q, 8, 8);
  });
  two.then([&] {
    machine().core.service_cycles.fill(5000);
    for (uint32_t q = 1; q <= 6; q++) two.a().submit(q, two.launch(0));
    for (uint32_t i = 0; i < 4; i++) two.b().put(1, two.launch(1));
    two.b().ring(1);
  });
  two.run();
  std::vector<std::pair<uint64_t, uint32_t>> starts;
  for (uint32_t q = 1; q <= 6; q++) starts.emplace_back(two.a().drain(q).at(0).start_cycle, 0);
  for (const auto& c : two.b().drain(1)) starts.emplace_back(c.start_cycle, 1);
  assert_int_equal(starts.size(), 10);
  std::sort(starts.begin(), starts.end());
  for (size_t i = 1; i < 8; i++) assert_int_not_equal(starts[i].second, starts[i - 1].second);
}

static void a_reset_ends_the_functions_launch_and_copy_without_completions_and_keeps_its_memory(void**) {
  Two two;
  two.then([&] { two.a().create(2, 8, 8); });
  two.then([&] {
    machine().core.service_cycles.fill(1'000'000);
    machine().copy_never_ends = true;
    machine().hbm[kMine] = 0x5a;
    two.a().submit(1, two.launch(0));
    two.a().submit(2, copy(kBuffer, kHbm | kMine + 4096, 64));
    machine().at_cycle[machine().now + 100'000] = [&] {
      machine().core.service_cycles.fill(100);
      two.request(0, false);
    };
  });
  two.then([&] {
    machine().copy_never_ends = false;
    two.b().submit(1, two.launch(1));
    two.b().put(1, copy(kBuffer, kHbm | kMine, 64));
    two.b().ring(1);
  });
  two.run();
  assert_int_equal(two.a().drain(1).size(), 0);
  assert_int_equal(two.a().drain(2).size(), 0);
  assert_int_equal(two.device_state(0), WEFT_DEVICE_STATE_PRESENT);
  assert_int_equal(machine().side(0).registers[WEFT_REG_BOOT_STAGE], WEFT_BOOT_STAGE_ROM);
  assert_int_equal(machine().hbm[kMine], 0x5a);
  assert_int_equal(machine().copies_aborted, 1);
  const auto done = two.b().drain(1);
  assert_int_equal(done.size(), 2);
  for (const auto& c : done) assert_int_equal(CODE(c), WEFT_ERROR_OK);
}

static void a_departure_clears_what_was_written_and_nothing_of_the_other(void**) {
  Two two;
  std::vector<uint8_t> others;
  two.then([&] {
    two.a().submit(1, copy(0x33333333, kHbm | kMine, 4096, WEFT_QUEUE_OPCODE_FILL));
    two.b().submit(1, copy(0x44444444, kHbm | kMine, 4096, WEFT_QUEUE_OPCODE_FILL));
  });
  two.then([&] {
    others.assign(machine().hbm.begin() + kShare, machine().hbm.end());
    two.request(0, true);
  });
  two.then([&] { two.b().submit(1, entry(WEFT_QUEUE_OPCODE_NOP)); });
  two.run();
  assert_int_equal(two.device_state(0), WEFT_DEVICE_STATE_PRESENT);
  for (uint64_t i = kReserved; i < kShare; i++) assert_int_equal(machine().hbm[i], 0);
  assert_true(std::equal(others.begin(), others.end(), machine().hbm.begin() + kShare));
  assert_int_equal(two.b().drain(1).size(), 2);
}

static void a_function_that_was_released_boots_for_the_next_client_and_remembers_nothing(void**) {
  Two two;
  two.then([&] { two.a().submit(1, copy(1, kHbm | kMine, 64, WEFT_QUEUE_OPCODE_FILL)); });
  two.then([&] { two.request(0, true); });
  two.then([&] { two.hosts[0].emplace(0); });
  two.then([&] {
    two.a().create(1, 8, 8);
    two.a().submit(0, load_entry(two.image.size()));  // the image was cleared
  });
  two.run();
  assert_int_equal(two.device_state(0), WEFT_DEVICE_STATE_READY);
  const auto done = two.a().drain(0);
  assert_int_equal(CODE(done.at(0)), WEFT_ERROR_OK);
  assert_int_equal(CODE(done.at(1)), WEFT_ERROR_EXECUTABLE_INVALID);
}

static void a_restart_of_the_firmware_clears_the_shares_of_those_who_left_before(void**) {
  reset();
  machine().functions = 2;
  machine().departed = machine().requests = 1u << 1;
  for (uint32_t f = 0; f < 2; f++) machine().side(f).registers[WEFT_REG_RESET_GENERATION] = 1;
  std::fill(machine().hbm.begin(), machine().hbm.end(), uint8_t{0xaa});
  run_firmware();
  assert_int_equal(machine().hbm[kShare - 1], 0xaa);
  for (uint64_t i = kShare + kReserved; i < kHbmBytes; i++) assert_int_equal(machine().hbm[i], 0);
  assert_int_equal(machine().side(1).registers[WEFT_REG_DEVICE_STATE], WEFT_DEVICE_STATE_PRESENT);
}

static void a_page_of_state_shows_nothing_of_anothers_launch(void**) {
  Two two;
  weft_state_header header{};
  two.then([&] {
    machine().core.service_cycles.fill(1'000'000);
    E launch = two.launch(0);
    launch.tag = 0x5ec2e7;
    two.a().submit(1, launch);
    machine().at_cycle[machine().now + 50'000] = [&] {
      E dump = entry(WEFT_ADMIN_OPCODE_DUMP_STATE);
      dump.arg0 = kBuffer;
      dump.size = WEFT_LIMIT_STATE_PAGE_BYTES;
      two.b().submit(0, dump);
    };
  });
  two.run();
  std::memcpy(&header, machine().find(WEFT_ADDRESS_SPACE_HOST, kBuffer, sizeof header, 1), sizeof header);
  assert_int_equal(header.magic, WEFT_LIMIT_STATE_MAGIC);
  weft_state_engine engine;
  std::memcpy(&engine, machine().find(WEFT_ADDRESS_SPACE_HOST, kBuffer + header.section_offset[1], sizeof engine, 1),
              sizeof engine);
  assert_int_equal(engine.active, 1);
  assert_int_equal(engine.tag, 0);
  assert_int_equal(engine.program_id, 0);
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(each_function_sees_its_share_of_hbm_and_boots_by_itself),
      cmocka_unit_test(shares_do_not_overlap_and_fill_the_memory_for_any_number_of_functions),
      cmocka_unit_test(the_same_address_is_another_place_for_each_function),
      cmocka_unit_test(foreign_addresses_are_refused_in_every_field_of_every_entry),
      cmocka_unit_test(programs_of_one_function_are_unknown_to_the_other),
      cmocka_unit_test(the_address_of_a_command_that_cannot_be_read_counts_from_its_functions_share),
      cmocka_unit_test(segments_of_a_launch_lie_in_its_functions_share_and_host),
      cmocka_unit_test(functions_take_turns_on_the_core_however_many_queues_one_has),
      cmocka_unit_test(a_reset_ends_the_functions_launch_and_copy_without_completions_and_keeps_its_memory),
      cmocka_unit_test(a_departure_clears_what_was_written_and_nothing_of_the_other),
      cmocka_unit_test(a_function_that_was_released_boots_for_the_next_client_and_remembers_nothing),
      cmocka_unit_test(a_restart_of_the_firmware_clears_the_shares_of_those_who_left_before),
      cmocka_unit_test(a_page_of_state_shows_nothing_of_anothers_launch),
  };
  return cmocka_run_group_tests_name("firmware/function_release", tests, nullptr, nullptr);
}
