// Trees of steps: list, model, unrolled.
#include "testbench/system/control_program.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace weft::test {
namespace {

constexpr uint8_t kA = 0, kB = 1, kSum = 2, kDone = 3;  // semaphores
constexpr uint32_t kFirstSegment = 3;

// ---- the model

struct Follower {
  const ControlProgram& program;
  ControlData& data;
  ControlTrace trace = {};
  std::vector<uint64_t> turns = {};
  uint64_t max_steps;

  uint32_t row_of(const RowPlace& place) const {
    int64_t row = place.row;
    for (const auto& move : place.moves) row += move.by * static_cast<int64_t>(turns.at(move.loop));
    if (row < 0 || row >= program.rows) throw std::logic_error("a row of the test's program lies outside");
    return static_cast<uint32_t>(row);
  }

  void step(const ControlNode& node) {
    if (trace.steps.size() == max_steps) throw std::logic_error("the test's program does not end");
    const ControlTrace::Step step{
        node.op, {node.a.argument, node.b.argument, node.d.argument}, {row_of(node.a), row_of(node.b), row_of(node.d)}};
    trace.steps.push_back(step);
    for (uint32_t lane = 0; lane < program.n; lane++) {
      const auto at = [&](int i) -> int32_t& { return data[step.argument[i]][step.row[i] * program.n + lane]; };
      const int32_t a = at(0), b = at(1);
      const auto sum = static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
      const auto difference = static_cast<int32_t>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b));
      at(2) = node.op == WEFT_VPU_OP_ADD   ? sum
              : node.op == WEFT_VPU_OP_SUB ? difference
              : node.op == WEFT_VPU_OP_MIN ? std::min(a, b)
                                           : std::max(a, b);
    }
  }

  bool holds(const ControlNode& node) {
    trace.conditions++;
    const int32_t word = data[node.word.argument][row_of(node.word) * program.n];
    switch (node.compare) {
      case WEFT_CONTROL_CONDITION_EQUAL:
        return word == node.value;
      case WEFT_CONTROL_CONDITION_NOT_EQUAL:
        return word != node.value;
      case WEFT_CONTROL_CONDITION_LESS:
        return word < node.value;
      case WEFT_CONTROL_CONDITION_GREATER_EQUAL:
        return word >= node.value;
    }
    return false;
  }

  void run(const ControlBody& body) {
    for (const ControlNode& node : body) {
      switch (node.kind) {
        case ControlNode::Kind::kStep:
          step(node);
          break;
        case ControlNode::Kind::kLoop:
          turns.push_back(0);
          for (; turns.back() < node.turns; turns.back()++) run(node.body);
          turns.pop_back();
          break;
        case ControlNode::Kind::kWhile:
          turns.push_back(0);
          for (; (node.turns == 0 || turns.back() < node.turns) && holds(node); turns.back()++) run(node.body);
          turns.pop_back();
          break;
        case ControlNode::Kind::kIf:
          run(holds(node) ? node.body : node.otherwise);
          break;
      }
    }
  }
};

// ---- the list

struct Emitter {
  const spec::Chip& chip;
  const ControlProgram& program;
  compiler::ControlListBuilder list = {};
  std::vector<compiler::Loop> open = {};
  std::vector<compiler::SegmentWindow> hoisted = {};
  std::vector<compiler::Loop> made = {};  ///< in the order of the tree: loops are named before they are opened
  size_t next_loop = 0;
  uint32_t next_segment = kFirstSegment;

  compiler::Window window(const RowPlace& place, const std::vector<compiler::Loop>& loops) const {
    compiler::Window w;
    w.argument = place.argument;
    w.offset_bytes = static_cast<uint64_t>(place.row) * program.row_bytes();
    w.size_bytes = program.row_bytes();
    for (const auto& move : place.moves)
      w.strides.push_back({loops.at(move.loop), move.by * static_cast<int64_t>(program.row_bytes())});
    return w;
  }

