// Three pieces on the same VMEM: what is before the loop, a turn, what is behind. Values that go from one to another have
// fixed places. Between pieces everything waits for everything, by semaphores: all blocks of the list overlap, so that
// none waits for the firmware.
#include "host/compiler/tiles/looped_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "host/compiler/command_graph/accesses.hpp"
#include "host/compiler/command_graph/assemble.hpp"
#include "host/compiler/command_graph/synchronization.hpp"
#include "host/compiler/tiles/fused_epilogues.hpp"
#include "host/compiler/tiles/repeated_steps.hpp"
#include "host/compiler/tiles/step_tiles.hpp"

namespace weft::compiler::tiles {
namespace {

using command_graph::BufferSpace;
using command_graph::kFirstGateSemaphore;
using command_graph::kNoBuffer;

constexpr uint8_t kScratch = 2, kFirstArgument = 3;
constexpr unsigned kMostTried = 2;          // loops that a program might be
constexpr size_t kMostTurnCommands = 8192;  // several turns are ordered and synchronized

/// What is before has ended; queues of what is behind may begin.
constexpr uint8_t kDone = kFirstGateSemaphore, kVpuBegins = kFirstGateSemaphore + 1,
                  kMxuBegins = kFirstGateSemaphore + 2, kLoadsBegin = kFirstGateSemaphore + 3;

Error unsupported(const Program& program, const std::string& why) {
  return {WEFT_ERROR_UNSUPPORTED, fmt::format("{}: {}", program.name, why)};
}

/// Words of VMEM that all pieces have in the same place.
class FixedWords {
 public:
  /// A new buffer of the graph in a new place.
  BufferId add(CommandGraph& graph, uint64_t words) {
    const BufferId buffer = graph.add_buffer(BufferSpace::kVmem, words);
    fix(graph, buffer);
    return buffer;
  }
  void fix(CommandGraph& graph, BufferId buffer) {
    const uint64_t words = graph.buffers()[command_graph::index_of(buffer)].size;
    graph.fix(buffer, next_);
    places_.emplace_back(next_, words);
    next_ += (words + 1) / 2 * 2;
  }
  /// A buffer in the place that another one has in its graph.
  static BufferId again(const CommandGraph& of, BufferId buffer, CommandGraph& graph) {
    const auto& other = of.buffers()[command_graph::index_of(buffer)];
    const BufferId same = graph.add_buffer(BufferSpace::kVmem, other.size);
    graph.fix(same, *other.word);
    return same;
  }
  /// Nothing of the graph lies in any of the places but what is put there.
  void reserve(CommandGraph& graph) const {
    for (const auto& [word, words] : places_) graph.fix(graph.add_buffer(BufferSpace::kVmem, words), word);
  }

 private:
  uint64_t next_ = 0;
  std::vector<std::pair<uint64_t, uint64_t>> places_;
};

bool same_form(const Matrix& a, const Matrix& b) {
  return a.rows == b.rows && a.columns == b.columns && a.dtype == b.dtype && a.row_words == b.row_words &&
         a.block_words == b.block_words && a.row_chunks == b.row_chunks;
}

class LoopedProgram {
 public:
  LoopedProgram(const spec::Chip& chip, const Program& program, LoopedSteps& loop)
      : chip_(chip),
        program_(program),
        loop_(loop),
        builder_(chip),
        before_(chip),
        body_(chip),
        after_(chip),
        tag_(builder_.tag("between loop and blocks")) {}

  Result<Kernel> run() {
    if (loop_.window_segment >= WEFT_SEGMENTS) return unsupported(program_, "no segment is left for a loop");
    if (auto status = lay_before(); !status.ok()) return status.error();
    if (auto status = lay_body(); !status.ok()) return status.error();
    lay_after();
    // The turn first: it tells what the others post and take.
    auto turn = command_graph::assemble_turn(body_, builder_);
    if (!turn.ok()) return turn.error();
    credits_ = turn.value().credits;
    if (auto status = command_graph::assemble(before_, builder_); !status.ok()) return status.error();
    post_credits();
    Block before = builder_.take_block();
    take_credits();
    if (auto status = command_graph::assemble(after_, builder_); !status.ok()) return status.error();
    Block after = builder_.take_block();
    wait_at_gates(after);
    Kernel kernel = builder_.kernel(program_.name);
    kernel.arguments = program_.arguments;
    kernel.constants = std::move(loop_.constants);
    for (const auto& names : loop_.names) {
      auto& turn_names = kernel.turn_names.emplace_back();
      for (size_t i = 0; i < names.size(); i++)
        if (names[i] != loop_.names[0][i]) turn_names.emplace(loop_.names[0][i], names[i]);
    }
    auto control = list_of(std::move(before), std::move(turn.value().commands), std::move(after));
    if (!control.ok()) return control.error();
    kernel.control = std::move(control.value());
    return kernel;
  }

