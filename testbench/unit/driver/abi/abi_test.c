/* Every function of weft.h from C: what it does on a mock, and what it says to null pointers and wrong sizes. */
#define _POSIX_C_SOURCE 200809L
// cmocka.h uses the types of the headers before it
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "weft/weft.h"

extern const size_t weft_test_header_c11;
size_t weft_test_header_cxx20(void);

#define OK(call) assert_int_equal((call), WEFT_ERROR_OK)
#define INVALID(call) assert_int_equal((call), WEFT_ERROR_INVALID_ARGUMENT)

static int open_mock(void** state) {
  weft_device* device = NULL;
  if (weft_open("mock", &device) != WEFT_ERROR_OK) return -1;
  *state = device;
  return 0;
}

static int close_mock(void** state) { return weft_close(*state, NULL) == WEFT_ERROR_OK ? 0 : -1; }

static void the_header_has_one_layout_in_both_languages(void** state) {
  (void)state;
  assert_int_equal(weft_test_header_c11, sizeof(weft_error_info));
  assert_int_equal(weft_test_header_cxx20(), sizeof(weft_error_info));
}

static void the_library_tells_its_version(void** state) {
  (void)state;
  assert_int_equal(weft_version(), WEFT_VERSION);
  assert_int_equal(weft_version() >> 8 & 0xff, WEFT_VERSION_MINOR);
}

static void statuses_have_names(void** state) {
  (void)state;
  assert_string_equal(weft_status_name(WEFT_ERROR_OK), "OK");
  assert_string_equal(weft_status_name(WEFT_ERROR_QUEUE_FULL), "QUEUE_FULL");
  assert_string_equal(weft_status_name((weft_status)12345), "UNKNOWN");
}

static void errors_are_remembered_with_their_properties(void** state) {
  (void)state;
  weft_device* device = (weft_device*)1;
  weft_error_info info = WEFT_INIT(weft_error_info);
  INVALID(weft_open("sim:none", &device));
  assert_null(device);
  OK(weft_last_error(&info));
  assert_int_equal(info.code, WEFT_ERROR_INVALID_ARGUMENT);
  assert_int_equal(info.scope, WEFT_ERROR_SCOPE_COMMAND);
  assert_int_equal(info.retryable, 0);
  assert_int_equal(info.origin, WEFT_ERROR_CLASS_HOST);
  assert_non_null(strstr(info.message, "none"));
  info.size = 4;
  INVALID(weft_last_error(&info));
  INVALID(weft_last_error(NULL));
}

static void a_device_describes_itself(void** state) {
  weft_device_info info = WEFT_INIT(weft_device_info);
  OK(weft_device_get_info(*state, &info));
  assert_string_equal(info.preset, "nano");
  assert_int_equal(info.clock_hz, 1000000000);
  assert_int_equal(info.hbm_bytes, (64u << 20) - WEFT_MANAGER_HBM_RESERVED_BYTES);
  assert_int_equal(info.hbm_free_bytes, info.hbm_bytes);
  assert_int_equal(info.state, WEFT_DEVICE_STATE_READY);
  assert_int_equal(info.core, WEFT_CORE_KIND_FAST);
  assert_int_equal(info.abi_version >> 16, WEFT_ABI_MAJOR);
  assert_int_equal(info.generation, 0);
  info.size--;
  INVALID(weft_device_get_info(*state, &info));
  INVALID(weft_device_get_info(NULL, &info));
}

static void cycles_counters_statistics_and_log_can_be_read(void** state) {
  uint64_t cycle = 0, values[WEFT_COUNTERS], lost = 9;
  uint32_t count = 0;
  weft_log_record records[4];
  weft_device_statistics statistics = WEFT_INIT(weft_device_statistics);
  OK(weft_device_set_log_level(*state, 3));
  INVALID(weft_device_set_log_level(*state, 4));
  OK(weft_device_set_watchdog(*state, 1000));
  weft_error_log errors;
  weft_error_log_entry codes[2];
  OK(weft_device_get_errors(*state, &errors, codes, 2));
  assert_true(errors.completed >= 1 && errors.failed == 0 && codes[1].count == 0);
  OK(weft_device_get_errors(*state, &errors, NULL, 0));
  weft_event* listener = NULL;
  weft_device_news news = WEFT_INIT(weft_device_news);
  OK(weft_device_listen(*state, &listener));
  assert_int_equal(weft_event_get_news(listener, &news), WEFT_ERROR_INVALID_STATE);
  OK(weft_event_cancel(listener));
  weft_event_release(listener);
  OK(weft_device_cycle(*state, &cycle));
  assert_true(cycle >= 200);
  OK(weft_device_counters(*state, values, WEFT_COUNTERS));
  assert_int_equal(values[1], 2 * values[0]);
  INVALID(weft_device_counters(*state, values, WEFT_COUNTERS + 1));
  INVALID(weft_device_counters(*state, values, 0));
  OK(weft_device_get_statistics(*state, &statistics));
  assert_int_equal(statistics.submitted, 6);
  assert_int_equal(statistics.completed, 6);
  OK(weft_device_read_log(*state, records, 4, &count, &lost));
  assert_int_equal(count, 1);
  assert_int_equal(lost, 0);
  assert_int_equal(records[0].event, WEFT_LOG_EVENT_BOOT_STAGE);
  OK(weft_device_read_log(*state, records, 4, &count, NULL));
  assert_int_equal(count, 0);
}

