// The address generator against nested loops: every beat, with and without pauses, boxes without a gap between them.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <memory>
#include <random>
#include <vector>

#include "Vdma_addrgen_model.h"
#include "testbench/rtl/bench/verilated_bench.hpp"

namespace {

constexpr unsigned kBeatBytes = 64;  // the module's default

struct Box {
  uint32_t size0;
  uint16_t size1, size2, size3;
  uint64_t a, b;
  int32_t a1, a2, a3, b1, b2, b3;
};
struct Beat {
  uint64_t a, b;
  unsigned bytes;
  bool last;
};

std::vector<Beat> nested_loops(const Box& box) {
  std::vector<Beat> beats;
  for (int64_t k = 0; k < box.size3; k++)
    for (int64_t j = 0; j < box.size2; j++)
      for (int64_t i = 0; i < box.size1; i++)
        for (uint32_t at = 0; at < box.size0; at += kBeatBytes)
          beats.push_back({.a = box.a + static_cast<uint64_t>(k * box.a3 + j * box.a2 + i * box.a1) + at,
                           .b = box.b + static_cast<uint64_t>(k * box.b3 + j * box.b2 + i * box.b1) + at,
                           .bytes = std::min(kBeatBytes, box.size0 - at),
                           .last = false});
  beats.back().last = true;
  return beats;
}

}  // namespace

TEST_CASE("the beats of random boxes are those of nested loops, one a cycle") {
  const auto seed = static_cast<unsigned>(weft::bench::stimulus_seed(11));
  const unsigned pause_percent = GENERATE(0u, 25u, 75u);
  fmt::print("seed {}, pauses {} %\n", seed, pause_percent);
  std::mt19937 random(seed);
  const auto context = weft::bench::make_context();
  Vdma_addrgen_model m(context.get());
  const auto edge = [&] {
    m.clk_i = 1;
    m.eval();
    m.clk_i = 0;
    m.eval();
  };
  m.rst_ni = 0, m.load_i = 0, m.advance_i = 0;
  m.clk_i = 0;
  m.eval();
  edge();
  m.rst_ni = 1;
  const auto load = [&](const Box& box) {
    m.load_i = 1;
    m.size0_i = box.size0, m.size1_i = box.size1, m.size2_i = box.size2, m.size3_i = box.size3;
    m.mem_address_i = box.a, m.mem_stride1_i = static_cast<uint32_t>(box.a1),
    m.mem_stride2_i = static_cast<uint32_t>(box.a2);
    m.mem_stride3_i = static_cast<uint32_t>(box.a3);
    m.vmem_address_i = box.b, m.vmem_stride1_i = static_cast<uint32_t>(box.b1),
    m.vmem_stride2_i = static_cast<uint32_t>(box.b2);
    m.vmem_stride3_i = static_cast<uint32_t>(box.b3);
  };
  const auto random_box = [&] {
    const auto size = [&] { return static_cast<uint16_t>(1 + random() % 4 % (1 + random() % 4)); };
    const auto stride = [&] { return static_cast<int32_t>(random()); };
    return Box{.size0 = static_cast<uint32_t>(16 * (1 + random() % 20)),
               .size1 = size(),
               .size2 = size(),
               .size3 = size(),
               .a = (static_cast<uint64_t>(random()) << 32) + random(),
               .b = (static_cast<uint64_t>(random()) << 32) + random(),
               .a1 = stride(),
               .a2 = stride(),
               .a3 = stride(),
               .b1 = stride(),
               .b2 = stride(),
               .b3 = stride()};
  };
  Box box = random_box();
  load(box);
  edge();
  m.load_i = 0;
  for (unsigned n = 0; n < 2000; n++) {
    const auto beats = nested_loops(box);
    const Box next = random_box();
    for (size_t i = 0; i < beats.size(); i++) {
      m.advance_i = 0;
      while (random() % 100 < pause_percent) edge();
      INFO("box " << n << " beat " << i << " of " << beats.size());
      REQUIRE(m.valid_o);
      REQUIRE(m.mem_o == beats[i].a);
      REQUIRE(m.vmem_o == beats[i].b);
      REQUIRE(m.bytes_o == beats[i].bytes);
      REQUIRE(!!m.last_o == beats[i].last);
      m.advance_i = 1;
      if (beats[i].last) load(next);  // with the last advance: no gap
      edge();
      m.load_i = 0;
    }
    box = next;
  }
}

