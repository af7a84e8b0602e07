// Program images: truncated, wrong and random in every field.
#include "firmware/core/program.hpp"

#include <cstring>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <random>

#include "check.hpp"
#include "host_side.hpp"

using namespace mock;
using namespace weft::fw;
using H = weft_program_header;
using K = weft_program_kernel;

namespace {

const std::array<uint32_t, WEFT_CORE_QUEUES> kCounts{3, 4, 5, 6, 7};

struct Good {
  std::vector<uint8_t> image = make_image(kCounts, 3, 64, 128);
  H header;
  K kernel;
  Good() {
    std::memcpy(&header, image.data(), sizeof header);
    std::memcpy(&kernel, image.data() + sizeof header, sizeof kernel);
  }
  uint64_t bytes() const { return image.size(); }
  uint64_t commands() const { return header.commands_bytes / 64; }
};

constexpr uint64_t kNasty[] = {1,
                               63,
                               64,
                               65,
                               0x7fffffff,
                               0x80000000,
                               0xffffffff,
                               0x100000000,
                               0x7fffffffffffffff,
                               0x8000000000000000,
                               0xffffffffffffffc0,
                               0xffffffffffffffff};

Status find(const State& state, const Function& function, uint64_t id, Program* program) {
  Status status = kOk;
  if (const Program* found = find_program(state, function, id, *program, status)) *program = *found;
  return status;
}

}  // namespace

static void a_good_image_passes(void**) {
  const Good g;
  assert_true(check_program_header(g.header, g.bytes(), kFingerprint).ok());
  assert_true(check_program_kernel(g.kernel, 0, g.commands()).ok());
}

static void every_wrong_header_field_is_named(void**) {
  const Good g;
  const auto refuse = [&](uint64_t offset, auto change) {
    H h = g.header;
    change(h);
    const Status s = check_program_header(h, g.bytes(), kFingerprint);
    assert_int_equal(s.error, WEFT_ERROR_EXECUTABLE_INVALID);
    assert_int_equal(s.detail0, offset);
  };
  refuse(offsetof(H, magic), [](H& h) { h.magic++; });
  refuse(offsetof(H, isa_version), [](H& h) { h.isa_version = WEFT_ISA_VERSION + 1; });
  refuse(offsetof(H, isa_version), [](H& h) { h.isa_version = WEFT_ISA_OLDEST - 1; });
  refuse(offsetof(H, chip_fingerprint), [](H& h) { h.chip_fingerprint++; });
  refuse(offsetof(H, image_bytes), [](H& h) { h.image_bytes += 64; });
  refuse(offsetof(H, kernel_count), [](H& h) { h.kernel_count = 0; });
  refuse(offsetof(H, kernel_count), [](H& h) { h.kernel_count = 17; });
  refuse(offsetof(H, reserved), [](H& h) { h.reserved = 1; });
  refuse(offsetof(H, commands_offset), [](H& h) { h.commands_offset = 128; });  // inside the kernel table
  refuse(offsetof(H, constants_offset), [](H& h) { h.constants_offset = 64; });
  for (uint64_t v : kNasty) {
    if (v != 64) refuse(offsetof(H, commands_offset), [v](H& h) { h.commands_offset = v; });
    if (v != 64) refuse(offsetof(H, commands_bytes), [v](H& h) { h.commands_bytes = v * 64 > v ? v * 64 + 4096 : v; });
    refuse(offsetof(H, constants_offset), [v](H& h) { h.constants_offset = v; });
    if (v != 64) refuse(offsetof(H, constants_bytes), [v](H& h) { h.constants_bytes = v; });
  }
}

