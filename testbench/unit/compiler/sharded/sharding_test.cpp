// Shards, and programs of sharded networks without running them: legal commands, semaphores that come out even.
#include "host/compiler/sharded/sharding.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <utility>

#include "host/compiler/sharded/compile_sharded.hpp"
#include "model/golden/check.hpp"
#include "model/golden/remote.hpp"

using namespace weft;
using compiler::MeshAxes;
using compiler::Sharding;
using compiler::SliceShape;
using compiler::Span;

namespace {

constexpr MeshAxes kX{true, false, false}, kY{false, true, false}, kZ{false, false, true}, kXY{true, true, false};
const SliceShape kSlice{{4, 2, 2}, {}};

/// Two layers with a row added between them.
compiler::Graph network(uint64_t rows, uint64_t inputs, uint64_t hidden, uint64_t outputs) {
  compiler::Graph graph;
  graph.name = "network";
  for (const uint64_t columns : {inputs, hidden, hidden, outputs})
    graph.tensors.push_back({"t", {int64_t(rows), int64_t(columns)}, rows, columns});
  graph.nodes.emplace_back(compiler::DenseNode{"first", 0, 1, inputs, hidden, std::vector<float>(inputs * hidden),
                                               std::vector<float>(hidden), true});
  graph.nodes.emplace_back(compiler::VectorNode{"shift", WEFT_VPU_OP_ADD, 1, 2, std::vector<float>(hidden)});
  graph.nodes.emplace_back(
      compiler::DenseNode{"second", 2, 3, hidden, outputs, std::vector<float>(hidden * outputs), {}, false});
  graph.inputs = {0};
  graph.outputs = {3};
  return graph;
}

std::vector<Sharding> shardings() {
  std::vector<Sharding> all;
  for (const bool overlap : {true, false})
    for (Sharding s : std::initializer_list<Sharding>{{},
                                                      {.batch = kXY},
                                                      {.n = kX},
                                                      {.k = kX},
                                                      {.k = kY, .n = kX},
                                                      {.k = kX, .n = kY},
                                                      {.batch = kZ, .k = kXY},
                                                      {.batch = kX, .k = kZ, .n = kY}}) {
      s.overlap = overlap;
      all.push_back(s);
    }
  return all;
}

std::vector<compiler::ShardedKernel> compile(const Sharding& sharding, uint64_t hidden) {
  auto kernels = compiler::compile_sharded(*spec::find_chip("nano"), network(37, 20, hidden, 10), kSlice, sharding);
  REQUIRE(kernels.ok());
  return std::move(kernels.value());
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

TEST_CASE("Shards are units, the first ones a unit longer, the last one short, and together everything") {
  for (const uint64_t total : {1u, 8u, 10u, 33u, 64u, 100u})
    for (const unsigned ranks : {1u, 2u, 5u}) {
      uint64_t at = 0;
      for (unsigned rank = 0; rank < ranks; rank++) {
        const Span part = compiler::shard(total, 8, ranks, rank);
        CHECK((part.count == 0 || part.first == at));
        CHECK((part.count % 8 == 0 || part.first + part.count == total));
        at += part.count;
      }
      CHECK(at == total);
    }
  CHECK(compiler::shard(10, 8, 4, 1).count == 2);
  CHECK(compiler::shard(10, 8, 4, 2).count == 0);
}

TEST_CASE("A rank on several axes counts along the lowest first") {
  const uint32_t chip = 1 + 4 * (1 + 2 * 1);  // x = 1, y = 1, z = 1
  CHECK(compiler::mesh_ranks(kSlice, kXY) == 8);
  CHECK(compiler::mesh_rank(kSlice, kXY, chip) == 5);
  CHECK(compiler::mesh_rank(kSlice, {}, chip) == 0);
  const compiler::ShardView view(kSlice, {.k = kY, .n = kX}, chip, 8);
  CHECK(view.me() == view.member(1, 1));
  CHECK(view.chip(view.me()) == chip);
  CHECK(view.chip(view.member(0, 3)) == 3 + 4 * (0 + 2 * 1));
}

TEST_CASE("The result blocks of a group are a matrix's columns, each once") {
  for (const Sharding& sharding : shardings()) {
    std::vector<unsigned> times(50);
    const compiler::ShardView view(kSlice, sharding, 5, 8);
    for (unsigned member = 0; member < view.members(); member++) {
      const Span block = view.result_block(member, times.size());
      for (uint64_t c = block.first; c < block.first + block.count; c++) times[c]++;
    }
    CHECK(times == std::vector<unsigned>(50, 1));
  }
}

TEST_CASE("Every command of a sharded network is legal at its sender, and every remote write at its receiver") {
  const spec::Chip& nano = *spec::find_chip("nano");
  for (const Sharding& sharding : shardings()) {
    for (const uint64_t hidden : {16u, 50u}) {
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
    for (const uint64_t hidden : {16u, 50u}) {
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
  for (const auto& chip : compile({.batch = kXY}, 50)) CHECK(chip.kernel.queues[WEFT_QUEUE_SYNC].empty());
}

TEST_CASE("A sharding that cannot be is refused, and the message says why") {
  const auto message = [](const Sharding& sharding, uint64_t rows) {
    const auto kernels =
        compiler::compile_sharded(*spec::find_chip("nano"), network(rows, 16, 16, 16), kSlice, sharding);
    REQUIRE_FALSE(kernels.ok());
    return kernels.error().message;
  };
  using Catch::Contains;
  CHECK_THAT(message({.batch = kX, .k = kX}, 8), Contains("axis x cuts two"));
  CHECK_THAT(message({.batch = kXY}, 7), Contains("7 rows over 8 chips"));
  const auto many =
      compiler::compile_sharded(*spec::find_chip("nano"), network(8, 16, 16, 16), {{8, 4, 1}, {}}, {.k = kX, .n = kY});
  REQUIRE_FALSE(many.ok());
  CHECK(many.error().code == WEFT_ERROR_UNSUPPORTED);
  CHECK_THAT(many.error().message, Contains("32 chips: 16 are possible"));
  auto uneven = network(8, 16, 16, 16);
  uneven.inputs.push_back(uneven.tensors.size());
  uneven.tensors.push_back({"u", {4, 16}, 4, 16});
  const auto refused = compiler::compile_sharded(*spec::find_chip("nano"), uneven, kSlice, {.batch = kX});
  REQUIRE_FALSE(refused.ok());
  CHECK_THAT(refused.error().message, Contains("has 4 rows"));
}

TEST_CASE("an axis with one chip along it cuts nothing, and is refused by name") {
  const compiler::SliceShape flat{{2, 2, 1}, {}, 0};
  CHECK(compiler::check_sharding(flat, {.batch = compiler::one_axis(2)}, 8).error().message ==
        "batch over axis z cuts nothing: a slice of 2x2x1 chips has one chip along it");
  CHECK(compiler::check_sharding(flat, {.batch = {true, false, true}}, 8).ok());
  CHECK(compiler::check_sharding({{1, 1, 1}, {}, 0}, {.batch = compiler::one_axis(0)}, 8).ok());
}
