// Three inputs in one pass; each pass over two more begins with what the one before has stored.
#include "host/compiler/collectives/sum_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/round_up.hpp"
#include "host/compiler/collectives/collective_tiles.hpp"
#include "host/compiler/executable/program_builder.hpp"
#include "host/compiler/layout.hpp"

namespace weft::compiler {
namespace {

constexpr uint64_t kGranule = 16;
constexpr uint32_t kMostInputs = WEFT_LIMIT_ARGUMENTS - 1, kMostSources = 3;
constexpr uint8_t kStored = 24;         // by the pass before, a tile each
constexpr uint64_t kMostTiles = 16384;  // that may wait in that semaphore
constexpr uint8_t kFirstArgument = 3;   // segment

}  // namespace

Result<Kernel> compile_sum(const spec::Chip& chip, weft_argument_dtype dtype, uint64_t bytes, uint32_t count) {
  const auto adds = sum_dtype(dtype);
  if (!adds) return Error{WEFT_ERROR_INVALID_ARGUMENT, "a sum of this dtype: the VPU adds f32, bf16 and i32"};
  if (bytes == 0 || bytes % kGranule != 0)
    return Error{WEFT_ERROR_INVALID_ARGUMENT,
                 fmt::format("a sum of {} bytes: a multiple of {} from {} is due", bytes, kGranule, kGranule)};
  if (count < 2 || count > kMostInputs)
    return Error{WEFT_ERROR_INVALID_ARGUMENT,
                 fmt::format("a sum of {} arrays: 2 to {} are possible", count, kMostInputs)};
  const uint64_t tiles = (bytes + transfer_tile_bytes(chip) - 1) / transfer_tile_bytes(chip);
  if (tiles > kMostTiles)
    return Error{WEFT_ERROR_UNSUPPORTED, fmt::format("a sum of {} bytes: at most {} on this chip", bytes,
                                                     kMostTiles * transfer_tile_bytes(chip))};
  const auto place = [](uint32_t argument) {
    return TransferPlace{static_cast<uint8_t>(kFirstArgument + argument), 0};
  };
  std::vector<Transfer> passes;
  for (uint32_t next = 0; next < count;) {
    Transfer pass{.bytes = bytes, .sources = {}, .sinks = {{.place = place(count), .chip = {}}}};
    if (next != 0) pass.sources.push_back({.place = place(count), .arrival = kStored});
    while (pass.sources.size() < kMostSources && next < count) pass.sources.push_back({.place = place(next++)});
    if (next < count) pass.sinks.front().arrival = kStored;
    passes.push_back(std::move(pass));
  }
  ProgramBuilder program(chip);
  schedule_transfers(program, passes, *adds, {}, kTilesAtOnce);
  Kernel kernel = program.kernel("sum");
  for (uint32_t i = 0; i <= count; i++)
    kernel.arguments.push_back({.name = i < count ? fmt::format("summand {}", i) : "sum",
                                .dtype = dtype,
                                .direction = i < count ? WEFT_ARGUMENT_DIRECTION_INPUT : WEFT_ARGUMENT_DIRECTION_OUTPUT,
                                .rows = 1,
                                .columns = bytes / element_bytes(dtype),
                                .pitch_bytes = bytes,
                                .size_bytes = bytes});
  return kernel;
}

}  // namespace weft::compiler
