// The state lies in two places, the results of the launch and scratch: a turn reads it in one and writes it in the other.
#include "host/compiler/executable/loop_kernel.hpp"

#include <algorithm>

#include "host/compiler/executable/kernel_blocks.hpp"
#include "host/compiler/tiles/resident_program.hpp"

namespace weft::compiler {
namespace {

constexpr uint32_t kFirstArgument = 3;
constexpr uint32_t kReadable = WEFT_EXECUTABLE_CONTROL_READABLE,
                   kWritable = WEFT_EXECUTABLE_CONTROL_READABLE | WEFT_EXECUTABLE_CONTROL_WRITABLE;

/// A slice of an argument of the launch.
struct MovingWindow {
  uint32_t segment = 0, argument = 0;
  LoopWindow slice;
  uint64_t bytes = 0;
  uint32_t access = kReadable;
};

/// A block, and what its segments are bound to.
struct Piece {
  uint16_t block = 0;
  uint64_t state_bytes = 0, results_bytes = 0;
  uint32_t results_segment = 0;
  std::vector<SegmentWindow> fixed;  ///< constants, and what it reads whole beside the state
  std::vector<MovingWindow> slices;
};

/// Which turn a block computes: in turn t of the list's loop, if it is in one, first + 2 t.
struct Turn {
  uint64_t first = 0;
  std::optional<Loop> loop;
};

class LoopBuilder {
 public:
  LoopBuilder(const spec::Chip& chip, const LoopPrograms& loop) : chip_(chip), loop_(loop) {}

  Result<LoopKernel> run() {
    kernel_.name = loop_.turn.name;
    add_argument(loop_.turn.arguments.front(), "state");
    for (size_t i = 0; i < loop_.state; i++) add_place(0, loop_.turn.places[i]);
    auto turn = add_turn();
    if (!turn.ok()) return turn.error();
    std::optional<Piece> begin;
    if (loop_.begin) {
      auto piece = add(*loop_.begin, "begin reads", 0, 0);
      if (!piece.ok()) return piece.error();
      begin = std::move(piece.value());
    }
    add_results(turn.value());
    other_ = block_aligned(kernel_.scratch_bytes);
    kernel_.scratch_bytes = other_ + turn.value().results_bytes;
    if (begin)
      repeat_as_told(turn.value(), *begin);
    else
      repeat_counted(turn.value(), *loop_.turns);
    auto kernel = blocks_.finish();
    if (!kernel.ok()) return kernel.error();
    result_.kernel = std::move(kernel.value());
    return std::move(result_);
  }

 private:
  uint32_t add_argument(Argument argument, const std::string& name) {
    argument.name = name;
    kernel_.arguments.push_back(std::move(argument));
    return static_cast<uint32_t>(kernel_.arguments.size() - 1);
  }
  void add_place(uint32_t argument, const ArgumentPlace& place) {
    result_.places.push_back({argument, place.offset_bytes, place.size_bytes});
  }

  /// The argument that has all slices of argument `i` of a turn.
  MovingWindow add_slices(size_t i, const LoopWindow& slice, const std::string& name) {
    Argument all = loop_.turn.arguments[i];
    MovingWindow window{kFirstArgument + static_cast<uint32_t>(i), 0, slice, all.size_bytes};
    all.rows *= slice.slices, all.size_bytes *= slice.slices;
    result_.places.push_back({kernel_.arguments.size(), 0, all.size_bytes});
    window.argument = add_argument(std::move(all), name);
    return window;
  }

  Result<Piece> add_turn() {
    auto piece = add(loop_.turn, "turn reads", loop_.slices_read.size(), loop_.slices_stored.size());
    if (!piece.ok()) return piece;
    const size_t first = loop_.turn.arguments.size() - loop_.slices_stored.size() - 1 - loop_.slices_read.size();
    for (size_t i = 0; i < loop_.slices_read.size(); i++)
      piece.value().slices.push_back(add_slices(first + i, loop_.slices_read[i], "slices"));
    return piece;
  }

  void add_results(Piece& turn) {
    const size_t first = loop_.turn.arguments.size() - loop_.slices_stored.size();
    results_ = add_argument(loop_.turn.arguments[first - 1], "results");
    const size_t outputs = loop_.state + (loop_.turns ? 0 : 1) + loop_.slices_stored.size();
    for (size_t i = 0; i < loop_.state; i++)
      add_place(results_, loop_.turn.places[loop_.turn.places.size() - outputs + i]);
    for (size_t i = 0; i < loop_.slices_stored.size(); i++) {
      auto window = add_slices(first + i, loop_.slices_stored[i], "stored slices");
      window.access = kWritable;
      turn.slices.push_back(window);
    }
  }