static void buffers_are_mapped_and_described(void** state) {
  weft_buffer *host = NULL, *hbm = NULL, *none = NULL;
  weft_buffer_info info = WEFT_INIT(weft_buffer_info);
  void* pointer = NULL;
  OK(weft_buffer_create(*state, WEFT_MEMORY_HOST, 100, &host));
  OK(weft_buffer_create(*state, WEFT_MEMORY_HBM, 100, &hbm));
  INVALID(weft_buffer_create(*state, (weft_memory)3, 100, &none));
  assert_null(none);
  OK(weft_buffer_map(host, &pointer));
  memset(pointer, 1, 100);
  INVALID(weft_buffer_map(hbm, &pointer));
  OK(weft_buffer_get_info(hbm, &info));
  assert_int_equal(info.memory, WEFT_MEMORY_HBM);
  assert_int_equal(info.bytes, 100);
  assert_true(info.device_address >= WEFT_MANAGER_HBM_RESERVED_BYTES);
  weft_buffer_release(hbm);
  weft_buffer_release(host);
  weft_buffer_release(NULL);
}

static void on_event(weft_event* event, weft_status status, void* user) {
  weft_event_info info = WEFT_INIT(weft_event_info);
  if (status == WEFT_ERROR_OK && weft_event_query(event, &info) == WEFT_ERROR_OK && info.done)
    __atomic_store_n((int*)user, 1, __ATOMIC_RELEASE);
}

static void every_command_runs(void** state) {
  weft_queue_options queue_options = WEFT_INIT(weft_queue_options);
  weft_command_options options = WEFT_INIT(weft_command_options);
  weft_wait_options wait = WEFT_INIT(weft_wait_options);
  weft_queue_info queue_info = WEFT_INIT(weft_queue_info);
  weft_event_info info = WEFT_INIT(weft_event_info);
  weft_launch_profile profile;
  weft_queue* queue = NULL;
  weft_buffer *a = NULL, *b = NULL;
  weft_event* event = NULL;
  int called = 0;
  queue_options.entries = 8;
  OK(weft_queue_create(*state, &queue_options, &queue));
  OK(weft_buffer_create(*state, WEFT_MEMORY_HBM, 64, &a));
  OK(weft_buffer_create(*state, WEFT_MEMORY_HOST, 64, &b));
  OK(weft_nop(queue, NULL, NULL));
  OK(weft_fill(queue, a, 0, 64, 7, NULL, NULL));
  OK(weft_copy(queue, b, 0, a, 0, 64, NULL, NULL));
  OK(weft_fence(queue, NULL, NULL));
  options.tag = 5;
  options.fence_before = 1;
  weft_command command = WEFT_INIT(weft_command);
  command.opcode = WEFT_QUEUE_OPCODE_NOP;
  OK(weft_submit(queue, &command, 1));
  weft_command_buffer* recorded = NULL;
  OK(weft_command_buffer_create(*state, &command, 1, &recorded));
  OK(weft_command_buffer_patch(recorded, 0, &command));
  INVALID(weft_command_buffer_patch(recorded, 1, &command));
  OK(weft_command_buffer_submit(queue, recorded, NULL));
  weft_command_buffer_release(recorded);
  weft_semaphore* semaphore = NULL;
  uint64_t value = 0;
  OK(weft_semaphore_create(*state, 1, &semaphore));
  OK(weft_signal(queue, semaphore, 2, &options, NULL));
  OK(weft_wait(queue, semaphore, 2, &options, NULL));
  OK(weft_semaphore_wait(semaphore, 2, &wait));
  OK(weft_semaphore_signal(semaphore, 3));
  OK(weft_semaphore_get_value(semaphore, &value));
  assert_int_equal(value, 3);
  weft_semaphore_release(semaphore);
  OK(weft_timestamp(queue, &options, &event));
  wait.deadline_cycles = 1000000;
  OK(weft_event_wait(event, &wait));
  OK(weft_event_query(event, &info));
  assert_int_equal(info.done, 1);
  assert_int_equal(info.status, WEFT_ERROR_OK);
  assert_int_equal(info.tag, 5);
  assert_int_equal(weft_event_get_profile(event, &profile), WEFT_ERROR_INVALID_STATE);
  OK(weft_event_set_callback(event, on_event, &called));
  const struct timespec millisecond = {0, 1000000};
  for (int i = 0; i < 5000 && !__atomic_load_n(&called, __ATOMIC_ACQUIRE); i++) nanosleep(&millisecond, NULL);
  assert_int_equal(called, 1);
  options.profile = 1;
  INVALID(weft_nop(queue, &options, NULL));
  OK(weft_queue_get_info(queue, &queue_info));
  assert_int_equal(queue_info.entries, 8);
  assert_int_equal(queue_info.tail, 9);
  assert_int_equal(queue_info.in_flight, 0);
  weft_event_release(event);
  weft_event_release(NULL);
  OK(weft_queue_release(queue));
  OK(weft_queue_release(NULL));
  weft_buffer_release(a);
  weft_buffer_release(b);
}

