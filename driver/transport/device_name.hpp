// The name that weft_open takes: "sim:<preset>?key=value&...", "vfio-user:<socket>", "pci:<address>",
// "mock[:<preset>]"; and those of slices, which weft_slice_open takes: "sim:<slice>?core=...", "vfio-user:<directory>".
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "driver/status.hpp"

namespace weft::driver {

enum class DeviceKind { kSimulator, kVfioUser, kPci, kMock };

/// A parsed device name. Empty text: not given.
struct DeviceName {
  DeviceKind kind;
  std::string target;  ///< preset, socket path or PCI address
  std::string core = "rtl";
  std::string array;    ///< of the RTL's MXU: "fast", "structural"
  std::string manager;  ///< what runs the firmware: "native", "rv32", "ibex"; empty: as the simulator likes
  std::string wave_file;
  std::string wave_from_cycle;
  std::string wave_to_cycle;
  std::string trace_file;
  std::string mismatch_report_file;
  bool slice = false;  ///< of a simulator: target is a slice
  uint32_t chips = 1;  ///< of the slice
  std::string record_file;
  std::string optical_us;  ///< of a slice: microseconds of links between cubes
};

/// Chips that a simulator of our own has at most: ICI_CHIP has 16 bits for their number, and 0xffff is no chip.
inline constexpr uint32_t kMaxSimulatedChips = 0xfffe;

/// INVALID_ARGUMENT: says what is wrong and what is possible. Values are taken as they are, without decoding.
Result<DeviceName> parse_device_name(std::string_view text);

/// The name of a slice: a simulator of our own by the slice's name, "nano-2x2" or "v5e-4x4" (the simulator knows the
/// rules of slices and refuses those that cannot be), or the directory in which a weft-sim --slice listens. The core is
/// fast unless given; with a list, separated by commas, each chip has its own. `array`, `manager`, `trace` and `record`
/// are possible too: one for all chips, one file for all chips and links, a folder with a file for each chip; and
/// `optical-us`, which the simulator judges. INVALID_ARGUMENT as above.
Result<DeviceName> parse_slice_name(std::string_view text);

/// Environment variables that change how a simulator of our own is started, so that a program runs again with waves, or
/// is recorded, without a change: WEFT_CORE (core), WEFT_ARRAY (array), WEFT_MANAGER (manager), WEFT_WAVE (wave),
/// WEFT_WAVE_FROM, WEFT_WAVE_TO (wave-from, wave-to; with WEFT_WAVE only), WEFT_RECORD (record). A slice takes
/// WEFT_ARRAY, WEFT_MANAGER and WEFT_RECORD only. Other kinds of devices stay as they are. INVALID_ARGUMENT names the variable.
Status apply_environment(DeviceName& name);

}  // namespace weft::driver
