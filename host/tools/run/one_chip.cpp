// The programs that one chip would have, compiled and timed.
#include "host/tools/run/one_chip.hpp"

#include <fmt/format.h>

#include "host/compiler/lower.hpp"
#include "host/compiler/partition/partition.hpp"
#include "host/compiler/sequence/timeline.hpp"
#include "host/compiler/tiles/resident_program.hpp"

namespace weft::tools {
namespace {

constexpr double kOff = 1.2;  // closed forms know no banks that two units meet in

}  // namespace

std::optional<uint64_t> cycles_of_one_chip(const spec::Chip& chip, const compiler::Graph& graph) {
  const auto program = compiler::lower(chip, graph, compiler::Arguments::kOne);
  if (!program.ok()) return std::nullopt;
  const auto kernel = compiler::tiles::compile_fitting(chip, program.value());
  if (!kernel.ok()) return std::nullopt;
  const compiler::Block* const block = &kernel.value().queues;
  const auto line = compiler::timeline(chip, 0, {&block, 1}, {0});
  if (!line) return std::nullopt;
  return line->cycles;
}

std::optional<uint64_t> cycles_of_one_chip(const spec::Chip& chip, const compiler::ir::Module& module) {
  const auto partition = compiler::partition(module, compiler::Device::kUsed);
  if (!partition.ok()) return std::nullopt;
  uint64_t all = 0;
  for (const auto& part : partition.value().parts) {
    if (!part.graph) continue;
    const auto cycles = part.loop ? std::nullopt : cycles_of_one_chip(chip, *part.graph);
    if (!cycles) return std::nullopt;
    all += *cycles;
  }
  return all;
}

std::string slower_than_one_chip(uint64_t cycles, std::optional<uint64_t> one_chip) {
  if (!one_chip || static_cast<double>(cycles) <= kOff * static_cast<double>(*one_chip)) return "";
  return fmt::format(
      "about {} cycles: the barrier and what travels cost more than the chips save; larger batches gain more",
      *one_chip);
}

}  // namespace weft::tools
