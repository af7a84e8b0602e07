// Blocks of a control list. Segments 3 and 4 are those of collectives, the following ones those of device programs.
#include "host/compiler/sequence/sequence_kernel.hpp"

#include <algorithm>

#include "host/compiler/executable/kernel_blocks.hpp"
#include "host/compiler/lower.hpp"
#include "host/compiler/tiles/resident_program.hpp"
#include "host/compiler/tiles/step_places.hpp"

namespace weft::compiler {
namespace {

constexpr uint8_t kFirstArgument = 3, kFirstPlace = 5;
constexpr uint32_t kWritable = WEFT_EXECUTABLE_CONTROL_READABLE | WEFT_EXECUTABLE_CONTROL_WRITABLE;
constexpr uint32_t kInputs = 0, kResults = 1;  // arguments

uint8_t segment_of(SequenceMemory memory) { return static_cast<uint8_t>(kFirstPlace + static_cast<uint8_t>(memory)); }

/// Of a program whose inputs lie in one argument and whose outputs in another one.
class Moving {
 public:
  Moving(const Program& program, const SequenceStep& step) : program_(program) {
    places_ = step.inputs;
    places_.insert(places_.end(), step.outputs.begin(), step.outputs.end());
  }
  /// To where its tensor lies in the sequence.
  void move(TensorPlace& place) const {
    if (place.segment < kFirstArgument) return;
    for (size_t i = 0; i < places_.size(); i++) {
      const ArgumentPlace& from = program_.places[i];
      if (from.argument + kFirstArgument != place.segment || place.offset_bytes < from.offset_bytes ||
          place.offset_bytes >= from.offset_bytes + from.size_bytes)
        continue;
      place.offset_bytes += places_[i].offset_bytes - from.offset_bytes;
      place.segment = segment_of(places_[i].memory);
      return;
    }
  }

 private:
  const Program& program_;
  std::vector<SequencePlace> places_;
};

Result<Program> lower_placed(const spec::Chip& chip, const SequenceStep& step) {
  auto lowered = lower(chip, *step.graph, Arguments::kOne);
  if (!lowered.ok()) return lowered;
  Program& program = lowered.value();
  const Moving moving(program, step);
  for (Step& one : program.steps) {
    for (const auto& operand : tiles::operands_of(one)) moving.move(*operand.place);
    if (TensorPlace* result = tiles::result_of(one)) moving.move(*result);
  }
  program.arguments.clear();
  return lowered;
}

class SequenceBuilder {
 public:
  SequenceBuilder(const spec::Chip& chip, const Sequence& sequence, const Overlap& overlap, const DeviceSlice& slice,
                  size_t device)
      : chip_(chip),
        sequence_(sequence),
        overlap_(overlap),
        slice_(slice),
        device_(device),
        number_(slice.chips.at(device)) {}

  Result<Kernel> run(const std::string& name, const std::vector<Kernel>& programs, size_t& refused) {
    Kernel& kernel = blocks_.kernel();
    kernel.name = name;
    kernel.arguments = {argument("inputs", WEFT_ARGUMENT_DIRECTION_INPUT, sequence_.input_bytes),
                        argument("results", WEFT_ARGUMENT_DIRECTION_OUTPUT, sequence_.result_bytes)};
    std::vector<KernelBlocks::Added> added;
    for (size_t i = 0; i < overlap_.stages.size(); i++) {
      const SequenceStage& stage = overlap_.stages[i];
      refused = stage.program ? *stage.program : *stage.collective;
      kernel.cycle_estimate += programs[refused].cycle_estimate;
      kernel.macs += programs[refused].macs;
      if (const auto pair = overlap_.pairs.find(i); pair != overlap_.pairs.end()) {
        const SequencePair& p = pair->second;
        added.push_back(blocks_.add(beside(chip_, p.program, p.of_program, p.collectives[device_],
                                           p.of_collectives[device_], p.hidden, p.place)));
        continue;
      }
      if (stage.program) {
        added.push_back(blocks_.add(programs[refused]));
        continue;
      }
      auto collective = compile_collective(chip_, slice_.shape, number_, sequence_.steps[refused].collective);
      if (!collective.ok()) return collective.error();
      added.push_back(blocks_.add(std::move(collective.value())));
    }
    between_ = block_aligned(kernel.scratch_bytes);
    kernel.scratch_bytes = between_ + sequence_.between_bytes;
    bind_places();
    for (size_t i = 0; i < added.size(); i++) {
      auto windows = added[i].windows;
      if (const auto collective = overlap_.stages[i].collective) {
        const SequenceStep& step = sequence_.steps[*collective];
        windows.push_back({kFirstArgument, window(step.inputs[0]), WEFT_EXECUTABLE_CONTROL_READABLE});
        windows.push_back({kFirstArgument + 1u, window(step.outputs[0]), kWritable});
      }
      if (!windows.empty()) blocks_.list().bind(windows);
      blocks_.list().run(added[i].block);
    }
    return blocks_.finish();
  }

