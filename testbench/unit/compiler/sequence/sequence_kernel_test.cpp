// The control list of a launch of several devices.
#include "host/compiler/sequence/sequence_kernel.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "host/compiler/layout.hpp"
#include "model/golden/check.hpp"
#include "testbench/unit/compiler/program_executor.hpp"
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
  const auto stages = overlap(chip, plan.value(), programs.value(), kFourChips);
  std::vector<Kernel> made;
  for (size_t device = 0; device < 4; device++) {
    auto kernel = sequence_kernel(chip, "m", plan.value(), programs.value(), stages, kFourChips, device, refused);
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

TEST_CASE("device programs of a launch read and write their places in any order that their semaphores allow") {
  const auto& chip = *spec::find_chip("nano");
  const auto module = sums_of_pairs(kOnDevice);
  const auto parts = partition(module, Device::kUsed, {}, &kFourChips);
  REQUIRE(parts.ok());
  size_t refused = 0;
  const auto plan = plan_sequence(module, parts.value(), launches_of(parts.value()).front(), refused);
  REQUIRE(plan.ok());
  const auto programs = compile_sequence_programs(chip, plan.value(), refused);
  REQUIRE(programs.ok());
  // Small integers, whose products and sums are exact, wherever a program reads.
  const auto number = [](size_t matrix, size_t i) { return static_cast<float>((7 * i + matrix) % 5) - 1; };
  const auto filled = [&](const SequenceStep& step, SequenceMemory memory, uint64_t bytes) {
    std::vector<std::byte> data(bytes);
    for (size_t matrix = 0; matrix < step.inputs.size(); matrix++) {
      if (step.inputs[matrix].memory != memory) continue;
      std::vector<float> dense(256);
      for (size_t i = 0; i < dense.size(); i++) dense[i] = number(matrix, i);
      const auto as = std::ranges::find(plan.value().inputs, step.inputs[matrix].offset_bytes,
                                        &SequenceValue::offset_bytes);  // of the host's: as the program reads it
      const auto rows = pack_rows_as(dense, 16, 16, memory == SequenceMemory::kInputs ? as->dtype : WEFT_VPU_DTYPE_F32);
      std::ranges::copy(rows, data.begin() + static_cast<std::ptrdiff_t>(step.inputs[matrix].offset_bytes));
    }
    return data;
  };
  /// Of a kernel's run: elements of output `o` that are not those of a b.
  const auto differing = [&](size_t step, size_t o, const auto& a, const auto& b, uint64_t seed) {
    const SequenceStep& s = plan.value().steps[step];
    const std::vector<std::byte> nothing(64);
    test::ProgramExecutor executor(chip, programs.value()[step],
                                   {nothing, nothing, filled(s, SequenceMemory::kInputs, plan.value().input_bytes),
                                    filled(s, SequenceMemory::kResults, plan.value().result_bytes),
                                    filled(s, SequenceMemory::kBetween, plan.value().between_bytes)},
                                   seed);
    const std::string wrong = executor.run();
    CHECK(wrong.empty());
    const auto& place = s.outputs[o];
    const auto memory = executor.argument(2 + static_cast<size_t>(place.memory), place.offset_bytes + place.size_bytes);
    size_t count = 0;
    for (size_t row = 0; row < 16; row++)
      for (size_t column = 0; column < 16; column++) {
        float sum = 0, made = 0;
        for (size_t k = 0; k < 16; k++) sum += a(16 * row + k) * b(16 * k + column);
        std::memcpy(&made, &memory[place.offset_bytes + 4 * (16 * row + column)], sizeof made);
        count += made == sum ? 0 : 1;
      }
    return count;
  };
  for (uint64_t seed = 0; seed < 20; seed++) {
    INFO("seed " << seed);
    const auto x = [&](size_t i) { return number(0, i); };
    CHECK(differing(
              0, 0, x, [&](size_t i) { return number(1, i); }, seed) == 0);
    CHECK(differing(
              0, 1, x, [&](size_t i) { return number(2, i); }, seed) == 0);
    CHECK(differing(
              2, 0, [&](size_t i) { return std::abs(number(0, i)); }, [&](size_t i) { return -number(1, i); }, seed) ==
          0);
  }
}
