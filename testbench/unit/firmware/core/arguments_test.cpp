// Argument lists: ranges to the byte, permissions, lists that are too short.
#include "firmware/core/arguments.hpp"

#include <initializer_list>

#include "check.hpp"
#include "firmware/memory_map.hpp"
#include "host_side.hpp"

using namespace mock;
using namespace weft::fw;
using A = weft_launch_argument;

namespace {

struct List {
  weft_program_kernel kernel{};
  alignas(8) uint8_t sram[1024];
  explicit List(uint32_t arguments, uint64_t scratch = 0) {
    reset();
    state = &make_state();
    kernel.argument_count = arguments;
    kernel.scratch_bytes = scratch;
    make_list(0, list_entries(kernel));
  }
  State* state = nullptr;
  Function& function() { return state->functions[0]; }
  static weft_launch_list& header() {
    return *reinterpret_cast<weft_launch_list*>(
        machine().find(WEFT_ADDRESS_SPACE_HOST, kLists, sizeof(weft_launch_list)));
  }
  /// Sealed, unless the header is wrong.
  Status read() {
    if (header().count == list_entries(kernel)) seal_list(0);
    return read_arguments(function(), kLists, kernel, sram);
  }
  Status read_unsealed() { return read_arguments(function(), kLists, kernel, sram); }
};

}  // namespace

static void ranges_are_checked_to_the_byte(void**) {
  struct Case {
    uint64_t address, size;
    uint32_t space;
    int bad_offset;  ///< within the argument; -1: good
  };
  const uint64_t reserved = WEFT_MANAGER_HBM_RESERVED_BYTES, top = UINT64_C(1) << 63;
  const Case cases[] = {
      {reserved, 16, WEFT_ADDRESS_SPACE_HBM, -1},
      {reserved - 16, 16, WEFT_ADDRESS_SPACE_HBM, 0},
      {0, 16, WEFT_ADDRESS_SPACE_HBM, 0},
      {kHbmBytes - 16, 16, WEFT_ADDRESS_SPACE_HBM, -1},
      {kHbmBytes - 16, 32, WEFT_ADDRESS_SPACE_HBM, 8},
      {kHbmBytes, 0, WEFT_ADDRESS_SPACE_HBM, -1},
      {kHbmBytes + 16, 0, WEFT_ADDRESS_SPACE_HBM, 0},
      {reserved, ~UINT64_C(15), WEFT_ADDRESS_SPACE_HBM, 8},
      {~UINT64_C(15), 16, WEFT_ADDRESS_SPACE_HBM, 0},
      {reserved + 8, 16, WEFT_ADDRESS_SPACE_HBM, 0},
      {reserved, 24, WEFT_ADDRESS_SPACE_HBM, 8},
      {0, 16, WEFT_ADDRESS_SPACE_HOST, -1},
      {top - 16, 16, WEFT_ADDRESS_SPACE_HOST, -1},
      {top - 16, 32, WEFT_ADDRESS_SPACE_HOST, 8},
      {top, 16, WEFT_ADDRESS_SPACE_HOST, 0},
      {reserved, 16, WEFT_ADDRESS_SPACE_NONE, 16},
      {reserved, 16, WEFT_ADDRESS_SPACE_VMEM, 16},
      {reserved, 16, 4, 16},
      {reserved, 16, UINT32_MAX, 16},
  };
  for (const Case& c : cases) {
    List l(2);
    argument(0, 1) = A{.address = c.address, .size_bytes = c.size, .space = c.space, .reserved = 0};
    const Status s = l.read();
    assert_int_equal(s.ok(), c.bad_offset < 0);
    if (c.bad_offset >= 0) {
      assert_int_equal(s.error, WEFT_ERROR_INVALID_ARGUMENT);
      assert_int_equal(s.detail0, list_bytes(1) + static_cast<uint32_t>(c.bad_offset));
    }
  }
}

static void the_header_and_reserved_fields_are_checked(void**) {
  for (uint32_t count : {0u, 1u, 3u, UINT32_MAX}) {
    List l(2);
    l.header().count = count;
    ASSERT_REFUSED(l.read(), WEFT_ERROR_INVALID_ARGUMENT, 0, count);
  }
  {
    List l(2);
    l.header().reserved = 1;
    ASSERT_REFUSED(l.read(), WEFT_ERROR_INVALID_ARGUMENT, 8, 1);
  }
  List l(2);
  argument(0, 0).reserved = 9;
  ASSERT_REFUSED(l.read(), WEFT_ERROR_INVALID_ARGUMENT, list_bytes(0) + offsetof(A, reserved), 9);
}

