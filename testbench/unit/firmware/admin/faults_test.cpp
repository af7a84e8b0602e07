// Fault records, the sticky error registers, refused entries and halted queues.
#include "firmware/admin/faults.hpp"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <utility>

#include "check.hpp"
#include "host_side.hpp"

using namespace weft::fw;
using mock::kData;
using mock::machine;
using mock::make_image;
using mock::place_image;

namespace {

struct Fixture {
  State& state = mock::make_state();
  Function& function = state.functions[0];
  Queue& queue = function.queues[1];
  Fixture() {
    function.faults = {mock::kFaults, 0, 0, false};
    function.log = {mock::kLog, LogLevel::kDebug, 0, 0, false};
    mock::open_pair(function, 1, mock::kRings, 16, mock::kRings + 0x10000, 16);
  }
};

template <typename T>
const T& at(uint64_t iova) {
  return *reinterpret_cast<const T*>(machine().find(WEFT_ADDRESS_SPACE_HOST, iova, sizeof(T)));
}
const weft_fault_record& record(uint32_t slot) {
  return at<weft_fault_record>(mock::kFaults + slot * sizeof(weft_fault_record));
}
const weft_completion_entry& completion() { return at<weft_completion_entry>(mock::kRings + 0x10000); }
uint64_t shown(uint32_t offset) { return machine().registers[offset]; }
bool raised(uint32_t vector) {
  const auto& v = machine().interrupts;
  return std::find(v.begin(), v.end(), vector) != v.end();
}

}  // namespace

static int fresh(void**) {
  mock::reset();
  return 0;
}

static void records_are_numbered_from_one_and_wrap_around_the_ring(void**) {
  Fixture f;
  for (uint32_t i = 0; i <= WEFT_LIMIT_FAULT_ENTRIES; i++) {
    weft_fault_record r{};
    r.detail0 = i;
    assert_true(write_fault_record(f.function, r));
  }
  assert_int_equal(record(0).record_number, WEFT_LIMIT_FAULT_ENTRIES + 1);
  assert_int_equal(record(0).detail0, WEFT_LIMIT_FAULT_ENTRIES);
  assert_int_equal(record(1).record_number, 2);
}

static void a_record_that_cannot_be_written_switches_the_ring_off_and_is_not_counted(void**) {
  for (const int failing : {0, 1}) {  // the body, the number
    mock::reset();
    Fixture f;
    weft_fault_record r{};
    machine().fail_dma_after = failing;
    assert_false(write_fault_record(f.function, r));
    assert_int_equal(f.function.faults.written, 0);
    assert_int_equal(record(0).record_number, 0);
    assert_false(write_fault_record(f.function, r));
  }
}

static void the_first_error_is_sticky_and_the_others_are_counted(void**) {
  Fixture f;
  note_error(f.function, WEFT_ERROR_DMA_FAULT);
  note_error(f.function, WEFT_ERROR_BAD_DOORBELL);
  note_error(f.function, WEFT_ERROR_BAD_DOORBELL);
  assert_int_equal(shown(WEFT_REG_FIRST_ERROR), WEFT_ERROR_DMA_FAULT);
  assert_int_equal(shown(WEFT_REG_PENDING_ERRORS), 3);
  machine().registers[WEFT_REG_FIRST_ERROR] = WEFT_ERROR_OK;  // the host clears it
  note_error(f.function, WEFT_ERROR_BAD_DOORBELL);
  assert_int_equal(shown(WEFT_REG_FIRST_ERROR), WEFT_ERROR_BAD_DOORBELL);
  assert_int_equal(shown(WEFT_REG_PENDING_ERRORS), 1);
}

static void a_refused_entry_completes_with_a_record_that_names_the_field(void**) {
  Fixture f;
  const weft_submission_entry e = mock::entry(WEFT_QUEUE_OPCODE_COPY, 0x1003);
  refuse_entry(f.state, f.queue, e, Status{WEFT_ERROR_BAD_DESCRIPTOR, 8, 0x1234});
  assert_int_equal(CODE(completion()), WEFT_ERROR_BAD_DESCRIPTOR);
  assert_int_equal(WEFT_STATUS_MORE(completion().status), 1);
  assert_int_equal(completion().command_id, 0x1003);
  assert_int_equal(record(0).error, WEFT_ERROR_BAD_DESCRIPTOR);
  assert_int_equal(record(0).command_id, 0x1003);
  assert_int_equal(record(0).queue_id, 1);
  assert_int_equal(record(0).detail0, 8);
  assert_int_equal(record(0).detail1, 0x1234);
  assert_int_equal(shown(WEFT_REG_FIRST_ERROR), WEFT_ERROR_OK);  // a command's own error is no device's
  assert_int_equal(f.function.log.sequence, 1);
}

static void a_refusal_without_a_ring_of_records_promises_no_more_information(void**) {
  Fixture f;
  f.function.faults.iova = 0;
  refuse_entry(f.state, f.queue, mock::entry(WEFT_QUEUE_OPCODE_NOP, 1), Status{WEFT_ERROR_BAD_DESCRIPTOR, 0, 0});
  assert_int_equal(CODE(completion()), WEFT_ERROR_BAD_DESCRIPTOR);
  assert_int_equal(WEFT_STATUS_MORE(completion().status), 0);
}

