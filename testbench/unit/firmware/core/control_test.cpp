// What is read and checked before a list runs: by its tables' places, its arguments, its uses of bindings.
#include "firmware/core/control.hpp"

#include <cstring>

#include "check.hpp"
#include "control_image.hpp"
#include "firmware/core/arguments.hpp"

using namespace mock;
using namespace weft::fw;

namespace {

struct Prepared {
  ListImage list;
  State* state = nullptr;
  uint32_t arguments = 0;  ///< that the launch gives

  /// A list that binds segments 3 and 4, tests a word, and runs a block.
  Prepared() {
    reset();
    state = &make_state();
    list.arguments = arguments = 2;
    list.add_block(0, 0, 4);
    list.add_binding(3, 0);
    list.add_binding(4, 1, 240);
    list.add_binding(0, 1);
    list.add(WEFT_CONTROL_OPCODE_BIND, 0, 2);
    const uint16_t choice = list.add_condition(WEFT_CONTROL_OPCODE_IF, 2, WEFT_CONTROL_CONDITION_EQUAL, 0);
    list.add(WEFT_CONTROL_OPCODE_RUN, 0);
    list.end(choice);
  }
  Status prepare(int fail_dma = -1) {
    const auto image = list.image();
    place_image(image);
    if (arguments * sizeof(weft_launch_argument) <= 4000) make_list(0, arguments);
    uint32_t id = 0;
    Function& function = state->functions[0];
    Status status = load_program(*state, function, kImage, image.size(), &id);
    if (!status.ok()) return status;
    Program room;
    const Program* program = find_program(*state, function, id, room, status);
    assert_non_null(program);
    weft_program_kernel kernel;
    std::memcpy(&kernel, image.data() + kernel_offset(0), sizeof kernel);
    assert_true(check_control_place(kernel, 0, program->image_bytes()).ok());
    machine().fail_dma_after = fail_dma;
    status = control_prepare(*state, function, *program, kernel, 0, kLists);
    machine().fail_dma_after = -1;
    assert_true(unload_program(*state, function, id).ok());
    return status;
  }
};

}  // namespace

static void a_list_that_fits_is_ready_to_run(void**) {
  Prepared p;
  assert_true(p.prepare().ok());
  assert_true(p.state->control.step == ControlStep::kFollow);
  assert_int_equal(p.state->control.shape.entries, 4);
}

static void a_kernel_s_place_for_its_list_is_checked(void**) {
  using K = weft_program_kernel;
  Prepared p;
  const auto image = p.list.image();
  K good;
  std::memcpy(&good, image.data() + kernel_offset(0), sizeof good);
  assert_true(check_program_kernel(good, 0, p.list.commands).ok());
  const auto refuse = [&](uint64_t field, auto change) {
    K k = good;
    change(k);
    Status s = check_program_kernel(k, 0, p.list.commands);
    if (s.ok()) s = check_control_place(k, 0, image.size());
    assert_int_equal(s.error, WEFT_ERROR_EXECUTABLE_INVALID);
    assert_int_equal(s.detail0, kernel_offset(0) + field);
  };
  for (const uint64_t offset : {UINT64_C(0), UINT64_C(8), UINT64_C(128), uint64_t{image.size()} + 64, UINT64_MAX - 63})
    refuse(offsetof(K, control_offset), [=](K& k) { k.control_offset = offset; });
  for (const uint64_t bytes : {UINT64_C(32), uint64_t{good.control_bytes} + 64, UINT64_MAX - 63, UINT64_C(1) << 63})
    refuse(offsetof(K, control_bytes), [=](K& k) { k.control_bytes = bytes; });
  refuse(offsetof(K, control_offset), [](K& k) { k.control_bytes = 0; });
  refuse(offsetof(K, argument_count), [](K& k) { k.argument_count = WEFT_EXECUTABLE_CONTROL_ARGUMENTS + 1; });
  refuse(offsetof(K, argument_readable), [](K& k) { k.argument_readable = 1; });
  refuse(offsetof(K, argument_writable), [](K& k) { k.argument_writable = 1; });
  for (uint32_t q = 0; q < WEFT_CORE_QUEUES; q++) {
    refuse(offsetof(K, queue_first) + 4 * q, [q](K& k) { k.queue_first[q] = 1; });
    refuse(offsetof(K, queue_count) + 4 * q, [q](K& k) { k.queue_count[q] = 1; });
  }
}

static void every_part_that_cannot_be_read_is_a_dma_fault(void**) {
  for (int dma = 0; dma < 5; dma++) {  // header, entries, blocks, arguments, bindings
    Prepared p;
    const Status s = p.prepare(dma);
    // A list of arguments that cannot be read whole is read again, its header alone.
    if (dma == 3) {
      assert_int_equal(s.error, WEFT_ERROR_DMA_FAULT);
      continue;
    }
    assert_int_equal(s.error, WEFT_ERROR_DMA_FAULT);
    assert_in_range(s.detail0, kImage + p.list.control_at(), kImage + p.list.image().size());
  }
  Prepared p;
  assert_true(p.prepare(6).ok());
}

