// The hazard checker: it finds races, and is silent where queues and semaphores order.
#include "model/core/hazard_checker.hpp"

#include <catch2/catch.hpp>
#include <optional>
#include <random>
#include <set>

#include "host/compiler/compile.hpp"
#include "host/compiler/training.hpp"
#include "model/core/command_text.hpp"
#include "model/core/rtl_core.hpp"
#include "testbench/random/program_generator.hpp"

namespace {

using namespace weft;

const spec::Chip& nano() { return *spec::find_chip("nano"); }

/// Waits and posts; 0xff: none.
struct Semaphores {
  uint8_t wait = 0xff;
  uint16_t wait_count = 0;
  uint8_t post = 0xff;
  uint16_t post_count = 0;
};

spec::CommandHeader header(weft_opcode opcode, uint16_t tag, const Semaphores& s) {
  spec::CommandHeader h;
  h.opcode = opcode, h.tag = tag;
  h.wait_sem0 = s.wait, h.wait_count0 = s.wait_count, h.post_sem0 = s.post, h.post_count0 = s.post_count;
  return h;
}
/// FILL of VMEM words [word, word + words).
spec::Command fill(uint16_t tag, uint64_t word, uint32_t words, const Semaphores& s = {}) {
  spec::DmaCommand c;
  c.header = header(WEFT_OPCODE_FILL, tag, s);
  c.dst_off = word * nano().word_bytes, c.size0 = words * nano().word_bytes;
  return spec::encode(c);
}
/// COPY of what fill(.., 0, 6) and cast(.., 6) write to segment 1.
spec::Command store(uint16_t tag, const Semaphores& s = {}) {
  spec::DmaCommand c;
  c.header = header(WEFT_OPCODE_COPY, tag, s);
  c.dst_seg = 1, c.size0 = 6 * nano().word_bytes, c.size1 = 2;
  c.src_stride1 = 1000 * nano().word_bytes, c.dst_stride1 = 6 * nano().word_bytes;
  return spec::encode(c);
}
/// Casts `rows` rows of bf16 from word 0 on to f32 from word 1000 on.
spec::Command cast(uint16_t tag, uint16_t rows, const Semaphores& s = {}) {
  spec::VpuCommand c;
  c.header = header(WEFT_OPCODE_CAST, tag, s);
  c.src_dtype = WEFT_VPU_DTYPE_BF16, c.dst_dtype = WEFT_VPU_DTYPE_F32;
  c.rows = rows, c.cols = 8, c.a_stride = 1, c.d_addr = 1000, c.d_stride = 2;
  return spec::encode(c);
}
spec::Command product(uint16_t tag, uint16_t acc_row, const Semaphores& s = {}) {
  spec::MxuCommand c;
  c.header = header(WEFT_OPCODE_MATMUL, tag, s);
  c.x_addr = 2000, c.w_addr = 2100, c.k = 8, c.m = 8, c.cols = 8, c.acc_row = acc_row, c.dtype = WEFT_MXU_DTYPE_BF16;
  return spec::encode(c);
}
spec::Command epilogue(uint16_t tag, uint32_t acc_row, const Semaphores& s = {}) {
  spec::VpuCommand c;
  c.header = header(WEFT_OPCODE_EPILOGUE, tag, s);
  c.src_space = WEFT_VPU_SPACE_ACC, c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_F32;
  c.rows = 8, c.cols = 8, c.a_addr = acc_row, c.a_stride = 1, c.d_addr = 3000, c.d_stride = 2;
  return spec::encode(c);
}
spec::Command sync(weft_opcode opcode, uint16_t tag, const Semaphores& s) {
  return spec::encode(spec::NoneCommand{header(opcode, tag, s)});
}

/// A run told by hand: starts and retirements in this order.
class Script {
 public:
  Script() : checker(nano()) {}
  Script& start(weft_unit_index unit, const spec::Command& command) {
    checker.command_started(unit, command, cycle_++);
    running_[unit].push_back(command);
    return *this;
  }
  Script& retire(weft_unit_index unit) {
    checker.command_retired(unit, running_[unit].front(), cycle_++);
    running_[unit].erase(running_[unit].begin());
    return *this;
  }
  Script& run(weft_unit_index unit, const spec::Command& command) { return start(unit, command).retire(unit); }
  core::HazardChecker checker;