static void a_fault_of_a_unit_is_the_devices_error_as_well(void**) {
  Fixture f;
  refuse_entry(f.state, f.queue, mock::entry(WEFT_QUEUE_OPCODE_NOP, 1), Status{WEFT_ERROR_DMA_FAULT, 0, 0});
  assert_int_equal(shown(WEFT_REG_FIRST_ERROR), WEFT_ERROR_DMA_FAULT);
}

static void what_the_host_cancelled_or_what_follows_from_another_error_is_not_logged(void**) {
  Fixture f;
  refuse_entry(f.state, f.queue, mock::entry(WEFT_QUEUE_OPCODE_NOP, 1), Status{WEFT_ERROR_CANCELLED, 0, 0});
  refuse_entry(f.state, f.queue, mock::entry(WEFT_QUEUE_OPCODE_NOP, 2), Status{WEFT_ERROR_DEPENDENCY_FAILED, 0, 0});
  assert_int_equal(f.function.log.sequence, 0);
}

static void a_queue_halts_once_with_its_record_its_vector_and_vector_zero(void**) {
  Fixture f;
  halt_queue(f.state, f.queue, Status{WEFT_ERROR_BAD_DOORBELL, 99, 3});
  halt_queue(f.state, f.queue, Status{WEFT_ERROR_DMA_FAULT, 0, 0});
  assert_true(f.queue.state == QueueState::kHalted);
  assert_int_equal(f.function.faults.written, 1);
  assert_int_equal(record(0).error, WEFT_ERROR_BAD_DOORBELL);
  assert_int_equal(record(0).detail0, 99);
  assert_int_equal(record(0).detail1, 3);
  assert_int_equal(shown(WEFT_REG_FIRST_ERROR), WEFT_ERROR_BAD_DOORBELL);
  assert_int_equal(machine().interrupts.size(), 2);
  assert_true(raised(completion_vector(1)) && raised(completion_vector(kAdminQueue)));
}

static void the_admin_queue_halts_with_one_interrupt(void**) {
  Fixture f;
  f.function.queues[0].state = QueueState::kActive;
  halt_queue(f.state, f.function.queues[0], Status{WEFT_ERROR_DMA_FAULT, 0x1000, 64});
  assert_int_equal(machine().interrupts.size(), 1);
  assert_true(raised(completion_vector(kAdminQueue)));
  const auto& log = at<weft_log_record>(mock::kLog);
  assert_int_equal(log.event, WEFT_LOG_EVENT_ENTRY_REFUSED);
}

namespace {

constexpr uint16_t kSemaphore = 7;
constexpr uint64_t kHbm = UINT64_C(1) << 63;

enum class Work { kLaunch, kFill };

/// A function with queues 1 and 2, and on queue 1 work that outlasts every test: it raises semaphore 7. Queue 2 feeds
/// the completion ring of queue 1.
struct Busy {
  explicit Busy(Work work) {
    const auto image = make_image({0, 8, 0, 0, 0});
    place_image(image);
    machine().core.service_cycles[WEFT_QUEUE_MXU] = 200'000;
    machine().copy_never_ends = true;
    machine().script = {[this, size = image.size()] {
                          host.create(1, 4, 8);
                          host.create_guest(2, 4, 1);
                          host.submit(0, mock::load_entry(size));
                          auto semaphore = mock::entry(WEFT_ADMIN_OPCODE_CREATE_TIMELINE);
                          semaphore.size = kSemaphore;
                          host.submit(0, semaphore);
                        },
                        [this, work] {
                          const auto done = host.drain(0);
                          assert_int_equal(done.size(), 4);
                          auto e = work == Work::kLaunch
                                       ? mock::launch_entry(done[2].start_cycle, mock::make_list(0, 0), 0x1001)
                                       : mock::entry(WEFT_QUEUE_OPCODE_FILL, 0x1001);
                          if (work == Work::kFill) e.arg0 = 0xffffffff, e.arg1 = kData | kHbm, e.size = 4096;
                          e.signal_id = kSemaphore;
                          e.signal_value = 1;
                          host.submit(1, e);
                          machine().at_cycle[machine().now + 60'000] = [this] {
                            assert_true(busy());
                            machine().before_telling = [this](uint64_t place) {
                              const bool news = place >= mock::kHostBase || place == WEFT_REG_FIRST_ERROR;
                              told_while_busy += news && busy() ? 1 : 0;
                            };
                            act();
                          };
                        }};
  }
  static bool busy() { return machine().core.busy() || machine().copy_running; }
  void run(std::function<void()> what) {
    act = std::move(what);
    mock::run_firmware();
    assert_int_equal(machine().script_next, machine().script.size());
    assert_false(machine().hung);
  }
  mock::Host host = mock::boot();
  std::function<void()> act;
  uint32_t told_while_busy = 0;  ///< news to the host, from the halt on, while an engine worked
};

void wait_for_the_semaphore(mock::Host& host) {
  auto e = mock::entry(WEFT_QUEUE_OPCODE_WAIT, 0x1002);
  e.wait_id = kSemaphore;
  e.wait_value = 1;
  host.submit(2, e);
}

}  // namespace

