// Orders whose proofs need each other: what the hazard checker supposes, and takes back.
#include <catch2/catch.hpp>
#include <optional>
#include <set>
#include <utility>

#include "host/compiler/tiles/resident_program.hpp"
#include "host/compiler/training.hpp"
#include "model/core/command/command_text.hpp"
#include "model/core/core_units.hpp"
#include "testbench/random/hazard_commands.hpp"

namespace {

using namespace weft;
using namespace weft::random;

/// A run in which each unit works as long as it likes: who starts or retires next is drawn. Which commands (by tag)
/// were at work at once goes to `together`. True if all have run.
bool run_side_by_side(const Queues& queues, std::mt19937_64& random, core::HazardChecker* checker,
                      std::set<std::pair<unsigned, unsigned>>& together) {
  std::array<size_t, WEFT_CORE_QUEUES> next{};
  std::array<uint64_t, WEFT_SEMAPHORES> tokens{};
  std::array<std::optional<spec::Command>, WEFT_CORE_UNITS> at_work;
  const auto may_start = [&](unsigned unit) {
    const unsigned q = core::queue_of_unit(static_cast<weft_unit_index>(unit));
    if (at_work[unit] || next[q] == queues[q].size()) return false;
    const auto h = spec::decode_header(queues[q][next[q]]);
    return (h.wait_sem0 == 0xff || tokens[h.wait_sem0] >= h.wait_count0) &&
           (h.wait_sem1 == 0xff || tokens[h.wait_sem1] >= h.wait_count1);
  };
  for (;;) {
    std::vector<unsigned> units;
    for (const unsigned unit : {WEFT_UNIT_DMA0, WEFT_UNIT_DMA1, WEFT_UNIT_DMA2, WEFT_UNIT_DMA3, WEFT_UNIT_VPU})
      if (at_work[unit] || may_start(unit)) units.push_back(unit);
    if (units.empty()) break;
    const unsigned unit = units[random() % units.size()];
    const auto index = static_cast<weft_unit_index>(unit);
    if (at_work[unit]) {
      const auto h = spec::decode_header(*at_work[unit]);
      if (h.post_sem0 != 0xff) tokens[h.post_sem0] += h.post_count0;
      if (checker != nullptr) checker->command_retired(index, *at_work[unit], 0);
      at_work[unit].reset();
      continue;
    }
    const unsigned q = core::queue_of_unit(index);
    const spec::Command& command = queues[q][next[q]++];
    const auto h = spec::decode_header(command);
    if (h.wait_sem0 != 0xff) tokens[h.wait_sem0] -= h.wait_count0;
    if (h.wait_sem1 != 0xff) tokens[h.wait_sem1] -= h.wait_count1;
    for (const auto& other : at_work)
      if (other) together.insert(std::minmax<unsigned>(spec::decode_header(*other).tag, h.tag));
    if (checker != nullptr) checker->command_started(index, command, 0);
    at_work[unit] = command;
  }
  for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++)
    if (next[q] != queues[q].size()) return false;
  return true;
}

/// Ten commands of which each two write what the other reads or writes (but for casts, which their unit orders), with
/// waits and posts by chance on three semaphores.
Queues random_queues(std::mt19937_64& random) {
  Queues queues;
  for (uint16_t tag = 0; tag < 10; tag++) {
    Semaphores s;
    const auto draw = [&random](unsigned below) { return static_cast<uint8_t>(random() % below); };
    if (draw(3) != 0) s.wait = draw(3), s.wait_count = static_cast<uint16_t>(1 + draw(2));
    if (draw(5) != 0) s.post = draw(3), s.post_count = static_cast<uint16_t>(1 + draw(2));
    const auto queue = std::array{WEFT_QUEUE_DMA_IN, WEFT_QUEUE_DMA_OUT, WEFT_QUEUE_VPU}[draw(3)];
    queues[queue].push_back(queue == WEFT_QUEUE_VPU       ? cast(tag, 6, s)
                            : queue == WEFT_QUEUE_DMA_OUT ? store(tag, s)
                                                          : fill(tag, 0, 6, s));
    const uint8_t second = draw(3);  // a second wait, now and then
    if (s.wait == 0xff || s.wait == second || draw(2) == 0) continue;
    spec::store_le(queues[queue].back(), 5, 1, second), spec::store_le(queues[queue].back(), 10, 2, 1);
  }
  return queues;
}

/// Scores, then what they miss of targets: the second step loads what the first has stored, over its VMEM.
compiler::Program product_then_difference() {
  compiler::Program program;
  program.name = "product, difference";
  for (const char* name : {"x", "targets", "difference"})
    program.arguments.push_back(
        {name, WEFT_ARGUMENT_DTYPE_F32, WEFT_ARGUMENT_LAYOUT_ROWS,
         program.arguments.size() < 2 ? WEFT_ARGUMENT_DIRECTION_INPUT : WEFT_ARGUMENT_DIRECTION_OUTPUT, 40, 10, 64,
         40 * 64});
  program.constants.resize(4096);
  program.scratch_bytes = 64 * 64;
  compiler::DenseStep product;
  product.name = "product";
  product.m = 64, product.k = 128, product.n = 10;
  product.x = {3, 0, 64}, product.weights = {1, 0, 0}, product.y = {2, 0, 64};
  program.steps.emplace_back(product);
  compiler::VectorStep difference;
  difference.name = "difference";
  difference.rows = 64, difference.cols = 10;
  difference.op = WEFT_VPU_OP_SUB;
  difference.dtype = difference.y_dtype = WEFT_VPU_DTYPE_F32;
  difference.a = product.y, difference.b = {4, 0, 64}, difference.y = {5, 0, 64};
  program.steps.emplace_back(difference);
  return program;
}