  /// The program as a block, with what it reads whole as an argument of the launch. Its work is done once for each turn;
  /// of `begin` it does not count.
  Result<Piece> add(const Program& program, const char* reads, size_t slices_read, size_t slices_stored) {
    auto compiled = tiles::compile_fitting(chip_, program);
    if (!compiled.ok()) return compiled.error();
    Kernel& kernel = compiled.value();
    const size_t results = program.arguments.size() - 1 - slices_stored;
    Piece piece;
    piece.state_bytes = program.arguments.front().size_bytes;
    piece.results_bytes = program.arguments[results].size_bytes;
    piece.results_segment = kFirstArgument + static_cast<uint32_t>(results);
    if (results - slices_read == 2) {
      const uint32_t argument = add_argument(program.arguments[1], reads);
      piece.fixed.push_back(
          {kFirstArgument + 1, {.argument = argument, .size_bytes = program.arguments[1].size_bytes}});
      for (const auto& place : program.places)
        if (place.argument == 1) add_place(argument, place);
    }
    if (&program == &loop_.turn) {
      kernel_.cycle_estimate = kernel.cycle_estimate * loop_.turns.value_or(1);
      kernel_.macs = kernel.macs * loop_.turns.value_or(1);
    }
    auto added = blocks_.add(std::move(kernel));
    piece.block = added.block;
    piece.fixed.insert(piece.fixed.end(), added.windows.begin(), added.windows.end());
    return piece;
  }

  [[nodiscard]] Window initial() const { return {.argument = 0}; }
  [[nodiscard]] Window in_results() const { return {.argument = results_}; }
  [[nodiscard]] Window in_scratch() const {
    return {.argument = WEFT_EXECUTABLE_CONTROL_SCRATCH, .offset_bytes = other_};
  }

  void run(const Piece& piece, Window from, Window to, const Turn& turn = {}) {
    auto windows = piece.fixed;
    for (const MovingWindow& w : piece.slices) {
      const auto bytes = static_cast<int64_t>(w.bytes);
      const int64_t first = w.slice.first + w.slice.step * static_cast<int64_t>(turn.first);
      Window window{
          .argument = w.argument, .offset_bytes = static_cast<uint64_t>(first * bytes), .size_bytes = w.bytes};
      if (turn.loop) window.strides = {{*turn.loop, 2 * w.slice.step * bytes}};
      windows.push_back({w.segment, std::move(window), w.access});
    }
    from.size_bytes = piece.state_bytes, to.size_bytes = piece.results_bytes;
    windows.push_back({kFirstArgument, std::move(from)});
    windows.push_back({piece.results_segment, std::move(to), kWritable});
    list_.bind(windows);
    list_.run(piece.block);
  }

  /// The last turn writes the results.
  void repeat_counted(const Piece& turn, uint64_t turns) {
    const bool odd = turns % 2 == 1;
    run(turn, initial(), odd ? in_results() : in_scratch());
    if (!odd) run(turn, in_scratch(), in_results(), {1, {}});
    const uint64_t pairs = (turns - 1) / 2, done = odd ? 1 : 2;
    if (pairs == 0) return;
    const Loop loop = list_.new_loop();
    list_.begin_loop(loop, static_cast<uint32_t>(pairs));
    run(turn, in_results(), in_scratch(), {done, loop});
    run(turn, in_scratch(), in_results(), {done + 1, loop});
    list_.end();
  }

  /// A turn that ends in scratch is followed by another one or by a copy, so that the loop ends with its state in the
  /// results.
  void repeat_as_told(const Piece& turn, const Piece& begin) {
    const auto goes_on = [&](Window window) {
      window.offset_bytes += loop_.turn.places.back().offset_bytes;
      return Condition{.word = std::move(window), .compare = WEFT_CONTROL_CONDITION_NOT_EQUAL, .value = 0};
    };
    run(begin, initial(), in_results());
    list_.begin_while(list_.new_loop(), goes_on(in_results()));
    run(turn, in_results(), in_scratch());
    list_.begin_if(goes_on(in_scratch()));
    run(turn, in_scratch(), in_results());
    list_.otherwise();
    run(begin, in_scratch(), in_results());
    list_.end();
    list_.end();
  }

  const spec::Chip& chip_;
  const LoopPrograms& loop_;
  KernelBlocks blocks_;
  Kernel& kernel_ = blocks_.kernel();
  ControlListBuilder& list_ = blocks_.list();
  LoopKernel result_;
  uint32_t results_ = 0;  ///< argument
  uint64_t other_ = 0;    ///< where the state lies in scratch
};

}  // namespace

Result<LoopKernel> compile_loop(const spec::Chip& chip, const LoopPrograms& loop) {
  return LoopBuilder(chip, loop).run();
}

}  // namespace weft::compiler