static void wrong_parts_are_named_by_their_byte_in_the_image(void**) {
  {
    Prepared p;
    p.list.bindings[1].segment = 0;  // now a word with an access
    ASSERT_REFUSED(p.prepare(), WEFT_ERROR_EXECUTABLE_INVALID, p.list.bindings_at() + 64 + 4, 1);
  }
  {
    Prepared p;
    p.list.entries[1].first = 0;  // a segment as a word
    ASSERT_REFUSED(p.prepare(), WEFT_ERROR_EXECUTABLE_INVALID, p.list.entries_at() + 16 + 6, 0);
  }
  {
    Prepared p;
    p.list.entries[0].first = 1;  // a word as a segment
    ASSERT_REFUSED(p.prepare(), WEFT_ERROR_EXECUTABLE_INVALID, p.list.entries_at() + 6, 1);
  }
  {
    Prepared p;
    p.list.bindings[1].size_bytes = 32;  // the argument has 256 bytes
    ASSERT_REFUSED(p.prepare(), WEFT_ERROR_INVALID_ARGUMENT, p.list.bindings_at() + 64 + 24, 272);
  }
  {
    Prepared p;
    p.list.blocks[0].queue_count[0] = 65;
    ASSERT_REFUSED(p.prepare(), WEFT_ERROR_EXECUTABLE_INVALID, p.list.blocks_at() + 20, 65);
  }
  {
    Prepared p;
    p.list.entries[3].target = 2;
    ASSERT_REFUSED(p.prepare(), WEFT_ERROR_EXECUTABLE_INVALID, p.list.entries_at() + 3 * 16 + 4, 2);
  }
  {
    Prepared p;
    p.list.constants = 64;
    p.list.bindings[0].argument = WEFT_EXECUTABLE_CONTROL_CONSTANTS;
    p.list.bindings[0].offset_bytes = 48;
    assert_true(p.prepare().ok());
    p.list.bindings[0].offset_bytes = 64;
    ASSERT_REFUSED(p.prepare(), WEFT_ERROR_INVALID_ARGUMENT, p.list.bindings_at() + 24, 80);
  }
}

static void the_largest_list_is_read_in_pieces(void**) {
  Prepared p;
  p.list = ListImage{};
  p.list.arguments = WEFT_EXECUTABLE_CONTROL_ARGUMENTS;
  p.arguments = WEFT_EXECUTABLE_CONTROL_ARGUMENTS;
  for (uint32_t i = 0; i < WEFT_EXECUTABLE_CONTROL_BLOCKS; i++) p.list.add_block(i % 5, i % 64, 1);
  for (uint32_t i = 0; i < WEFT_EXECUTABLE_CONTROL_BINDINGS; i++) p.list.add_binding(3 + i % 29, i);
  for (uint32_t i = 0; i < WEFT_EXECUTABLE_CONTROL_ENTRIES; i++)
    i % 2 == 0 ? p.list.add(WEFT_CONTROL_OPCODE_BIND, i * 4, 4) : p.list.add(WEFT_CONTROL_OPCODE_RUN, i);
  // The arguments by hand: host_side's lists are 4 KiB apart.
  std::vector<uint8_t> bytes(list_bytes(p.arguments));
  const weft_launch_list header{.count = p.arguments, .crc32c = 0, .reserved = 0};
  std::memcpy(bytes.data(), &header, sizeof header);
  for (uint32_t i = 0; i < p.arguments; i++) {
    const weft_launch_argument a{
        .address = kData + i * 256, .size_bytes = 256, .space = WEFT_ADDRESS_SPACE_HBM, .reserved = 0};
    std::memcpy(bytes.data() + list_bytes(i), &a, sizeof a);
  }
  const uint32_t crc = crc32c(bytes.data(), bytes.size());
  std::memcpy(bytes.data() + offsetof(weft_launch_list, crc32c), &crc, sizeof crc);
  std::memcpy(machine().find(WEFT_ADDRESS_SPACE_HOST, kLists, bytes.size()), bytes.data(), bytes.size());
  const uint64_t before = machine().now;
  assert_true(p.prepare().ok());
  std::printf("  the largest list: %llu cycles to load and check\n", (unsigned long long)(machine().now - before));
  const auto* last = machine().find(WEFT_ADDRESS_SPACE_HOST, kLists + list_bytes(1023), 1);
  const_cast<uint8_t*>(last)[9] ^= 1;
  assert_int_equal(p.prepare().error, WEFT_ERROR_BAD_DESCRIPTOR);
}

static void constants_and_scratch_are_mapped_without_a_binding(void**) {
  Prepared p;
  p.list.constants = 64;
  p.list.scratch = 256;
  p.arguments = 3;
  assert_true(p.prepare().ok());
  assert_int_equal(control_map(p.state->functions[0], p.state->control), 6);
  assert_int_equal(machine().core.attributes(1), WEFT_ADDRESS_SPACE_HBM | 4);
  assert_int_equal(machine().core.limit(1), 64);
  assert_int_equal(machine().core.attributes(2), WEFT_ADDRESS_SPACE_HBM | 12);
  assert_int_equal(machine().core.base(2), kData + 512);
  assert_int_equal(machine().core.attributes(3), 0);
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_list_that_fits_is_ready_to_run),
      cmocka_unit_test(a_kernel_s_place_for_its_list_is_checked),
      cmocka_unit_test(every_part_that_cannot_be_read_is_a_dma_fault),
      cmocka_unit_test(wrong_parts_are_named_by_their_byte_in_the_image),
      cmocka_unit_test(the_largest_list_is_read_in_pieces),
      cmocka_unit_test(constants_and_scratch_are_mapped_without_a_binding),
  };
  return cmocka_run_group_tests_name("firmware/control", tests, nullptr, nullptr);
}
