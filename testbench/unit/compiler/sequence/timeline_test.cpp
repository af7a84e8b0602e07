// When commands begin, against sums by hand.
#include "host/compiler/sequence/timeline.hpp"

#include <catch2/catch.hpp>

#include "host/compiler/collectives/collective.hpp"
#include "host/compiler/executable/program_builder.hpp"

using namespace weft;
using namespace weft::compiler;

namespace {

const spec::Chip& kNano = *spec::find_chip("nano");
constexpr uint64_t kHop = 1000, kLink = 2'000'000'000;

spec::Command copy(uint32_t bytes, uint8_t wait, uint8_t post, std::optional<uint16_t> to = {}) {
  spec::DmaCommand dma;
  dma.header.opcode = WEFT_OPCODE_COPY;
  if (wait != WEFT_NO_SEMAPHORE) ProgramBuilder::wait(dma.header, wait, 1);
  if (to) {
    dma.header.flags = WEFT_COMMAND_FLAG_REMOTE;
    dma.remote_chip = *to;
    dma.header.post_sem1 = post, dma.header.post_count1 = 1;
  } else if (post != WEFT_NO_SEMAPHORE) {
    ProgramBuilder::post(dma.header, post, 1);
  }
  dma.size0 = bytes;
  return spec::encode(dma);
}

std::optional<Timeline> run(const std::vector<Block>& blocks) {
  std::vector<const Block*> pointers;
  std::vector<uint32_t> numbers;
  for (const Block& block : blocks) {
    numbers.push_back(static_cast<uint32_t>(10 + numbers.size()));
    pointers.push_back(&block);
  }
  return timeline(kNano, kLink, pointers, numbers);
}

}  // namespace

TEST_CASE("a command begins when its queue, its unit and what it waits for let it") {
  Block block;
  // two channels, which share HBM: the third load begins when the first has gone; the store when the second's data are
  // there
  for (const uint8_t post : {uint8_t{1}, uint8_t{2}, uint8_t{3}})
    block[WEFT_QUEUE_DMA_IN].push_back(copy(6400, WEFT_NO_SEMAPHORE, post));
  for (const uint8_t wait : {uint8_t{2}, uint8_t{1}, uint8_t{3}})
    block[WEFT_QUEUE_DMA_OUT].push_back(copy(64, wait, WEFT_NO_SEMAPHORE));
  const auto line = run({block});
  REQUIRE(line);
  const uint64_t load = 6400 * 1'000'000'000ull / kNano.hbm_bytes_per_second;
  CHECK(line->chips[0][WEFT_QUEUE_DMA_IN] == std::vector<uint64_t>{0, 0, load});
  CHECK(line->chips[0][WEFT_QUEUE_DMA_OUT] == std::vector<uint64_t>{2 * load + kNano.hbm_read_latency_cycles,
                                                                    2 * load + kNano.hbm_read_latency_cycles,
                                                                    3 * load + kNano.hbm_read_latency_cycles});
}

TEST_CASE("what goes to another chip takes the link's time and a hop, one behind the other") {
  Block sends, waits;
  for (int i = 0; i < 2; i++) sends[WEFT_QUEUE_DMA_OUT].push_back(copy(2000, WEFT_NO_SEMAPHORE, 48, 11));
  for (int i = 0; i < 2; i++) waits[WEFT_QUEUE_DMA_IN].push_back(copy(64, 48, WEFT_NO_SEMAPHORE));
  const auto line = run({sends, waits});
  REQUIRE(line);
  CHECK(line->chips[1][WEFT_QUEUE_DMA_IN] == std::vector<uint64_t>{1000 + kHop, 2000 + kHop});
  CHECK(line->cycles >= 2000 + kHop + kNano.hbm_read_latency_cycles);
  REQUIRE(line->sent[0].size() == 2);
  CHECK((line->sent[0][1].begin == 1000 && line->sent[0][1].end == 2000));
  CHECK((line->sent[1].empty() && line->work[0].empty()));
}

TEST_CASE("blocks that wait for ever have no timeline") {
  Block block;
  block[WEFT_QUEUE_DMA_IN].push_back(copy(64, 1, WEFT_NO_SEMAPHORE));
  CHECK_FALSE(run({block}));
}

TEST_CASE("collectives of all chips end, each command behind what it waits for") {
  const SliceShape slice{{4, 1, 1}, {true, false, false}, kLink};
  for (const auto kind : {CollectiveKind::kAllGather, CollectiveKind::kAllReduce, CollectiveKind::kAllToAll}) {
    Collective collective{.kind = kind, .bytes = 65536};
    std::vector<Kernel> kernels;
    std::vector<Block> blocks;
    std::vector<const Block*> pointers;
    for (uint32_t chip = 0; chip < 4; chip++) {
      auto kernel = compile_collective(kNano, slice, chip, collective);
      REQUIRE(kernel.ok());
      kernels.push_back(std::move(kernel.value()));
    }
    for (const Kernel& kernel : kernels) pointers.push_back(&kernel.queues);
    const auto line = timeline(kNano, kLink, pointers, {0, 1, 2, 3});
    REQUIRE(line);
    // no faster than the links: a quarter of the array by each of two ways, three times (a sum and a gathering: twice)
    CHECK(line->cycles > 65536 / 4 / 2);
    for (const auto& chip : line->chips)
      for (const auto& queue : chip) CHECK(std::ranges::is_sorted(queue));
  }
}