static void every_wrong_kernel_field_is_named(void**) {
  const Good g;
  const auto refuse = [&](uint64_t offset, auto change) {
    K k = g.kernel;
    change(k);
    const Status s = check_program_kernel(k, 2, g.commands());
    assert_int_equal(s.error, WEFT_ERROR_EXECUTABLE_INVALID);
    assert_int_equal(s.detail0, kernel_offset(2) + offset);
  };
  for (uint32_t q = 0; q < WEFT_CORE_QUEUES; q++) {
    for (uint32_t v : {26u, 0x80000000u, UINT32_MAX}) {
      refuse(offsetof(K, queue_first) + 4 * q, [=](K& k) { k.queue_first[q] = v; });
      refuse(offsetof(K, queue_count) + 4 * q, [=](K& k) { k.queue_count[q] = v; });
    }
  }
  for (uint32_t v : {30u, 31u, 32u, UINT32_MAX})
    refuse(offsetof(K, argument_count), [=](K& k) { k.argument_count = v; });
  refuse(offsetof(K, argument_writable), [](K& k) { k.argument_writable = 8; });
  refuse(offsetof(K, argument_readable), [](K& k) { k.argument_readable = 8; });
  refuse(offsetof(K, scratch_bytes), [](K& k) { k.scratch_bytes = 8; });
  for (uint32_t i = 0; i < std::size(g.kernel.reserved); i++)
    refuse(offsetof(K, reserved) + 8 * i, [=](K& k) { k.reserved[i] = UINT64_C(1) << 63; });
}

static void random_headers_and_kernels_never_pass_a_range_that_leaves_the_image(void**) {
  constexpr unsigned kSeed = 7;
  std::printf("seed %u\n", kSeed);
  std::mt19937_64 random(kSeed);
  const Good g;
  int passed = 0;
  for (int n = 0; n < 300000; n++) {
    H h = g.header;
    K k = g.kernel;
    for (int i = 0; i < 2; i++) {
      const uint64_t value = random() >> (random() % 64);
      reinterpret_cast<uint8_t*>(&h)[random() % sizeof h] = static_cast<uint8_t>(value);
      std::memcpy(reinterpret_cast<uint8_t*>(&h) + 8 * (4 + random() % 4), &value, 8);
      std::memcpy(reinterpret_cast<uint8_t*>(&k) + 4 * (random() % 32), &value, 4);
    }
    if (check_program_header(h, g.bytes(), kFingerprint).ok()) {
      passed++;
      assert_true(h.commands_offset >= kernel_offset(h.kernel_count) && h.commands_offset <= g.bytes() &&
                  h.commands_bytes <= g.bytes() - h.commands_offset);
      assert_true(h.constants_bytes == 0 ||
                  (h.constants_offset <= g.bytes() && h.constants_bytes <= g.bytes() - h.constants_offset));
    }
    if (check_program_kernel(k, 0, g.commands()).ok()) {
      for (uint32_t q = 0; q < WEFT_CORE_QUEUES; q++)
        assert_true(uint64_t{k.queue_first[q]} + k.queue_count[q] <= g.commands());
      assert_true(k.argument_count <= WEFT_LIMIT_ARGUMENTS);
    }
  }
  assert_true(passed > 0);
}

static void images_are_loaded_refused_and_unloaded_by_id(void**) {
  reset();
  State& state = make_state();
  Function& function = state.functions[0];
  const Good g;
  place_image(g.image);
  uint32_t id = 0, other = 0;
  Program program;
  assert_true(load_program(state, function, kImage, g.bytes(), &id).ok());
  assert_true(id != 0 && find(state, function, id, &program).ok());
  assert_true(unload_program(state, function, id).ok());
  ASSERT_REFUSED(unload_program(state, function, id), WEFT_ERROR_INVALID_ARGUMENT,
                 offsetof(weft_submission_entry, arg0), id);
  assert_true(load_program(state, function, kImage, g.bytes(), &other).ok());
  assert_int_not_equal(id, other);  // an old id does not reach the new program
  ASSERT_REFUSED(find(state, function, id, &program), WEFT_ERROR_INVALID_ARGUMENT,
                 offsetof(weft_submission_entry, arg0), id);
  for (uint32_t i = 1; i < WEFT_LIMIT_PROGRAMS; i++)
    assert_true(load_program(state, function, kImage, g.bytes(), &id).ok());
  assert_int_equal(load_program(state, function, kImage, g.bytes(), &id).error, WEFT_ERROR_NO_DEVICE_MEMORY);
}

