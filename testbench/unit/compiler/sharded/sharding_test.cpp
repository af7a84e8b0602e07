// What axes cut, and programs of sharded networks without running them: legal commands, semaphores that come out even.
#include "host/compiler/sharded/sharding.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <utility>

#include "host/compiler/sharded/compile_sharded.hpp"
#include "model/golden/check.hpp"
#include "model/golden/remote.hpp"
#include "testbench/unit/compiler/sharded/random_network.hpp"

using namespace weft;
using compiler::MeshAxes;
using compiler::Sharding;
using compiler::SliceShape;

namespace {

constexpr MeshAxes kX{true, false, false}, kY{false, true, false}, kZ{false, false, true}, kXY{true, true, false};
const SliceShape kSlice{{4, 2, 2}, {}};

std::vector<Sharding> shardings() {
  return {{},
          {.batch = kXY},
          {.n = kX},
          {.k = kX},
          {.k = kY, .n = kX},
          {.k = kX, .n = kY},
          {.batch = kZ, .k = kXY},
          {.batch = kX, .k = kZ, .n = kY}};
}

std::vector<compiler::ChipProgram> compile(const Sharding& sharding, int64_t hidden) {
  auto programs = compiler::compile_sharded(*spec::find_chip("nano"),
                                            test::random_network(40, {64, hidden, hidden, 64}), kSlice, sharding);
  if (!programs.ok()) FAIL(programs.error().message);
  return std::move(programs.value().chips);
}

/// Segments as the firmware maps them for a launch.
golden::SegmentTable segments_of(const compiler::Kernel& kernel) {
  golden::SegmentTable table{};
  table[1] = {0, kernel.constants.size(), WEFT_ADDRESS_SPACE_HBM, true, false};
  table[2] = {0, kernel.scratch_bytes, WEFT_ADDRESS_SPACE_HBM, true, true};
  for (size_t i = 0; i < kernel.arguments.size(); i++) {
    const bool output = kernel.arguments[i].direction == WEFT_ARGUMENT_DIRECTION_OUTPUT;
    table[3 + i] = {0, kernel.arguments[i].size_bytes, WEFT_ADDRESS_SPACE_HBM, !output, output};
  }
  return table;
}

}  // namespace

TEST_CASE("A rank on several axes counts along the lowest first") {
  const uint32_t chip = 1 + 4 * (1 + 2 * 1);  // x = 1, y = 1, z = 1
  CHECK(compiler::mesh_ranks(kSlice, kXY) == 8);
  CHECK(compiler::mesh_rank(kSlice, kXY, chip) == 5);
  CHECK(compiler::mesh_rank(kSlice, {}, chip) == 0);
}

TEST_CASE("Every command of a sharded network is legal at its sender, and every remote write at its receiver") {
  const spec::Chip& nano = *spec::find_chip("nano");
  for (const Sharding& sharding : shardings()) {
    for (const int64_t hidden : {64, 128}) {
      const auto kernels = compile(sharding, hidden);
      unsigned refused = 0;
      for (uint32_t chip = 0; chip < kernels.size(); chip++) {
        const compiler::Kernel& kernel = kernels[chip].kernel;
        for (unsigned queue = 0; queue < WEFT_CORE_QUEUES; queue++)
          for (const spec::Command& command : kernel.queues[queue]) {
            if (golden::check_command(command, queue, nano, segments_of(kernel), {chip, kSlice.chips()})) refused++;
            if (queue != WEFT_QUEUE_DMA_OUT) continue;
            const auto c = spec::decode_dma(command);
            if (golden::is_remote(c.header) &&
                golden::check_remote_destination(c, nano, segments_of(kernels[c.remote_chip].kernel), c.remote_chip))
              refused++;
          }
      }
      CHECK(refused == 0);
    }
  }
}

TEST_CASE("On every chip of a sharded network, what is waited for of each semaphore is what is posted") {
  for (const Sharding& sharding : shardings()) {
    for (const int64_t hidden : {64, 128}) {
      const auto kernels = compile(sharding, hidden);
      std::map<std::pair<uint32_t, unsigned>, int64_t> left;
      for (uint32_t chip = 0; chip < kernels.size(); chip++)
        for (const auto& queue : kernels[chip].kernel.queues)
          for (const spec::Command& command : queue) {
            const auto h = spec::decode_header(command);
            const uint32_t there = golden::is_remote(h) ? spec::decode_dma(command).remote_chip : chip;
            left[{chip, h.wait_sem0}] -= h.wait_count0;
            left[{chip, h.wait_sem1}] -= h.wait_count1;
            left[{chip, h.post_sem0}] += h.post_count0;
            left[{there, h.post_sem1}] += h.post_count1;
          }
      bool even = true;
      for (const auto& [semaphore, count] : left) even &= count == 0;
      CHECK(even);
    }
  }
}

TEST_CASE("Chips that only share a batch send nothing, and have no barrier") {
  for (const auto& chip : compile({.batch = kXY}, 64)) {
    for (const auto& command : chip.kernel.queues[WEFT_QUEUE_SYNC])
      CHECK(spec::decode_header(command).opcode != WEFT_OPCODE_BARRIER);
    for (const auto& command : chip.kernel.queues[WEFT_QUEUE_DMA_OUT])
      CHECK_FALSE(golden::is_remote(spec::decode_header(command)));
  }
}

TEST_CASE("A sharding that cannot be is refused, and the message says why") {
  const auto refusal = [](const Sharding& sharding, int64_t rows, int64_t hidden) {
    const auto programs = compiler::compile_sharded(*spec::find_chip("nano"),
                                                    test::random_network(rows, {64, hidden, 64}), kSlice, sharding);
    REQUIRE_FALSE(programs.ok());
    return programs.error();
  };
  using Catch::Contains;
  CHECK_THAT(refusal({.batch = kX, .k = kX}, 8, 64).message, Contains("axis x cuts two"));
  CHECK_THAT(refusal({.batch = kXY}, 7, 64).message, Contains("7 rows over 8 chips"));
  CHECK_THAT(refusal({.batch = kX}, 9, 64).message, Contains("9 rows over 4 chips"));
  const auto narrow = refusal({.n = kX}, 8, 48);
  CHECK(narrow.code == WEFT_ERROR_UNSUPPORTED);
  CHECK_THAT(narrow.message, Contains("12 columns of each chip are no whole blocks of 8"));
}

TEST_CASE("an axis with one chip along it cuts nothing, and is refused by name") {
  const compiler::SliceShape flat{{2, 2, 1}, {}, 0};
  CHECK(compiler::check_sharding(flat, {.batch = compiler::one_axis(2)}, 8).error().message ==
        "batch over axis z cuts nothing: a slice of 2x2x1 chips has one chip along it");
  CHECK(compiler::check_sharding(flat, {.batch = {true, false, true}}, 8).ok());
  CHECK(compiler::check_sharding({{1, 1, 1}, {}, 0}, {.batch = compiler::one_axis(0)}, 8).ok());
}
