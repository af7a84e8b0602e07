// In place of ibex.cpp where Ibex's package is missing.
#include "model/ibex/ibex.hpp"

namespace weft::ibex {

bool is_built() { return false; }

std::unique_ptr<rv32::Processor> make(const rv32::Layout&, std::span<const std::byte>, rv32::Bus&) { return nullptr; }

}  // namespace weft::ibex
