/* Collectives from C, on a slice of four chips: the results, the parts, and what is said to wrong options. */
// cmocka.h uses the types of the headers before it
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "weft/collective.h"

#define OK(call) assert_int_equal((call), WEFT_ERROR_OK)
#define INVALID(call) assert_int_equal((call), WEFT_ERROR_INVALID_ARGUMENT)

enum { CHIPS = 4, WORDS = 1000, BYTES = WORDS * 4, ROOM = 4032, BOTH_AXES = 3 };

typedef struct fixture {
  weft_slice* slice;
  weft_device* device[CHIPS];
  weft_queue* queue[CHIPS];
} fixture;

static int open_slice(void** state) {
  fixture* f = calloc(1, sizeof *f);
  if (f == NULL || weft_slice_open("sim:nano-2x2", &f->slice) != WEFT_ERROR_OK) return -1;
  for (uint32_t c = 0; c < CHIPS; c++) {
    if (weft_slice_get_device(f->slice, c, &f->device[c]) != WEFT_ERROR_OK) return -1;
    if (weft_queue_create(f->device[c], NULL, &f->queue[c]) != WEFT_ERROR_OK) return -1;
  }
  *state = f;
  return 0;
}

static int close_slice(void** state) {
  fixture* f = *state;
  for (uint32_t c = 0; c < CHIPS; c++)
    if (weft_queue_release(f->queue[c]) != WEFT_ERROR_OK) return -1;
  const weft_status status = weft_slice_close(f->slice, NULL);
  free(f);
  return status == WEFT_ERROR_OK ? 0 : -1;
}

/* Word i of chip c: every sum of four is exact, whatever the order. */
static int32_t word(uint32_t chip, uint32_t i) { return (int32_t)(i * 7 + chip * 1000003); }

/* Inputs of all chips, then outputs: in HBM, and what the host sees of them. */
typedef struct arrays {
  weft_buffer* hbm[2 * CHIPS];
  weft_buffer* host[2 * CHIPS];
  int32_t* words[2 * CHIPS];
} arrays;

static void make(fixture* f, arrays* a) {
  for (uint32_t b = 0; b < 2 * CHIPS; b++) {
    void* pointer = NULL;
    OK(weft_buffer_create(f->device[b % CHIPS], WEFT_MEMORY_HBM, ROOM, &a->hbm[b]));
    OK(weft_buffer_create(f->device[b % CHIPS], WEFT_MEMORY_HOST, ROOM, &a->host[b]));
    OK(weft_buffer_map(a->host[b], &pointer));
    a->words[b] = pointer;
    for (uint32_t i = 0; i < WORDS; i++) a->words[b][i] = b < CHIPS ? word(b, i) : -1;
  }
}

static void release(arrays* a) {
  for (uint32_t b = 0; b < 2 * CHIPS; b++) {
    weft_buffer_release(a->hbm[b]);
    weft_buffer_release(a->host[b]);
  }
}

static void copy(fixture* f, weft_buffer* to[2 * CHIPS], weft_buffer* from[2 * CHIPS]) {
  for (uint32_t b = 0; b < 2 * CHIPS; b++) {
    weft_event* event = NULL;
    OK(weft_copy(f->queue[b % CHIPS], to[b], 0, from[b], 0, BYTES, NULL, &event));
    OK(weft_event_wait(event, NULL));
    weft_event_release(event);
  }
}

/* Launches on all chips that take part, and waits. */
static void run(fixture* f, weft_collective* collective, arrays* a) {
  weft_event* events[CHIPS] = {0};
  weft_error_info error = WEFT_INIT(weft_error_info);
  copy(f, a->hbm, a->host);
  OK(weft_slice_hold(f->slice));
  for (uint32_t c = 0; c < CHIPS; c++) {
    weft_collective_part part = WEFT_INIT(weft_collective_part);
    OK(weft_collective_get_part(collective, c, &part));
    if (!part.takes_part) continue;
    const weft_argument in = {a->hbm[c], 0}, out = {a->hbm[CHIPS + c], 0};
    if (weft_collective_launch(collective, c, f->queue[c], part.input_bytes ? &in : NULL,
                               part.output_bytes ? &out : NULL, NULL, &events[c], &error) != WEFT_ERROR_OK)
      fail_msg("%s", error.message);
  }
  OK(weft_slice_resume(f->slice));
  for (uint32_t c = 0; c < CHIPS; c++) {
    if (events[c] == NULL) continue;
    if (weft_event_wait(events[c], NULL) != WEFT_ERROR_OK) {
      OK(weft_last_error(&error));
      fail_msg("%s", error.message);
    }
    weft_event_release(events[c]);
  }
  copy(f, a->host, a->hbm);
}

