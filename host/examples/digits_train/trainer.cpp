// Buffers that stay in HBM, and launches on them.
#include "host/examples/digits_train/trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "host/compiler/layout.hpp"
#include "host/compiler/tiles/resident_program.hpp"
#include "host/examples/digits_train/batch.hpp"
#include "weft/weft.h"

namespace weft::examples {
namespace {

using compiler::CollectiveKind;
using runtime::BufferHandle;
using runtime::ChipSet;
using runtime::EventHandle;
using runtime::ProgramHandle;

constexpr uint64_t kStepsAtOnce = 128;  // five commands a step and more have to fit a queue of 1024
constexpr uint64_t kLossPitch = 64;     // of the history of losses in HBM
constexpr uint64_t kXPitch = compiler::row_pitch_bytes(kPixels, 4);
constexpr uint64_t kTargetPitch = compiler::row_pitch_bytes(kClasses, 4);

template <typename T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}
std::vector<float> floats_of(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::vector<std::byte> packed_x(const tools::TrainingBatch& batch) {
  std::vector<float> values;
  for (const uint16_t x : batch.x) values.push_back(compiler::f32_from_bf16(x));
  return compiler::pack_rows(bytes_of(values), batch.rows, kPixels, 4);
}

struct Kernel {
  ProgramHandle program;
  weft_kernel* kernel = nullptr;
};

/// What lies on one chip.
struct Resident {
  Kernel gradient, update, scores;
  std::vector<Kernel> all_reduce;  ///< along each axis that has several chips
  BufferHandle x, targets, parameters, momentum, losses, score_x, score_y;
  std::vector<BufferHandle> gradients;  ///< the chip's own, then the sums after each all-reduce
};

/// First and last launch of a submission.
struct Submission {
  EventHandle first, last;
};

}  // namespace

struct Trainer::State {
  State(ChipSet set, const RunSettings& s, const Digits& d) : chips(std::move(set)), settings(s), data(d), order(s) {}

  [[nodiscard]] uint64_t rows() const { return settings.batch / chips.chips(); }
  Result<Kernel> load(uint32_t chip, const Result<compiler::Kernel>& kernel) const;
  Result<Kernel> load(uint32_t chip, const Result<compiler::Program>& program) const;
  Status prepare(uint32_t chip);
  Status room(uint32_t chip, BufferHandle& buffer, uint64_t bytes) const;
  Status buffer(uint32_t chip, BufferHandle& buffer, uint64_t bytes) const;
  Status upload_batches(uint32_t chip, uint64_t count);
  Status submit(uint32_t chip, uint64_t count, Submission& submission) const;
  Result<TrainingSteps> run(uint64_t count);

