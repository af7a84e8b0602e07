// Where the list scheduler puts sums, and what others send.
#include "host/compiler/command_graph/list_schedule.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>

#include "host/compiler/command_graph/dependences.hpp"
#include "host/compiler/command_graph/unit_times.hpp"

using namespace weft;
using namespace weft::compiler::command_graph;

namespace {

/// Most blocks of sums at a time that one bank of ACC has beside one of several K tiles and that no EPILOGUE has read, of
/// 64 products, the even ones of `even` K tiles, the odd ones of `odd`. If none has several, beside any.
uint32_t most_in_a_bank(const spec::Chip& chip, unsigned even, unsigned odd) {
  const unsigned longest = std::max(even, odd);
  CommandGraph graph(chip);
  const BufferId x = graph.add_buffer(BufferSpace::kVmem, uint64_t{chip.n} * longest),
                 w = graph.add_buffer(BufferSpace::kVmem, uint64_t{chip.n} * longest);
  std::map<BufferId, unsigned> tiles_of;
  for (int i = 0; i < 64; i++) {
    const unsigned tiles = i % 2 == 0 ? even : odd;
    const BufferId sums = graph.add_buffer(BufferSpace::kAcc, chip.n);
    spec::MxuCommand product;
    product.header.opcode = WEFT_OPCODE_MATMUL;
    product.x_row_stride = tiles, product.x_tile_stride = 1, product.w_tile_stride = chip.n;
    product.k = chip.n * tiles, product.m = product.cols = static_cast<uint16_t>(chip.n);
    product.dtype = WEFT_MXU_DTYPE_BF16;
    graph.product(product, x, w, sums);
    tiles_of[sums] = tiles;
    spec::VpuCommand result;
    result.header.opcode = WEFT_OPCODE_EPILOGUE;
    result.src_space = WEFT_VPU_SPACE_ACC, result.src_dtype = result.dst_dtype = WEFT_VPU_DTYPE_F32;
    result.rows = product.m, result.cols = product.cols, result.a_stride = 1, result.d_stride = 2;
    graph.vector(result, sums, kNoBuffer, graph.add_buffer(BufferSpace::kVmem, 2ull * chip.n));
  }
  std::vector<uint32_t> own(graph.commands().size());
  std::iota(own.begin(), own.end(), 0u);
  const auto schedule =
      list_schedule(graph, dependences(graph, own), {.window = 64, .vmem_words = chip.vmem_words, .own_banks = true});
  REQUIRE(schedule.order.size() == own.size());
  std::map<uint64_t, uint32_t> unread, adding;
  uint32_t most = 0;
  for (const uint32_t command : schedule.order) {
    const auto& c = graph.commands()[command];
    const bool product = c.queue == WEFT_QUEUE_MXU;
    const uint64_t bank = schedule.acc_bases[index_of(product ? c.d : c.a)] / chip.acc_bank_rows;
    unread[bank] += product ? 1u : UINT32_MAX;
    if (tiles_of.at(product ? c.d : c.a) > 1) adding[bank] += product ? 1u : UINT32_MAX;
    if (adding[bank] != 0 || longest == 1) most = std::max(most, unread[bank]);
  }
  return most;
}

/// Words go to another chip, which sends as many; beside it loads that other commands read. How many of these commands
/// come before what the other chip sends, if loads may fill `vmem_words` ahead of their use.
size_t before_arrival(uint64_t link_cycles, uint64_t vmem_words) {
  const auto& nano = *spec::find_chip("nano");
  CommandGraph graph(nano);
  graph.set_links({2, 10});
  const BufferId x = graph.add_buffer(BufferSpace::kVmem, 8), y = graph.add_buffer(BufferSpace::kVmem, 8);
  spec::DmaCommand copy;
  copy.header.opcode = WEFT_OPCODE_COPY;
  copy.size0 = 128, copy.size1 = copy.size2 = copy.size3 = 1;
  auto to_other = copy, from_memory = copy;
  from_memory.src_seg = 1;
  graph.load(from_memory, x);
  to_other.header.flags = WEFT_COMMAND_FLAG_REMOTE;
  const uint32_t sent = graph.send(to_other, x, link_cycles);
  const uint32_t arrived = graph.arrive({{}, {{y, 0, 8, 1, 8, 0}}});
  graph.follow(sent, arrived);
  for (int i = 0; i < 10; i++) {
    const BufferId a = graph.add_buffer(BufferSpace::kVmem, 8);
    graph.load(from_memory, a);
    spec::VpuCommand twice;
    twice.header.opcode = WEFT_OPCODE_ELEMENTWISE;
    twice.src_dtype = twice.dst_dtype = WEFT_VPU_DTYPE_F32;
    twice.rows = 4, twice.cols = 8, twice.a_stride = twice.b_stride = twice.d_stride = 2;
    twice.b_mode = WEFT_VPU_B_MODE_TENSOR;
    graph.vector(twice, a, a, graph.add_buffer(BufferSpace::kVmem, 8));
  }
  std::vector<uint32_t> own(graph.commands().size());
  std::iota(own.begin(), own.end(), 0u);
  const auto order = list_schedule(graph, dependences(graph, own), {.window = 64, .vmem_words = vmem_words}).order;
  REQUIRE(order.size() == own.size());
  return static_cast<size_t>(std::ranges::find(order, arrived) - order.begin());
}

}  // namespace

TEST_CASE("of several MXUs, sums that a product adds to have a bank of ACC to themselves") {
  const auto& several = *spec::find_chip("nano-4mxu");
  CHECK(most_in_a_bank(several, 2, 2) == 1);
  CHECK(most_in_a_bank(several, 1, 1) > 1);
  CHECK(most_in_a_bank(*spec::find_chip("nano"), 2, 2) > 1);
}

TEST_CASE("a vector command that reads VMEM takes longer for each MXU at work, of several with groups of rows") {
  spec::VpuCommand c;
  c.header.opcode = WEFT_OPCODE_ELEMENTWISE;
  c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_F32;
  c.rows = c.cols = 128;
  const auto& v5e = *spec::find_chip("v5e");
  const uint64_t alone = unit_cycles(v5e, c);
  CHECK(vpu_cycles_beside(v5e, c, 0) == alone);
  for (uint64_t busy = 1; busy <= v5e.num_mxu; busy++)
    CHECK(vpu_cycles_beside(v5e, c, busy) > vpu_cycles_beside(v5e, c, busy - 1));
  CHECK(vpu_cycles_beside(*spec::find_chip("v5e-1mxu"), c, 1) == unit_cycles(*spec::find_chip("v5e-1mxu"), c));
  auto bf16 = c, sums = c;
  bf16.src_dtype = WEFT_VPU_DTYPE_BF16;
  CHECK(vpu_cycles_beside(v5e, bf16, 4) > alone);
  CHECK(vpu_cycles_beside(v5e, bf16, 4) < vpu_cycles_beside(v5e, c, 4));
  sums.src_space = WEFT_VPU_SPACE_ACC;
  CHECK(vpu_cycles_beside(v5e, sums, 4) == alone);
}

TEST_CASE("what others send comes when the busiest link has carried it") {
  CHECK(before_arrival(1, 1024) < before_arrival(100'000, 1024));
  CHECK(before_arrival(100'000, 1024) == 22);
}

TEST_CASE("loads go past their limit of VMEM rather than wait for what others send") {
  CHECK(before_arrival(100'000, 0) == 22);
}
