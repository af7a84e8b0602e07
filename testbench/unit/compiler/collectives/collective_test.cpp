// Kernels of collectives without running them: legal commands, semaphores that come out even, wrong requests.
#include "host/compiler/collectives/collective.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <utility>

#include "host/compiler/collectives/collective_algorithm.hpp"
#include "host/compiler/collectives/collective_mesh.hpp"
#include "host/compiler/sharded/sharding.hpp"
#include "model/golden/check.hpp"
#include "model/golden/remote.hpp"

using namespace weft;
using compiler::Collective;
using compiler::CollectiveAlgorithm;
using compiler::CollectiveKind;
using compiler::SliceShape;

namespace {

const spec::Chip& nano() { return *spec::find_chip("nano"); }

struct MeshCase {
  SliceShape shape;
  compiler::MeshAxes axes;
};

std::vector<SliceShape> shapes() {
  return {{{2, 2, 1}, {}},
          {{4, 3, 1}, {}},
          {{1, 5, 1}, {}},
          {{16, 2, 1}, {true, false, false}},
          {{4, 4, 4}, {true, true, true}},
          {{2, 1, 3}, {true, true, true}},
          {{1, 1, 1}, {}}};
}

std::vector<Collective> collectives(const SliceShape& shape) {
  std::vector<Collective> all;
  const compiler::MeshAxes xy{true, true, false}, xyz{true, true, true};
  for (const auto& axes : {compiler::one_axis(0), compiler::one_axis(1), compiler::one_axis(2), xy, xyz}) {
    const unsigned ranks = compiler::mesh_ranks(shape, axes);
    for (const auto kind :
         {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter, CollectiveKind::kAllReduce,
          CollectiveKind::kBroadcast, CollectiveKind::kBarrier, CollectiveKind::kAllToAll, CollectiveKind::kPermute})
      for (const uint64_t bytes : {uint64_t{16}, uint64_t{4096}, uint64_t{40'016}, uint64_t{280'016}})
        for (const auto algorithm : {CollectiveAlgorithm::kNeighbor, CollectiveAlgorithm::kDirect}) {
          if (algorithm == CollectiveAlgorithm::kNeighbor && !compiler::has_algorithms(kind)) continue;
          // what VMEM has no room for goes through HBM only
          if (bytes > nano().vmem_bytes && (shape.chips() > 12 || algorithm == CollectiveAlgorithm::kDirect)) continue;
          all.push_back({.kind = kind,
                         .axes = axes,
                         .dtype = WEFT_ARGUMENT_DTYPE_F32,
                         .bytes = bytes,
                         .root = ranks / 2,
                         .shift = ranks - 1,
                         .algorithm = algorithm});
        }
  }
  return all;
}

/// Segments as the firmware maps them for a launch.
golden::SegmentTable segments_of(const compiler::Kernel& kernel) {
  golden::SegmentTable table{};
  const auto hbm = [](uint64_t bytes, bool readable, bool writable) {
    return golden::Segment{0, bytes, WEFT_ADDRESS_SPACE_HBM, readable, writable};
  };
  table[2] = hbm(kernel.scratch_bytes, true, true);
  for (size_t i = 0; i < kernel.arguments.size(); i++) {
    const bool output = kernel.arguments[i].direction == WEFT_ARGUMENT_DIRECTION_OUTPUT;
    table[3 + i] = hbm(kernel.arguments[i].size_bytes, true, output);  // what has been put out may be read
  }
  return table;
}

}  // namespace

TEST_CASE("Every command of a collective is legal at its sender, and every remote write at its receiver") {
  for (const SliceShape& shape : shapes()) {
    for (const Collective& collective : collectives(shape)) {
      std::vector<compiler::Kernel> kernels;
      for (uint32_t chip = 0; chip < shape.chips(); chip++) {
        auto kernel = compiler::compile_collective(nano(), shape, chip, collective);
        REQUIRE(kernel.ok());
        kernels.push_back(std::move(kernel.value()));
      }
      unsigned refused = 0;
      for (uint32_t chip = 0; chip < shape.chips(); chip++) {
        const golden::SlicePlace place{chip, shape.chips()};
        for (unsigned queue = 0; queue < WEFT_CORE_QUEUES; queue++)
          for (const spec::Command& command : kernels[chip].queues[queue]) {
            if (golden::check_command(command, queue, nano(), segments_of(kernels[chip]), place)) refused++;
            if (queue != WEFT_QUEUE_DMA_OUT) continue;
            const auto c = spec::decode_dma(command);
            if (golden::is_remote(c.header) &&
                golden::check_remote_destination(c, nano(), segments_of(kernels[c.remote_chip]), c.remote_chip))
              refused++;
          }
      }
      CHECK(refused == 0);
    }
  }
}