 private:
  /// What the commands of a gate write. Each has words of its own: a queue without commands in a turn does not wait for
  /// those of another gate.
  struct Gate {
    BufferId word = kNoBuffer, load_word = kNoBuffer;
  };
  /// A value that lies in the same place in two pieces or three.
  struct Kept {
    Matrix value;  ///< on buffers of before_
    TensorPlace place;
    const Carry* carry = nullptr;
  };

  Status lay_before() {
    end_ = fixed_.add(before_, 2);
    for (Gate* gate : {&gate_before_, &gate_after_})
      gate->word = fixed_.add(before_, 2), gate->load_word = fixed_.add(before_, 2);
    StepTiles tiles(before_, builder_, loop_.before);
    for (const Carry& carry : loop_.carries) tiles.leaves(carry.initial);
    for (const TensorPlace& place : loop_.kept) tiles.leaves(place);
    for (const Step& step : loop_.before) tiles.add(step, false);
    std::map<uint64_t, Matrix> kept;
    for (const Carry& carry : loop_.carries) {
      const Matrix* value = tiles.value(carry.initial);
      if (carry.initial.segment != kScratch || value == nullptr)
        value = &tiles.load_all(carry.initial, carry.rows, carry.columns, carry.dtype);
      kept_.push_back({*value, carry.in, &carry});
    }
    for (const TensorPlace& place : loop_.kept) {
      const Matrix* value = tiles.value(place);
      if (value == nullptr) return unsupported(program_, "a value from before a loop is not there");
      kept_.push_back({*value, place});
    }
    for (Kept& kept_value : kept_) {
      kept_value.value.source.reset();
      for (const BufferId buffer : kept_value.value.chunks) {
        if (before_.buffers()[command_graph::index_of(buffer)].word)
          return unsupported(program_, "a loop begins with a value in two places");
        fixed_.fix(before_, buffer);
      }
    }
    add_gate(before_, gate_before_);
    return Ok{};
  }

  /// The same value in another piece.
  Matrix again(const Matrix& value, CommandGraph& graph) const {
    Matrix same = value;
    for (BufferId& buffer : same.chunks) buffer = FixedWords::again(before_, buffer, graph);
    return same;
  }

  Status lay_body() {
    fixed_.reserve(body_);
    StepTiles tiles(body_, builder_, loop_.body);
    tiles.begin_behind_product();
    std::vector<Matrix> in;
    for (const Kept& kept : kept_) {
      in.push_back(again(kept.value, body_));
      tiles.keep(kept.place, in.back());
    }
    const auto work = builder_.work();
    for (const Carry& carry : loop_.carries) tiles.leaves(carry.out);
    for (const Step& step : loop_.body) tiles.add(step, false);
    builder_.note_again(work, loop_.turns - 1);
    if (body_.commands().size() > kMostTurnCommands) return unsupported(program_, "a layer of too many commands");
    for (size_t i = 0; i < kept_.size(); i++) {
      if (kept_[i].carry == nullptr) continue;
      const Matrix* const out = tiles.value(kept_[i].carry->out);
      if (out == nullptr || out->source || !same_form(in[i], *out))
        return unsupported(program_, "a layer's result does not lie as the next one reads it");
      for (size_t chunk = 0; chunk < out->chunks.size(); chunk++) {
        if (!follows(in[i].chunks[chunk], out->chunks[chunk]))
          return unsupported(program_, "a layer's result is computed while its operand is read");
        body_.replace(out->chunks[chunk], in[i].chunks[chunk]);
      }
    }
    return Ok{};
  }