  ChipSet chips;
  const RunSettings settings;
  const Digits& data;
  compiler::ParameterLayout layout;
  BatchOrder order;
  uint64_t step = 0;
  uint64_t score_rows = 0;         ///< of each chip, once scores() was called
  std::vector<Resident> resident;  ///< before `chips` it must go, so it stands behind it
};

Result<Kernel> Trainer::State::load(uint32_t chip, const Result<compiler::Kernel>& kernel) const {
  if (!kernel.ok()) return kernel.error();
  auto program = chips.load(chip, kernel.value());
  if (!program.ok()) return program.error();
  Kernel out{std::move(program.value()), nullptr};
  if (const auto status = weft_program_get_kernel(out.program.get(), 0, &out.kernel); status != WEFT_ERROR_OK)
    return chips.error(chip, status);
  return out;
}

Result<Kernel> Trainer::State::load(uint32_t chip, const Result<compiler::Program>& program) const {
  if (!program.ok()) return program.error();
  return load(chip, compiler::tiles::compile_fitting(chips.chip(), program.value()));
}

/// HBM as it is.
Status Trainer::State::room(uint32_t chip, BufferHandle& out, uint64_t bytes) const {
  auto made = chips.buffer(chip, WEFT_MEMORY_HBM, bytes);
  if (!made.ok()) return made.error();
  out = std::move(made.value());
  return Ok{};
}

/// HBM with zeros.
Status Trainer::State::buffer(uint32_t chip, BufferHandle& out, uint64_t bytes) const {
  if (auto s = room(chip, out, bytes); !s.ok()) return s;
  return chips.write(chip, out, 0, std::vector<std::byte>(bytes));
}

Status Trainer::State::prepare(uint32_t chip) {
  Resident& r = resident.emplace_back();
  const auto take = [](Kernel& to, Result<Kernel> kernel) -> Status {
    if (!kernel.ok()) return kernel.error();
    to = std::move(kernel.value());
    return Ok{};
  };
  const float scale = 1 / static_cast<float>(settings.batch);
  const auto& network = settings.network;
  if (auto s = take(r.gradient, load(chip, compiler::gradient_program(chips.chip(), network, rows(), scale))); !s.ok())
    return s;
  if (auto s = take(r.update, load(chip, compiler::update_program(chips.chip(), network, settings.sgd))); !s.ok())
    return s;
  r.gradients.resize(1);
  for (unsigned axis = 0; axis < 3; axis++) {
    if (chips.shape().size[axis] == 1) continue;
    const compiler::Collective sum{.kind = CollectiveKind::kAllReduce,
                                   .axes = compiler::one_axis(axis),
                                   .dtype = WEFT_ARGUMENT_DTYPE_F32,
                                   .bytes = layout.bytes};
    auto kernel = load(chip, compiler::compile_collective(chips.chip(), chips.shape(), chip, sum));
    if (!kernel.ok()) return kernel.error();
    r.all_reduce.push_back(std::move(kernel.value()));
    r.gradients.emplace_back();
  }
  for (BufferHandle& gradients : r.gradients)
    if (auto s = buffer(chip, gradients, layout.bytes); !s.ok()) return s;
  if (auto s = buffer(chip, r.parameters, layout.bytes); !s.ok()) return s;
  if (auto s = buffer(chip, r.momentum, layout.bytes); !s.ok()) return s;
  if (auto s = buffer(chip, r.losses, kStepsAtOnce * kLossPitch); !s.ok()) return s;
  if (auto s = room(chip, r.x, kStepsAtOnce * rows() * kXPitch); !s.ok()) return s;
  return room(chip, r.targets, kStepsAtOnce * rows() * kTargetPitch);
}

/// The chip's rows of the next `count` steps, one step behind the other.
Status Trainer::State::upload_batches(uint32_t chip, uint64_t count) {
  std::vector<std::byte> x, targets;
  for (uint64_t i = 0; i < count; i++) {
    const auto batch = batch_of(data, order.rows(step + i, chip, chips.chips()));
    const auto packed = packed_x(batch);
    const auto packed_targets = compiler::pack_rows(bytes_of(batch.targets), batch.rows, kClasses, 4);
    x.insert(x.end(), packed.begin(), packed.end());
    targets.insert(targets.end(), packed_targets.begin(), packed_targets.end());
  }
  if (auto s = chips.write(chip, resident[chip].x, 0, x); !s.ok()) return s;
  return chips.write(chip, resident[chip].targets, 0, targets);
}

/// All commands of `count` steps, as one chain: what follows a failure does not run.
Status Trainer::State::submit(uint32_t chip, uint64_t count, Submission& submission) const {
  const Resident& r = resident[chip];
  weft_command_options options = WEFT_INIT(weft_command_options);
  options.chain = 1;
  const auto launch = [&](const Kernel& kernel, std::initializer_list<weft_argument> arguments, weft_event** event) {
    return weft_launch(chips.queue(chip), kernel.kernel, arguments.begin(), static_cast<uint32_t>(arguments.size()),
                       &options, event);
  };
  for (uint64_t i = 0; i < count; i++) {
    weft_event *first = nullptr, *last = nullptr;
    auto status = launch(r.gradient,
                         {{r.parameters.get(), 0},
                          {r.x.get(), i * rows() * kXPitch},
                          {r.targets.get(), i * rows() * kTargetPitch},
                          {r.gradients[0].get(), 0},
                          {r.gradients[0].get(), layout.loss_offset}},
                         i == 0 ? &first : nullptr);
    for (size_t a = 0; a < r.all_reduce.size() && status == WEFT_ERROR_OK; a++)
      status = launch(r.all_reduce[a], {{r.gradients[a].get(), 0}, {r.gradients[a + 1].get(), 0}}, nullptr);
    weft_buffer* sum = r.gradients.back().get();
    if (status == WEFT_ERROR_OK)
      status = weft_copy(chips.queue(chip), r.losses.get(), i * kLossPitch, sum, layout.loss_offset, sizeof(float),
                         &options, nullptr);
    options.chain = i + 1 < count ? 1 : 0;
    if (status == WEFT_ERROR_OK)
      status = launch(r.update, {{r.parameters.get(), 0}, {r.momentum.get(), 0}, {sum, 0}},
                      i + 1 == count ? &last : nullptr);
    if (first != nullptr) submission.first.reset(first);
    if (last != nullptr) submission.last.reset(last);
    if (status != WEFT_ERROR_OK) return chips.error(chip, status);
  }
  return Ok{};
}

Result<TrainingSteps> Trainer::State::run(uint64_t count) {
  for (uint32_t chip = 0; chip < chips.chips(); chip++)
    if (auto s = upload_batches(chip, count); !s.ok()) return s.error();
  std::vector<Submission> submissions(chips.chips());
  if (auto s = chips.hold(); !s.ok()) return s.error();
  std::optional<Error> failure;
  for (uint32_t chip = 0; chip < chips.chips() && !failure; chip++)
    if (auto s = submit(chip, count, submissions[chip]); !s.ok()) failure = s.error();
  if (auto s = chips.resume(); !s.ok()) return s.error();
  TrainingSteps out;
  for (uint32_t chip = 0; chip < chips.chips(); chip++) {
    const auto& [first, last] = submissions[chip];
    if (first == nullptr || last == nullptr) break;
    if (const auto status = weft_event_wait(last.get(), nullptr); status != WEFT_ERROR_OK && !failure)
      failure = chips.error(chip, status);
    weft_event_info begin = WEFT_INIT(weft_event_info), end = WEFT_INIT(weft_event_info);
    (void)!weft_event_query(first.get(), &begin);
    (void)!weft_event_query(last.get(), &end);
    out.device_cycles = std::max(out.device_cycles, end.end_cycle - begin.start_cycle);
  }
  if (failure) return *failure;
  const auto losses = chips.read(0, resident[0].losses, 0, count * kLossPitch);
  if (!losses.ok()) return losses.error();
  for (uint64_t i = 0; i < count; i++) {
    float loss = 0;
    std::memcpy(&loss, &losses.value()[i * kLossPitch], sizeof loss);
    out.losses.push_back(loss);
  }
  step += count;
  return out;
}

Trainer::Trainer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;
Trainer::~Trainer() = default;

const ChipSet& Trainer::chips() const { return state_->chips; }

Result<Trainer> Trainer::create(ChipSet chips, const RunSettings& settings, const Digits& data) {
  const uint32_t count = chips.chips();
  if (settings.examples != data.labels.size())
    return Error{WEFT_ERROR_INVALID_ARGUMENT,
                 fmt::format("a run over {} digits, the data have {}", settings.examples, data.labels.size())};
  const auto& widths = settings.network.widths;
  if (widths.empty() || widths.front() != kPixels || widths.back() != kClasses)
    return Error{
        WEFT_ERROR_INVALID_ARGUMENT,
        fmt::format("a network of {} from {} pixels to {} classes: digits have {} and {}", widths.size(),
                    widths.empty() ? 0 : widths.front(), widths.empty() ? 0 : widths.back(), kPixels, kClasses)};
  if (settings.batch == 0 || settings.batch % count != 0 || settings.batch > settings.examples)
    return Error{WEFT_ERROR_INVALID_ARGUMENT,
                 fmt::format("a batch of {} rows on {} chips: a multiple of {}, {} at most, is due", settings.batch,
                             count, count, settings.examples / count * count)};
  auto layout = compiler::parameter_layout(chips.chip(), settings.network);
  if (!layout.ok()) return layout.error();
  auto state = std::make_unique<State>(std::move(chips), settings, data);
  state->layout = std::move(layout.value());
  for (uint32_t chip = 0; chip < count; chip++)
    if (auto s = state->prepare(chip); !s.ok()) return s.error();
  return Trainer(std::move(state));
}

Status Trainer::set(const Checkpoint& c) {
  if (!(c.settings == state_->settings))
    return Error{WEFT_ERROR_INVALID_ARGUMENT, "the checkpoint is of a run with other settings"};
  const auto parameters = compiler::pack_parameters(state_->layout, c.parameters);
  const auto momentum = compiler::pack_parameters(state_->layout, c.momentum);
  for (uint32_t chip = 0; chip < chips().chips(); chip++) {
    if (auto s = chips().write(chip, state_->resident[chip].parameters, 0, bytes_of(parameters)); !s.ok()) return s;
    if (auto s = chips().write(chip, state_->resident[chip].momentum, 0, bytes_of(momentum)); !s.ok()) return s;
  }
  state_->step = c.step;
  return Ok{};
}

Result<Checkpoint> Trainer::get() const {
  Checkpoint out{state_->settings, state_->step, {}, {}};
  for (uint32_t chip = 0; chip < chips().chips(); chip++) {
    const Resident& r = state_->resident[chip];
    auto parameters = chips().read(chip, r.parameters, 0, state_->layout.bytes);
    if (!parameters.ok()) return parameters.error();
    auto momentum = chips().read(chip, r.momentum, 0, state_->layout.bytes);
    if (!momentum.ok()) return momentum.error();
    auto p = compiler::unpack_parameters(state_->layout, floats_of(parameters.value()));
    auto m = compiler::unpack_parameters(state_->layout, floats_of(momentum.value()));
    const auto same = [](const auto& a, const auto& b) { return std::ranges::equal(bytes_of(a), bytes_of(b)); };
    if (chip > 0 && (!same(p, out.parameters) || !same(m, out.momentum)))
      return Error{WEFT_ERROR_INTERNAL,
                   fmt::format("after step {} chip {} has other parameters than chip 0", state_->step, chip)};
    out.parameters = std::move(p), out.momentum = std::move(m);
  }
  return out;
}

Result<TrainingSteps> Trainer::run(uint64_t count) {
  TrainingSteps out;
  while (count > 0) {
    const uint64_t now = std::min(count, kStepsAtOnce);
    const auto steps = state_->run(now);
    if (!steps.ok()) return steps.error();
    out.losses.insert(out.losses.end(), steps.value().losses.begin(), steps.value().losses.end());
    out.device_cycles += steps.value().device_cycles;
    count -= now;
  }
  return out;
}

Result<std::vector<float>> Trainer::scores(const Digits& digits) {
  State& s = *state_;
  const uint64_t count = digits.labels.size(), each = (count + chips().chips() - 1) / chips().chips();
  if (count == 0 || (s.score_rows != 0 && s.score_rows != each))
    return Error{WEFT_ERROR_INVALID_ARGUMENT,
                 fmt::format("scores of {} digits, {} on a chip: before there were {}", count, each, s.score_rows)};
  std::vector<EventHandle> events;
  for (uint32_t chip = 0; chip < chips().chips(); chip++) {
    Resident& r = s.resident[chip];
    if (s.score_rows == 0) {
      auto kernel = s.load(chip, compiler::scores_program(chips().chip(), s.settings.network, each));
      if (!kernel.ok()) return kernel.error();
      r.scores = std::move(kernel.value());
      if (auto status = s.room(chip, r.score_x, each * kXPitch); !status.ok()) return status.error();
      if (auto status = s.room(chip, r.score_y, each * kTargetPitch); !status.ok()) return status.error();
    }
    std::vector<uint32_t> rows;
    for (uint64_t i = chip * each; i < std::min(count, (chip + 1) * each); i++)
      rows.push_back(static_cast<uint32_t>(i));
    const auto x = packed_x(batch_of(digits, rows));
    if (auto status = chips().write(chip, r.score_x, 0, x); !status.ok()) return status.error();
    const weft_argument arguments[] = {{r.parameters.get(), 0}, {r.score_x.get(), 0}, {r.score_y.get(), 0}};
    weft_event* event = nullptr;
    if (const auto status = weft_launch(chips().queue(chip), r.scores.kernel, arguments, 3, nullptr, &event);
        status != WEFT_ERROR_OK)
      return chips().error(chip, status);
    events.emplace_back(event);
  }
  s.score_rows = each;
  std::vector<float> out;
  for (uint32_t chip = 0; chip < chips().chips(); chip++) {
    if (const auto status = weft_event_wait(events[chip].get(), nullptr); status != WEFT_ERROR_OK)
      return chips().error(chip, status);
    const auto bytes = chips().read(chip, s.resident[chip].score_y, 0, each * kTargetPitch);
    if (!bytes.ok()) return bytes.error();
    const auto values = floats_of(compiler::unpack_rows(bytes.value(), each, kClasses, 4));
    out.insert(out.end(), values.begin(), values.end());
  }
  out.resize(count * kClasses);
  return out;
}

double accuracy(const Digits& digits, const std::vector<float>& scores) {
  size_t right = 0;
  for (size_t i = 0; i < digits.labels.size(); i++) {
    const auto row = scores.begin() + static_cast<ptrdiff_t>(i * kClasses);
    right += std::max_element(row, row + kClasses) - row == digits.labels[i];
  }
  return static_cast<double>(right) / static_cast<double>(digits.labels.size());
}

}  // namespace weft::examples