static void programs_are_checked(void** state) {
  weft_program* program = NULL;
  assert_int_equal(weft_program_load(*state, "garbage", 7, &program), WEFT_ERROR_EXECUTABLE_INVALID);
  assert_null(program);
  weft_program_release(NULL);
}

static void null_pointers_are_refused(void** state) {
  weft_device* device = *state;
  weft_device* other = NULL;
  weft_queue* queue = NULL;
  weft_buffer* buffer = NULL;
  weft_program* program = NULL;
  weft_kernel* kernel = NULL;
  weft_event* event = NULL;
  void* pointer = NULL;
  uint64_t cycle = 0;
  uint32_t count = 0;
  INVALID(weft_open(NULL, &other));
  INVALID(weft_open("mock", NULL));
  INVALID(weft_close(NULL, NULL));
  INVALID(weft_device_get_info(device, NULL));
  INVALID(weft_device_cycle(NULL, &cycle));
  INVALID(weft_device_cycle(device, NULL));
  INVALID(weft_device_counters(device, NULL, 1));
  INVALID(weft_device_get_statistics(device, NULL));
  INVALID(weft_device_read_log(device, NULL, 1, &count, NULL));
  INVALID(weft_device_set_log_level(NULL, 1));
  INVALID(weft_device_set_watchdog(NULL, 1));
  INVALID(weft_device_get_errors(NULL, NULL, NULL, 0));
  INVALID(weft_device_get_errors(device, NULL, NULL, 0));
  INVALID(weft_device_listen(NULL, NULL));
  INVALID(weft_device_listen(device, NULL));
  INVALID(weft_event_get_news(NULL, NULL));
  INVALID(weft_device_reset(NULL));
  INVALID(weft_reset(NULL, NULL, WEFT_RESET_LEVEL_DEVICE, NULL));
  INVALID(weft_reset(device, NULL, WEFT_RESET_LEVEL_QUEUE, NULL));
  INVALID(weft_state_dump(NULL, WEFT_STATE_FORMAT_TEXT, NULL, 0, NULL));
  INVALID(weft_state_decode("", 0, WEFT_STATE_FORMAT_TEXT, NULL, 0, NULL));
  OK(weft_set_report_folder(NULL));
  INVALID(weft_buffer_create(NULL, WEFT_MEMORY_HBM, 1, &buffer));
  INVALID(weft_buffer_create(device, WEFT_MEMORY_HBM, 1, NULL));
  INVALID(weft_buffer_map(NULL, &pointer));
  INVALID(weft_buffer_get_info(NULL, NULL));
  INVALID(weft_program_load(device, NULL, 1, &program));
  INVALID(weft_program_load(NULL, "x", 1, &program));
  INVALID(weft_program_kernel_count(NULL, &count));
  INVALID(weft_program_get_kernel(NULL, 0, &kernel));
  INVALID(weft_program_find_kernel(NULL, "x", &kernel));
  INVALID(weft_kernel_get_info(NULL, NULL));
  INVALID(weft_kernel_get_argument(NULL, 0, NULL));
  INVALID(weft_queue_create(NULL, NULL, &queue));
  INVALID(weft_queue_create(device, NULL, NULL));
  INVALID(weft_queue_get_info(NULL, NULL));
  INVALID(weft_launch(NULL, NULL, NULL, 0, NULL, &event));
  INVALID(weft_copy(NULL, NULL, 0, NULL, 0, 1, NULL, &event));
  INVALID(weft_fill(NULL, NULL, 0, 4, 0, NULL, &event));
  INVALID(weft_fence(NULL, NULL, &event));
  INVALID(weft_nop(NULL, NULL, &event));
  INVALID(weft_timestamp(NULL, NULL, &event));
  weft_command command = WEFT_INIT(weft_command);
  command.opcode = WEFT_QUEUE_OPCODE_NOP;
  INVALID(weft_submit(NULL, &command, 1));
  INVALID(weft_submit(NULL, NULL, 1));
  weft_command_buffer* recorded = NULL;
  INVALID(weft_command_buffer_create(NULL, &command, 1, &recorded));
  INVALID(weft_command_buffer_create(device, NULL, 1, &recorded));
  INVALID(weft_command_buffer_create(device, &command, 1, NULL));
  INVALID(weft_command_buffer_patch(NULL, 0, &command));
  INVALID(weft_command_buffer_submit(NULL, NULL, &event));
  weft_semaphore* semaphore = NULL;
  INVALID(weft_semaphore_create(NULL, 0, &semaphore));
  INVALID(weft_semaphore_create(device, 0, NULL));
  INVALID(weft_semaphore_get_value(NULL, NULL));
  INVALID(weft_semaphore_signal(NULL, 1));
  INVALID(weft_semaphore_wait(NULL, 1, NULL));
  INVALID(weft_wait(NULL, NULL, 1, NULL, &event));
  INVALID(weft_signal(NULL, NULL, 1, NULL, &event));
  INVALID(weft_event_cancel(NULL));
  INVALID(weft_queue_cancel(NULL));
  INVALID(weft_event_query(NULL, NULL));
  INVALID(weft_event_wait(NULL, NULL));
  INVALID(weft_event_set_callback(NULL, on_event, NULL));
  INVALID(weft_event_get_profile(NULL, NULL));
}

