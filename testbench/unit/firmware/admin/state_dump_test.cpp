// The state page: refused places, an idle chip, a hung launch, queues that wait for each other's engine, a page that
// cannot be written.
#include "firmware/admin/state_dump.hpp"

#include <cstring>

#include "check.hpp"
#include "host_side.hpp"

using namespace mock;
using E = weft_submission_entry;

namespace {

constexpr uint64_t kStatePage = kHostBase + 0x380000;

E dump(uint64_t iova = kStatePage, uint64_t bytes = WEFT_LIMIT_STATE_PAGE_BYTES) {
  E e = entry(WEFT_ADMIN_OPCODE_DUMP_STATE);
  e.arg0 = iova;
  e.size = bytes;
  return e;
}

const uint8_t* page() { return machine().find(WEFT_ADDRESS_SPACE_HOST, kStatePage, WEFT_LIMIT_STATE_PAGE_BYTES); }

weft_state_header header() {
  weft_state_header h;
  std::memcpy(&h, page(), sizeof h);
  return h;
}

template <typename T>
T record(uint32_t section, uint32_t index) {
  const weft_state_header h = header();
  assert_true(index < h.section_count[section] && h.section_record_bytes[section] == sizeof(T));
  T out;
  std::memcpy(&out, page() + h.section_offset[section] + index * sizeof(T), sizeof out);
  return out;
}
weft_state_queue queue_record(uint32_t id) { return record<weft_state_queue>(0, id); }
weft_state_engine engine_record(uint32_t engine) { return record<weft_state_engine>(1, engine); }
weft_state_core_queue core_queue_record(uint32_t queue) { return record<weft_state_core_queue>(2, queue); }

/// Queues 1 and 2, and a program of 8 MXU and 3 VPU commands.
struct Fixture {
  Host host = boot();
  uint64_t program = 0;
  Fixture() {
    const auto image = make_image({0, 8, 3, 0, 0});
    place_image(image);
    machine().script = {[this] { host.create(1, 16, 16); }, [this] { host.create(2, 16, 16); },
                        [this, size = image.size()] { host.submit(0, load_entry(size)); },
                        [this] { program = host.drain(0).back().start_cycle; }};
  }
  void then(std::function<void()> step) { machine().script.push_back(std::move(step)); }
};

}  // namespace

static void a_page_that_is_unaligned_too_small_or_beyond_the_iova_range_is_refused(void**) {
  Host host = boot();
  const E bad[] = {dump(kStatePage + 8), dump(~UINT64_C(63)), dump(kStatePage, weft::fw::state_page_bytes() - 1),
                   dump(kStatePage, 0)};
  for (const E& e : bad) machine().script.push_back([&host, &e] { host.submit(0, e); });
  std::vector<weft_completion_entry> done;
  machine().script.push_back([&] { done = host.drain(0); });
  run_firmware();
  assert_int_equal(done.size(), 4);
  for (const auto& c : done) assert_int_equal(CODE(c), WEFT_ERROR_INVALID_ARGUMENT);
  assert_int_equal(header().magic, 0);
}

static void an_idle_chip_tells_its_queues_and_nothing_is_written_beyond_the_page(void**) {
  Fixture f;
  f.then([&] {
    machine().writable = {{WEFT_ADDRESS_SPACE_HOST, kStatePage, weft::fw::state_page_bytes()},
                          {WEFT_ADDRESS_SPACE_HOST, kAdminCompletion, 4096}};
    f.host.submit(0, dump());
  });
  f.then([&] {
    const auto done = f.host.drain(0);
    assert_int_equal(done.size(), 1);
    assert_int_equal(CODE(done[0]), WEFT_ERROR_OK);
  });
  run_firmware();
  assert_int_equal(machine().stray_writes, 0);
  const weft_state_header h = header();
  assert_int_equal(h.magic, WEFT_LIMIT_STATE_MAGIC);
  assert_int_equal(h.version, WEFT_LIMIT_STATE_VERSION);
  assert_int_equal(h.bytes, weft::fw::state_page_bytes());
  assert_int_equal(h.progress, 3);
  assert_true(h.heartbeat > 0 && h.cycle > 0);
  assert_int_equal(h.core_status, 0);
  assert_int_equal(queue_record(0).state, WEFT_QUEUE_STATE_ACTIVE);
  assert_int_equal(queue_record(1).state, WEFT_QUEUE_STATE_ACTIVE);
  assert_int_equal(queue_record(1).wait, WEFT_QUEUE_WAIT_NOTHING);
  assert_int_equal(queue_record(1).entries, 16);
  assert_int_equal(queue_record(3).state, WEFT_QUEUE_STATE_DELETED);
  assert_int_equal(engine_record(WEFT_ENGINE_CORE).active, 0);
  assert_int_equal(engine_record(WEFT_ENGINE_COPY).active, 0);
}

