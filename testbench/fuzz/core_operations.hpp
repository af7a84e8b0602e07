/// What the manager of fuzz_fast_core does, and how its input writes that down.
#pragma once
#include "testbench/fuzz/operations.hpp"
#include "weft/spec/spec.h"

namespace weft::fuzz {

enum class CoreOperation : uint8_t {
  kPush,      ///< queue, a command
  kSegment,   ///< number, base u32, limit u32, attributes
  kRegister,  ///< offset u16, value u64
  kAdvance,   ///< cycles
  kReset,
  kRead,  ///< offset u16
  kOperations,
};

/// Opcode of an operation; any byte is one.
inline CoreOperation core_operation(uint8_t opcode) {
  return static_cast<CoreOperation>(opcode % static_cast<uint8_t>(CoreOperation::kOperations));
}

inline size_t core_operand_bytes(std::span<const uint8_t> operation) {
  switch (core_operation(operation.front())) {
    case CoreOperation::kPush:
      return 1 + WEFT_COMMAND_BYTES;
    case CoreOperation::kSegment:
      return 1 + 2 * sizeof(uint32_t) + 1;
    case CoreOperation::kRegister:
      return sizeof(uint16_t) + sizeof(uint64_t);
    case CoreOperation::kAdvance:
      return 1;
    case CoreOperation::kRead:
      return sizeof(uint16_t);
    case CoreOperation::kReset:
    case CoreOperation::kOperations:
      return 0;
  }
  return 0;
}

}  // namespace weft::fuzz