TEST_CASE("On every chip, what is waited for of each semaphore is what this chip and the others post") {
  for (const SliceShape& shape : shapes()) {
    for (const Collective& collective : collectives(shape)) {
      std::map<std::pair<uint32_t, unsigned>, int64_t> left;
      for (uint32_t chip = 0; chip < shape.chips(); chip++) {
        const auto kernel = compiler::compile_collective(nano(), shape, chip, collective);
        REQUIRE(kernel.ok());
        for (const auto& queue : kernel.value().queues)
          for (const spec::Command& command : queue) {
            const auto h = spec::decode_header(command);
            const uint32_t there = golden::is_remote(h) ? spec::decode_dma(command).remote_chip : chip;
            left[{chip, h.wait_sem0}] -= h.wait_count0;
            left[{chip, h.wait_sem1}] -= h.wait_count1;
            left[{chip, h.post_sem0}] += h.post_count0;
            left[{there, h.post_sem1}] += h.post_count1;
          }
      }
      bool even = true;
      for (const auto& [semaphore, count] : left) even &= count == 0;
      CHECK(even);
    }
  }
}

TEST_CASE("A group is a ring if every chip is a neighbour of the next and the last of the first, else a line") {
  const SliceShape shape{{4, 4, 1}, {}}, torus{{4, 4, 1}, {true, true, false}};
  const auto ring = [](const SliceShape& slice, std::vector<uint32_t> group) {
    const auto mesh = compiler::collective_mesh(slice, {.groups = {group}}, group.front());
    REQUIRE(mesh.ok());
    return mesh.value().axes.front().ring;
  };
  CHECK(ring(shape, {0, 1, 5, 4}));
  CHECK_FALSE(ring(shape, {0, 1, 4, 5}));
  CHECK_FALSE(ring(shape, {0, 1, 2, 3}));
  CHECK(ring(torus, {0, 1, 2, 3}));
  CHECK(ring(torus, {0, 4, 8, 12}));
  CHECK_FALSE(ring(torus, {0, 1}));
}

TEST_CASE("A gathering of a group whose chips are a mesh in its order has the mesh's axes, a reduction has a line") {
  const auto axes = [](const SliceShape& slice, CollectiveKind kind, std::vector<uint32_t> group) {
    const auto mesh = compiler::collective_mesh(slice, {.kind = kind, .groups = {group}}, group.back());
    REQUIRE(mesh.ok());
    CHECK(mesh.value().chips == group);
    CHECK(mesh.value().rank == group.size() - 1);
    std::vector<std::pair<unsigned, bool>> told;
    for (const auto& axis : mesh.value().axes) told.emplace_back(axis.ranks, axis.ring);
    return told;
  };
  using Axes = std::vector<std::pair<unsigned, bool>>;
  constexpr auto kGather = CollectiveKind::kAllGather;
  const SliceShape small{{2, 2, 1}, {}}, wide{{4, 2, 1}, {true, false, false}};
  CHECK(axes(small, kGather, {0, 1, 2, 3}) == Axes{{2, false}, {2, false}});
  CHECK(axes(small, kGather, {0, 2, 1, 3}) == Axes{{2, false}, {2, false}});
  CHECK(axes(small, kGather, {0, 1, 3, 2}) == Axes{{4, true}});
  CHECK(axes(small, kGather, {0, 3, 1, 2}) == Axes{{4, false}});
  CHECK(axes(small, CollectiveKind::kAllReduce, {0, 2, 1, 3}) == Axes{{4, false}});
  CHECK(axes(wide, kGather, {0, 1, 2, 3, 4, 5, 6, 7}) == Axes{{4, true}, {2, false}});
  CHECK(axes(wide, kGather, {0, 4, 1, 5, 2, 6, 3, 7}) == Axes{{2, false}, {4, true}});
  CHECK(axes(wide, kGather, {0, 1, 2, 4, 5, 6}) == Axes{{3, false}, {2, false}});
  CHECK(axes(wide, kGather, {0, 1, 2, 3}) == Axes{{4, true}});
}

TEST_CASE("Blocks are granules, the first ones longer, and together the array") {
  for (const uint64_t bytes : {uint64_t{16}, uint64_t{32}, uint64_t{1600}, uint64_t{1616}}) {
    uint64_t at = 0, longest = 0, shortest = bytes;
    for (unsigned rank = 0; rank < 5; rank++) {
      const auto block = compiler::collective_block(bytes, 5, rank);
      CHECK(block.offset == at);
      CHECK(block.bytes % 16 == 0);
      at += block.bytes;
      longest = std::max(longest, block.bytes);
      shortest = std::min(shortest, block.bytes);
    }
    CHECK(at == bytes);
    CHECK(longest - shortest <= 16);
  }
}