Queues queues_of(const Result<compiler::Kernel>& kernel) {
  REQUIRE(kernel.ok());
  return kernel.value().queues;
}

std::vector<core::Hazard> hazards_in_some_order(const Queues& queues, uint64_t seed) {
  core::HazardChecker checker(nano());
  checker.set_segments(all_segments());
  const std::string hang = run_in_some_order(checker, queues, seed);
  INFO(hang);
  REQUIRE(hang.empty());
  return checker.finish();
}

}  // namespace

TEST_CASE("the checker is silent on a product and a step on what it has stored, in any order") {
  const Queues queues = queues_of(compiler::tiles::compile_resident(nano(), product_then_difference()));
  for (uint64_t seed = 1; seed <= 10; seed++) {
    INFO("seed " << seed);
    const auto hazards = hazards_in_some_order(queues, seed);
    if (!hazards.empty()) FAIL_CHECK(hazards.size() << " hazards; " << hazards.front().text);
  }
}

TEST_CASE("the checker is silent on the gradients and the update of a network") {
  const compiler::DenseNetwork network{{64, 128, 10}};  // as large as the digits
  for (const auto& program :
       {compiler::gradient_program(nano(), network, 64, 0.05F), compiler::update_program(nano(), network, {})}) {
    REQUIRE(program.ok());
    const auto hazards =
        hazards_in_some_order(queues_of(compiler::tiles::compile_resident(nano(), program.value())), 1);
    if (!hazards.empty()) FAIL_CHECK(hazards.size() << " hazards; " << hazards.front().text);
  }
}

TEST_CASE(
    "each wait that is taken out of a product and a step behind it is a hazard, and each that is short of a token") {
  const Queues whole = queues_of(compiler::tiles::compile_resident(nano(), product_then_difference()));
  for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++) {
    for (size_t i = 0; i < whole[q].size(); i++) {
      for (const unsigned slot : {0u, 1u}) {
        const auto h = spec::decode_header(whole[q][i]);
        // The last store, of the loss, follows in its queue one that waits for the same command.
        const bool last_store = q == WEFT_QUEUE_DMA_OUT && i + 1 == whole[q].size();
        if (whole[q][i].bytes[4 + slot] == 0xff || last_store) continue;
        const uint16_t count = slot == 0 ? h.wait_count0 : h.wait_count1;
        Queues queues = whole;
        spec::Command& command = queues[q][i];
        INFO(q << " " << i << " " << slot << " " << core::command_text(command));
        spec::store_le(command, 8 + 2 * slot, 2, count - 1u);
        if (count == 1) spec::store_le(command, 4 + slot, 1, 0xff);
        CHECK_FALSE(hazards_in_some_order(queues, 1).empty());
      }
    }
  }
}

TEST_CASE("an order that holds only if it is supposed is none: a post that may also come first is seen") {
  // Two steps through one slot, each a load, a cast and a store. The second load waits for the first store; a token
  // from elsewhere lets it go on at once, and all that follows with it.
  for (const bool stray : {false, true}) {
    Queues queues;
    for (uint16_t step = 0; step < 3; step++) {
      const auto tag = static_cast<uint16_t>(10 * step);
      queues[WEFT_QUEUE_DMA_IN].push_back(fill(tag, 0, 6, {step == 0 ? uint8_t{0xff} : uint8_t{2}, 1, 0, 1}));
      queues[WEFT_QUEUE_VPU].push_back(cast(static_cast<uint16_t>(tag + 1), 6, {0, 1, 1, 1}));
      queues[WEFT_QUEUE_DMA_OUT].push_back(store(static_cast<uint16_t>(tag + 2), {1, 1, 2, 1}));
    }
    if (stray) queues[WEFT_QUEUE_SYNC].push_back(sync(WEFT_OPCODE_SIGNAL, 99, {.post = 2, .post_count = 1}));
    for (uint64_t seed = 1; seed <= 5; seed++) CHECK(hazards_in_some_order(queues, seed).empty() == !stray);
  }
}

TEST_CASE("no two commands that the checker takes as ordered are ever at work at once, whatever the semaphores") {
  constexpr unsigned kCommands = 10, kPairs = kCommands * (kCommands - 1) / 2;
  unsigned programs = 0, ordered = 0, wrong = 0;
  for (uint64_t seed = 1; programs < 1500; seed++) {
    std::mt19937_64 random(seed);
    const Queues queues = random_queues(random);
    core::HazardChecker checker(nano());
    checker.set_segments(all_segments());
    std::set<std::pair<unsigned, unsigned>> together, open;
    if (!run_side_by_side(queues, random, &checker, together)) continue;
    programs++;
    for (const auto& hazard : checker.finish())
      open.insert(std::minmax<unsigned>(spec::decode_header(hazard.first).tag, spec::decode_header(hazard.second).tag));
    ordered += kPairs - static_cast<unsigned>(open.size());
    for (unsigned run = 0; run < 60; run++) (void)run_side_by_side(queues, random, nullptr, together);
    for (const auto& pair : together) {
      if (open.contains(pair)) continue;
      wrong++;
      UNSCOPED_INFO("seed " << seed << ": tags " << pair.first << " and " << pair.second);
    }
  }
  CHECK(wrong == 0);
  CHECK(ordered > 1500 * kPairs / 4);
}