  /// Three segments of a step; those of a hoisted one are its own.
  std::vector<compiler::SegmentWindow> segments_of(const ControlNode& node, std::array<uint8_t, 3>& numbers) {
    constexpr uint32_t kRead = WEFT_EXECUTABLE_CONTROL_READABLE, kWrite = WEFT_EXECUTABLE_CONTROL_WRITABLE;
    std::vector<compiler::SegmentWindow> windows;
    const RowPlace* places[] = {&node.a, &node.b, &node.d};
    for (size_t i = 0; i < 3; i++) {
      numbers[i] = static_cast<uint8_t>(node.bind_here ? WEFT_SEGMENTS - 3 + i : next_segment++);
      windows.push_back({numbers[i], window(*places[i], open), i == 2 ? kWrite : kRead});
    }
    return windows;
  }

  /// First walk: loops and what is bound at the start. Second walk: entries.
  void walk(const ControlBody& body, bool emit) {
    for (const ControlNode& node : body) {
      const bool loop = node.kind == ControlNode::Kind::kLoop || node.kind == ControlNode::Kind::kWhile;
      if (loop) {
        if (!emit) made.push_back(list.new_loop());
        open.push_back(made[next_loop++]);
      }
      if (node.kind == ControlNode::Kind::kStep) {
        std::array<uint8_t, 3> numbers{};
        const auto windows = segments_of(node, numbers);
        if (!emit && !node.bind_here) hoisted.insert(hoisted.end(), windows.begin(), windows.end());
        if (emit) {
          if (node.bind_here) list.bind(windows);
          list.run(list.add_block(step_block(chip, node.op, numbers)));
        }
        continue;
      }
      if (emit) begin(node);
      walk(node.body, emit);
      if (emit && node.kind == ControlNode::Kind::kIf && !node.otherwise.empty()) list.otherwise();
      walk(node.otherwise, emit);
      if (emit) list.end();
      if (loop) open.pop_back();
    }
  }

  void begin(const ControlNode& node) {
    const compiler::Condition condition{window(node.word, open), node.compare, static_cast<uint32_t>(node.value)};
    if (node.kind == ControlNode::Kind::kLoop) list.begin_loop(open.back(), node.turns);
    if (node.kind == ControlNode::Kind::kWhile) list.begin_while(open.back(), condition, node.turns);
    if (node.kind == ControlNode::Kind::kIf) list.begin_if(condition);
  }
};

compiler::Kernel bare_kernel(const spec::Chip& chip, const ControlProgram& program, const char* name) {
  compiler::Kernel kernel;
  kernel.name = name;
  for (uint32_t i = 0; i < program.arguments; i++) {
    compiler::Argument argument;
    argument.name = "a" + std::to_string(i);
    argument.dtype = WEFT_ARGUMENT_DTYPE_I32;
    argument.direction = WEFT_ARGUMENT_DIRECTION_OUTPUT;
    argument.rows = program.rows;
    argument.columns = program.n;
    argument.pitch_bytes = program.row_bytes();
    argument.size_bytes = program.argument_bytes();
    kernel.arguments.push_back(argument);
  }
  kernel.vmem_bytes = 6 * chip.word_bytes;
  kernel.semaphores = 0xf;
  return kernel;
}

}  // namespace

