/// Ibex's RTL as the manager's processor.
#pragma once
#include <memory>
#include <span>

#include "model/rv32/processor.hpp"

namespace weft::ibex {

/// This build has Ibex: its package was there when the build was configured.
[[nodiscard]] bool is_built();

/// A processor with this image, after power-up; nullptr: is_built() is false. Each is a model of its own.
[[nodiscard]] std::unique_ptr<rv32::Processor> make(const rv32::Layout& layout, std::span<const std::byte> image,
                                                    rv32::Bus& bus);

}  // namespace weft::ibex