TEST_CASE("after the last beat nothing is valid until the next load") {
  const auto context = weft::bench::make_context();
  Vdma_addrgen_model m(context.get());
  const auto edge = [&] {
    m.clk_i = 1;
    m.eval();
    m.clk_i = 0;
    m.eval();
  };
  m.rst_ni = 0, m.load_i = 0, m.advance_i = 0;
  m.clk_i = 0;
  m.eval();
  edge();
  m.rst_ni = 1;
  m.size0_i = 16, m.size1_i = m.size2_i = m.size3_i = 1;
  m.load_i = 1;
  edge();
  m.load_i = 0;
  CHECK(m.valid_o);
  CHECK(m.last_o);
  m.advance_i = 1;
  edge();
  m.advance_i = 0;
  CHECK(!m.valid_o);
}

TEST_CASE(
    "boxes at every edge: one beat and its neighbours, runs of 1, dimensions of 1 and of 65535, strides of either "
    "sign") {
  const auto context = weft::bench::make_context();
  Vdma_addrgen_model m(context.get());
  const auto edge = [&] {
    m.clk_i = 1;
    m.eval();
    m.clk_i = 0;
    m.eval();
  };
  m.rst_ni = 0, m.load_i = 0, m.advance_i = 0;
  m.clk_i = 0;
  m.eval();
  edge();
  m.rst_ni = 1;
  constexpr int32_t kLeast = INT32_MIN, kMost = INT32_MAX;
  std::vector<Box> boxes;
  for (const uint32_t size0 : {16u, kBeatBytes - 16, kBeatBytes - 1, kBeatBytes, kBeatBytes + 1, kBeatBytes + 16,
                               2 * kBeatBytes - 1, 2 * kBeatBytes, 2 * kBeatBytes + 1, 2 * kBeatBytes + 16})
    for (const uint16_t size : {1, 2, 3})
      for (const int32_t stride : {0, 16, -16, kLeast, kMost})
        boxes.push_back({size0, size, static_cast<uint16_t>(4 - size), 2, 0, UINT64_MAX - 15, stride, -stride / 2,
                         stride, stride / 2, stride, -(stride / 4)});
  boxes.push_back({16, 65535, 1, 1, 1, 2, 32, 0, 0, -32, 0, 0});
  boxes.push_back({16, 1, 65535, 1, 1, 2, 0, 32, 0, 0, -32, 0});
  boxes.push_back({16, 1, 1, 65535, 1, 2, 0, 0, 32, 0, 0, -32});
  boxes.push_back({1u << 20, 1, 1, 1, UINT64_MAX - 1000, 7, 0, 0, 0, 0, 0, 0});
  for (size_t n = 0; n < boxes.size(); n++) {
    const Box& box = boxes[n];
    m.load_i = 1, m.advance_i = 0;
    m.size0_i = box.size0, m.size1_i = box.size1, m.size2_i = box.size2, m.size3_i = box.size3;
    m.mem_address_i = box.a, m.vmem_address_i = box.b;
    m.mem_stride1_i = static_cast<uint32_t>(box.a1), m.mem_stride2_i = static_cast<uint32_t>(box.a2);
    m.mem_stride3_i = static_cast<uint32_t>(box.a3), m.vmem_stride1_i = static_cast<uint32_t>(box.b1);
    m.vmem_stride2_i = static_cast<uint32_t>(box.b2), m.vmem_stride3_i = static_cast<uint32_t>(box.b3);
    edge();
    m.load_i = 0, m.advance_i = 1;
    size_t i = 0;
    for (const Beat& beat : nested_loops(box)) {
      if (!m.valid_o || m.mem_o != beat.a || m.vmem_o != beat.b || m.bytes_o != beat.bytes || !!m.last_o != beat.last)
        FAIL("box " << n << " beat " << i << ": memory " << std::hex << m.mem_o << ", nested loops " << beat.a
                    << "; vmem " << m.vmem_o << ", " << beat.b << std::dec << "; bytes " << m.bytes_o << ", "
                    << beat.bytes);
      edge();
      i++;
    }
    REQUIRE_FALSE(m.valid_o);
  }
}
