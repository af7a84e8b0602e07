// One launch of all chips at a time, on programs and buffers of its own.
#include "host/runtime/slice_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "host/runtime/chip_set.hpp"
#include "host/runtime/open_chips.hpp"
#include "weft/weft.h"

namespace weft::runtime {
namespace {

/// Of one chip, for one launch.
struct Launch {
  ProgramHandle program;
  std::vector<BufferHandle> buffers;  ///< an argument that is behind them lies in the last one
  EventHandle event;

  [[nodiscard]] const BufferHandle& buffer(size_t argument) const {
    return buffers[std::min(argument, buffers.size() - 1)];
  }
};

/// The program, and its arguments in fresh HBM. `in_place`: all in the memory of the first one.
Result<Launch> prepare(const ChipSet& chips, uint32_t number, const compiler::Kernel& kernel,
                       const ChipInputs& arguments, Payload payload, bool in_place) {
  if (arguments.size() > kernel.arguments.size())
    return Error{WEFT_ERROR_INVALID_ARGUMENT, fmt::format("chip {}: {} arguments, and its kernel has {}", number,
                                                          arguments.size(), kernel.arguments.size())};
  Launch launch;
  auto program = chips.load(number, kernel);
  if (!program.ok()) return program.error();
  launch.program = std::move(program.value());
  for (size_t i = 0; i < std::min<size_t>(kernel.arguments.size(), in_place ? 1 : SIZE_MAX); i++) {
    const uint64_t room = kernel.arguments[i].size_bytes;
    std::span<const std::byte> data;
    if (i < arguments.size()) data = arguments[i];
    if (data.size() > room)
      return Error{WEFT_ERROR_INVALID_ARGUMENT, fmt::format("chip {}: {} bytes for argument '{}', which has {}", number,
                                                            data.size(), kernel.arguments[i].name, room)};
    std::vector<std::byte> filled_up;
    if (data.size() < room && payload == Payload::kArrays) {
      filled_up.assign(data.begin(), data.end());
      filled_up.resize(room);
      data = filled_up;
    }
    auto memory = chips.buffer(number, WEFT_MEMORY_HBM, room);
    if (!memory.ok()) return memory.error();
    if (payload == Payload::kArrays)
      if (auto status = chips.write(number, memory.value(), 0, data); !status.ok()) return status.error();
    launch.buffers.push_back(std::move(memory.value()));
  }
  return launch;
}

/// Bytes of the outputs among its arguments.
Result<ChipArguments> results(const ChipSet& chips, uint32_t number, const compiler::Kernel& kernel,
                              const Launch& launch) {
  ChipArguments out(kernel.arguments.size());
  for (size_t i = 0; i < out.size(); i++) {
    if (kernel.arguments[i].direction != WEFT_ARGUMENT_DIRECTION_OUTPUT) continue;
    auto data = chips.read(number, launch.buffer(i), 0, kernel.arguments[i].size_bytes);
    if (!data.ok()) return data.error();
    out[i] = std::move(data.value());
  }
  return out;
}

Status start(const ChipSet& chips, uint32_t number, size_t count, Launch& launch) {
  weft_kernel* kernel = nullptr;
  if (const auto status = weft_program_get_kernel(launch.program.get(), 0, &kernel); status != WEFT_ERROR_OK)
    return chips.error(number, status);
  std::vector<weft_argument> arguments;
  for (size_t i = 0; i < count; i++) arguments.push_back({launch.buffer(i).get(), 0});
  weft_event* event = nullptr;
  if (const auto status = weft_launch(chips.queue(number), kernel, arguments.data(),
                                      static_cast<uint32_t>(arguments.size()), nullptr, &event);
      status != WEFT_ERROR_OK)
    return chips.error(number, status);
  launch.event.reset(event);
  return Ok{};
}

}  // namespace

struct SliceSession::State {
  ChipSet chips;
};

SliceSession::SliceSession(std::unique_ptr<State> state) : state_(std::move(state)) {}
SliceSession::SliceSession(SliceSession&&) noexcept = default;
SliceSession& SliceSession::operator=(SliceSession&&) noexcept = default;
SliceSession::~SliceSession() = default;

const compiler::SliceShape& SliceSession::shape() const { return state_->chips.shape(); }
const spec::Chip& SliceSession::chip() const { return state_->chips.chip(); }
uint64_t SliceSession::link_bytes_per_second() const { return state_->chips.link_bytes_per_second(); }
const ChipSet& SliceSession::chips() const { return state_->chips; }

Result<SliceSession> SliceSession::open(const std::string& name) {
  auto chips = ChipSet::open_slice(name);
  if (!chips.ok()) return chips.error();
  return SliceSession(std::make_unique<State>(State{std::move(chips.value())}));
}

Result<SliceResult> SliceSession::run(const std::vector<compiler::Kernel>& kernels,
                                      const std::vector<ChipInputs>& arguments, Payload payload, bool in_place) {
  const uint32_t chips = state_->chips.chips();
  if (kernels.size() != chips || arguments.size() != chips)
    return Error{WEFT_ERROR_INVALID_ARGUMENT,
                 fmt::format("{} kernels and arguments of {} for {} chips", kernels.size(), arguments.size(), chips)};
  return run(
      kernels, [&](uint32_t number) { return arguments[number]; }, payload, in_place);
}

Result<SliceResult> SliceSession::run(const std::vector<compiler::Kernel>& kernels, const InputsOfChip& inputs,
                                      Payload payload, bool in_place) {
  ChipSet& chips = state_->chips;
  if (kernels.size() != chips.chips())
    return Error{WEFT_ERROR_INVALID_ARGUMENT, fmt::format("{} kernels for {} chips", kernels.size(), chips.chips())};
  std::vector<Launch> launches;
  for (uint32_t number = 0; number < kernels.size(); number++) {
    auto launch = is_idle(kernels[number]) ? Result<Launch>(Launch{})
                                           : prepare(chips, number, kernels[number], inputs(number), payload, in_place);
    if (!launch.ok()) return launch.error();
    launches.push_back(std::move(launch.value()));
  }
  if (auto status = chips.hold(); !status.ok()) return status.error();
  std::optional<Error> failure;
  for (uint32_t number = 0; number < launches.size() && !failure; number++)
    if (launches[number].program != nullptr)
      if (auto status = start(chips, number, kernels[number].arguments.size(), launches[number]); !status.ok())
        failure = status.error();
  if (auto status = chips.resume(); !status.ok()) return status.error();

  SliceResult result;
  for (uint32_t number = 0; number < launches.size(); number++) {
    if (launches[number].event == nullptr) continue;
    const auto status = weft_event_wait(launches[number].event.get(), nullptr);
    if (status != WEFT_ERROR_OK && !failure) failure = chips.error(number, status);
    weft_event_info info = WEFT_INIT(weft_event_info);
    (void)!weft_event_query(launches[number].event.get(), &info);
    result.start_cycle.push_back(info.start_cycle);
    result.end_cycle.push_back(info.end_cycle);
  }
  if (failure) return *failure;
  if (payload == Payload::kNone) return result;
  for (uint32_t number = 0; number < launches.size(); number++) {
    auto outputs = results(chips, number, kernels[number], launches[number]);
    if (!outputs.ok()) return outputs.error();
    result.outputs.push_back(std::move(outputs.value()));
  }
  return result;
}

Result<CollectiveKernels> compile_collectives(const SliceSession& session, const compiler::Collective& collective) {
  CollectiveKernels out;
  for (uint32_t number = 0; number < session.shape().chips(); number++) {
    if (!compiler::takes_part(collective, number)) {
      out.kernels.emplace_back();
      continue;
    }
    auto kernel = compiler::compile_collective(session.chip(), session.shape(), number, collective);
    if (!kernel.ok()) return kernel.error();
    out.kernels.push_back(std::move(kernel.value()));
    out.in_place = out.in_place && compiler::works_in_place(session.chip(), session.shape(), number, collective);
  }
  return out;
}

Result<SliceResult> run_collective(SliceSession& session, const CollectiveKernels& collective,
                                   const InputsOfChip& inputs, Payload payload) {
  const auto given = [&](uint32_t number) {
    const bool none = payload == Payload::kNone || collective.kernels[number].arguments.empty();
    return none ? ChipInputs{} : inputs(number);
  };
  return session.run(collective.kernels, given, payload, collective.in_place);
}

Result<SliceResult> run_collective(SliceSession& session, const compiler::Collective& collective,
                                   const std::vector<std::vector<std::byte>>& inputs, Payload payload) {
  const uint32_t chips = session.shape().chips();
  if (payload == Payload::kArrays && inputs.size() != chips)
    return Error{WEFT_ERROR_INVALID_ARGUMENT, fmt::format("inputs of {} for {} chips", inputs.size(), chips)};
  const auto kernels = compile_collectives(session, collective);
  if (!kernels.ok()) return kernels.error();
  return run_collective(
      session, kernels.value(), [&](uint32_t number) { return ChipInputs{std::span(inputs[number])}; }, payload);
}

}  // namespace weft::runtime