compiler::Block step_block(const spec::Chip& chip, weft_vpu_op op, const std::array<uint8_t, 3>& segments,
                           const std::array<uint64_t, 3>& offsets, bool wait, bool post) {
  const uint32_t row = static_cast<uint32_t>(chip.n * sizeof(int32_t));
  compiler::Block block;
  for (uint8_t i = 0; i < 2; i++) {
    spec::DmaCommand load;
    load.header.opcode = WEFT_OPCODE_COPY;
    load.header.tag = i;
    load.header.post_sem0 = i == 0 ? kA : kB;
    load.header.post_count0 = 1;
    if (i == 0 && wait) {
      load.header.wait_sem0 = kDone;
      load.header.wait_count0 = 1;
    }
    load.src_seg = segments[i];
    load.src_off = offsets[i];
    load.dst_off = uint64_t{i} * row;
    load.size0 = row;
    block[WEFT_QUEUE_DMA_IN].push_back(spec::encode(load));
  }
  spec::VpuCommand vector;
  vector.header.opcode = WEFT_OPCODE_ELEMENTWISE;
  vector.header.tag = 2;
  vector.header.wait_sem0 = kA;
  vector.header.wait_count0 = 1;
  vector.header.wait_sem1 = kB;
  vector.header.wait_count1 = 1;
  vector.header.post_sem0 = kSum;
  vector.header.post_count0 = 1;
  vector.op = op;
  vector.src_dtype = vector.dst_dtype = WEFT_VPU_DTYPE_I32;
  vector.rows = 1;
  vector.cols = static_cast<uint16_t>(chip.n);
  vector.a_addr = 0;
  vector.b_addr = 2;
  vector.d_addr = 4;
  vector.a_stride = vector.b_stride = vector.d_stride = 2;
  vector.b_mode = WEFT_VPU_B_MODE_TENSOR;
  block[WEFT_QUEUE_VPU].push_back(spec::encode(vector));
  spec::DmaCommand store;
  store.header.opcode = WEFT_OPCODE_COPY;
  store.header.tag = 3;
  store.header.wait_sem0 = kSum;
  store.header.wait_count0 = 1;
  if (post) {
    store.header.post_sem0 = kDone;
    store.header.post_count0 = 1;
  }
  store.src_off = 2ull * row;
  store.dst_seg = segments[2];
  store.dst_off = offsets[2];
  store.size0 = row;
  block[WEFT_QUEUE_DMA_OUT].push_back(spec::encode(store));
  return block;
}

ControlTrace follow(const ControlProgram& program, ControlData& data, uint64_t max_steps) {
  Follower follower{.program = program, .data = data, .max_steps = max_steps};
  follower.run(program.body);
  return follower.trace;
}

Result<compiler::Kernel> with_list(const spec::Chip& chip, const ControlProgram& program) {
  Emitter emitter{.chip = chip, .program = program};
  emitter.walk(program.body, false);
  emitter.next_loop = 0;
  emitter.next_segment = kFirstSegment;
  if (!emitter.hoisted.empty()) emitter.list.bind(emitter.hoisted);
  emitter.walk(program.body, true);
  auto control = emitter.list.finish();
  if (!control.ok()) return control.error();
  compiler::Kernel kernel = bare_kernel(chip, program, "listed");
  kernel.control = std::move(control.value());
  return kernel;
}

compiler::Kernel unrolled(const spec::Chip& chip, const ControlProgram& program, const ControlTrace& trace) {
  compiler::Kernel kernel = bare_kernel(chip, program, "unrolled");
  for (size_t i = 0; i < trace.steps.size(); i++) {
    const auto& step = trace.steps[i];
    std::array<uint8_t, 3> segments{};
    std::array<uint64_t, 3> offsets{};
    for (size_t k = 0; k < 3; k++) {
      segments[k] = static_cast<uint8_t>(kFirstSegment + step.argument[k]);
      offsets[k] = step.row[k] * program.row_bytes();
    }
    const compiler::Block block = step_block(chip, step.op, segments, offsets, i != 0, i + 1 != trace.steps.size());
    for (size_t q = 0; q < block.size(); q++)
      kernel.queues[q].insert(kernel.queues[q].end(), block[q].begin(), block[q].end());
  }
  return kernel;
}

namespace {

constexpr uint32_t kCounters = 8;  ///< rows of argument 0 that conditions count in
constexpr uint32_t kOnes = 8;      ///< row of argument 0 that holds ones

/// Draws trees. Argument 0 has the counters and the ones; no step but a count writes there.
struct Drawer {
  ControlProgram& program;
  std::mt19937_64 random;
  struct Open {
    uint32_t turns;  ///< 0: no limit, so nothing moves with it
  };
  std::vector<Open> open = {};
  uint32_t hoisted = 0, counters = 0, steps = 0;

  uint32_t draw(uint32_t limit) { return static_cast<uint32_t>(random() % limit); }