static void a_queue_that_halts_has_nothing_on_an_engine_when_the_host_hears_of_it(void**) {
  for (const Work work : {Work::kLaunch, Work::kFill}) {
    Busy b(work);
    b.run([] { machine().ring(1, 99); });
    assert_int_equal(b.told_while_busy, 0);
    assert_false(Busy::busy());
    assert_int_equal(b.host.fault(1).error, WEFT_ERROR_BAD_DOORBELL);
    assert_int_equal(b.host.drain(1).size(), 0);  // the halt is how it ends
    assert_int_equal(machine().hbm[kData], 0);
    for (uint32_t i = 0; i < WEFT_SEGMENTS; i++) assert_int_equal(machine().core.attributes(i), 0);
  }
}

static void a_bad_head_of_a_completion_ring_stops_what_its_queues_have_on_engines(void**) {
  for (const Work work : {Work::kLaunch, Work::kFill}) {
    Busy b(work);
    b.run([&b] {
      machine().side(0).completion_doorbell[1] = 5;  // nothing was written yet
      b.host.submit(2, mock::entry(WEFT_QUEUE_OPCODE_NOP, 0x1002));
    });
    assert_int_equal(b.told_while_busy, 0);
    assert_false(Busy::busy());
    assert_int_equal(b.host.fault(1).queue_id, 1);
    assert_int_equal(b.host.fault(2).queue_id, 2);
  }
}

static void a_completion_ring_that_cannot_be_written_stops_what_its_queues_have_on_engines(void**) {
  for (const Work work : {Work::kLaunch, Work::kFill}) {
    Busy b(work);
    b.run([&b] {
      b.host.submit(2, mock::entry(WEFT_QUEUE_OPCODE_NOP, 0x1002));
      machine().fail_dma_after = 1;  // the completion, after the fetch
    });
    assert_int_equal(b.told_while_busy, 0);
    assert_false(Busy::busy());
    assert_int_equal(b.host.fault(1).error, WEFT_ERROR_DMA_FAULT);
  }
}

static void the_command_that_a_halt_takes_off_its_engine_fails_its_semaphore(void**) {
  Busy b(Work::kLaunch);
  b.run([&b] {
    machine().ring(1, 99);
    wait_for_the_semaphore(b.host);  // on queue 2, which is not halted
  });
  const auto done = b.host.drain(1);
  assert_int_equal(done.size(), 1);
  assert_int_equal(CODE(done[0]), WEFT_ERROR_DEPENDENCY_FAILED);
  assert_int_equal(static_cast<uint32_t>(b.host.fault(2).detail0), 0x1001 | 1 << 16);
  assert_int_equal(b.host.fault(2).detail1, WEFT_ERROR_BAD_DOORBELL);
}

static void a_halt_leaves_the_engines_of_other_queues_alone(void**) {
  for (const Work work : {Work::kLaunch, Work::kFill}) {
    Busy b(work);
    b.run([] {
      machine().ring(2, 99);
      machine().before_telling = nullptr;
      machine().copy_never_ends = false;
      machine().copy_done_cycle = machine().now + 100'000;
    });
    const auto done = b.host.drain(1);
    assert_int_equal(done.size(), 1);
    assert_int_equal(CODE(done[0]), WEFT_ERROR_OK);
  }
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test_setup(records_are_numbered_from_one_and_wrap_around_the_ring, fresh),
      cmocka_unit_test_setup(a_record_that_cannot_be_written_switches_the_ring_off_and_is_not_counted, fresh),
      cmocka_unit_test_setup(the_first_error_is_sticky_and_the_others_are_counted, fresh),
      cmocka_unit_test_setup(a_refused_entry_completes_with_a_record_that_names_the_field, fresh),
      cmocka_unit_test_setup(a_refusal_without_a_ring_of_records_promises_no_more_information, fresh),
      cmocka_unit_test_setup(a_fault_of_a_unit_is_the_devices_error_as_well, fresh),
      cmocka_unit_test_setup(what_the_host_cancelled_or_what_follows_from_another_error_is_not_logged, fresh),
      cmocka_unit_test_setup(a_queue_halts_once_with_its_record_its_vector_and_vector_zero, fresh),
      cmocka_unit_test_setup(the_admin_queue_halts_with_one_interrupt, fresh),
      cmocka_unit_test(a_queue_that_halts_has_nothing_on_an_engine_when_the_host_hears_of_it),
      cmocka_unit_test(a_bad_head_of_a_completion_ring_stops_what_its_queues_have_on_engines),
      cmocka_unit_test(a_completion_ring_that_cannot_be_written_stops_what_its_queues_have_on_engines),
      cmocka_unit_test(the_command_that_a_halt_takes_off_its_engine_fails_its_semaphore),
      cmocka_unit_test(a_halt_leaves_the_engines_of_other_queues_alone),
  };
  return cmocka_run_group_tests_name("firmware/admin/faults", tests, nullptr, nullptr);
}
