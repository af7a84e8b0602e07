/// What a network would take on one chip, to be compared with what a slice takes.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "host/compiler/graph.hpp"
#include "host/compiler/ir/module.hpp"
#include "weft/spec/chips.hpp"

namespace weft::tools {

/// Cycles of the device programs on one chip, by the closed forms of its units; nothing runs. Nothing: one chip does not
/// take all of them.
[[nodiscard]] std::optional<uint64_t> cycles_of_one_chip(const spec::Chip& chip, const compiler::Graph& graph);
[[nodiscard]] std::optional<uint64_t> cycles_of_one_chip(const spec::Chip& chip, const compiler::ir::Module& module);

/// What a report says of one chip if a slice takes more cycles; empty: it does not, by more than the closed forms are off.
[[nodiscard]] std::string slower_than_one_chip(uint64_t cycles, std::optional<uint64_t> one_chip);

}  // namespace weft::tools