static void a_hung_launch_shows_its_owner_the_command_at_its_heads_and_who_waits_behind_it(void**) {
  Fixture f;
  machine().core.hang_queue = WEFT_QUEUE_MXU;
  machine().core.hang_command = 2;
  f.then([&] {
    f.host.submit(1, launch_entry(f.program, make_list(0, 0), 0x1005));
    machine().at_cycle[machine().now + 20000] = [&] {
      f.host.submit(2, launch_entry(f.program, make_list(1, 0), 0x1007));
    };
    machine().at_cycle[machine().now + 40000] = [&] { f.host.submit(0, dump()); };
  });
  run_firmware();
  const weft_state_engine core = engine_record(WEFT_ENGINE_CORE);
  assert_int_equal(core.active, 1);
  assert_int_equal(core.queue, 1);
  assert_int_equal(core.command_id, 0x1005);
  assert_int_equal(core.program_id, f.program);
  assert_int_equal(core.remaining, 6);
  assert_true(core.deadline_cycle == UINT64_MAX && core.progress_cycle > core.start_cycle);
  const weft_state_core_queue mxu = core_queue_record(WEFT_QUEUE_MXU);
  assert_int_equal(mxu.pushed, 8);
  assert_int_equal(mxu.total, 8);
  assert_int_equal(mxu.retired, 2);
  assert_int_equal(mxu.running, 1);
  assert_int_equal(mxu.level, 5);
  assert_int_equal(mxu.head_valid, 1);
  assert_int_equal(mxu.head[2], 3);  // tag of the command behind the one that hangs
  assert_true(mxu.posts == UINT64_C(1) << WEFT_QUEUE_MXU);
  const weft_state_core_queue vpu = core_queue_record(WEFT_QUEUE_VPU);
  assert_int_equal(vpu.retired, 3);
  assert_true(vpu.posts == 0);
  const weft_state_queue first = queue_record(1), second = queue_record(2);
  assert_int_equal(first.wait, WEFT_QUEUE_WAIT_RUNNING);
  assert_int_equal(first.opcode, WEFT_QUEUE_OPCODE_LAUNCH);
  assert_int_equal(first.fetched, 1);
  assert_int_equal(second.wait, WEFT_QUEUE_WAIT_CORE);
  assert_int_equal(second.command_id, 0x1007);
}

static void a_long_kernel_tells_the_posts_of_the_next_128_commands_only(void**) {
  Fixture f;
  auto image = make_image({0, 400, 0, 0, 0});
  weft_program_header h;
  std::memcpy(&h, image.data(), sizeof h);
  image[h.commands_offset + 100 * WEFT_COMMAND_BYTES + 7] = 9;   // the second post of command 100
  image[h.commands_offset + 300 * WEFT_COMMAND_BYTES + 7] = 40;  // too far away
  place_image(image);
  machine().script[2] = [&] { f.host.submit(0, load_entry(image.size())); };
  machine().core.hang_queue = WEFT_QUEUE_MXU;
  f.then([&] {
    f.host.submit(1, launch_entry(f.program, make_list(0, 0), 0x1005));
    machine().at_cycle[machine().now + 40000] = [&] { f.host.submit(0, dump()); };
  });
  run_firmware();
  assert_true(core_queue_record(WEFT_QUEUE_MXU).posts == (UINT64_C(1) << WEFT_QUEUE_MXU | UINT64_C(1) << 9));
}

static void a_copy_shows_what_is_left(void**) {
  Fixture f;
  machine().copy_never_ends = true;
  f.then([&] {
    E e = entry(WEFT_QUEUE_OPCODE_FILL, 0x1009);
    e.arg1 = kData | UINT64_C(1) << 63;
    e.size = 4096;
    f.host.submit(2, e);
    machine().at_cycle[machine().now + 40000] = [&] { f.host.submit(0, dump()); };
  });
  run_firmware();
  const weft_state_engine copy = engine_record(WEFT_ENGINE_COPY);
  assert_int_equal(copy.active, 1);
  assert_int_equal(copy.lost, 0);
  assert_int_equal(copy.queue, 2);
  assert_int_equal(copy.remaining, 4096);
  assert_true(copy.destination == (kData | UINT64_C(1) << 63));
}

static void a_page_that_cannot_be_written_is_a_dma_fault_and_keeps_its_magic_unwritten(void**) {
  for (int failing = 0; failing < 27; failing++) {
    Host host = boot();
    machine().script = {[&] { host.submit(0, dump()); }, [] {}};
    machine().at_cycle[machine().now + 1] = [] {};
    uint32_t code = 0;
    machine().script[0] = [&, failing] {
      host.put(0, dump());
      machine().fail_dma_after = failing + 1;  // the fetch of the entry goes well
      host.ring(0);
    };
    machine().script[1] = [&] {
      const auto done = host.drain(0);
      assert_int_equal(done.size(), 1);
      code = CODE(done[0]);
    };
    run_firmware();
    assert_int_equal(code, WEFT_ERROR_DMA_FAULT);
    assert_int_equal(header().magic, 0);
  }
}

static void the_waypoint_is_shown_as_it_changes(void**) {
  const Host host = boot();
  uint32_t asleep = 99;
  machine().script = {[&] { asleep = machine().waypoint; }, [&] { host.request_boot(); }};
  run_firmware();
  assert_int_equal(asleep, WEFT_WAYPOINT_IDLE);
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_page_that_is_unaligned_too_small_or_beyond_the_iova_range_is_refused),
      cmocka_unit_test(an_idle_chip_tells_its_queues_and_nothing_is_written_beyond_the_page),
      cmocka_unit_test(a_hung_launch_shows_its_owner_the_command_at_its_heads_and_who_waits_behind_it),
      cmocka_unit_test(a_long_kernel_tells_the_posts_of_the_next_128_commands_only),
      cmocka_unit_test(a_copy_shows_what_is_left),
      cmocka_unit_test(a_page_that_cannot_be_written_is_a_dma_fault_and_keeps_its_magic_unwritten),
      cmocka_unit_test(the_waypoint_is_shown_as_it_changes),
  };
  return cmocka_run_group_tests_name("state_dump", tests, nullptr, nullptr);
}
