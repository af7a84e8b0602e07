// Random graphs of commands, ordered, placed and synchronized, against one command after the other.
#include "host/compiler/command_graph/assemble.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "model/golden/rows.hpp"
#include "testbench/unit/compiler/command_graph/random_graph.hpp"

using namespace weft;

namespace {

spec::Chip with_vmem(const spec::Chip& chip, uint64_t words) {
  spec::Chip small = chip;
  small.vmem_words = static_cast<unsigned>(words);
  small.vmem_bytes = words * chip.word_bytes;
  return small;
}

/// Bytes of the outputs that differ, in some order that the semaphores allow; -1 and a message: it did not run.
int64_t differing(const spec::Chip& chip, const test::RandomGraph& random, const std::vector<std::byte>& expected,
                  uint64_t seed) {
  compiler::ProgramBuilder builder(chip);
  const auto status = compiler::command_graph::assemble(random.graph(), builder);
  if (!status.ok()) FAIL(status.error().message << ", seed " << seed);
  auto kernel = builder.kernel("random");
  kernel.scratch_bytes = random.scratch_bytes();
  test::ProgramExecutor executor(chip, kernel, {random.inputs(), std::vector<std::byte>(expected.size())}, seed);
  const auto error = executor.run();
  INFO(error << ", seed " << seed << " on " << chip.name << " with " << chip.vmem_words << " words");
  REQUIRE(error.empty());
  const auto outputs = executor.argument(1, expected.size());
  int64_t count = 0;
  for (size_t i = 0; i < expected.size(); i++) count += outputs[i] != expected[i];
  return count;
}

}  // namespace

TEST_CASE("random graphs compute the same in any order that their semaphores allow as one command after the other") {
  for (uint64_t seed = 1; seed <= 60; seed++) {
    const auto& preset = *spec::find_chip(seed % 2 == 0 ? "nano" : "nano-4mxu");
    const auto chip = with_vmem(preset, seed % 3 == 0 ? 16384 : 800);
    const test::RandomGraph random(chip, seed, 40 + static_cast<int>(seed) * 6);
    const auto expected = random.expected();
    REQUIRE(!expected.empty());
    for (uint64_t order = 0; order < 4; order++) CHECK(differing(chip, random, expected, seed * 1000 + order) == 0);
  }
}

TEST_CASE("a random graph of 3000 commands computes the same too") {
  const auto chip = with_vmem(*spec::find_chip("nano-4mxu"), 1600);
  const test::RandomGraph random(chip, 7, 3000);
  const auto expected = random.expected();
  REQUIRE(!expected.empty());
  for (uint64_t order = 0; order < 2; order++) CHECK(differing(chip, random, expected, order) == 0);
}

TEST_CASE("loads that are used long after they were made, more than there are semaphores") {
  const auto& chip = *spec::find_chip("nano");
  compiler::command_graph::CommandGraph graph(chip);
  constexpr uint64_t kLoads = 100;
  const uint64_t bytes = 8ull * chip.word_bytes;
  std::vector<compiler::command_graph::BufferId> buffers;
  for (uint64_t i = 0; i < kLoads; i++) {
    buffers.push_back(graph.add_buffer(compiler::command_graph::BufferSpace::kVmem, 8));
    spec::DmaCommand load;
    load.header.opcode = WEFT_OPCODE_COPY;
    load.src_seg = 3, load.src_off = i * bytes, load.size0 = static_cast<uint32_t>(bytes);
    graph.load(load, buffers.back());
  }
  // The first reads the last of them, so none is used before all have been made.
  for (uint64_t i = 0; i < kLoads; i++) {
    spec::VpuCommand sum;
    sum.header.opcode = WEFT_OPCODE_ELEMENTWISE;
    sum.op = WEFT_VPU_OP_SUB, sum.b_mode = WEFT_VPU_B_MODE_TENSOR;
    sum.src_dtype = sum.dst_dtype = WEFT_VPU_DTYPE_BF16;
    sum.rows = 8, sum.cols = static_cast<uint16_t>(chip.n), sum.a_stride = sum.b_stride = sum.d_stride = 1;
    const auto result = graph.add_buffer(compiler::command_graph::BufferSpace::kVmem, 8);
    graph.vector(sum, buffers[i], i == 0 ? buffers[kLoads - 1] : buffers[0], result);
    spec::DmaCommand store;
    store.header.opcode = WEFT_OPCODE_COPY;
    store.dst_seg = 4, store.dst_off = i * bytes, store.size0 = static_cast<uint32_t>(bytes);
    graph.store(store, result);
  }
  compiler::ProgramBuilder builder(chip);
  const auto status = compiler::command_graph::assemble(graph, builder);
  if (!status.ok()) FAIL(status.error().message);
  const auto kernel = builder.kernel("far");
  std::vector<uint16_t> values(kLoads * 8 * chip.n);
  std::mt19937_64 draw(5);
  for (auto& v : values) v = static_cast<uint16_t>(0x3c00 + draw() % 0x0400);
  std::vector<std::byte> input(values.size() * 2);
  std::memcpy(input.data(), values.data(), input.size());
  for (uint64_t seed = 1; seed <= 5; seed++) {
    test::ProgramExecutor executor(chip, kernel, {input, std::vector<std::byte>(input.size())}, seed);
    REQUIRE(executor.run() == "");
    const auto output = executor.argument(1, input.size());
    uint64_t differing = 0;
    for (uint64_t i = 0; i < kLoads; i++) {
      const uint64_t b = i == 0 ? kLoads - 1 : 0, elements = 8ull * chip.n;
      std::vector<uint16_t> expected(elements);
      golden::elementwise_bf16(WEFT_VPU_OP_SUB, std::span(&values[i * elements], elements),
                               std::span(&values[b * elements], elements), expected);
      differing += std::memcmp(&output[i * bytes], expected.data(), bytes) != 0;
    }
    CHECK(differing == 0);
  }
}

TEST_CASE("a graph whose values do not fit VMEM at a time is refused with its bytes") {
  const auto chip = with_vmem(*spec::find_chip("nano"), 64);
  const test::RandomGraph random(chip, 3, 100);
  compiler::ProgramBuilder builder(chip);
  const auto status = compiler::command_graph::assemble(random.graph(), builder);
  REQUIRE(!status.ok());
  CHECK(status.error().code == WEFT_ERROR_NO_DEVICE_MEMORY);
  CHECK(status.error().message.find("1024 bytes") != std::string::npos);
}

TEST_CASE(
    "a graph of more commands than are tried in several orders is refused with its bytes too, and fits where its own "
    "order does") {
  for (const uint64_t words : {64, 16384}) {
    const auto chip = with_vmem(*spec::find_chip("nano"), words);
    const test::RandomGraph same(chip, 3, 33000);
    REQUIRE(same.graph().commands().size() > 32768);
    compiler::ProgramBuilder builder(chip);
    const auto status = compiler::command_graph::assemble(same.graph(), builder);
    CHECK(status.ok() == (words > 64));
    if (!status.ok()) CHECK(status.error().message == "its values need more than the 1024 bytes of VMEM at a time");
  }
}
