// Control lists through the whole stack: random programs against a model on the host and against the same steps without
// a list; many arguments; what goes wrong in the middle of a loop.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "testbench/system/control_launch.hpp"
#include "testbench/system/control_program.hpp"
#include "testbench/system/sim_server.hpp"
#include "testbench/system/test_device.hpp"

using namespace weft;
using namespace weft::test;
using Catch::Contains;

namespace {

const spec::Chip& nano() { return *spec::find_chip("nano"); }

constexpr const char* kCores[] = {"fast", "rtl", "lockstep"};

std::string device_name(const std::string& core, const std::string& manager = "rv32") {
  return "sim:nano?core=" + core + "&manager=" + manager;
}

RowPlace row(uint32_t argument, int64_t at, std::vector<RowPlace::Move> moves = {}) {
  return {argument, at, std::move(moves)};
}

ControlNode step(weft_vpu_op op, RowPlace d, RowPlace a, RowPlace b) {
  ControlNode node;
  node.op = op;
  node.a = std::move(a);
  node.b = std::move(b);
  node.d = std::move(d);
  return node;
}

ControlNode loop(uint32_t turns, ControlBody body) {
  ControlNode node;
  node.kind = ControlNode::Kind::kLoop;
  node.turns = turns;
  node.body = std::move(body);
  return node;
}

ControlNode while_less(RowPlace word, int32_t value, ControlBody body) {
  ControlNode node;
  node.kind = ControlNode::Kind::kWhile;
  node.word = std::move(word);
  node.compare = WEFT_CONTROL_CONDITION_LESS;
  node.value = value;
  node.body = std::move(body);
  return node;
}

compiler::Kernel listed(const ControlProgram& program) {
  auto kernel = with_list(nano(), program);
  if (!kernel.ok()) FAIL(kernel.error().message);
  return kernel.value();
}

/// Adds the rows of argument 1 up in row 0 of argument 0.
ControlProgram sum_of_rows(uint32_t rows) {
  ControlProgram program;
  program.arguments = 2;
  program.rows = rows;
  program.body = {loop(rows, {step(WEFT_VPU_OP_ADD, row(0, 0), row(0, 0), row(1, 0, {{0, 1}}))})};
  return program;
}

/// Counts row 0 of argument 0 up by row 1, for ever if that is 0.
ControlProgram counting(int32_t to) {
  ControlProgram program;
  program.rows = 2;
  program.body = {while_less(row(0, 0), to, {step(WEFT_VPU_OP_ADD, row(0, 0), row(0, 0), row(0, 1))})};
  return program;
}

ControlData counting_data(int32_t by) {
  ControlData data(1, std::vector<int32_t>(16, 0));
  std::fill(data[0].begin() + 8, data[0].end(), by);
  return data;
}

}  // namespace

TEST_CASE("a loop adds up rows, and a while counts until its own result ends it", "[native]") {
  for (const std::string core : kCores) {
    for (const std::string manager : {"rv32", "native"}) {
      INFO(core << ", " << manager);
      Device device(device_name(core, manager));
      const auto program = sum_of_rows(12);
      ControlData data(2, std::vector<int32_t>(12 * 8));
      for (size_t i = 0; i < data[1].size(); i++) data[1][i] = static_cast<int32_t>(i * i);
      ControlData expected = data;
      follow(program, expected);
      const Outcome summed = run(device, listed(program), data);
      REQUIRE(summed.message.empty());
      CHECK(differences(summed.data, expected) == 0);
      CHECK(summed.data[0][0] == [&] {
        int32_t sum = 0;
        for (size_t i = 0; i < 12; i++) sum += data[1][i * 8];
        return sum;
      }());
      const Outcome counted = run(device, listed(counting(10)), counting_data(3));
      REQUIRE(counted.message.empty());
      CHECK(counted.data[0][0] == 12);
    }
  }
}

