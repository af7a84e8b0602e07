// A program and a collective in one block of commands.
#include "host/compiler/sequence/beside.hpp"

#include <algorithm>

#include "model/golden/check.hpp"
#include "testbench/unit/compiler/sequence/two_batches.hpp"

using namespace weft;
using namespace weft::compiler;

namespace {

const spec::Chip& kNano = *spec::find_chip("nano");

std::vector<Kernel> kernels_of(const SequencePair& pair, const Hiding& hidden) {
  std::vector<Kernel> made;
  for (size_t device = 0; device < pair.collectives.size(); device++) {
    REQUIRE(can_be_beside(kNano, pair.program, pair.collectives[device], pair.place));
    made.push_back(beside(kNano, pair.program, pair.of_program, pair.collectives[device], pair.of_collectives[device],
                          hidden, pair.place));
  }
  return made;
}

}  // namespace

TEST_CASE("each queue has the commands of both in their own order, and no chip waits for ever") {
  const auto made = two_batches();
  for (const auto& [stage, pair] : made.stages.pairs) {
    const auto kernels = kernels_of(pair, {0, pair.hidden.stretch});
    std::vector<const Block*> blocks;
    for (size_t device = 0; device < kernels.size(); device++) {
      blocks.push_back(&kernels[device].queues);
      for (size_t q = 0; q < WEFT_CORE_QUEUES; q++) {
        const auto& own = pair.program.queues[q];
        CHECK(kernels[device].queues[q].size() == own.size() + pair.collectives[device].queues[q].size());
        size_t found = 0;  // the program's commands are there as they were
        for (const auto& command : kernels[device].queues[q])
          if (found < own.size() && command == own[found]) found++;
        CHECK(found == own.size());
      }
    }
    CHECK(timeline(kNano, 2'000'000'000, blocks, {0, 1, 2, 3}));
  }
}

TEST_CASE("the collective has semaphores and VMEM of its own") {
  const auto made = two_batches();
  for (const auto& [stage, pair] : made.stages.pairs)
    for (const Kernel& kernel : kernels_of(pair, {0, pair.hidden.stretch})) {
      CHECK(kernel.vmem_bytes <= kNano.vmem_bytes);
      size_t adds = 0;
      for (const auto& command : kernel.queues[WEFT_QUEUE_VPU]) {
        const bool own = std::ranges::find(pair.program.queues[WEFT_QUEUE_VPU], command) !=
                         pair.program.queues[WEFT_QUEUE_VPU].end();
        if (own) continue;
        const auto add = spec::decode_vpu(command);
        adds++;
        for (const uint32_t word : {add.a_addr, add.b_addr, add.d_addr})
          CHECK(uint64_t{word} * kNano.word_bytes >= pair.place.vmem_bytes);
        for (const uint8_t s : {add.header.wait_sem0, add.header.wait_sem1, add.header.post_sem0, add.header.post_sem1})
          CHECK((s >= WEFT_REMOTE_SEMAPHORE_FIRST || (pair.program.semaphores >> s & 1) == 0));
      }
      CHECK(adds > 0);
      CHECK(pair.program.vmem_bytes <= pair.place.vmem_bytes);
    }
}

TEST_CASE("a collective that begins later has a barrier that waits for the program") {
  const auto made = two_batches();
  REQUIRE_FALSE(made.stages.pairs.empty());
  const auto& pair = made.stages.pairs.begin()->second;
  const uint64_t delay = pair.of_program[WEFT_QUEUE_MXU].back();
  const auto kernels = kernels_of(pair, {delay, 1});
  std::vector<const Block*> blocks;
  for (const Kernel& kernel : kernels) {
    blocks.push_back(&kernel.queues);
    std::vector<uint8_t> waits;
    for (const auto& command : kernel.queues[WEFT_QUEUE_SYNC])
      if (const auto h = spec::decode_header(command); h.opcode == WEFT_OPCODE_BARRIER) waits.push_back(h.wait_sem0);
    REQUIRE(waits.size() == 1);
    REQUIRE(waits[0] < WEFT_REMOTE_SEMAPHORE_FIRST);
    CHECK((pair.program.semaphores >> waits[0] & 1) == 0);
    size_t posts = 0;
    for (const auto& queue : kernel.queues)
      for (const auto& command : queue) {
        const auto h = spec::decode_header(command);
        posts += (h.post_sem0 == waits[0] ? h.post_count0 : 0) + (h.post_sem1 == waits[0] ? h.post_count1 : 0);
      }
    CHECK(posts == 1);
  }
  const auto later = timeline(kNano, 2'000'000'000, blocks, {0, 1, 2, 3});
  REQUIRE(later);
  // the first data leave when the program has come so far
  for (const auto& sent : later->sent) CHECK(sent.front().begin >= delay / 2);
}

TEST_CASE("a program that leaves no semaphore is not beside a collective") {
  const auto made = two_batches();
  REQUIRE_FALSE(made.stages.pairs.empty());
  const auto& pair = made.stages.pairs.begin()->second;
  Kernel greedy = pair.program;
  greedy.semaphores = (1ull << WEFT_REMOTE_SEMAPHORE_FIRST) - 1;
  CHECK_FALSE(can_be_beside(kNano, greedy, pair.collectives[0], pair.place));
  Kernel large = pair.program;
  large.vmem_bytes = pair.place.vmem_bytes + 16;
  CHECK_FALSE(can_be_beside(kNano, large, pair.collectives[0], pair.place));
}
