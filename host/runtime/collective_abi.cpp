// The C calls of weft/collective.h: compile_collective, and a program per chip.
#include <fmt/format.h>

#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "host/compiler/collectives/collective.hpp"
#include "host/compiler/collectives/collective_algorithm.hpp"
#include "host/runtime/abi_guard.hpp"
#include "host/runtime/driver_error.hpp"
#include "host/runtime/open_chips.hpp"
#include "weft/collective.h"

namespace {

using namespace weft;
using compiler::CollectiveKind;
using runtime::guarded;

static_assert(int{WEFT_COLLECTIVE_ALL_GATHER} == int(CollectiveKind::kAllGather));
static_assert(int{WEFT_COLLECTIVE_REDUCE_SCATTER} == int(CollectiveKind::kReduceScatter));
static_assert(int{WEFT_COLLECTIVE_ALL_REDUCE} == int(CollectiveKind::kAllReduce));
static_assert(int{WEFT_COLLECTIVE_BROADCAST} == int(CollectiveKind::kBroadcast));
static_assert(int{WEFT_COLLECTIVE_BARRIER} == int(CollectiveKind::kBarrier));
static_assert(int{WEFT_COLLECTIVE_ALL_TO_ALL} == int(CollectiveKind::kAllToAll));
static_assert(int{WEFT_COLLECTIVE_PERMUTE} == int(CollectiveKind::kPermute));
static_assert(int{WEFT_COLLECTIVE_BY_SIZE} == int(compiler::CollectiveAlgorithm::kBySize));
static_assert(int{WEFT_COLLECTIVE_NEIGHBOR} == int(compiler::CollectiveAlgorithm::kNeighbor));
static_assert(int{WEFT_COLLECTIVE_DIRECT} == int(compiler::CollectiveAlgorithm::kDirect));

constexpr uint32_t kAllAxes = 7;

Error invalid(std::string message) { return {WEFT_ERROR_INVALID_ARGUMENT, std::move(message)}; }

/// The number in an enum of a C program, which may be none of its names.
template <typename Enum>
uint32_t number_of(const Enum& value) {
  static_assert(sizeof(Enum) == sizeof(uint32_t) && std::is_enum_v<Enum>);
  uint32_t number = 0;
  std::memcpy(&number, &value, sizeof number);
  return number;
}

Result<compiler::Collective> collective_of(const weft_collective_options& options) {
  if (options.size != sizeof options)
    return invalid(fmt::format("weft_collective_options of {} bytes, {} are due", options.size, sizeof options));
  const uint32_t kind = number_of(options.kind), dtype = number_of(options.dtype),
                 algorithm = number_of(options.algorithm);
  if (kind < WEFT_COLLECTIVE_ALL_GATHER || kind > WEFT_COLLECTIVE_PERMUTE)
    return invalid(fmt::format("kind {}: there are {} to {}", kind, int{WEFT_COLLECTIVE_ALL_GATHER},
                               int{WEFT_COLLECTIVE_PERMUTE}));
  if (dtype < WEFT_ARGUMENT_DTYPE_F32 || dtype > WEFT_ARGUMENT_DTYPE_I32)
    return invalid(fmt::format("dtype {}", dtype));
  if (algorithm > WEFT_COLLECTIVE_DIRECT) return invalid(fmt::format("algorithm {}: there are 0 to 2", algorithm));
  compiler::Collective collective;
  collective.kind = static_cast<CollectiveKind>(kind);
  collective.dtype = static_cast<weft_argument_dtype>(dtype);
  collective.bytes = options.bytes;
  collective.root = options.root;
  collective.shift = options.shift;
  collective.algorithm = static_cast<compiler::CollectiveAlgorithm>(algorithm);
  const bool groups = options.groups != nullptr;
  if (groups != (options.group_count != 0) || groups != (options.group_chips != 0))
    return invalid(fmt::format("{} groups of {} chips {}", options.group_count, options.group_chips,
                               groups ? "are listed" : "and no list of them"));
  if (groups ? options.axes != 0 : options.axes == 0 || options.axes > kAllAxes)
    return invalid(fmt::format("axes {:#x}: {}", options.axes,
                               groups ? "0 where groups are listed" : "bits 0 to 2 stand for x, y, z; one at least"));
  for (unsigned axis = 0; axis < collective.axes.size(); axis++)
    collective.axes[axis] = (options.axes >> axis & 1) != 0;
  return collective;
}

}  // namespace

/// A program for each chip that has something to do.
struct weft_collective {
  struct Part {
    runtime::ProgramHandle program;
    weft_kernel* kernel = nullptr;  ///< of the program; null: nothing to do
    uint64_t input_bytes = 0, output_bytes = 0;
  };
  std::vector<Part> parts;
};