namespace {

struct Compared {
  size_t words = 0, steps = 0, conditions = 0, changed = 0;
};

/// Random programs from seed `first` on, on each device, against the model, and on the first one without a list.
Compared compare_programs(const std::vector<std::string>& names, uint64_t first, int programs) {
  Compared compared;
  std::vector<std::unique_ptr<Device>> devices;
  for (const std::string& name : names) devices.push_back(std::make_unique<Device>(name));
  for (int i = 0; i < programs; i++) {
    const uint64_t seed = first + static_cast<uint64_t>(i);
    INFO("seed " << seed);
    const ControlProgram program = random_control_program(nano(), seed);
    const ControlData data = random_control_data(program, seed);
    ControlData expected = data;
    const ControlTrace trace = follow(program, expected);
    compared.steps += trace.steps.size();
    compared.conditions += trace.conditions;
    compared.changed += differences(data, expected);
    const compiler::Kernel kernel = listed(program);
    const weft_memory memory = i % 4 == 3 ? WEFT_MEMORY_HOST : WEFT_MEMORY_HBM;
    for (auto& device : devices) {
      const Outcome with = run(*device, kernel, data, memory);
      REQUIRE(with.message.empty());
      CHECK(differences(with.data, expected) == 0);
      for (const auto& values : expected) compared.words += values.size();
    }
    if (trace.steps.empty()) continue;
    const Outcome without = run(*devices[0], unrolled(nano(), program, trace), data, memory);
    REQUIRE(without.message.empty());
    CHECK(differences(without.data, expected) == 0);
  }
  std::printf(
      "  %d programs from seed %llu on %zu devices: %zu steps, %zu conditions, %zu words compared, %zu changed\n",
      programs, static_cast<unsigned long long>(first), devices.size(), compared.steps, compared.conditions,
      compared.words, compared.changed);
  return compared;
}

}  // namespace

TEST_CASE("random programs with lists give the bits of the host's model and of the same steps without a list") {
  const Compared c = compare_programs({device_name("fast"), device_name("rtl"), device_name("lockstep")}, 20261123, 24);
  CHECK(c.steps > 100);
  CHECK(c.conditions > 20);
  CHECK(c.changed > 0);
}

TEST_CASE("random programs with lists give the same bits with the native manager", "[native]") {
  const Compared c = compare_programs({device_name("rtl", "native"), device_name("fast", "native")}, 20261123, 12);
  CHECK(c.steps > 50);
  CHECK(c.changed > 0);
}

TEST_CASE("a process that goes in a while that never ends leaves the chip to its neighbour") {
  for (const std::string core : {"fast", "rtl"}) {
    INFO(core);
    const SimServer server("nano", core, 2);
    auto gone = std::make_unique<Device>(server.device(0));
    Device neighbour(server.device(1));
    {
      const auto queue = gone->queue();
      const auto program = gone->load(listed(counting(10)));
      const auto buffers = upload(*gone, counting_data(0), WEFT_MEMORY_HBM, queue);
      const auto arguments = arguments_of(buffers);
      weft_event* raw = nullptr;
      require_ok(weft_launch(queue.get(), kernel_of(program), arguments.data(), 1, nullptr, &raw));
      const Handle<weft_event> event(raw);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      CHECK(info_of(event).done == 0);
      weft_close_options options = WEFT_INIT(weft_close_options);
      options.drain_ms = 1;
      (void)!weft_close(gone->device.release(), &options);
    }
    const Outcome after = run(neighbour, listed(counting(10)), counting_data(2));
    REQUIRE(after.message.empty());
    CHECK(after.data[0][0] == 10);
  }
}

TEST_CASE("a while that never ends, with the largest budget, gives the core to another process that waits for it") {
  const SimServer server("nano", "fast", 2);
  Device hog(server.device(0)), neighbour(server.device(1));
  const auto queue = hog.queue();
  const auto program = hog.load(listed(counting(10)));
  const auto buffers = upload(hog, counting_data(0), WEFT_MEMORY_HBM, queue);
  const auto arguments = arguments_of(buffers);
  weft_command_options options = WEFT_INIT(weft_command_options);
  options.budget_kcycles = UINT32_MAX;
  weft_event* raw = nullptr;
  require_ok(weft_launch(queue.get(), kernel_of(program), arguments.data(), 1, &options, &raw));
  const Handle<weft_event> event(raw);
  const Outcome after = run(neighbour, listed(counting(10)), counting_data(2));
  REQUIRE(after.message.empty());
  CHECK(after.data[0][0] == 10);
  CHECK(end_of(event) == WEFT_ERROR_BUDGET_EXCEEDED);
}