/* What slices do stands in testbench/system: a mock is one device. */
static void slices_refuse_null_pointers_and_wrong_names(void** state) {
  (void)state;
  weft_slice* slice = (weft_slice*)1;
  weft_slice_info info = WEFT_INIT(weft_slice_info);
  weft_chip_place place = WEFT_INIT(weft_chip_place);
  weft_device* device = (weft_device*)1;
  const uint32_t at[3] = {0, 0, 0};
  uint32_t chip = 0;
  INVALID(weft_slice_open(NULL, &slice));
  assert_null(slice);
  INVALID(weft_slice_open("sim:nano-2x2", NULL));
  INVALID(weft_slice_open("sim:nano", &slice));
  INVALID(weft_slice_open("sim:nano-0x2", &slice));
  assert_int_equal(weft_slice_open("vfio-user:/nonexistent", &slice), WEFT_ERROR_DEVICE_LOST);
  assert_null(slice);
  INVALID(weft_slice_close(NULL, NULL));
  INVALID(weft_slice_get_info(NULL, &info));
  INVALID(weft_slice_get_chip(NULL, 0, &place));
  weft_link_info link = WEFT_INIT(weft_link_info);
  INVALID(weft_slice_get_link(NULL, 0, 0, &link));
  INVALID(weft_slice_find_chip(NULL, at, &chip));
  INVALID(weft_slice_get_device(NULL, 0, &device));
  assert_null(device);
  INVALID(weft_slice_hold(NULL));
  INVALID(weft_slice_resume(NULL));
}

static void a_forked_child_is_told_so(void** state) {
  uint64_t cycle = 0;
  const pid_t child = fork();
  if (child == 0) _exit(weft_device_cycle(*state, &cycle) == WEFT_ERROR_INVALID_STATE ? 0 : 1);
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  OK(weft_device_cycle(*state, &cycle));
}

