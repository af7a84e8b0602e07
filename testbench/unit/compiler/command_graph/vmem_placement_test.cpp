// Which words buffers take, and which of them others take over.
#include "host/compiler/command_graph/vmem_placement.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <set>

using namespace weft;
using namespace weft::compiler::command_graph;

namespace {

constexpr uint64_t kWords = 64, kRounds = 40;

struct Rounds {
  CommandGraph graph;
  std::vector<BufferId> loaded, computed;
  std::vector<uint32_t> order;
};

/// Again and again a load, an operation on what it brings, and a store of its result.
Rounds rounds(const spec::Chip& chip) {
  Rounds result{CommandGraph(chip), {}, {}, {}};
  const auto bytes = static_cast<uint32_t>(kWords * chip.word_bytes);
  for (uint64_t i = 0; i < kRounds; i++) {
    result.loaded.push_back(result.graph.add_buffer(BufferSpace::kVmem, kWords));
    result.computed.push_back(result.graph.add_buffer(BufferSpace::kVmem, kWords));
    spec::DmaCommand copy;
    copy.header.opcode = WEFT_OPCODE_COPY;
    copy.size0 = bytes;
    copy.src_seg = 3, copy.src_off = i * bytes;
    result.graph.load(copy, result.loaded.back());
    spec::VpuCommand square;
    square.header.opcode = WEFT_OPCODE_ELEMENTWISE;
    square.src_dtype = square.dst_dtype = WEFT_VPU_DTYPE_BF16;
    square.rows = kWords, square.cols = static_cast<uint16_t>(chip.n);
    square.a_stride = square.b_stride = square.d_stride = 1;
    result.graph.vector(square, result.loaded.back(), result.loaded.back(), result.computed.back());
    copy.src_seg = 0, copy.src_off = 0, copy.dst_seg = 4, copy.dst_off = i * bytes;
    result.graph.store(copy, result.computed.back());
  }
  result.order.resize(result.graph.commands().size());
  std::iota(result.order.begin(), result.order.end(), 0u);
  return result;
}

}  // namespace

TEST_CASE("next fit goes around through VMEM with what is loaded, and has what is computed at its end") {
  spec::Chip chip = *spec::find_chip("nano");
  chip.vmem_words = 16 * kWords, chip.vmem_bytes = chip.vmem_words * chip.word_bytes;
  const Rounds of = rounds(chip);
  const auto placed = place_vmem(of.graph, of.order, 0, Fit::kNext);
  REQUIRE(placed.has_value());
  for (const BufferId buffer : of.computed) CHECK(placed->bases[index_of(buffer)] >= chip.vmem_words - 2 * kWords);
  // No words come back before all others below have had their turn.
  for (size_t i = 0; i + 14 <= kRounds; i++) {
    std::set<uint64_t> words;
    for (size_t j = i; j < i + 14; j++) words.insert(placed->bases[index_of(of.loaded[j])]);
    CHECK(words.size() == 14);
  }
}

TEST_CASE("first fit takes the lowest free words, and none within the rest behind their last command") {
  const spec::Chip& chip = *spec::find_chip("nano");
  const Rounds of = rounds(chip);
  const auto base = [&](const VmemPlacement& placed, size_t i) { return placed.bases[index_of(of.loaded[i])]; };
  const auto at_once = place_vmem(of.graph, of.order, 0);
  REQUIRE(at_once.has_value());
  CHECK(base(*at_once, 1) == base(*at_once, 0));
  const auto later = place_vmem(of.graph, of.order, 30);  // ten rounds
  REQUIRE(later.has_value());
  for (size_t i = 0; i + 10 <= kRounds; i++) {
    std::set<uint64_t> words;
    for (size_t j = i; j < i + 10; j++) words.insert(base(*later, j));
    CHECK(words.size() == 10);
  }
}

TEST_CASE("what needs more words at a time than there are has no place") {
  spec::Chip chip = *spec::find_chip("nano");
  chip.vmem_words = kWords, chip.vmem_bytes = chip.vmem_words * chip.word_bytes;
  const Rounds of = rounds(chip);
  for (const Fit fit : {Fit::kFirst, Fit::kNext}) CHECK(!place_vmem(of.graph, of.order, 0, fit));
}

TEST_CASE("the command at which most words are live is the first that needs all of them") {
  const spec::Chip& chip = *spec::find_chip("nano");
  Rounds of = rounds(chip);
  CHECK(vmem_peak(of.graph).command == 1);  // the first round's operation: its operand and its result
  CHECK(vmem_peak(of.graph).words == 2 * kWords);
  // Another operation behind all rounds, on what the third one loaded and a result of twice the size.
  spec::VpuCommand square;
  square.header.opcode = WEFT_OPCODE_ELEMENTWISE;
  square.src_dtype = square.dst_dtype = WEFT_VPU_DTYPE_BF16;
  square.rows = kWords, square.cols = static_cast<uint16_t>(chip.n);
  square.a_stride = square.b_stride = square.d_stride = 1;
  const BufferId large = of.graph.add_buffer(BufferSpace::kVmem, 4 * kWords);
  of.graph.vector(square, of.loaded[2], of.loaded[2], large);
  CHECK(vmem_peak(of.graph).command == 3 * kRounds);
  CHECK(vmem_peak(of.graph).words == 5 * kWords);
}
