// Collectives with real data on slices of fast and of RTL cores, against the documented order of reduction: 0 differ.
#include <catch2/catch.hpp>
#include <optional>
#include <random>

#include "host/compiler/collectives/collective.hpp"
#include "host/compiler/layout.hpp"
#include "host/reference/collective_reference.hpp"
#include "testbench/system/slice_devices.hpp"

using namespace weft;
using compiler::Collective;
using compiler::CollectiveAlgorithm;
using compiler::CollectiveKind;
using compiler::SliceShape;
using test::SliceDevices;

namespace {

SliceShape shape_of(weft_slice* slice) {
  weft_slice_info info = WEFT_INIT(weft_slice_info);
  test::require_ok(weft_slice_get_info(slice, &info));
  SliceShape shape;
  for (unsigned axis = 0; axis < 3; axis++) {
    shape.size[axis] = info.dimensions[axis];
    shape.wraps[axis] = info.wraps[axis] != 0;
  }
  shape.link_bytes_per_second = info.link_bytes_per_second;
  return shape;
}

/// f32, bf16: numbers whose sums depend on the order, exponents from -20 to 20. i32, i8: any.
std::vector<std::byte> numbers(std::mt19937_64& random, uint64_t bytes, weft_argument_dtype dtype) {
  const size_t size = compiler::element_bytes(dtype);
  const bool integers = dtype == WEFT_ARGUMENT_DTYPE_I8 || dtype == WEFT_ARGUMENT_DTYPE_I32;
  std::vector<std::byte> data(bytes);
  for (size_t at = 0; at < bytes; at += size) {
    const auto drawn = random();
    const auto bits =
        static_cast<uint32_t>(integers ? drawn : (drawn & 0x807fffff) | ((107 + (drawn >> 32) % 41) << 23));
    for (size_t i = 0; i < size; i++) data[at + i] = static_cast<std::byte>(bits >> (8 * (i + 4 - size)));
  }
  return data;
}

struct Outcome {
  uint64_t differing = 0;  ///< bytes that differ from the reference
  uint64_t cycles = 0;     ///< from the first command accepted to the last write visible
};

/// Runs it on all chips. `link_down`, "chip port": the link dies with the third packet that leaves by it.
Outcome run_timed(const std::string& name, const Collective& collective,
                  std::optional<std::pair<uint32_t, uint32_t>> link_down = {}) {
  SliceDevices slice(name);
  if (link_down) {
    weft_fault_injection fault = WEFT_INIT(weft_fault_injection);
    fault.kind = WEFT_INJECTED_FAULT_LINK_DOWN;
    fault.target = link_down->second;
    fault.nth = 3;
    test::require_ok(weft_fault_inject(slice.device(link_down->first), &fault));
  }
  const SliceShape shape = shape_of(slice.handle());
  std::mt19937_64 random(1);
  tools::ChipData inputs;
  std::vector<uint32_t> chips;
  for (uint32_t chip = 0; chip < shape.chips(); chip++) {
    if (!compiler::takes_part(collective, chip)) {
      inputs.emplace_back();
      continue;
    }
    const auto kernel = compiler::compile_collective(*spec::find_chip("nano"), shape, chip, collective);
    REQUIRE(kernel.ok());
    slice.load(chip, kernel.value());
    inputs.push_back(numbers(random, tools::collective_input_bytes(shape, chip, collective), collective.dtype));
    if (!kernel.value().arguments.empty()) {
      auto padded = inputs.back();
      padded.resize(kernel.value().arguments[0].size_bytes);
      slice.buffer(chip, padded);
      slice.buffer(chip, std::vector<std::byte>(kernel.value().arguments[1].size_bytes, std::byte{0xee}));
    }
    chips.push_back(chip);
  }
  Outcome out;
  uint64_t first = ~uint64_t{0}, last = 0;
  for (const auto& event : slice.launch(chips)) {
    REQUIRE(weft_status_name(event.status) == std::string("OK"));
    first = std::min(first, event.start_cycle), last = std::max(last, event.end_cycle);
  }
  out.cycles = last - first;
  if (link_down) {
    weft_link_info link = WEFT_INIT(weft_link_info);
    test::require_ok(weft_slice_get_link(slice.handle(), link_down->first, link_down->second, &link));
    REQUIRE(link.state == WEFT_LINK_STATE_DOWN);
  }
  const auto expected = tools::collective_reference(shape, collective, inputs);
  REQUIRE(expected.size() == shape.chips());
  uint64_t compared = 0;
  for (uint32_t chip = 0; chip < shape.chips(); chip++) {
    REQUIRE(expected[chip].size() == tools::collective_output_bytes(shape, chip, collective));
    if (expected[chip].empty()) continue;
    const auto got = slice.read(chip, 1);
    REQUIRE(got.size() >= expected[chip].size());
    compared += expected[chip].size();
    for (size_t i = 0; i < expected[chip].size(); i++) out.differing += got[i] != expected[chip][i] ? 1 : 0;
    for (size_t i = expected[chip].size(); i < got.size(); i++) out.differing += got[i] != std::byte{0xee} ? 1 : 0;
  }
  REQUIRE((compared != 0 || collective.kind == CollectiveKind::kBarrier));
  return out;
}

uint64_t run(const std::string& name, const Collective& collective,
             std::optional<std::pair<uint32_t, uint32_t>> link_down = {}) {
  return run_timed(name, collective, link_down).differing;
}

Collective make(CollectiveKind kind, unsigned axis, uint64_t bytes, weft_argument_dtype dtype = WEFT_ARGUMENT_DTYPE_F32,
                unsigned root = 0) {
  return {.kind = kind, .axes = compiler::one_axis(axis), .dtype = dtype, .bytes = bytes, .root = root};
}

}  // namespace