namespace {

/// The listed groups, once the number of chips bounds how much is read.
Status list_groups(const weft_collective_options& options, uint32_t chips, compiler::Collective& collective) {
  if (options.groups == nullptr) return Ok{};
  if (uint64_t{options.group_count} * options.group_chips > chips)
    return invalid(
        fmt::format("{} groups of {} chips: the slice has {} chips", options.group_count, options.group_chips, chips));
  for (uint32_t group = 0; group < options.group_count; group++) {
    const uint32_t* first = options.groups + size_t{group} * options.group_chips;
    collective.groups.emplace_back(first, first + options.group_chips);
  }
  return Ok{};
}

Result<weft_collective::Part> make_part(weft_device* device, const compiler::SliceShape& shape, uint32_t number,
                                        const compiler::Collective& collective) {
  weft_collective::Part part;
  if (!compiler::takes_part(collective, number)) return part;
  const auto chip = runtime::preset_of(device);
  if (!chip.ok()) return chip.error();
  const auto kernel = compiler::compile_collective(*chip.value(), shape, number, collective);
  if (!kernel.ok()) return kernel.error();
  if (runtime::is_idle(kernel.value())) return part;
  auto program = runtime::load_kernel(device, *chip.value(), kernel.value());
  if (!program.ok()) return program.error();
  part.program = std::move(program.value());
  if (const auto status = weft_program_get_kernel(part.program.get(), 0, &part.kernel); status != WEFT_ERROR_OK)
    return runtime::driver_error(status);
  for (const auto& argument : kernel.value().arguments)
    (argument.direction == WEFT_ARGUMENT_DIRECTION_OUTPUT ? part.output_bytes : part.input_bytes) = argument.size_bytes;
  return part;
}

Status create(weft_slice* slice, const weft_collective_options* options, weft_collective** out) {
  if (options == nullptr || out == nullptr) return invalid("a null pointer: options, collective");
  *out = nullptr;
  auto collective = collective_of(*options);
  if (!collective.ok()) return collective.error();
  const auto shape = runtime::shape_of(slice);
  if (!shape.ok()) return shape.error();
  if (auto status = list_groups(*options, shape.value().chips(), collective.value()); !status.ok()) return status;
  auto made = std::make_unique<weft_collective>();
  for (uint32_t number = 0; number < shape.value().chips(); number++) {
    weft_device* device = nullptr;
    if (const auto status = weft_slice_get_device(slice, number, &device); status != WEFT_ERROR_OK)
      return runtime::driver_error(status);
    auto part = make_part(device, shape.value(), number, collective.value());
    if (!part.ok()) return runtime::on_chip(number, part.error());
    made->parts.push_back(std::move(part.value()));
  }
  *out = made.release();
  return Ok{};
}

Status launch(weft_collective* collective, uint32_t chip, weft_queue* queue, const weft_argument* input,
              const weft_argument* output, const weft_command_options* options, weft_event** event) {
  if (event != nullptr) *event = nullptr;
  if (collective == nullptr || queue == nullptr) return invalid("a null pointer: collective, queue");
  if (chip >= collective->parts.size())
    return invalid(fmt::format("chip {}: the slice has {} chips", chip, collective->parts.size()));
  const auto& part = collective->parts[chip];
  if (part.kernel == nullptr) return invalid(fmt::format("chip {} has nothing to do", chip));
  if ((input != nullptr) != (part.input_bytes != 0) || (output != nullptr) != (part.output_bytes != 0))
    return invalid(fmt::format("chip {} has an input of {} and an output of {} bytes: null exactly where there are 0",
                               chip, part.input_bytes, part.output_bytes));
  std::vector<weft_argument> arguments;
  for (const weft_argument* argument : {input, output}) {
    if (argument == nullptr) continue;
    weft_buffer_info info = WEFT_INIT(weft_buffer_info);
    if (const auto status = weft_buffer_get_info(argument->buffer, &info); status != WEFT_ERROR_OK)
      return runtime::on_chip(chip, runtime::driver_error(status));
    if (info.memory != WEFT_MEMORY_HBM)
      return invalid(fmt::format("chip {}: its {} is in host memory, and other chips reach HBM only", chip,
                                 argument == input ? "input" : "output"));
    arguments.push_back(*argument);
  }
  const auto status =
      weft_launch(queue, part.kernel, arguments.data(), static_cast<uint32_t>(arguments.size()), options, event);
  if (status != WEFT_ERROR_OK) return runtime::on_chip(chip, runtime::driver_error(status));
  return Ok{};
}

}  // namespace

weft_status weft_collective_create(weft_slice* slice, const weft_collective_options* options,
                                   weft_collective** collective, weft_error_info* error) {
  return guarded(error, [&] { return create(slice, options, collective); });
}

void weft_collective_release(weft_collective* collective) { delete collective; }

weft_status weft_collective_get_part(const weft_collective* collective, uint32_t chip, weft_collective_part* part) {
  if (collective == nullptr || part == nullptr || part->size != sizeof *part || chip >= collective->parts.size())
    return WEFT_ERROR_INVALID_ARGUMENT;
  const auto& wanted = collective->parts[chip];
  *part = {sizeof *part, wanted.kernel != nullptr, wanted.input_bytes, wanted.output_bytes};
  return WEFT_ERROR_OK;
}

weft_status weft_collective_launch(weft_collective* collective, uint32_t chip, weft_queue* queue,
                                   const weft_argument* input, const weft_argument* output,
                                   const weft_command_options* options, weft_event** event, weft_error_info* error) {
  return guarded(error, [&] { return launch(collective, chip, queue, input, output, options, event); });
}