 private:
  uint64_t cycle_ = 0;
  std::array<std::vector<spec::Command>, WEFT_CORE_UNITS> running_;
};

/// Takes any command that can go, until none is left: a core without time.
std::string run_in_some_order(core::HazardChecker& checker,
                              const std::array<std::vector<spec::Command>, WEFT_CORE_QUEUES>& queues, uint64_t seed) {
  std::mt19937_64 random(seed);
  constexpr std::array<weft_unit_index, WEFT_CORE_QUEUES> kUnits{WEFT_UNIT_DMA0, WEFT_UNIT_MXU, WEFT_UNIT_VPU,
                                                                 WEFT_UNIT_DMA2, WEFT_UNIT_SYNC};
  std::array<size_t, WEFT_CORE_QUEUES> next{};
  std::array<uint64_t, WEFT_SEMAPHORES> semaphores{};
  for (;;) {
    std::vector<unsigned> ready;
    for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++) {
      if (next[q] == queues[q].size()) continue;
      const auto h = spec::decode_header(queues[q][next[q]]);
      if ((h.wait_sem0 == 0xff || semaphores[h.wait_sem0] >= h.wait_count0) &&
          (h.wait_sem1 == 0xff || semaphores[h.wait_sem1] >= h.wait_count1))
        ready.push_back(q);
    }
    if (ready.empty()) break;
    const unsigned q = ready[random() % ready.size()];
    const spec::Command& command = queues[q][next[q]++];
    const auto h = spec::decode_header(command);
    if (h.wait_sem0 != 0xff) semaphores[h.wait_sem0] -= h.wait_count0;
    if (h.wait_sem1 != 0xff) semaphores[h.wait_sem1] -= h.wait_count1;
    checker.command_started(kUnits[q], command, 0);
    checker.command_retired(kUnits[q], command, 0);
    if (h.post_sem0 != 0xff) semaphores[h.post_sem0] += h.post_count0;
    if (h.post_sem1 != 0xff) semaphores[h.post_sem1] += h.post_count1;
  }
  for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++)
    if (next[q] != queues[q].size()) return "it hangs";
  return {};
}

using Queues = std::array<std::vector<spec::Command>, WEFT_CORE_QUEUES>;

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

/// Segments apart from each other.
golden::SegmentTable all_segments() {
  golden::SegmentTable segments{};
  for (unsigned s = 1; s < 8; s++) segments[s] = {uint64_t{s} << 24, 1 << 24, WEFT_ADDRESS_SPACE_HBM, true, true};
  return segments;
}

/// Scores in three blocks, then their gradient: what needs the wait of the second step's first load also needs what
/// comes after it.
compiler::Program product_then_softmax() {
  compiler::Program program;
  program.name = "product, softmax";
  for (const char* name : {"x", "targets", "gradient", "loss"})
    program.arguments.push_back(
        {name, WEFT_ARGUMENT_DTYPE_F32, WEFT_ARGUMENT_LAYOUT_ROWS,
         program.arguments.size() < 2 ? WEFT_ARGUMENT_DIRECTION_INPUT : WEFT_ARGUMENT_DIRECTION_OUTPUT, 40, 10, 64,
         40 * 64});
  program.constants.resize(4096);
  program.scratch_bytes = 40 * 64;
  compiler::DenseStep product;
  product.name = "product";
  product.m = 40, product.k = 16, product.n = 10;
  product.x = {3, 0, 64}, product.weights = {1, 0, 0}, product.y = {2, 0, 64};
  program.steps.emplace_back(product);
  program.steps.emplace_back(
      compiler::SoftmaxLossStep{"softmax", 40, 10, product.y, {4, 0, 64}, {5, 0, 32}, {6, 0, 64}, 1.0F});
  return program;
}