TEST_CASE("300 arguments are bound by 99 steps") {
  constexpr uint32_t kArguments = 300;
  compiler::ControlListBuilder list;
  const uint16_t block = list.add_block(step_block(nano(), WEFT_VPU_OP_ADD, {3, 4, 5}));
  // Argument 3 i becomes the sum of itself and argument 3 i - 1.
  const uint32_t bound = (kArguments - 1) / 3;
  for (uint32_t i = 1; i <= bound; i++) {
    const uint32_t to = i * 3;
    list.bind({{3, {.argument = to, .size_bytes = 32}, WEFT_EXECUTABLE_CONTROL_READABLE},
               {4, {.argument = to - 1, .size_bytes = 32}, WEFT_EXECUTABLE_CONTROL_READABLE},
               {5, {.argument = to, .size_bytes = 32}, WEFT_EXECUTABLE_CONTROL_WRITABLE}});
    list.run(block);
  }
  auto control = list.finish();
  REQUIRE(control.ok());
  compiler::Kernel kernel = listed(sum_of_rows(2));
  kernel.arguments.assign(kArguments, kernel.arguments[0]);
  for (uint32_t i = 0; i < kArguments; i++) {
    kernel.arguments[i].name = "a" + std::to_string(i);
    kernel.arguments[i].rows = 1;
    kernel.arguments[i].size_bytes = 32;
  }
  kernel.control = control.value();
  ControlData data(kArguments, std::vector<int32_t>(8));
  for (uint32_t i = 0; i < kArguments; i++)
    for (uint32_t lane = 0; lane < 8; lane++) data[i][lane] = static_cast<int32_t>(i * 100 + lane);
  ControlData expected = data;
  for (uint32_t i = 1; i <= bound; i++)
    for (uint32_t lane = 0; lane < 8; lane++) expected[i * 3][lane] += expected[i * 3 - 1][lane];
  for (const std::string core : kCores) {
    INFO(core);
    Device device(device_name(core));
    for (int turn = 0; turn < 2; turn++) {
      const Outcome outcome = run(device, kernel, data);
      REQUIRE(outcome.message.empty());
      CHECK(differences(outcome.data, expected) == 0);
    }
  }
}

TEST_CASE("a list that never ends is ended by its budget, and the message names entry, block and turn", "[replay]") {
  Device device(device_name("fast"));
  const Outcome endless = run(device, listed(counting(10)), counting_data(0), WEFT_MEMORY_HBM, 200);
  CHECK(endless.status == WEFT_ERROR_BUDGET_EXCEEDED);
  CHECK_THAT(endless.message, Contains("of the control list, block 0, turn "));
  const Outcome after = run(device, listed(counting(10)), counting_data(1));
  CHECK(after.message.empty());
  CHECK(after.data[0][0] == 10);
}

TEST_CASE("a fault in the fifth turn names entry, block, turn and command, on every core") {
  for (const std::string core : kCores) {
    INFO(core);
    Device device(device_name(core));
    weft_fault_injection fault = WEFT_INIT(weft_fault_injection);
    fault.kind = WEFT_INJECTED_FAULT_CORE_RAISE;
    fault.nth = 1;
    constexpr uint64_t kCommand = 10;  // of dma_in, counted from 1: the second load of turn 4
    fault.value[2] = WEFT_QUEUE_DMA_IN | WEFT_FAULT_DMA_BUS << 8 | kCommand << 16;
    require_ok(weft_fault_inject(device.device.get(), &fault));
    const Outcome outcome = run(device, listed(sum_of_rows(12)), ControlData(2, std::vector<int32_t>(96, 1)));
    CHECK(outcome.status == WEFT_ERROR_DMA_FAULT);
    CHECK_THAT(outcome.message, Contains("command tag 1"));
    CHECK_THAT(outcome.message, Contains("entry 2 of the control list, block 0, turn 4"));
  }
}

TEST_CASE("a block that leaves a semaphore fails in the turn that left it") {
  Device device(device_name("fast"));
  compiler::Kernel kernel = listed(sum_of_rows(12));
  auto header = spec::decode_header(kernel.control.blocks[0][WEFT_QUEUE_DMA_OUT][0]);
  header.post_sem0 = 9;
  header.post_count0 = 1;
  spec::encode_into(kernel.control.blocks[0][WEFT_QUEUE_DMA_OUT][0], header);
  const Outcome outcome = run(device, kernel, ControlData(2, std::vector<int32_t>(96, 1)));
  CHECK(outcome.status == WEFT_ERROR_SEMAPHORE_FAULT);
  CHECK_THAT(outcome.message, Contains("block 0, turn 0"));
}