static weft_collective_options all_reduce(void) {
  weft_collective_options options = WEFT_INIT(weft_collective_options);
  options.kind = WEFT_COLLECTIVE_ALL_REDUCE;
  options.dtype = WEFT_ARGUMENT_DTYPE_I32;
  options.bytes = BYTES;
  options.axes = BOTH_AXES;
  return options;
}

static void an_all_reduce_gives_every_chip_the_sum_as_often_as_it_is_launched(void** state) {
  fixture* f = *state;
  arrays a;
  make(f, &a);
  for (int algorithm = WEFT_COLLECTIVE_BY_SIZE; algorithm <= WEFT_COLLECTIVE_DIRECT; algorithm++) {
    weft_collective_options options = all_reduce();
    options.algorithm = (weft_collective_algorithm)algorithm;
    weft_collective* collective = NULL;
    OK(weft_collective_create(f->slice, &options, &collective, NULL));
    for (int round = 0; round < 2; round++) {
      for (uint32_t c = 0; c < CHIPS; c++) memset(a.words[CHIPS + c], 0xff, BYTES);
      run(f, collective, &a);
      uint32_t differing = 0;
      for (uint32_t c = 0; c < CHIPS; c++)
        for (uint32_t i = 0; i < WORDS; i++)
          differing += a.words[CHIPS + c][i] != word(0, i) + word(1, i) + word(2, i) + word(3, i);
      assert_int_equal(differing, 0);
    }
    weft_collective_release(collective);
  }
  release(&a);
}

static void listed_groups_and_the_root_count(void** state) {
  fixture* f = *state;
  arrays a;
  make(f, &a);
  const uint32_t column[2] = {1, 3};  // chips 0 and 2 are in no group
  weft_collective_options options = all_reduce();
  options.kind = WEFT_COLLECTIVE_BROADCAST;
  options.axes = 0;
  options.groups = column;
  options.group_count = 1;
  options.group_chips = 2;
  options.root = 1;
  weft_collective* collective = NULL;
  OK(weft_collective_create(f->slice, &options, &collective, NULL));
  run(f, collective, &a);
  uint32_t differing = 0;
  for (uint32_t c = 0; c < CHIPS; c++)
    for (uint32_t i = 0; i < WORDS; i++) differing += a.words[CHIPS + c][i] != (c % 2 ? word(3, i) : -1);
  assert_int_equal(differing, 0);
  const weft_argument in = {a.hbm[0], 0}, out = {a.hbm[CHIPS], 0};
  weft_event* event = NULL;
  weft_error_info error = WEFT_INIT(weft_error_info);
  INVALID(weft_collective_launch(collective, 0, f->queue[0], &in, &out, NULL, &event, &error));
  assert_non_null(strstr(error.message, "nothing to do"));
  weft_collective_release(collective);
  release(&a);
}

static void parts_have_the_sizes_of_their_blocks(void** state) {
  fixture* f = *state;
  weft_collective_options options = all_reduce();
  options.kind = WEFT_COLLECTIVE_ALL_GATHER;
  weft_collective* collective = NULL;
  OK(weft_collective_create(f->slice, &options, &collective, NULL));
  for (uint32_t c = 0; c < CHIPS; c++) {
    weft_collective_part part = WEFT_INIT(weft_collective_part);
    OK(weft_collective_get_part(collective, c, &part));
    assert_int_equal(part.takes_part, 1);
    const uint64_t block = c < 2 ? 1008 : 992;  // 250 granules of 16 bytes
    assert_int_equal(part.input_bytes, (block + 63) / 64 * 64);
    assert_int_equal(part.output_bytes, ROOM);
  }
  weft_collective_part part = WEFT_INIT(weft_collective_part);
  INVALID(weft_collective_get_part(collective, CHIPS, &part));
  INVALID(weft_collective_get_part(NULL, 0, &part));
  INVALID(weft_collective_get_part(collective, 0, NULL));
  part.size = 3;
  INVALID(weft_collective_get_part(collective, 0, &part));
  weft_collective_release(collective);
}

/* Makes the options wrong, and expects words about it. */
#define REFUSED(change, words)                                                     \
  do {                                                                             \
    weft_collective_options options = all_reduce();                                \
    weft_error_info error = WEFT_INIT(weft_error_info);                            \
    weft_collective* collective = (weft_collective*)&error;                        \
    change;                                                                        \
    INVALID(weft_collective_create(f->slice, &options, &collective, &error));      \
    assert_null(collective);                                                       \
    assert_int_equal(error.code, WEFT_ERROR_INVALID_ARGUMENT);                     \
    assert_int_equal(error.origin, WEFT_ERROR_CLASS_HOST);                         \
    if (strstr(error.message, words) == NULL) fail_msg("says: %s", error.message); \
  } while (0)