Queues queues_of(const compiler::Program& program) {
  const auto kernel = compiler::compile(nano(), program);
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

std::array<std::vector<spec::Command>, WEFT_CORE_QUEUES> queues_of(const random::Program& program) {
  std::array<std::vector<spec::Command>, WEFT_CORE_QUEUES> queues;
  for (const auto& c : program.commands) queues[c.queue].push_back(c.command);
  return queues;
}

}  // namespace

TEST_CASE(
    "a race is found even where the run happened to keep the commands apart, and the report names both and the range") {
  Script script;
  script.run(WEFT_UNIT_DMA0, fill(7, 4, 8)).run(WEFT_UNIT_VPU, cast(9, 6));
  const auto hazards = script.checker.finish();
  REQUIRE(hazards.size() == 1);
  CHECK(hazards[0].range == core::AccessRange{core::AccessSpace::kVmem, 64, 96});
  CHECK(hazards[0].text.find("VMEM bytes 0x40 to 0x5f") != std::string::npos);
  CHECK(hazards[0].text.find("dma0: FILL tag 7") != std::string::npos);
  CHECK(hazards[0].text.find("vpu: CAST tag 9") != std::string::npos);
  CHECK(script.checker.commands() == 0);
}

TEST_CASE("a semaphore orders, and neighbours that do not overlap need none") {
  Script ordered;
  ordered.run(WEFT_UNIT_DMA0, fill(0, 0, 8, {.post = 3, .post_count = 2}))
      .run(WEFT_UNIT_VPU, cast(1, 6, {.wait = 3, .wait_count = 2}));
  CHECK(ordered.checker.finish().empty());
  Script apart;
  apart.run(WEFT_UNIT_DMA0, fill(0, 6, 8)).run(WEFT_UNIT_VPU, cast(1, 6));
  CHECK(apart.checker.finish().empty());
}

TEST_CASE("a product's ACC rows race with an epilogue that does not wait for it") {
  for (const bool waits : {false, true}) {
    Script script;
    script.run(WEFT_UNIT_MXU, product(0, 16, {.post = 1, .post_count = 1}));
    script.run(WEFT_UNIT_VPU, epilogue(1, 23, waits ? Semaphores{.wait = 1, .wait_count = 1} : Semaphores{}));
    const auto hazards = script.checker.finish();
    REQUIRE(hazards.size() == (waits ? 0 : 1));
    if (!waits) CHECK(hazards[0].range == core::AccessRange{core::AccessSpace::kAcc, 23, 24});
  }
}

TEST_CASE("one token of two posts of different channels orders neither, both tokens order both") {
  for (const uint16_t count : {uint16_t{1}, uint16_t{2}}) {
    Script script;
    script.start(WEFT_UNIT_DMA0, fill(0, 0, 2, {.post = 5, .post_count = 1}))
        .start(WEFT_UNIT_DMA1, fill(1, 2, 2, {.post = 5, .post_count = 1}));
    script.retire(WEFT_UNIT_DMA0)
        .retire(WEFT_UNIT_DMA1)
        .run(WEFT_UNIT_VPU, cast(2, 4, {.wait = 5, .wait_count = count}));
    CHECK(script.checker.finish().size() == (count == 1 ? 2 : 0));
  }
}

TEST_CASE("two loads of one queue that overlap race, for they run on two channels") {
  Script script;
  script.start(WEFT_UNIT_DMA0, fill(0, 0, 2))
      .start(WEFT_UNIT_DMA1, fill(1, 1, 2))
      .retire(WEFT_UNIT_DMA1)
      .retire(WEFT_UNIT_DMA0);
  CHECK(script.checker.finish().size() == 1);
}

