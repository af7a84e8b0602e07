/// An input that is a sequence of operations, each an opcode byte and operands of known length; and changes of it that
/// know where an operation ends.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "testbench/fuzz/seeds.hpp"

namespace weft::fuzz {

/// Opcode byte, then its operands; the last one of an input may be cut short.
using Operation = std::vector<uint8_t>;
using Operations = std::vector<Operation>;

/// What a target knows of its operations.
struct OperationFormat {
  /// Bytes of the operands; `operation` begins with the opcode and may be followed by others, or be cut short.
  size_t (*operand_bytes)(std::span<const uint8_t> operation);
  /// Good ones, in an order that makes sense: runs of them are inserted.
  Operations templates;
};

/// A format whose templates are the operations of the target's seeds.
[[nodiscard]] OperationFormat format_of(const Seeds& seeds, size_t (*operand_bytes)(std::span<const uint8_t>));

[[nodiscard]] Operations split_operations(std::span<const uint8_t> bytes, const OperationFormat& format);

/// One to four changes: operations inserted from the templates, runs of them repeated up to sixteen times (so rings go
/// round), removed, moved, exchanged, fields of one set to a boundary, its plain bytes changed; one input in eight is
/// changed without regard to the format. The result has `max_size` bytes at most. For LLVMFuzzerCustomMutator.
[[nodiscard]] size_t mutate_operations(uint8_t* data, size_t size, size_t max_size, unsigned seed,
                                       const OperationFormat& format);

}  // namespace weft::fuzz