TEST_CASE("cancel and reset of queue, core or device end a while that never ends, and a neighbour works") {
  enum Way { kCancel, kQueue, kEngine, kDevice };
  const auto kernel = listed(counting(10));
  for (const std::string core : {"fast", "rtl"}) {
    Device device(device_name(core));
    for (const Way way : {kCancel, kQueue, kEngine, kDevice}) {
      INFO(core << ", way " << way);
      const auto queue = device.queue();
      const auto neighbour = device.queue();
      const auto program = device.load(kernel);
      const auto buffers = upload(device, counting_data(0), WEFT_MEMORY_HBM, neighbour);
      const auto arguments = arguments_of(buffers);
      weft_event* raw = nullptr;
      require_ok(weft_launch(queue.get(), kernel_of(program), arguments.data(), 1, nullptr, &raw));
      const Handle<weft_event> event(raw);
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      CHECK(info_of(event).done == 0);
      require_ok(end_of(nop(neighbour)));
      if (way == kCancel) require_ok(weft_event_cancel(event.get()));
      if (way == kQueue) require_ok(weft_reset(device.device.get(), queue.get(), WEFT_RESET_LEVEL_QUEUE, nullptr));
      if (way == kEngine) require_ok(weft_reset(device.device.get(), nullptr, WEFT_RESET_LEVEL_ENGINE, nullptr));
      if (way == kDevice) require_ok(weft_device_reset(device.device.get()));
      CHECK(end_of(event) == (way == kCancel ? WEFT_ERROR_CANCELLED : WEFT_ERROR_ABORTED_BY_RESET));
      const Outcome after = run(device, listed(counting(10)), counting_data(1));
      CHECK(after.message.empty());
      CHECK(after.data[0][0] == 10);
    }
  }
}

namespace {

/// `steps` additions, one behind the other, of argument 0 (segment 3) as one block; the first counts row 0 up.
compiler::Block long_block(uint32_t steps) {
  ControlProgram shape = counting(1);
  ControlTrace trace;
  for (uint32_t i = 0; i < steps; i++)
    trace.steps.push_back({WEFT_VPU_OP_ADD, {0, 0, 0}, {i == 0 ? 0u : 1u, 1, i == 0 ? 0u : 2u}});
  return unrolled(nano(), shape, trace).queues;
}

enum class Turn { kNone, kLoop, kWhile };

/// Cycles of a launch that runs the block so many times. `bind`: with a BIND of segment 3 in each turn.
uint64_t cycles_of(Device& device, const compiler::Block& block, Turn turn, uint32_t turns, bool bind) {
  compiler::ControlListBuilder list;
  const compiler::Loop loop = list.new_loop();
  const uint16_t number = list.add_block(block);
  const auto bind_all = [&] {
    list.bind({{3, {.size_bytes = 96}, WEFT_EXECUTABLE_CONTROL_READABLE | WEFT_EXECUTABLE_CONTROL_WRITABLE}});
  };
  bind_all();
  if (turn == Turn::kLoop) list.begin_loop(loop, turns);
  if (turn == Turn::kWhile)
    list.begin_while(loop, {.word = {.argument = 0}, .compare = WEFT_CONTROL_CONDITION_LESS, .value = turns});
  if (bind) bind_all();
  list.run(number);
  if (turn != Turn::kNone) list.end();
  ControlProgram shape = counting(1);
  shape.rows = 3;
  compiler::Kernel kernel = listed(shape);
  kernel.control = list.finish().value();
  ControlData data = counting_data(1);
  data[0].resize(24);
  const Outcome outcome = run(device, kernel, data);
  REQUIRE(outcome.message.empty());
  CHECK(outcome.data[0][0] == static_cast<int32_t>(turn == Turn::kNone ? 1 : turns));
  return outcome.end_cycle - outcome.start_cycle;
}

}  // namespace

TEST_CASE("a turn costs at most 2000 cycles beside its block also if that is shorter than what the firmware does") {
  for (const std::string core : {"rtl", "fast"}) {
    Device device(device_name(core));
    for (const uint32_t steps : {1u, 8u}) {
      const compiler::Block block = long_block(steps);
      const uint64_t alone = cycles_of(device, block, Turn::kNone, 1, false);
      for (const Turn turn : {Turn::kLoop, Turn::kWhile}) {
        for (const bool bind : {false, true}) {
          const uint64_t few = cycles_of(device, block, turn, 10, bind),
                         many = cycles_of(device, block, turn, 30, bind);
          const uint64_t each = (many - few) / 20;
          std::printf("  %s, %s%s of a block of %llu cycles: %llu more a turn\n", core.c_str(),
                      turn == Turn::kLoop ? "loop" : "while", bind ? " with a bind" : "",
                      static_cast<unsigned long long>(alone), static_cast<unsigned long long>(each - alone));
          CHECK(each - alone <= 2000);
        }
      }
    }
  }
}