TEST_CASE("a token that was there before the first command orders nothing") {
  Script script;
  script.checker.set_semaphore(3, 1);
  script.run(WEFT_UNIT_DMA0, fill(0, 0, 8, {.post = 3, .post_count = 1}))
      .run(WEFT_UNIT_VPU, cast(1, 6, {.wait = 3, .wait_count = 1}));
  CHECK(script.checker.finish().size() == 1);
}

TEST_CASE("a command that runs on after a window's end posts, and meets others, in the next window") {
  for (const bool waits : {false, true}) {
    Script script;
    script.run(WEFT_UNIT_DMA1, fill(0, 5000, 1)).start(WEFT_UNIT_DMA0, fill(1, 0, 8, {.post = 3, .post_count = 1}));
    CHECK(script.checker.finish_window().empty());
    CHECK(script.checker.commands() == 1);
    script.start(WEFT_UNIT_DMA1, fill(2, 6000, 8));
    script.retire(WEFT_UNIT_DMA0)
        .run(WEFT_UNIT_VPU, cast(3, 6, waits ? Semaphores{.wait = 3, .wait_count = 1} : Semaphores{}));
    CHECK(script.checker.finish().size() == (waits ? 0 : 1));
  }
}

TEST_CASE("a fence orders what has started before it, not what started beside it") {
  for (const bool before : {false, true}) {
    // The second fill tells that the first one has started; it does not tell that it is done: the fence does.
    Script script;
    script.start(WEFT_UNIT_DMA0, fill(0, 0, 8))
        .start(WEFT_UNIT_DMA1, fill(1, 5000, 1, before ? Semaphores{.post = 2, .post_count = 1} : Semaphores{}));
    script.retire(WEFT_UNIT_DMA1);
    script.start(WEFT_UNIT_SYNC,
                 sync(WEFT_OPCODE_FENCE, 2, before ? Semaphores{2, 1, 4, 1} : Semaphores{.post = 4, .post_count = 1}));
    script.retire(WEFT_UNIT_DMA0).retire(WEFT_UNIT_SYNC).run(WEFT_UNIT_VPU, cast(3, 6, {.wait = 4, .wait_count = 1}));
    CHECK(script.checker.finish().size() == (before ? 0 : 1));
  }
}

TEST_CASE("two buffers in turn are ordered by their credits, and race with one credit too many") {
  for (const unsigned credits : {0u, 1u}) {
    std::array<std::vector<spec::Command>, WEFT_CORE_QUEUES> queues;
    for (uint16_t i = 0; i < 6; i++) {
      auto load = fill(i, 0, 6, {.post = 0, .post_count = 1});
      if (i >= 1 + credits) spec::store_le(load, 4, 1, 1), spec::store_le(load, 8, 2, 1);
      queues[WEFT_QUEUE_DMA_IN].push_back(load);
      queues[WEFT_QUEUE_VPU].push_back(cast(static_cast<uint16_t>(10 + i), 6, {0, 1, 1, 1}));
    }
    core::HazardChecker checker(nano());
    REQUIRE(run_in_some_order(checker, queues, 5).empty());
    CHECK(checker.finish().empty() == (credits == 0));
  }
}

TEST_CASE("the checker is silent on compiled products of several shapes and types") {
  golden::SegmentTable segments{};
  for (unsigned s = 1; s < 8; s++) segments[s] = {uint64_t{s} << 24, 1 << 24, WEFT_ADDRESS_SPACE_HBM, true, true};
  struct Shape {
    uint64_t m, k, n;
  };
  for (const auto& [m, k, n] :
       {Shape{1, 1, 1}, Shape{8, 8, 8}, Shape{9, 17, 25}, Shape{64, 64, 64}, Shape{130, 40, 20}, Shape{20, 600, 70}}) {
    for (const auto dtype : {WEFT_MXU_DTYPE_BF16, WEFT_MXU_DTYPE_INT8}) {
      const auto program = compiler::gemm_program(nano(), dtype, m, k, n);
      REQUIRE(program.ok());
      const auto kernel = compiler::compile(nano(), program.value());
      REQUIRE(kernel.ok());
      INFO(m << " x " << k << " x " << n);
      core::HazardChecker checker(nano());
      checker.set_segments(segments);
      REQUIRE(run_in_some_order(checker, kernel.value().queues, m).empty());
      const auto hazards = checker.finish();
      if (!hazards.empty()) FAIL_CHECK(hazards.front().text);
    }
  }
}