  /// In the graph's order no word of `first` is touched behind the command that touches the same word of `then`.
  [[nodiscard]] bool follows(BufferId first, BufferId then) const {
    const auto& buffer = body_.buffers()[command_graph::index_of(then)];
    if (first == then || buffer.word) return false;
    constexpr uint32_t kNever = UINT32_MAX;
    std::vector<uint32_t> touched(buffer.size, kNever);
    bool holds = true;
    for (uint32_t i = 0; i < body_.commands().size(); i++) {
      const auto& command = body_.commands()[i];
      if (command.a != first && command.b != first && command.kept != first && command.a != then && command.b != then &&
          command.d != then && command.kept != then)
        continue;
      command_graph::for_each_access(chip_, command, [&](const command_graph::Access& access) {
        for (uint64_t w = access.first; w < std::min<uint64_t>(access.first + access.count, buffer.size); w++) {
          if (access.buffer == then) touched[w] = std::min(touched[w], i);
          if (access.buffer == first && (touched[w] < i || (command.d == then && !in_place(command, first))))
            holds = false;
        }
      });
    }
    return holds;
  }
  /// Row by row it reads no other words of `operand` than those that it writes then.
  [[nodiscard]] static bool in_place(const command_graph::GraphCommand& command, BufferId operand) {
    const auto* c = std::get_if<spec::VpuCommand>(&command.body);
    if (c == nullptr || c->src_dtype != c->dst_dtype) return false;
    const bool residual = c->b_mode == WEFT_VPU_B_MODE_RESIDUAL && command.kept != operand;
    if (c->header.opcode != WEFT_OPCODE_ELEMENTWISE && c->header.opcode != WEFT_OPCODE_EPILOGUE) return false;
    const bool a = command.a != operand || (c->a_addr == c->d_addr && c->a_stride == c->d_stride);
    const bool b = command.b != operand || ((c->b_mode == WEFT_VPU_B_MODE_TENSOR || residual) &&
                                            c->b_addr == c->d_addr && c->b_stride == c->d_stride);
    return a && b;
  }

  void lay_after() {
    fixed_.reserve(after_);
    add_gate(after_, {FixedWords::again(before_, gate_after_.word, after_),
                      FixedWords::again(before_, gate_after_.load_word, after_)});
    StepTiles tiles(after_, builder_, loop_.after);
    for (const Kept& kept : kept_) {
      const TensorPlace& place = kept.carry == nullptr ? kept.place : kept.carry->left;
      const Matrix value = again(kept.value, after_);
      if (kept.carry != nullptr && place.segment != kScratch) tiles.store(value, place, kept.carry->name);
      tiles.keep(place, value);
    }
    for (size_t i = 0; i < loop_.after.size(); i++) tiles.add(loop_.after[i], i + 1 == loop_.after.size());
  }

  /// Reads nothing, writes two words.
  [[nodiscard]] spec::VpuCommand gate_command() const {
    spec::VpuCommand c;
    c.header.opcode = WEFT_OPCODE_ELEMENTWISE;
    c.header.tag = tag_;
    c.op = WEFT_VPU_OP_IOTA;
    c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_I32;
    c.rows = c.cols = 1;
    return c;
  }

  /// Commands, one in each queue, that start when all before them in the graph has ended, and those behind them then.
  void add_gate(CommandGraph& graph, const Gate& gate) const {
    graph.vector(gate_command(), kNoBuffer, kNoBuffer, gate.word);
    graph.fence();
    spec::MxuCommand product;
    product.header.opcode = WEFT_OPCODE_MATMUL;
    product.header.tag = tag_;
    product.x_row_stride = product.x_tile_stride = product.w_tile_stride = 1;
    product.k = product.m = product.cols = 1;
    product.seed = WEFT_MXU_SEED_ZERO;
    product.dtype = WEFT_MXU_DTYPE_BF16;
    graph.product(product, gate.word, gate.word, graph.add_buffer(BufferSpace::kAcc, 1));
    graph.fence();
    spec::DmaCommand fill;
    fill.header.opcode = WEFT_OPCODE_FILL;
    fill.header.tag = tag_;
    fill.size0 = chip_.word_bytes;
    graph.load(fill, gate.load_word);
    graph.fence();
  }

  void sync(weft_opcode opcode, const std::vector<std::pair<uint8_t, uint16_t>>& semaphores) {
    for (size_t i = 0; i < semaphores.size(); i += 2) {
      spec::NoneCommand command;
      command.header.opcode = static_cast<uint8_t>(opcode);
      command.header.tag = tag_;
      for (size_t j = i; j < std::min(i + 2, semaphores.size()); j++)
        if (opcode == WEFT_OPCODE_WAIT)
          ProgramBuilder::wait(command.header, semaphores[j].first, semaphores[j].second);
        else
          ProgramBuilder::post(command.header, semaphores[j].first, semaphores[j].second);
      builder_.push(WEFT_QUEUE_SYNC, spec::encode(command));
    }
  }
  [[nodiscard]] std::vector<std::pair<uint8_t, uint16_t>> credits() const {
    std::vector<std::pair<uint8_t, uint16_t>> all;
    for (uint8_t s = 0; s < WEFT_SEMAPHORES; s++)
      if (credits_[s] != 0) all.emplace_back(s, credits_[s]);
    return all;
  }