/// In the child, 0 if all is as it should be, else the number of what is not.
static int look_in_child(weft_device* device, weft_queue* queue, weft_semaphore* semaphore, weft_event* event,
                         weft_buffer* buffer) {
  weft_event_info info = WEFT_INIT(weft_event_info);
  weft_device* own = NULL;
  weft_queue* none = NULL;
  void* pointer = NULL;
  uint64_t value = 0;
  if (weft_queue_create(device, NULL, &none) != WEFT_ERROR_INVALID_STATE) return 1;
  if (weft_nop(queue, NULL, NULL) != WEFT_ERROR_INVALID_STATE) return 2;
  if (weft_semaphore_get_value(semaphore, &value) != WEFT_ERROR_INVALID_STATE) return 3;
  if (weft_semaphore_wait(semaphore, 1, NULL) != WEFT_ERROR_INVALID_STATE) return 4;
  if (weft_semaphore_signal(semaphore, 1) != WEFT_ERROR_INVALID_STATE) return 5;
  if (weft_event_query(event, &info) != WEFT_ERROR_INVALID_STATE) return 6;
  if (weft_event_wait(event, NULL) != WEFT_ERROR_INVALID_STATE) return 7;
  if (weft_buffer_map(buffer, &pointer) != WEFT_ERROR_INVALID_STATE) return 8;
  if (weft_device_reset(device) != WEFT_ERROR_INVALID_STATE) return 9;
  if (weft_open("mock:nano", &own) != WEFT_ERROR_OK) return 10;
  if (weft_queue_create(own, NULL, &none) != WEFT_ERROR_OK) return 11;
  if (weft_nop(none, NULL, NULL) != WEFT_ERROR_OK) return 12;
  weft_event_release(event);
  weft_semaphore_release(semaphore);
  weft_buffer_release(buffer);
  if (weft_queue_release(queue) != WEFT_ERROR_INVALID_STATE) return 13;
  if (weft_close(device, NULL) != WEFT_ERROR_OK) return 14;
  if (weft_queue_release(none) != WEFT_ERROR_OK) return 15;
  if (weft_close(own, NULL) != WEFT_ERROR_OK) return 16;
  return 0;
}

static void a_forked_child_gets_errors_for_what_it_inherits_and_opens_a_device_of_its_own(void** state) {
  weft_queue* queue = NULL;
  weft_semaphore* semaphore = NULL;
  weft_event* event = NULL;
  weft_buffer* buffer = NULL;
  OK(weft_queue_create(*state, NULL, &queue));
  OK(weft_semaphore_create(*state, 0, &semaphore));
  OK(weft_buffer_create(*state, WEFT_MEMORY_HOST, 4096, &buffer));
  OK(weft_nop(queue, NULL, &event));
  const pid_t child = fork();
  if (child == 0) _exit(look_in_child(*state, queue, semaphore, event, buffer));
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  OK(weft_event_wait(event, NULL));
  weft_event_release(event);
  weft_semaphore_release(semaphore);
  weft_buffer_release(buffer);
  OK(weft_queue_release(queue));
}

static void a_device_is_reset(void** state) {
  weft_device_info info = WEFT_INIT(weft_device_info);
  OK(weft_device_reset(*state));
  OK(weft_device_get_info(*state, &info));
  assert_int_equal(info.generation, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_header_has_one_layout_in_both_languages),
      cmocka_unit_test(the_library_tells_its_version),
      cmocka_unit_test(statuses_have_names),
      cmocka_unit_test(errors_are_remembered_with_their_properties),
      cmocka_unit_test_setup_teardown(a_device_describes_itself, open_mock, close_mock),
      cmocka_unit_test_setup_teardown(cycles_counters_statistics_and_log_can_be_read, open_mock, close_mock),
      cmocka_unit_test_setup_teardown(buffers_are_mapped_and_described, open_mock, close_mock),
      cmocka_unit_test_setup_teardown(every_command_runs, open_mock, close_mock),
      cmocka_unit_test_setup_teardown(programs_are_checked, open_mock, close_mock),
      cmocka_unit_test_setup_teardown(null_pointers_are_refused, open_mock, close_mock),
      cmocka_unit_test(slices_refuse_null_pointers_and_wrong_names),
      cmocka_unit_test_setup_teardown(a_forked_child_is_told_so, open_mock, close_mock),
      cmocka_unit_test_setup_teardown(a_forked_child_gets_errors_for_what_it_inherits_and_opens_a_device_of_its_own,
                                      open_mock, close_mock),
      cmocka_unit_test_setup_teardown(a_device_is_reset, open_mock, close_mock),
  };
  return cmocka_run_group_tests_name("driver C ABI", tests, NULL, NULL);
}