TEST_CASE("each wait that is taken out of a compiled product is a hazard") {
  const auto kernel =
      compiler::compile(nano(), compiler::gemm_program(nano(), WEFT_MXU_DTYPE_BF16, 40, 30, 40).value());
  REQUIRE(kernel.ok());
  for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++) {
    for (size_t i = 0; i < kernel.value().queues[q].size(); i++) {
      for (const unsigned slot : {0u, 1u}) {
        auto queues = kernel.value().queues;
        spec::Command& command = queues[q][i];
        if (command.bytes[4 + slot] == 0xff) continue;
        INFO(q << " " << i << " " << slot << " " << core::command_text(command));
        spec::store_le(command, 4 + slot, 1, 0xff), spec::store_le(command, 8 + 2 * slot, 2, 0);
        core::HazardChecker checker(nano());
        REQUIRE(run_in_some_order(checker, queues, 1).empty());
        CHECK_FALSE(checker.finish().empty());
      }
    }
  }
}

TEST_CASE("the checker is silent on a product and the softmax of what it has stored, in any order") {
  const Queues queues = queues_of(product_then_softmax());
  for (uint64_t seed = 1; seed <= 10; seed++) {
    INFO("seed " << seed);
    const auto hazards = hazards_in_some_order(queues, seed);
    if (!hazards.empty()) FAIL_CHECK(hazards.size() << " hazards; " << hazards.front().text);
  }
}

TEST_CASE("the checker is silent on the gradients and the update of a network") {
  const compiler::DenseNetwork network{{24, 17, 10}};
  for (const auto& program :
       {compiler::gradient_program(nano(), network, 20, 0.05F), compiler::update_program(nano(), network, {})}) {
    REQUIRE(program.ok());
    const auto hazards = hazards_in_some_order(queues_of(program.value()), 1);
    if (!hazards.empty()) FAIL_CHECK(hazards.size() << " hazards; " << hazards.front().text);
  }
}

TEST_CASE("each wait that is taken out of a product and its softmax is a hazard, and each that is short of a token") {
  const Queues whole = queues_of(product_then_softmax());
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

TEST_CASE(
    "random programs are legal, end with all semaphores at 0 in any order, and have no hazard; without one wait most "
    "have") {
  unsigned broken = 0, found = 0;
  for (uint64_t seed = 1; seed <= 60; seed++) {
    INFO("seed " << seed);
    const auto plan = random::generate_plan(nano(), seed, random::Legality::kLegal);
    const auto program = random::make_program(plan);
    REQUIRE(program);
    CHECK(random::make_program(plan)->commands == program->commands);
    auto queues = queues_of(*program);
    for (const uint64_t order : {1u, 2u, 3u}) {
      core::HazardChecker checker(nano());
      checker.set_segments(program->segments);
      REQUIRE(run_in_some_order(checker, queues, order).empty());
      REQUIRE(checker.finish().empty());
    }
    // The first wait that the VPU has: taken out, with the posts left as they are.
    for (auto& command : queues[WEFT_QUEUE_VPU]) {
      if (spec::decode_header(command).wait_sem0 == 0xff) continue;
      spec::store_le(command, 4, 1, 0xff), spec::store_le(command, 8, 2, 0);
      core::HazardChecker checker(nano());
      checker.set_segments(program->segments);
      broken++;
      if (run_in_some_order(checker, queues, 1).empty()) found += !checker.finish().empty();
      break;
    }
  }
  CHECK(broken > 40);
  CHECK(found > broken / 2);
}