TEST_CASE("all-gather on a line of two and of four gives every chip the array") {
  CHECK(run("sim:nano-2x2", make(CollectiveKind::kAllGather, 0, 4096)) == 0);
  CHECK(run("sim:nano-4x2", make(CollectiveKind::kAllGather, 0, 100'000)) == 0);
}

TEST_CASE("reduce-scatter on a line sums in the documented order, uneven blocks and empty ones too") {
  CHECK(run("sim:nano-2x2", make(CollectiveKind::kReduceScatter, 1, 4096)) == 0);
  CHECK(run("sim:nano-4x2", make(CollectiveKind::kReduceScatter, 0, 40'016)) == 0);
  CHECK(run("sim:nano-4x2", make(CollectiveKind::kReduceScatter, 0, 32)) == 0);
}

TEST_CASE("all-reduce on a line of four in f32 and bf16, along either axis") {
  CHECK(run("sim:nano-4x4", make(CollectiveKind::kAllReduce, 0, 65'536)) == 0);
  CHECK(run("sim:nano-4x2", make(CollectiveKind::kAllReduce, 0, 16)) == 0);
  CHECK(run("sim:nano-2x4", make(CollectiveKind::kAllReduce, 1, 12'304, WEFT_ARGUMENT_DTYPE_BF16)) == 0);
}

TEST_CASE("every collective of every dtype: sums of i32 wrap, copies keep all bits, uneven blocks too") {
  for (const auto kind : {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter, CollectiveKind::kAllGather,
                          CollectiveKind::kBroadcast, CollectiveKind::kAllToAll, CollectiveKind::kPermute})
    for (const auto dtype :
         {WEFT_ARGUMENT_DTYPE_F32, WEFT_ARGUMENT_DTYPE_BF16, WEFT_ARGUMENT_DTYPE_I32, WEFT_ARGUMENT_DTYPE_I8}) {
      const bool sums = kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kReduceScatter;
      if (sums && dtype == WEFT_ARGUMENT_DTYPE_I8) continue;  // refused: collective_test.cpp
      auto c = make(kind, 0, 12'304, dtype, 1);
      c.shift = kind == CollectiveKind::kPermute ? 1 : 0;
      INFO(static_cast<int>(kind) << " dtype " << static_cast<int>(dtype));
      CHECK(run("sim:nano-4x2", c) == 0);
    }
}

TEST_CASE("every collective on RTL cores, alone and beside fast and lockstep ones") {
  const std::string slice = "sim:nano-2x2?core=";
  const std::string cores = GENERATE(as<std::string>{}, "rtl", "rtl,fast,fast,rtl", "fast,lockstep,rtl,fast");
  INFO(cores);
  CHECK(run(slice + cores, make(CollectiveKind::kAllReduce, 0, 12'304)) == 0);
  CHECK(run(slice + cores, make(CollectiveKind::kAllReduce, 1, 6'160, WEFT_ARGUMENT_DTYPE_BF16)) == 0);
  CHECK(run(slice + cores, make(CollectiveKind::kReduceScatter, 1, 4096)) == 0);
  CHECK(run(slice + cores, make(CollectiveKind::kReduceScatter, 0, 4112, WEFT_ARGUMENT_DTYPE_I32)) == 0);
  CHECK(run(slice + cores, make(CollectiveKind::kAllGather, 0, 4096)) == 0);
  CHECK(run(slice + cores, make(CollectiveKind::kAllToAll, 1, 10'016)) == 0);
  CHECK(run(slice + cores, make(CollectiveKind::kBroadcast, 0, 5'008, WEFT_ARGUMENT_DTYPE_F32, 1)) == 0);
  CHECK(run(slice + cores, make(CollectiveKind::kBarrier, 0, 0)) == 0);
}

TEST_CASE("all-reduce and all-gather on a ring of sixteen") {
  CHECK(run("sim:nano-16x1", make(CollectiveKind::kAllReduce, 0, 20'000)) == 0);
  CHECK(run("sim:nano-16x1", make(CollectiveKind::kAllGather, 0, 20'000, WEFT_ARGUMENT_DTYPE_BF16)) == 0);
}

TEST_CASE("every collective over both axes at once, in the documented order, uneven blocks and empty ones too") {
  for (const auto kind : {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter, CollectiveKind::kAllGather,
                          CollectiveKind::kBroadcast, CollectiveKind::kAllToAll, CollectiveKind::kPermute}) {
    auto c = make(kind, 0, 40'016);
    c.axes = {true, true, false};
    c.root = 3, c.shift = kind == CollectiveKind::kPermute ? 3 : 0;
    INFO(static_cast<int>(kind));
    CHECK(run("sim:nano-4x2", c) == 0);
    CHECK(run("sim:nano-16x2", c) == 0);
    c.dtype = WEFT_ARGUMENT_DTYPE_BF16;
    c.bytes = 272;
    CHECK(run("sim:nano-4x4", c) == 0);
  }
}

TEST_CASE(
    "either algorithm gives the bits of the documented order: lines, rings, both axes, every dtype, uneven blocks") {
  const auto algorithm = GENERATE(CollectiveAlgorithm::kNeighbor, CollectiveAlgorithm::kDirect);
  for (const auto kind : {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter, CollectiveKind::kAllGather,
                          CollectiveKind::kBroadcast}) {
    INFO(static_cast<int>(kind) << " algorithm " << static_cast<int>(algorithm));
    auto c = make(kind, 0, 40'016, WEFT_ARGUMENT_DTYPE_F32, 1);
    c.algorithm = algorithm;
    CHECK(run("sim:nano-4x2", c) == 0);
    CHECK(run("sim:nano-16x1", c) == 0);
    c.bytes = 48;  // ranks without a block
    CHECK(run("sim:nano-16x1", c) == 0);
    c.axes = {true, true, false};
    c.dtype = WEFT_ARGUMENT_DTYPE_BF16;
    c.bytes = 9'104;
    CHECK(run("sim:nano-4x4", c) == 0);
    c.dtype = WEFT_ARGUMENT_DTYPE_I32;
    CHECK(run("sim:nano-16x2", c) == 0);
    c.groups = {{0, 1, 5, 4}, {3, 7, 11, 15}};
    CHECK(run("sim:nano-4x4", c) == 0);
  }
}

TEST_CASE("what is sent straight has the bits of the documented order on RTL cores too") {
  for (const auto kind : {CollectiveKind::kAllReduce, CollectiveKind::kAllGather}) {
    auto c = make(kind, 0, 6'160);
    c.algorithm = CollectiveAlgorithm::kDirect;
    c.axes = {true, true, false};
    CHECK(run("sim:nano-2x2?core=rtl,fast,lockstep,rtl", c) == 0);
    c.dtype = WEFT_ARGUMENT_DTYPE_BF16;
    CHECK(run("sim:nano-2x2?core=rtl", c) == 0);
  }
}

TEST_CASE("the algorithm that is chosen is at most 8 % slower than the other, for small arrays and for large ones") {
  for (const std::string slice : {"sim:nano-4x1", "sim:nano-16x1", "sim:nano-4x4"}) {
    auto c = make(CollectiveKind::kBarrier, 0, 0);
    c.axes = {true, true, false};
    const uint64_t barrier = run_timed(slice, c).cycles;
    for (const auto kind : {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter, CollectiveKind::kAllGather,
                            CollectiveKind::kBroadcast})
      for (const uint64_t bytes : {uint64_t{256}, uint64_t{65'536}}) {
        c.kind = kind, c.bytes = bytes;
        INFO(static_cast<int>(kind) << " on " << slice << ", " << bytes << " bytes");
        const auto cycles = [&](CollectiveAlgorithm algorithm) {
          c.algorithm = algorithm;
          return run_timed(slice, c).cycles - barrier;
        };
        const auto neighbor = cycles(CollectiveAlgorithm::kNeighbor), direct = cycles(CollectiveAlgorithm::kDirect);
        const auto chosen = cycles(CollectiveAlgorithm::kBySize);
        CHECK((chosen == neighbor || chosen == direct));
        CHECK(static_cast<double>(chosen) <= 1.08 * static_cast<double>(std::min(neighbor, direct)));
      }
  }
}

TEST_CASE("what VMEM has no room for travels through HBM to the same bits") {
  for (const auto kind : {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter, CollectiveKind::kAllGather}) {
    auto c = make(kind, 0, 280'000, WEFT_ARGUMENT_DTYPE_BF16);
    c.axes = {true, true, false};
    c.algorithm = CollectiveAlgorithm::kNeighbor;
    INFO(static_cast<int>(kind));
    CHECK(run("sim:nano-4x2", c) == 0);
  }
}

TEST_CASE("blocks that no buffer holds travel both ways of a line at once, in 5 % more than framing and links take") {
  auto c = make(CollectiveKind::kAllGather, 0, 1 << 20);
  c.algorithm = CollectiveAlgorithm::kNeighbor;
  const double links = 0.75 * (1 << 20) / 2 * 1.049;  // 2 bytes a cycle, 10 bytes on 256 and 32 on 4096
  CHECK(static_cast<double>(run_timed("sim:nano-4x1", c).cycles) < 1.05 * links + 6'093);  // and a barrier
}

TEST_CASE("both axes at once on RTL cores beside fast ones") {
  auto c = make(CollectiveKind::kAllReduce, 0, 6'160);
  c.axes = {true, true, false};
  CHECK(run("sim:nano-2x2?core=rtl,fast,lockstep,rtl", c) == 0);
}

TEST_CASE("every collective in explicit groups: pairs, a ring of four, chips that stay out") {
  for (const auto kind : {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter, CollectiveKind::kAllGather,
                          CollectiveKind::kBroadcast, CollectiveKind::kAllToAll, CollectiveKind::kPermute}) {
    auto c = make(kind, 0, 20'000);
    INFO(static_cast<int>(kind));
    c.groups = {{0, 1, 5, 4}, {3, 7, 11, 15}};
    CHECK(run("sim:nano-4x4", c) == 0);
    c.groups = {{0, 2}, {7, 5}};
    CHECK(run("sim:nano-4x2", c) == 0);
  }
}

TEST_CASE("broadcast from the middle of a line, and a barrier") {
  CHECK(run("sim:nano-4x2", make(CollectiveKind::kBroadcast, 0, 50'000, WEFT_ARGUMENT_DTYPE_F32, 2)) == 0);
  CHECK(run("sim:nano-2x2", make(CollectiveKind::kBarrier, 0, 0)) == 0);
}

TEST_CASE("all-to-all gives every rank its block of all arrays, on lines and rings, uneven blocks too") {
  CHECK(run("sim:nano-4x2", make(CollectiveKind::kAllToAll, 0, 65'536)) == 0);
  CHECK(run("sim:nano-2x4", make(CollectiveKind::kAllToAll, 1, 10'016)) == 0);
  CHECK(run("sim:nano-16x1", make(CollectiveKind::kAllToAll, 0, 8'208, WEFT_ARGUMENT_DTYPE_BF16)) == 0);
}

TEST_CASE("permute sends every rank's array on by the shift") {
  for (const unsigned shift : {0u, 1u, 3u}) {
    auto c = make(CollectiveKind::kPermute, 0, 20'000);
    c.shift = shift;
    CHECK(run("sim:nano-4x1", c) == 0);
  }
}

TEST_CASE("a link that dies under a collective costs no bit of its result") {
  const auto f32 = WEFT_ARGUMENT_DTYPE_F32;
  for (const auto kind : {CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter}) {
    INFO("collective " << static_cast<int>(kind));
    CHECK(run("sim:nano-2x2", make(kind, 0, 32768, f32), std::pair{0u, 0u}) == 0);
    CHECK(run("sim:nano-4x4", make(kind, 0, 65536, f32), std::pair{5u, 0u}) == 0);
    CHECK(run("sim:nano-4x4", make(kind, 1, 65536, f32), std::pair{9u, 3u}) == 0);
  }
  CHECK(run("sim:nano-4x4", make(CollectiveKind::kAllReduce, 0, 65536, WEFT_ARGUMENT_DTYPE_BF16), std::pair{6u, 1u}) ==
        0);
}

TEST_CASE("an axis of one chip is its own sum") {
  CHECK(run("sim:nano-2x1", make(CollectiveKind::kAllReduce, 1, 4096)) == 0);
}

TEST_CASE("chips that run different collectives fail with ICI_FAULT, each of them") {
  SliceDevices slice("sim:nano-2x2");
  const SliceShape shape = shape_of(slice.handle());
  for (uint32_t chip = 0; chip < 4; chip++) {
    const auto kernel = compiler::compile_collective(
        *spec::find_chip("nano"), shape, chip,
        make(chip == 1 ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce, 0, 4096));
    REQUIRE(kernel.ok());
    slice.load(chip, kernel.value());
    for (const auto& argument : kernel.value().arguments)
      slice.buffer(chip, std::vector<std::byte>(argument.size_bytes));
  }
  const auto events = slice.launch({0, 1, 2, 3});
  CHECK(events[0].status == WEFT_ERROR_ICI_FAULT);
  CHECK(events[1].status == WEFT_ERROR_ICI_FAULT);
  CHECK(events[2].status == WEFT_ERROR_OK);  // the other row
  CHECK(events[3].status == WEFT_ERROR_OK);
}