TEST_CASE("Data come from all ranks of a line, and from half of a ring on either side") {
  CHECK(compiler::collective_reach(5, false, 1, 0).below == 1);
  CHECK(compiler::collective_reach(5, false, 1, 0).above == 3);
  CHECK(compiler::collective_reach(6, true, 1, 0).below == 3);
  CHECK(compiler::collective_reach(6, true, 1, 0).above == 2);
  CHECK(compiler::collective_reach(6, true, 1, 1).below == 2);
  CHECK(compiler::collective_reach(7, true, 1, 1).below == 3);
}

TEST_CASE("A collective that cannot be is refused, and the message says why") {
  const SliceShape shape{{4, 2, 1}, {}};
  const Collective good{.kind = CollectiveKind::kAllReduce, .bytes = 64};
  const auto message = [&](Collective c, uint32_t chip = 0) {
    const auto kernel = compiler::compile_collective(nano(), shape, chip, c);
    REQUIRE_FALSE(kernel.ok());
    CHECK(kernel.error().code == WEFT_ERROR_INVALID_ARGUMENT);
    return kernel.error().message;
  };
  using Catch::Contains;
  CHECK_THAT(message(good, 8), Contains("chip 8"));
  auto bad = good;
  bad.axes = {};
  CHECK_THAT(message(bad), Contains("no axis"));
  bad = good;
  bad.groups = {{0, 1, 4}};
  CHECK_THAT(message(bad), Contains("the group of chip 0 is no box"));
  bad.groups = {{0, 1}, {1, 2}};
  CHECK_THAT(message(bad), Contains("chip 1 is in the groups twice"));
  bad.groups = {{0, 9}};
  CHECK_THAT(message(bad), Contains("chip 9 in a group: the slice has 8"));
  bad.groups = {{0, 1}, {2}};
  CHECK_THAT(message(bad), Contains("groups of 2 and 1 chips"));
  bad.groups = {{}};
  CHECK_THAT(message(bad), Contains("a group without chips"));
  bad.groups = {{1, 2}};
  CHECK_THAT(message(bad), Contains("chip 0 is in no group"));
  bad = good;
  bad.bytes = 0;
  CHECK_THAT(message(bad), Contains("multiple of 16"));
  bad.bytes = 24;
  CHECK_THAT(message(bad), Contains("24 bytes"));
  bad = good;
  bad.dtype = static_cast<weft_argument_dtype>(5);
  CHECK_THAT(message(bad), Contains("dtype 5: f32, bf16, i8 and i32"));
  bad.dtype = WEFT_ARGUMENT_DTYPE_I8;
  for (const auto kind : {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter}) {
    bad.kind = kind;
    CHECK_THAT(message(bad), Contains("the VPU adds f32, bf16 and i32"));
  }
  bad = good;
  bad.kind = CollectiveKind::kAllToAll;
  bad.algorithm = CollectiveAlgorithm::kNeighbor;
  CHECK_THAT(message(bad), Contains("algorithm neighbor: all-to-all"));
  bad = good;
  bad.kind = CollectiveKind::kBroadcast;
  bad.root = 4;
  CHECK_THAT(message(bad), Contains("root 4"));
  bad = good;
  bad.kind = CollectiveKind::kPermute;
  bad.shift = 4;
  CHECK_THAT(message(bad), Contains("shift 4"));
}