static void scratch_is_the_last_entry_in_hbm_and_large_enough(void**) {
  List good(2, 256);
  assert_true(good.read().ok());
  List small(2, 272);
  ASSERT_REFUSED(small.read(), WEFT_ERROR_INVALID_ARGUMENT, list_bytes(2) + offsetof(A, size_bytes), 256);
  List host(2, 256);
  argument(0, 2).space = WEFT_ADDRESS_SPACE_HOST;
  ASSERT_REFUSED(host.read(), WEFT_ERROR_INVALID_ARGUMENT, list_bytes(2) + offsetof(A, space), WEFT_ADDRESS_SPACE_HOST);
}

static void a_list_at_the_edge_of_a_mapping_is_told_by_its_count(void**) {
  List l(29);
  const uint64_t edge = kHostBase + kHostBytes - 16;
  *reinterpret_cast<weft_launch_list*>(machine().find(WEFT_ADDRESS_SPACE_HOST, edge, 16)) = {
      .count = 2, .crc32c = 0, .reserved = 0};
  ASSERT_REFUSED(read_arguments(l.function(), edge, l.kernel, l.sram), WEFT_ERROR_INVALID_ARGUMENT, 0, 2);
  assert_int_equal(read_arguments(l.function(), 0x1000, l.kernel, l.sram).error, WEFT_ERROR_DMA_FAULT);
}

static void the_largest_list_maps_every_segment_with_its_permissions(void**) {
  List l(29, 256);
  l.kernel.argument_readable = 0x15555555;
  l.kernel.argument_writable = 0x03333333;
  assert_true(l.read().ok());
  Program program{};
  program.constants_unit = 0x12340 / kProgramAlignment;
  program.constants_granules = 64 / WEFT_CORE_DMA_GRANULE_BYTES;
  assert_int_equal(map_arguments(l.function(), program, l.kernel, l.sram), 0xfffffffe);
  auto& core = machine().core;
  for (uint32_t i = 0; i < 29; i++) {
    const uint64_t permissions =
        ((l.kernel.argument_readable >> i & 1) << 2) | ((l.kernel.argument_writable >> i & 1) << 3);
    assert_int_equal(core.attributes(3 + i), WEFT_ADDRESS_SPACE_HBM | permissions);
    assert_int_equal(core.base(3 + i), kData + 256 * i);
    assert_int_equal(core.limit(3 + i), 256);
  }
  assert_int_equal(core.attributes(1), WEFT_ADDRESS_SPACE_HBM | 4);
  assert_int_equal(core.attributes(2), WEFT_ADDRESS_SPACE_HBM | 12);
}

static void a_flip_of_any_bit_is_refused(void**) {
  const uint32_t bits = 8 * list_bytes(3);
  for (uint32_t bit = 0; bit < bits; bit++) {
    List l(2, 256);
    assert_true(l.read_unsealed().ok());
    reinterpret_cast<uint8_t*>(&l.header())[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    const Status s = l.read_unsealed();
    const bool checked_before = bit < 32 || (bit >= 64 && bit < 128);  // count and reserved
    assert_int_equal(s.error, checked_before ? WEFT_ERROR_INVALID_ARGUMENT : WEFT_ERROR_BAD_DESCRIPTOR);
    if (!checked_before) assert_int_equal(s.detail0, offsetof(weft_launch_list, crc32c));
  }
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(ranges_are_checked_to_the_byte),
      cmocka_unit_test(the_header_and_reserved_fields_are_checked),
      cmocka_unit_test(a_flip_of_any_bit_is_refused),
      cmocka_unit_test(scratch_is_the_last_entry_in_hbm_and_large_enough),
      cmocka_unit_test(a_list_at_the_edge_of_a_mapping_is_told_by_its_count),
      cmocka_unit_test(the_largest_list_maps_every_segment_with_its_permissions),
  };
  return cmocka_run_group_tests_name("firmware/arguments", tests, nullptr, nullptr);
}
