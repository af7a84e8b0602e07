/// What a chip is made from. No SystemC here.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "firmware/image.hpp"
#include "model/core/tensor_core.hpp"
#include "model/rv32/processor.hpp"
#include "model/trace/trace_file.hpp"
#include "weft/spec/chips.hpp"
#include "weft/spec/spec.h"

namespace weft::chip {

inline constexpr unsigned kLinkPorts = 6;  ///< of a chip: +x, -x, +y, -y, +z, -z

/// What a chip's registers tell of its slice (ICI_CHIP and following); all 0: it stands alone.
struct SliceRegisters {
  uint32_t chip = 0;
  uint64_t shape = 0;
  uint64_t neighbors = 0;
  uint32_t neighbors_z = 0;
  uint64_t link_bytes_per_second = 0;
  std::function<weft_ici_link(unsigned port)> link;  ///< ICI_LINKS, as it stands now; empty: stands alone
};

/// Makes the processor of an image; nullptr: this build cannot.
using MakeProcessor = std::function<std::unique_ptr<rv32::Processor>(const rv32::Layout& layout,
                                                                     std::span<const std::byte> rom, rv32::Bus& bus)>;

/// The core comes from a function, so that this component needs no core's code and tests bring their own.
struct ChipOptions {
  const spec::Chip* preset = nullptr;
  core::CoreKind kind = core::CoreKind::kFast;  ///< what CAPABILITIES tells
  /// Makes the core; nullptr and a message in `error` if it cannot.
  std::function<std::unique_ptr<core::TensorCore>(core::MemoryBus& bus, std::string& error)> make_core;
  /// Lockstep only: looks for a difference. Empty: nobody looks.
  std::function<core::Mismatch(const core::TensorCore&)> find_mismatch;
  /// Called once with the report of the first difference.
  std::function<void(const std::string& report)> report_mismatch;
  /// What the manager's processor runs; nullptr: the natively compiled firmware, whose time is charged by the call.
  const fw::Image* firmware = nullptr;
  rv32::Engine engine = rv32::Engine::kSimulator;  ///< of the image's processor
  /// Empty: the instruction-set simulator, of an image that it decodes for itself.
  MakeProcessor make_processor;
  std::string bus_log;  ///< file for all accesses of the image's processor (bus_log.hpp); empty: none
  /// Called when the image fails: with its exception, that it has panicked, or that its processor was halted, and a
  /// backtrace.
  std::function<void(const std::string& report)> report_firmware;
  unsigned functions = 1;  ///< PCIe functions, 1 to WEFT_LIMIT_FUNCTIONS
  SliceRegisters slice;
  std::shared_ptr<TraceFile> trace;  ///< Chrome trace, in which a chip is a process by its number; nullptr: none
};

}  // namespace weft::chip