static void wrong_options_are_told_by_name(void** state) {
  fixture* f = *state;
  const uint32_t twice[2] = {1, 1}, far[2] = {0, 9}, three[6] = {0, 1, 2, 3, 0, 1};
  REFUSED(options.size = 8, "weft_collective_options");
  REFUSED(options.kind = (weft_collective_kind)0, "kind 0");
  REFUSED(options.kind = (weft_collective_kind)8, "kind 8");
  REFUSED(options.dtype = (weft_argument_dtype)99, "dtype 99");
  REFUSED(options.algorithm = (weft_collective_algorithm)3, "algorithm 3");
  REFUSED(options.dtype = WEFT_ARGUMENT_DTYPE_I8, "i8");
  REFUSED(options.bytes = 17, "17");
  REFUSED(options.axes = 0, "axes");
  REFUSED(options.axes = 8, "axes 0x8");
  REFUSED((options.kind = WEFT_COLLECTIVE_BROADCAST, options.root = 4), "root");
  REFUSED(options.groups = twice, "groups");
  REFUSED((options.axes = 0, options.group_count = 1, options.group_chips = 2), "no list");
  REFUSED((options.groups = twice, options.group_count = 1, options.group_chips = 2), "axes");
  REFUSED((options.axes = 0, options.groups = twice, options.group_count = 1, options.group_chips = 2), "chip 1");
  REFUSED((options.axes = 0, options.groups = far, options.group_count = 1, options.group_chips = 2), "9");
  REFUSED((options.axes = 0, options.groups = three, options.group_count = 2, options.group_chips = 3), "4 chips");
  REFUSED(
      (options.axes = 0, options.groups = three, options.group_count = UINT32_MAX, options.group_chips = UINT32_MAX),
      "4 chips");
}

static void wrong_pointers_and_arguments_are_refused_and_the_next_launch_works(void** state) {
  fixture* f = *state;
  arrays a;
  make(f, &a);
  weft_collective_options options = all_reduce();
  weft_error_info error = WEFT_INIT(weft_error_info), small = error;
  small.size = 4;
  weft_collective* collective = NULL;
  INVALID(weft_collective_create(f->slice, &options, NULL, &error));
  INVALID(weft_collective_create(f->slice, NULL, &collective, &error));
  INVALID(weft_collective_create(NULL, &options, &collective, &error));
  INVALID(weft_collective_create(f->slice, &options, &collective, &small));
  OK(weft_collective_create(f->slice, &options, &collective, &error));
  const weft_argument in = {a.hbm[0], 0}, out = {a.hbm[CHIPS], 0}, tight = {a.hbm[CHIPS], 16};
  const weft_argument on_host = {a.host[CHIPS], 0}, none = {NULL, 0};
  weft_event* event = NULL;
  INVALID(weft_collective_launch(NULL, 0, f->queue[0], &in, &out, NULL, &event, &error));
  INVALID(weft_collective_launch(collective, 0, NULL, &in, &out, NULL, &event, &error));
  INVALID(weft_collective_launch(collective, CHIPS, f->queue[0], &in, &out, NULL, &event, &error));
  assert_non_null(strstr(error.message, "chip 4"));
  INVALID(weft_collective_launch(collective, 0, f->queue[0], &in, NULL, NULL, &event, &error));
  INVALID(weft_collective_launch(collective, 0, f->queue[0], NULL, &out, NULL, &event, &error));
  INVALID(weft_collective_launch(collective, 0, f->queue[0], &in, &tight, NULL, &event, &error));
  assert_non_null(strstr(error.message, "chip 0"));
  INVALID(weft_collective_launch(collective, 0, f->queue[0], &in, &on_host, NULL, &event, &error));
  assert_non_null(strstr(error.message, "HBM"));
  INVALID(weft_collective_launch(collective, 0, f->queue[0], &in, &none, NULL, &event, &error));
  INVALID(weft_collective_launch(collective, 0, f->queue[1], &in, &out, NULL, &event, &error));
  assert_null(event);
  run(f, collective, &a);
  assert_int_equal(a.words[CHIPS + 3][5], word(0, 5) + word(1, 5) + word(2, 5) + word(3, 5));
  weft_collective_release(collective);
  weft_collective_release(NULL);
  release(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_all_reduce_gives_every_chip_the_sum_as_often_as_it_is_launched),
      cmocka_unit_test(listed_groups_and_the_root_count),
      cmocka_unit_test(parts_have_the_sizes_of_their_blocks),
      cmocka_unit_test(wrong_options_are_told_by_name),
      cmocka_unit_test(wrong_pointers_and_arguments_are_refused_and_the_next_launch_works),
  };
  return cmocka_run_group_tests(tests, open_slice, close_slice);
}
