// COPY and FILL: addresses, pieces, budget, an engine that hangs, and work beside a launch.
#include "firmware/core/copy.hpp"

#include <cstring>
#include <functional>
#include <initializer_list>

#include "check.hpp"
#include "host_side.hpp"

using namespace mock;
using E = weft_submission_entry;

namespace {

constexpr uint64_t kHbm = weft::fw::kHbmAddressBit;
constexpr uint64_t kBuffer = kHostBase + 0x200000;

E copy(uint64_t source, uint64_t destination, uint64_t bytes, uint8_t opcode = WEFT_QUEUE_OPCODE_COPY) {
  E e = entry(opcode);
  e.arg0 = source;
  e.arg1 = destination;
  e.size = bytes;
  return e;
}

struct Result {
  uint32_t code;
  weft_fault_record record;
};

Result run(const E& e, const std::function<void()>& arrange = {}) {
  Host host = boot();
  if (arrange) arrange();
  Result result{};
  machine().script = {[&] { host.create(1, 4, 4); }, [&] { host.submit(1, e); },
                      [&] {
                        const auto done = host.drain(1);
                        assert_int_equal(done.size(), 1);
                        result = {CODE(done[0]), host.fault(1)};
                      }};
  run_firmware();
  assert_int_equal(machine().script_next, 3);
  return result;
}

}  // namespace

static void bytes_move_both_ways_and_patterns_fill(void**) {
  const char text[] = "a weft is what crosses the warp";
  const auto put = [&] { std::memcpy(machine().find(WEFT_ADDRESS_SPACE_HOST, kBuffer, 32), text, 32); };
  assert_int_equal(run(copy(kBuffer, kHbm | kData, 32), put).code, WEFT_ERROR_OK);
  assert_memory_equal(machine().hbm.data() + kData, text, 32);
  assert_int_equal(
      run(copy(kHbm | kData, kBuffer, 32), [&] { std::memcpy(machine().hbm.data() + kData, text, 32); }).code,
      WEFT_ERROR_OK);
  assert_memory_equal(machine().find(WEFT_ADDRESS_SPACE_HOST, kBuffer, 32), text, 32);
  assert_int_equal(run(copy(0x01020304, kHbm | kData, 8, WEFT_QUEUE_OPCODE_FILL)).code, WEFT_ERROR_OK);
  assert_memory_equal(machine().hbm.data() + kData, "\4\3\2\1\4\3\2\1", 8);
  assert_int_equal(machine().hbm[kData + 8], 0);
}

static void wrong_addresses_and_sizes_are_refused(void**) {
  const uint64_t reserved = WEFT_MANAGER_HBM_RESERVED_BYTES;
  struct Case {
    E e;
    uint64_t offset;
    weft_error error = WEFT_ERROR_INVALID_ARGUMENT;
  };
  const Case cases[] = {
      {copy(kBuffer, kHbm | (reserved - 1), 16), offsetof(E, arg1)},
      {copy(kHbm | 0, kBuffer, 16), offsetof(E, arg0)},
      {copy(kBuffer, kHbm | (kHbmBytes - 15), 16), offsetof(E, size)},
      {copy(kHbm | (kHbmBytes - 15), kBuffer, 16), offsetof(E, size)},
      {copy(kHbm | (kHbmBytes + 1), kBuffer, 16), offsetof(E, arg0)},
      {copy(kBuffer, kHbm | kData, 0), offsetof(E, size)},
      {copy(kBuffer, kHbm | kData, UINT64_MAX), offsetof(E, size)},
      {copy(kHbm - 8, kHbm | kData, 16), offsetof(E, size)},
      {copy(kBuffer, kBuffer + 64, 16), offsetof(E, arg1), WEFT_ERROR_UNSUPPORTED},
      {copy(UINT64_C(1) << 32, kHbm | kData, 8, WEFT_QUEUE_OPCODE_FILL), offsetof(E, arg0)},
      {copy(0, kHbm | (kData + 2), 8, WEFT_QUEUE_OPCODE_FILL), offsetof(E, arg1)},
      {copy(0, kHbm | kData, 6, WEFT_QUEUE_OPCODE_FILL), offsetof(E, size)},
      {copy(0, kHbm | (reserved - 4), 8, WEFT_QUEUE_OPCODE_FILL), offsetof(E, arg1)},
  };
  for (const Case& c : cases) {
    const Result r = run(c.e);
    assert_int_equal(r.code, c.error);
    assert_int_equal(r.record.detail0, c.offset);
    assert_int_equal(machine().copies.size(), 0);
  }
}

static void a_bus_error_is_a_dma_fault_with_its_place(void**) {
  const Result r = run(copy(0x5000, kHbm | kData, 64));
  assert_int_equal(r.code, WEFT_ERROR_DMA_FAULT);
  assert_int_equal(r.record.fault_address, kData);
  assert_int_equal(r.record.detail0, 0x5000);
  assert_int_equal(r.record.detail1, 64);
}