  /// When the last gate has been passed, all semaphores are 0 but that which it posts.
  void post_credits() {
    builder_.post_behind_last(WEFT_QUEUE_DMA_IN, kDone);
    sync(WEFT_OPCODE_WAIT, {{kDone, 1}});
    sync(WEFT_OPCODE_SIGNAL, credits());
  }

  /// Behind the last turn: the vector unit has read what everybody has made, and it works in order.
  void take_credits() {
    auto end = gate_command();
    end.d_addr = static_cast<uint32_t>(*before_.buffers()[command_graph::index_of(end_)].word);
    ProgramBuilder::post(end.header, kDone, 1);
    builder_.push(WEFT_QUEUE_VPU, spec::encode(end));
    sync(WEFT_OPCODE_WAIT, {{kDone, 1}});
    sync(WEFT_OPCODE_WAIT, credits());
    sync(WEFT_OPCODE_SIGNAL, {{kVpuBegins, 1}, {kMxuBegins, 1}, {kLoadsBegin, 1}});
  }
  /// Queues with commands in a turn do not take what that has left: after_ begins with gates, that of the vector unit
  /// behind the command that take_credits() has pushed. Nothing in a turn posts to dma_out.
  static void wait_at_gates(Block& after) {
    wait_at(after[WEFT_QUEUE_VPU].at(1), kVpuBegins);
    wait_at(after[WEFT_QUEUE_MXU].at(0), kMxuBegins);
    wait_at(after[WEFT_QUEUE_DMA_IN].at(0), kLoadsBegin);
  }
  static void wait_at(spec::Command& command, uint8_t semaphore) {
    auto header = spec::decode_header(command);
    ProgramBuilder::wait(header, semaphore, 1);
    spec::encode_into(command, header);
  }

  [[nodiscard]] Result<Control> list_of(Block before, Block turn, Block after) const {
    ControlListBuilder list;
    const uint16_t first = list.add_block(std::move(before)), body = list.add_block(std::move(turn)),
                   last = list.add_block(std::move(after));
    const Loop loop = list.new_loop();
    std::vector<SegmentWindow> windows;
    for (uint32_t i = 0; i < program_.arguments.size(); i++)
      windows.push_back({kFirstArgument + i,
                         {.argument = i, .size_bytes = program_.arguments[i].size_bytes},
                         program_.arguments[i].direction == WEFT_ARGUMENT_DIRECTION_INPUT
                             ? uint32_t{WEFT_EXECUTABLE_CONTROL_READABLE}
                             : WEFT_EXECUTABLE_CONTROL_READABLE | WEFT_EXECUTABLE_CONTROL_WRITABLE});
    if (loop_.window_bytes != 0)
      windows.push_back({loop_.window_segment,
                         {.argument = WEFT_EXECUTABLE_CONTROL_CONSTANTS,
                          .offset_bytes = loop_.window_offset,
                          .size_bytes = loop_.window_bytes,
                          .strides = {{loop, static_cast<int64_t>(loop_.window_bytes)}}}});
    list.bind(windows);
    list.run(first);
    list.begin_loop(loop, loop_.turns);
    list.run(body, true);
    list.end();
    list.run(last, true);
    return list.finish();
  }

  const spec::Chip& chip_;
  const Program& program_;
  LoopedSteps& loop_;  ///< its constants are taken
  ProgramBuilder builder_;
  CommandGraph before_, body_, after_;
  FixedWords fixed_;
  BufferId end_ = kNoBuffer;  ///< what take_credits() writes
  Gate gate_before_, gate_after_;
  std::vector<Kept> kept_;
  std::array<uint16_t, WEFT_SEMAPHORES> credits_{};
  const uint16_t tag_;
};

}  // namespace

Result<Kernel> compile_looped(const spec::Chip& chip, const Program& unfused) {
  const Program program = with_fused_epilogues(unfused);
  if (program.barrier) return unsupported(program, "chips that send each other data run no loop");
  Error first = unsupported(program, "it has no equal layers");
  unsigned tried = 0;
  for (const Repetition& repetition : repetitions(program))
    for (const uint32_t layers_of_turn : {1u, 2u}) {
      if (tried == kMostTried) return first;
      auto loop = loop_of(program, repetition, layers_of_turn);
      if (!loop) continue;
      auto kernel = LoopedProgram(chip, program, *loop).run();
      if (kernel.ok()) return kernel;
      if (tried++ == 0) first = kernel.error();
    }
  return first;
}

}  // namespace weft::compiler::tiles
