// One launch of all chips at a time, on programs and buffers of its own.
#include "host/runtime/slice_session.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "host/runtime/chip_set.hpp"
#include "weft/weft.h"

namespace weft::runtime {
namespace {

/// Of one chip, for one launch.
struct Launch {
  ProgramHandle program;
  std::vector<BufferHandle> buffers;
  EventHandle event;
};

/// The program, and its arguments in fresh HBM: the first one holds `input`, everything else is zero.
Result<Launch> prepare(const ChipSet& chips, uint32_t number, const compiler::Kernel& kernel,
                       const std::vector<std::byte>& input) {
  const uint64_t room = kernel.arguments.empty() ? 0 : kernel.arguments.front().size_bytes;
  if (input.size() > room)
    return Error{WEFT_ERROR_INVALID_ARGUMENT,
                 fmt::format("chip {}: an input of {} bytes: its argument has {}", number, input.size(), room)};
  Launch launch;
  auto program = chips.load(number, kernel);
  if (!program.ok()) return program.error();
  launch.program = std::move(program.value());
  for (size_t i = 0; i < kernel.arguments.size(); i++) {
    auto memory = chips.buffer(number, WEFT_MEMORY_HBM, kernel.arguments[i].size_bytes);
    if (!memory.ok()) return memory.error();
    auto data = i == 0 ? input : std::vector<std::byte>{};
    data.resize(kernel.arguments[i].size_bytes);
    if (auto status = chips.write(number, memory.value(), 0, data); !status.ok()) return status.error();
    launch.buffers.push_back(std::move(memory.value()));
  }
  return launch;
}

Status start(const ChipSet& chips, uint32_t number, Launch& launch) {
  weft_kernel* kernel = nullptr;
  if (const auto status = weft_program_get_kernel(launch.program.get(), 0, &kernel); status != WEFT_ERROR_OK)
    return chips.error(number, status);
  std::vector<weft_argument> arguments;
  for (const auto& b : launch.buffers) arguments.push_back({b.get(), 0});
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

Result<SliceSession> SliceSession::open(const std::string& name) {
  auto chips = ChipSet::open_slice(name);
  if (!chips.ok()) return chips.error();
  return SliceSession(std::make_unique<State>(State{std::move(chips.value())}));
}

Result<SliceResult> SliceSession::run(const std::vector<compiler::Kernel>& kernels,
                                      const std::vector<std::vector<std::byte>>& inputs) {
  ChipSet& chips = state_->chips;
  if (kernels.size() != chips.chips() || inputs.size() != chips.chips())
    return Error{WEFT_ERROR_INVALID_ARGUMENT,
                 fmt::format("{} kernels and {} inputs for {} chips", kernels.size(), inputs.size(), chips.chips())};
  std::vector<Launch> launches;
  for (uint32_t number = 0; number < kernels.size(); number++) {
    auto launch = prepare(chips, number, kernels[number], inputs[number]);
    if (!launch.ok()) return launch.error();
    launches.push_back(std::move(launch.value()));
  }
  if (auto status = chips.hold(); !status.ok()) return status.error();
  std::optional<Error> failure;
  for (uint32_t number = 0; number < launches.size() && !failure; number++)
    if (auto status = start(chips, number, launches[number]); !status.ok()) failure = status.error();
  if (auto status = chips.resume(); !status.ok()) return status.error();

  SliceResult result;
  for (uint32_t number = 0; number < launches.size(); number++) {
    if (launches[number].event == nullptr) break;
    const auto status = weft_event_wait(launches[number].event.get(), nullptr);
    if (status != WEFT_ERROR_OK && !failure) failure = chips.error(number, status);
    weft_event_info info = WEFT_INIT(weft_event_info);
    (void)!weft_event_query(launches[number].event.get(), &info);
    result.start_cycle.push_back(info.start_cycle);
    result.end_cycle.push_back(info.end_cycle);
  }
  if (failure) return *failure;
  for (uint32_t number = 0; number < launches.size(); number++) {
    const auto& arguments = kernels[number].arguments;
    if (arguments.empty() || arguments.back().direction != WEFT_ARGUMENT_DIRECTION_OUTPUT) {
      result.outputs.emplace_back();
      continue;
    }
    auto data = chips.read(number, launches[number].buffers.back(), 0, arguments.back().size_bytes);
    if (!data.ok()) return data.error();
    result.outputs.push_back(std::move(data.value()));
  }
  return result;
}

Result<SliceResult> run_collective(SliceSession& session, const compiler::Collective& collective,
                                   const std::vector<std::vector<std::byte>>& inputs) {
  std::vector<compiler::Kernel> kernels;
  for (uint32_t number = 0; number < session.shape().chips(); number++) {
    auto kernel = compiler::compile_collective(session.chip(), session.shape(), number, collective);
    if (!kernel.ok()) return kernel.error();
    kernels.push_back(std::move(kernel.value()));
  }
  return session.run(kernels, inputs);
}

}  // namespace weft::runtime