  RowPlace place() {
    RowPlace p;
    p.argument = 1 + draw(program.arguments - 1);
    int64_t low = 0, high = 0;
    for (uint32_t i = 0; i < open.size() && p.moves.size() < WEFT_EXECUTABLE_CONTROL_STRIDES; i++) {
      if (open[i].turns < 2 || draw(3) == 0) continue;
      const int64_t by = static_cast<int64_t>(1 + draw(2)) * (draw(3) == 0 ? -1 : 1);
      const int64_t span = by * (open[i].turns - 1);
      if (std::max<int64_t>(high, high + span) - std::min<int64_t>(low, low + span) >= program.rows) continue;
      (span < 0 ? low : high) += span;
      p.moves.push_back({i, by});
    }
    p.row = -low + draw(static_cast<uint32_t>(program.rows - (high - low)));
    return p;
  }

  ControlNode step() {
    constexpr weft_vpu_op kOps[] = {WEFT_VPU_OP_ADD, WEFT_VPU_OP_SUB, WEFT_VPU_OP_MIN, WEFT_VPU_OP_MAX};
    ControlNode node;
    node.op = kOps[draw(4)];
    node.a = place();
    node.b = place();
    node.d = place();
    node.bind_here = hoisted == 8 || draw(2) == 0;
    if (!node.bind_here) hoisted++;
    steps++;
    return node;
  }

  /// Adds one to a counter.
  ControlNode count(uint32_t counter) {
    ControlNode node;
    node.a = node.d = RowPlace{0, counter, {}};
    node.b = RowPlace{0, kOnes, {}};
    return node;
  }

  ControlBody body(uint32_t depth) {
    ControlBody out;
    for (uint32_t i = 1 + draw(3); i != 0; i--) {
      const uint32_t kind = depth == 3 || steps > 14 ? 0 : draw(5);
      ControlNode node;
      if (kind <= 1) {
        node = step();
      } else if (kind == 2) {
        node.kind = ControlNode::Kind::kLoop;
        node.turns = 1 + draw(4);
        open.push_back({node.turns});
        node.body = body(depth + 1);
        open.pop_back();
      } else if (kind == 3 && counters < kCounters) {
        const uint32_t counter = counters++;
        node.kind = ControlNode::Kind::kWhile;
        node.turns = draw(2) == 0 ? 0 : 1 + draw(4);
        node.word = RowPlace{0, counter, {}};
        node.compare = draw(2) == 0 ? WEFT_CONTROL_CONDITION_LESS : WEFT_CONTROL_CONDITION_NOT_EQUAL;
        node.value = static_cast<int32_t>(1 + draw(5));
        open.push_back({node.turns});
        node.body = body(depth + 1);
        node.body.push_back(count(counter));
        open.pop_back();
      } else {
        node.kind = ControlNode::Kind::kIf;
        node.word = place();
        node.compare = static_cast<weft_control_condition>(WEFT_CONTROL_CONDITION_EQUAL + draw(4));
        node.value = static_cast<int32_t>(draw(7)) - 3;
        node.body = body(depth + 1);
        if (draw(2) == 0) node.otherwise = body(depth + 1);
      }
      out.push_back(std::move(node));
    }
    return out;
  }
};

}  // namespace

ControlProgram random_control_program(const spec::Chip& chip, uint64_t seed) {
  ControlProgram program;
  program.n = static_cast<uint32_t>(chip.n);
  Drawer drawer{.program = program, .random = std::mt19937_64(seed)};
  program.arguments = 2 + drawer.draw(4);
  program.rows = 10 + drawer.draw(6);
  program.body = drawer.body(0);
  return program;
}

ControlData random_control_data(const ControlProgram& program, uint64_t seed) {
  std::mt19937_64 random(seed);
  ControlData data(program.arguments, std::vector<int32_t>(size_t{program.rows} * program.n));
  for (size_t i = 1; i < data.size(); i++)
    for (int32_t& value : data[i]) value = static_cast<int32_t>(random() % 9) - 4;
  for (uint32_t lane = 0; lane < program.n; lane++) data[0][kOnes * program.n + lane] = 1;
  return data;
}

}  // namespace weft::test