 private:
  static Argument argument(const char* name, weft_argument_direction direction, uint64_t bytes) {
    const uint64_t size = std::max<uint64_t>(bytes, block_aligned(1));
    return {name, WEFT_ARGUMENT_DTYPE_F32, WEFT_ARGUMENT_LAYOUT_ROWS, direction, 1, size / 4, size, size};
  }

  [[nodiscard]] Window window(const SequencePlace& place) const {
    const bool between = place.memory == SequenceMemory::kBetween;
    return {.argument = between                                   ? WEFT_EXECUTABLE_CONTROL_SCRATCH
                        : place.memory == SequenceMemory::kInputs ? kInputs
                                                                  : kResults,
            .offset_bytes = place.offset_bytes + (between ? between_ : 0),
            .size_bytes = block_aligned(place.size_bytes)};
  }

  /// What device programs read and write stays where it is from the first one to the last.
  void bind_places() {
    std::vector<SegmentWindow> windows;
    const auto bind = [&](SequenceMemory memory, uint64_t bytes, uint32_t access) {
      if (bytes != 0) windows.push_back({segment_of(memory), window({memory, 0, bytes}), access});
    };
    bind(SequenceMemory::kInputs, sequence_.input_bytes, WEFT_EXECUTABLE_CONTROL_READABLE);
    bind(SequenceMemory::kResults, sequence_.result_bytes, kWritable);
    bind(SequenceMemory::kBetween, sequence_.between_bytes, kWritable);
    blocks_.list().bind(windows);
  }

  const spec::Chip& chip_;
  const Sequence& sequence_;
  const Overlap& overlap_;
  const DeviceSlice& slice_;
  const size_t device_;
  const uint32_t number_;
  KernelBlocks blocks_;
  uint64_t between_ = 0;  ///< where values between parts begin in scratch memory
};

}  // namespace

Result<Kernel> compile_step(const spec::Chip& chip, const SequenceStep& step, unsigned semaphores_left) {
  auto program = lower_placed(chip, step);
  if (!program.ok()) return program.error();
  program.value().semaphores_left = semaphores_left;
  return tiles::compile_fitting(chip, program.value());
}

Result<std::vector<Kernel>> compile_sequence_programs(const spec::Chip& chip, const Sequence& sequence,
                                                      size_t& refused) {
  std::vector<Kernel> kernels;
  for (const SequenceStep& step : sequence.steps) {
    refused = kernels.size();
    kernels.emplace_back();
    if (!step.graph) continue;
    auto kernel = compile_step(chip, step);
    if (!kernel.ok()) return kernel.error();
    kernels.back() = std::move(kernel.value());
  }
  return kernels;
}

Result<Kernel> sequence_kernel(const spec::Chip& chip, const std::string& name, const Sequence& sequence,
                               const std::vector<Kernel>& programs, const Overlap& overlap, const DeviceSlice& slice,
                               size_t device, size_t& refused) {
  return SequenceBuilder(chip, sequence, overlap, slice, device).run(name, programs, refused);
}

}  // namespace weft::compiler