static void a_record_beyond_the_function_s_part_of_state_lies_in_its_hbm(void**) {
  reset();
  machine().functions = 16;
  State& state = make_state();
  assert_int_equal(state.program_records, kProgramRecords / 16);
  Function& function = state.functions[3];
  const Good g;
  std::memcpy(machine().hbm.data() + function.hbm_base + kImage, g.image.data(), g.image.size());
  uint32_t id[WEFT_LIMIT_PROGRAMS];
  for (uint32_t& one : id) assert_true(load_program(state, function, kImage, g.bytes(), &one).ok());
  Program program;
  for (uint32_t i = 0; i < WEFT_LIMIT_PROGRAMS; i++) {
    const uint64_t reads = machine().dma_reads;
    assert_true(find(state, function, id[i], &program).ok());
    assert_int_equal(program.id, id[i]);
    assert_int_equal(program.image_address(), function.hbm_base + kImage);
    assert_int_equal(machine().dma_reads - reads, i < state.program_records ? 0 : 1);
    assert_false(find(state, state.functions[2], id[i], &program).ok());
  }
  const uint32_t last = id[WEFT_LIMIT_PROGRAMS - 1];
  machine().fail_dma_after = 0;
  assert_int_equal(find(state, function, last, &program).error, WEFT_ERROR_DMA_FAULT);
  assert_true(unload_program(state, function, last).ok());
  assert_false(find(state, function, last, &program).ok());
  machine().fail_dma_after = 2;  // header and table, then the record
  assert_int_equal(load_program(state, function, kImage, g.bytes(), &id[0]).error, WEFT_ERROR_DMA_FAULT);
  assert_true(load_program(state, function, kImage, g.bytes(), &id[0]).ok());
  assert_int_not_equal(id[0], last);
}

static void addresses_and_sizes_of_images_are_checked(void**) {
  reset();
  State& state = make_state();
  Function& function = state.functions[0];
  const Good g;
  place_image(g.image);
  uint32_t id = 0;
  for (uint64_t address : {UINT64_C(0), UINT64_C(0xffc0), kImage + 4, kHbmBytes + 64, kImage | UINT64_C(1) << 63}) {
    ASSERT_REFUSED(load_program(state, function, address, g.bytes(), &id), WEFT_ERROR_INVALID_ARGUMENT,
                   offsetof(weft_submission_entry, arg0), address);
  }
  for (uint64_t bytes : {UINT64_C(0), UINT64_C(191), kHbmBytes - kImage + 64, UINT64_MAX}) {
    ASSERT_REFUSED(load_program(state, function, kImage, bytes, &id), WEFT_ERROR_INVALID_ARGUMENT,
                   offsetof(weft_submission_entry, size), bytes);
  }
  for (uint64_t bytes = 192; bytes < g.bytes(); bytes += 64) {  // truncated
    ASSERT_REFUSED(load_program(state, function, kImage, bytes, &id), WEFT_ERROR_EXECUTABLE_INVALID,
                   offsetof(H, image_bytes), g.bytes());
  }
  for (int dma = 0; dma < 2; dma++) {
    machine().fail_dma_after = dma;
    assert_int_equal(load_program(state, function, kImage, g.bytes(), &id).error, WEFT_ERROR_DMA_FAULT);
  }
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_good_image_passes),
      cmocka_unit_test(every_wrong_header_field_is_named),
      cmocka_unit_test(every_wrong_kernel_field_is_named),
      cmocka_unit_test(random_headers_and_kernels_never_pass_a_range_that_leaves_the_image),
      cmocka_unit_test(images_are_loaded_refused_and_unloaded_by_id),
      cmocka_unit_test(a_record_beyond_the_function_s_part_of_state_lies_in_its_hbm),
      cmocka_unit_test(addresses_and_sizes_of_images_are_checked),
  };
  return cmocka_run_group_tests_name("firmware/program", tests, nullptr, nullptr);
}
