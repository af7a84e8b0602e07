// Ring arithmetic at every offset and around 2^32.
#include "firmware/queue/ring.hpp"

#include <initializer_list>

#include "check.hpp"

namespace ring = weft::fw::ring;

static void sizes_are_powers_of_two_from_2_to_4096(void**) {
  for (uint32_t n = 0; n < 20000; n++) {
    bool power = false;
    for (uint32_t bit = 1; bit <= 12; bit++) power |= n == 1u << bit;
    assert_int_equal(ring::size_valid(n), power);
  }
}

static void a_tail_may_go_forward_up_to_the_full_ring_from_every_head(void**) {
  for (uint32_t entries = 2; entries <= 64; entries *= 2) {
    for (uint32_t base : {0u, 1u, 63u, UINT32_MAX - 70, UINT32_MAX - 1, UINT32_MAX}) {
      for (uint32_t head = base; head != base + 3 * entries; head++) {
        for (uint32_t fill = 0; fill <= entries; fill++) {
          for (int step = -3; step <= static_cast<int>(entries) + 3; step++) {
            const uint32_t old_tail = head + fill;
            const bool good = step >= 0 && static_cast<uint32_t>(step) <= entries - fill;
            // Backwards to between head and the old tail, or before the head: refused in both cases.
            assert_int_equal(ring::tail_valid(head, old_tail, old_tail + static_cast<uint32_t>(step), entries), good);
          }
        }
      }
    }
  }
}

static void a_completion_head_may_go_forward_up_to_the_tail(void**) {
  for (uint32_t head : {0u, 5u, UINT32_MAX - 2, UINT32_MAX}) {
    for (uint32_t filled = 0; filled <= 16; filled++) {
      for (int step = -2; step <= 18; step++) {
        assert_int_equal(ring::head_valid(head, head + static_cast<uint32_t>(step), head + filled),
                         step >= 0 && static_cast<uint32_t>(step) <= filled);
      }
    }
  }
}

static void a_contiguous_read_ends_at_the_tail_the_end_of_the_ring_or_the_limit(void**) {
  for (uint32_t base : {0u, UINT32_MAX - 20}) {
    for (uint32_t head = base; head != base + 40; head++) {
      for (uint32_t fill = 0; fill <= 32; fill++) {
        const uint32_t n = ring::contiguous(head, head + fill, 32, 16);
        assert_true(n <= fill && n <= 16 && ring::slot(head, 32) + n <= 32);
        assert_true(fill == 0 || n > 0);
        if (n < fill && n < 16) assert_int_equal(ring::slot(head + n, 32), 0);
      }
    }
  }
}

static void the_phase_flips_at_every_lap_and_through_the_wrap_of_the_index(void**) {
  for (uint32_t entries = 2; entries <= 4096; entries *= 2) {
    assert_int_equal(ring::phase(0, entries), 1);
    for (uint32_t base : {0u, UINT32_MAX - 2 * entries}) {
      for (uint32_t i = base; i != base + 4 * entries; i++) {
        assert_int_equal(ring::phase(i, entries) == ring::phase(i + 1, entries), ring::slot(i + 1, entries) != 0);
      }
    }
  }
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(sizes_are_powers_of_two_from_2_to_4096),
      cmocka_unit_test(a_tail_may_go_forward_up_to_the_full_ring_from_every_head),
      cmocka_unit_test(a_completion_head_may_go_forward_up_to_the_tail),
      cmocka_unit_test(a_contiguous_read_ends_at_the_tail_the_end_of_the_ring_or_the_limit),
      cmocka_unit_test(the_phase_flips_at_every_lap_and_through_the_wrap_of_the_index),
  };
  return cmocka_run_group_tests_name("firmware/ring", tests, nullptr, nullptr);
}
