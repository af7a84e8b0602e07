/// An executable as text: kernels, arguments, and every command with its fields and the meaning of its tag.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "host/compiler/result.hpp"

namespace weft::tools {

/// EXECUTABLE_INVALID with section, offset and reason. The text is stable: one command per line, queue by queue.
[[nodiscard]] Result<std::string> disassemble(const std::vector<std::byte>& file);

/// The same as JSON: {chip, kernels: [{name, arguments, queues: {dma_in: [{opcode, tag, ...}], ...}}]}.
[[nodiscard]] Result<std::string> disassemble_json(const std::vector<std::byte>& file);

}  // namespace weft::tools