static void a_large_copy_goes_in_pieces_that_touch_and_a_budget_ends_it_between_two(void**) {
  Host host = boot();
  machine().host.resize(12u << 20);
  uint32_t codes[2] = {99, 99};
  const auto fill = [&](uint32_t budget) {
    E e = copy(0x11111111, kBuffer, 2 * weft::fw::kCopyPieceBytes + 4096, WEFT_QUEUE_OPCODE_FILL);
    e.budget_kcycles = budget;
    host.submit(1, e);
  };
  machine().script = {[&] { host.create(1, 4, 4); }, [&] { fill(0); },
                      [&] {
                        codes[0] = CODE(host.drain(1).at(0));
                        assert_int_equal(machine().copies.size(), 3);
                        for (size_t i = 1; i < 3; i++)
                          assert_int_equal(machine().copies[i].destination,
                                           machine().copies[i - 1].destination + machine().copies[i - 1].bytes);
                        assert_int_equal(machine().copies[2].bytes, 4096);
                        machine().copies.clear();
                        fill(500);  // a piece takes about 420 000 cycles
                      },
                      [&] {
                        codes[1] = CODE(host.drain(1).at(0));
                        assert_int_equal(machine().copies.size(), 2);
                      }};
  run_firmware();
  assert_int_equal(codes[0], WEFT_ERROR_OK);
  assert_int_equal(codes[1], WEFT_ERROR_BUDGET_EXCEEDED);
}

static void a_piece_that_is_overdue_is_stopped_before_its_command_ends_and_the_engine_goes_on(void**) {
  Host host = boot();
  machine().copy_never_ends = true;
  std::vector<uint32_t> codes;
  uint32_t told_while_busy = 0;
  const auto collect = [&] {
    for (const auto& c : host.drain(1)) codes.push_back(CODE(c));
  };
  machine().script = {[&] { host.create(1, 4, 4); },
                      [&] {
                        host.submit(1, copy(kBuffer, kHbm | kData, 64));
                        machine().before_telling = [&](uint64_t place) {
                          told_while_busy += place >= kHostBase && machine().copy_running ? 1 : 0;
                        };
                      },
                      [&] {
                        collect();
                        assert_int_equal(told_while_busy, 0);
                        assert_int_equal(machine().copies_aborted, 1);
                        machine().before_telling = nullptr;
                        machine().copy_never_ends = false;
                        host.submit(1, copy(kBuffer, kHbm | kData, 64));
                      },
                      [&] { collect(); }};
  run_firmware();
  assert_true((codes == std::vector<uint32_t>{WEFT_ERROR_DEVICE_HUNG, WEFT_ERROR_OK}));
}

static void an_engine_that_does_not_stop_is_a_panic_and_its_command_does_not_end(void**) {
  Host host = boot();
  machine().copy_never_ends = machine().copy_unstoppable = true;
  machine().script = {[&] { host.create(1, 4, 4); }, [&] { host.submit(1, copy(kBuffer, kHbm | kData, 64)); }};
  run_firmware();
  assert_int_equal(machine().registers[WEFT_REG_DEVICE_STATE], WEFT_DEVICE_STATE_FAILED);
  assert_int_equal(host.fault(1).error, WEFT_ERROR_FIRMWARE_PANIC);
  assert_int_equal(host.drain(1).size(), 0);
}

static void a_copy_runs_beside_a_launch_of_another_queue_and_a_second_copy_waits(void**) {
  Host host = boot();
  const auto image = make_image({400, 400, 0, 0, 0});
  place_image(image);
  uint64_t program = 0;
  uint64_t launch_end = 0, first_copy = 0, second_start = 0;
  machine().script = {[&] {
                        host.create(1, 4, 4);
                        host.create(2, 4, 4);
                        host.create(3, 4, 4);
                        host.submit(0, load_entry(image.size()));
                      },
                      [&] {
                        program = host.drain(0).at(3).start_cycle;
                        make_list(0, 0);
                        host.submit(1, launch_entry(program, kLists));
                        host.submit(2, copy(kBuffer, kHbm | kData, 4096));
                        host.submit(3, copy(kBuffer, kHbm | (kData + 4096), 4096));
                      },
                      [&] {
                        launch_end = host.drain(1).at(0).end_cycle;
                        first_copy = host.drain(2).at(0).end_cycle;
                        second_start = host.drain(3).at(0).start_cycle;
                      }};
  run_firmware();
  assert_int_equal(machine().script_next, 3);
  assert_true(first_copy < launch_end);
  assert_true(second_start >= first_copy - 2000 && second_start < launch_end);
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(bytes_move_both_ways_and_patterns_fill),
      cmocka_unit_test(wrong_addresses_and_sizes_are_refused),
      cmocka_unit_test(a_bus_error_is_a_dma_fault_with_its_place),
      cmocka_unit_test(a_large_copy_goes_in_pieces_that_touch_and_a_budget_ends_it_between_two),
      cmocka_unit_test(a_piece_that_is_overdue_is_stopped_before_its_command_ends_and_the_engine_goes_on),
      cmocka_unit_test(an_engine_that_does_not_stop_is_a_panic_and_its_command_does_not_end),
      cmocka_unit_test(a_copy_runs_beside_a_launch_of_another_queue_and_a_second_copy_waits),
  };
  return cmocka_run_group_tests_name("firmware/copy", tests, nullptr, nullptr);
}
