// The control list of a launch of several devices.
#include "host/compiler/sequence/sequence_kernel.hpp"

#include "model/golden/check.hpp"
#include "testbench/unit/compiler/sequence/device_program.hpp"

using namespace weft;
using namespace weft::compiler;

namespace {

std::vector<Kernel> kernels() {
  const auto& chip = *spec::find_chip("nano");
  const auto module = sums_of_pairs(kOnDevice);
  const auto parts = partition(module, Device::kUsed, {}, &kFourChips);
  REQUIRE(parts.ok());
  size_t refused = 0;
  const auto plan = plan_sequence(module, parts.value(), launches_of(parts.value()).front(), refused);
  REQUIRE(plan.ok());
  const auto programs = compile_sequence_programs(chip, plan.value(), refused);
  if (!programs.ok()) FAIL(programs.error().message);
  std::vector<Kernel> made;
  for (size_t device = 0; device < 4; device++) {
    auto kernel = sequence_kernel(chip, "m", plan.value(), programs.value(), kFourChips, device, refused);
    if (!kernel.ok()) FAIL(kernel.error().message);
    CHECK(write_executable(chip, kernel.value()).ok());
    made.push_back(std::move(kernel.value()));
  }
  return made;
}

}  // namespace

TEST_CASE("each chip runs the same programs, and its own part of the collective between them") {
  const auto made = kernels();
  for (const Kernel& kernel : made) {
    REQUIRE(kernel.control.blocks.size() == 3);
    CHECK(kernel.arguments.size() == 2);
    CHECK(kernel.control.blocks[0] == made[0].control.blocks[0]);
    CHECK(kernel.control.blocks[2] == made[0].control.blocks[2]);
    CHECK(kernel.macs == made[0].macs);
    CHECK(kernel.scratch_bytes == made[0].scratch_bytes);
  }
  CHECK(made[0].macs == 3 * 16 * 16 * 16);
  CHECK(made[0].control.blocks[1] != made[1].control.blocks[1]);
}

TEST_CASE("every command of a launch has its segments, and its semaphores come out even") {
  const auto& chip = *spec::find_chip("nano");
  const auto made = kernels();
  for (uint32_t number = 0; number < made.size(); number++) {
    golden::SegmentTable table{};
    const auto& control = made[number].control;
    for (const auto& entry : control.entries) {
      if (entry.opcode == WEFT_CONTROL_OPCODE_BIND)
        for (uint32_t i = entry.first; i < entry.first + entry.count; i++) {
          const auto& binding = control.bindings[i];
          table[binding.segment] = {0, binding.size_bytes, WEFT_ADDRESS_SPACE_HBM, true,
                                    (binding.access & WEFT_EXECUTABLE_CONTROL_WRITABLE) != 0};
        }
      if (entry.opcode != WEFT_CONTROL_OPCODE_RUN) continue;
      std::array<int64_t, WEFT_SEMAPHORES> left{};
      const auto& block = control.blocks[entry.first];
      bool exchanges = false;
      for (unsigned queue = 0; queue < WEFT_CORE_QUEUES; queue++)
        for (const auto& command : block[queue]) {
          CHECK_FALSE(golden::check_command(command, queue, chip, table, golden::SlicePlace{number, 4}));
          const auto h = spec::decode_header(command);
          exchanges = exchanges || h.opcode == WEFT_OPCODE_BARRIER;
          if (h.wait_sem0 != WEFT_NO_SEMAPHORE) left[h.wait_sem0] -= h.wait_count0;
          if (h.wait_sem1 != WEFT_NO_SEMAPHORE) left[h.wait_sem1] -= h.wait_count1;
          if (h.post_sem0 != WEFT_NO_SEMAPHORE) left[h.post_sem0] += h.post_count0;
          if (h.post_sem1 != WEFT_NO_SEMAPHORE) left[h.post_sem1] += h.post_count1;
        }
      CHECK(exchanges == (entry.first == 1));
      if (exchanges) continue;  // what its partners post: collective_test
      for (const int64_t count : left) CHECK(count == 0);
    }
  }
}
