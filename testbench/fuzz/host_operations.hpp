/// What the host of fuzz_firmware_rings does, and how its input writes that down.
#pragma once
#include "testbench/fuzz/operations.hpp"
#include "weft/spec/spec.h"

namespace weft::fuzz {

enum class HostOperation : uint8_t {
  kSleep,
  kEntry,       ///< queue, an entry whose CRC is then made right, for the lap that the ring is in
  kRawEntry,    ///< queue, an entry
  kRing,        ///< queue
  kDoorbell,    ///< queue, tail u32
  kCompletion,  ///< queue, head u32
  kDrain,       ///< queue
  kImage,       ///< offset u16, value u64: an image with these bytes changed, and LOAD_PROGRAM
  kLaunch,      ///< queue, offset u8, value u64: a launch of the newest program, its list changed
  kCreate,      ///< queue, log2 of entries, log2 of completions
  kBusError,    ///< n-th DMA from now
  kCoreFault,   ///< code, queue, n-th command
  kCoreHang,    ///< queue, n-th command
  kRequests,    ///< functions that reset, functions whose host left
  kBoot,        ///< offset u16, and if it is not 0 value u64: a parameter page with these bytes changed
  kMemory,      ///< offset u32, value u64 in host memory
  kOperations,
};

/// Opcode of an operation; any byte is one.
inline HostOperation host_operation(uint8_t opcode) {
  return static_cast<HostOperation>(opcode % static_cast<uint8_t>(HostOperation::kOperations));
}

inline size_t host_operand_bytes(std::span<const uint8_t> operation) {
  switch (host_operation(operation.front())) {
    case HostOperation::kSleep:
    case HostOperation::kOperations:
      return 0;
    case HostOperation::kEntry:
    case HostOperation::kRawEntry:
      return 1 + sizeof(weft_submission_entry);
    case HostOperation::kRing:
    case HostOperation::kDrain:
    case HostOperation::kBusError:
      return 1;
    case HostOperation::kDoorbell:
    case HostOperation::kCompletion:
      return 1 + sizeof(uint32_t);
    case HostOperation::kImage:
      return sizeof(uint16_t) + sizeof(uint64_t);
    case HostOperation::kLaunch:
      return 2 + sizeof(uint64_t);
    case HostOperation::kCreate:
    case HostOperation::kCoreFault:
      return 3;
    case HostOperation::kCoreHang:
    case HostOperation::kRequests:
      return 2;
    case HostOperation::kBoot: {
      const bool changed = operation.size() > 2 && (operation[1] | operation[2]) != 0;
      return sizeof(uint16_t) + (changed ? sizeof(uint64_t) : 0);
    }
    case HostOperation::kMemory:
      return sizeof(uint32_t) + sizeof(uint64_t);
  }
  return 0;
}

}  // namespace weft::fuzz