TEST_CASE("An array that VMEM has no room for is not sent straight, and asking for it says how much it takes") {
  const SliceShape shape{{4, 1, 1}, {}, 2'000'000'000};
  Collective c{.kind = CollectiveKind::kAllReduce, .bytes = 1 << 20};
  const auto mesh = compiler::collective_mesh(shape, c, 0);
  REQUIRE(mesh.ok());
  const auto chosen = compiler::collective_algorithm(nano(), shape, mesh.value(), c);
  REQUIRE(chosen.ok());
  CHECK(chosen.value() == CollectiveAlgorithm::kNeighbor);
  c.algorithm = CollectiveAlgorithm::kDirect;
  const auto kernel = compiler::compile_collective(nano(), shape, 0, c);
  REQUIRE_FALSE(kernel.ok());
  CHECK(kernel.error().code == WEFT_ERROR_UNSUPPORTED);
  CHECK_THAT(kernel.error().message, Catch::Contains("take 2097152 bytes of VMEM, and nano has 262144"));
}

TEST_CASE("Small arrays go straight to each rank, larger ones from neighbour to neighbour") {
  const MeshCase cases[] = {{{{4, 1, 1}, {}, 45'000'000'000}, {true, false, false}},
                            {{{16, 1, 1}, {true, false, false}, 45'000'000'000}, {true, false, false}},
                            {{{4, 4, 1}, {}, 45'000'000'000}, {true, true, false}}};
  for (const auto& [shape, axes] : cases)
    for (const auto kind : {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter, CollectiveKind::kAllReduce,
                            CollectiveKind::kBroadcast}) {
      std::vector<CollectiveAlgorithm> chosen;
      for (uint64_t bytes = 16; bytes <= 64 << 20; bytes *= 2) {
        const Collective c{.kind = kind, .axes = axes, .bytes = bytes};
        const auto mesh = compiler::collective_mesh(shape, c, 0);
        REQUIRE(mesh.ok());
        const auto algorithm = compiler::collective_algorithm(*spec::find_chip("v5e"), shape, mesh.value(), c);
        REQUIRE(algorithm.ok());
        chosen.push_back(algorithm.value());
      }
      INFO(static_cast<int>(kind) << " on " << shape.chips());
      CHECK(chosen.front() == CollectiveAlgorithm::kDirect);
      CHECK(chosen.back() == CollectiveAlgorithm::kNeighbor);
      CHECK(std::ranges::is_sorted(chosen, std::ranges::greater{}));
    }
}

TEST_CASE("An all-reduce that stays in VMEM may have its sum where its array was, no other collective") {
  const SliceShape shape{{4, 4, 4}, {true, true, true}};
  const auto in_place = [&](CollectiveKind kind, uint64_t bytes, CollectiveAlgorithm algorithm) {
    const Collective c{.kind = kind,
                       .axes = {true, true, true},
                       .dtype = WEFT_ARGUMENT_DTYPE_F32,
                       .bytes = bytes,
                       .algorithm = algorithm};
    const bool first = compiler::works_in_place(nano(), shape, 0, c);
    for (const uint32_t chip : {1u, 42u, 63u}) CHECK(compiler::works_in_place(nano(), shape, chip, c) == first);
    return first;
  };
  CHECK(in_place(CollectiveKind::kAllReduce, 4096, CollectiveAlgorithm::kNeighbor));
  CHECK_FALSE(in_place(CollectiveKind::kAllReduce, 4096, CollectiveAlgorithm::kDirect));
  CHECK_FALSE(in_place(CollectiveKind::kAllReduce, 2 * nano().vmem_bytes, CollectiveAlgorithm::kNeighbor));
  CHECK_FALSE(in_place(CollectiveKind::kReduceScatter, 4096, CollectiveAlgorithm::kNeighbor));
  CHECK_FALSE(in_place(CollectiveKind::kAllGather, 4096, CollectiveAlgorithm::kNeighbor));
  CHECK_FALSE(in_place(CollectiveKind::kAllToAll, 4096, CollectiveAlgorithm::kDirect));
}

TEST_CASE("Where the rate of links is not known, data go from neighbour to neighbour") {
  const SliceShape shape{{4, 1, 1}, {}};
  const Collective c{.kind = CollectiveKind::kAllGather, .bytes = 64};
  const auto mesh = compiler::collective_mesh(shape, c, 0);
  REQUIRE(mesh.ok());
  CHECK(compiler::collective_algorithm(nano(), shape, mesh.value(), c).value() == CollectiveAlgorithm::kNeighbor);
}

TEST_CASE("Chips of one group carry one signature, and another collective carries another") {
  const SliceShape shape{{4, 1, 1}, {}};
  const auto signature = [&](uint32_t chip, const Collective& c) {
    const auto kernel = compiler::compile_collective(nano(), shape, chip, c);
    REQUIRE(kernel.ok());
    return spec::decode_barrier(kernel.value().queues[WEFT_QUEUE_SYNC].front()).signature;
  };
  const Collective c{.kind = CollectiveKind::kAllReduce, .bytes = 64};
  CHECK(signature(0, c) == signature(3, c));
  for (auto other :
       {Collective{.kind = CollectiveKind::kAllGather, .bytes = 64},
        Collective{.kind = CollectiveKind::kAllReduce, .bytes = 80},
        Collective{.kind = CollectiveKind::kAllReduce, .bytes = 64, .algorithm = CollectiveAlgorithm::kDirect},
        Collective{.kind = CollectiveKind::kAllReduce, .dtype = WEFT_ARGUMENT_DTYPE_BF16, .bytes = 64}})
    CHECK(signature(0, other) != signature(0, c));
}
