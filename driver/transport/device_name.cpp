// Parsing of device names.
#include "driver/transport/device_name.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "weft/spec/chips.hpp"

namespace weft::driver {
namespace {

constexpr std::string_view kMockPreset = "nano";  // of `mock` without a preset

Status invalid(std::string_view text, std::string why) {
  return failure(WEFT_ERROR_INVALID_ARGUMENT, "device name '{}': {}", text, why);
}

std::string preset_names() {
  std::string names;
  for (const auto& chip : spec::kChips) names += (names.empty() ? "" : ", ") + std::string(chip.name);
  return names;
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_core(std::string_view value) { return value == "rtl" || value == "fast" || value == "lockstep"; }

/// One core, or as many as there are chips, separated by commas.
bool are_cores(std::string_view value) {
  for (;;) {
    const size_t comma = value.find(',');
    if (!is_core(value.substr(0, comma))) return false;
    if (comma == std::string_view::npos) return true;
    value.remove_prefix(comma + 1);
  }
}

/// What is wrong with the option; empty: nothing, and it is set.
std::string set_option(DeviceName& name, std::string_view key, std::string_view value) {
  constexpr std::string_view kOfSlices[] = {"core", "array", "manager", "trace", "record", "optical-us"};
  if (name.slice && std::ranges::find(kOfSlices, key) == std::end(kOfSlices))
    return fmt::format("option '{}': a slice has core, array, manager, trace, record and optical-us only", key);
  if (value.empty()) return fmt::format("option '{}' has no value", key);
  if (key == "core") {
    if (name.slice ? !are_cores(value) : !is_core(value))
      return fmt::format("core '{}': rtl, fast and lockstep are possible", value);
    name.core = value;
  } else if (key == "array") {
    if (value != "fast" && value != "structural")
      return fmt::format("array '{}': fast and structural are possible", value);
    name.array = value;
  } else if (key == "manager") {
    if (value != "native" && value != "rv32" && value != "ibex")
      return fmt::format("manager '{}': native, rv32 and ibex are possible", value);
    name.manager = value;
  } else if (key == "wave") {
    name.wave_file = value;
  } else if (key == "wave-from" || key == "wave-to") {
    if (!is_number(value)) return fmt::format("option '{}' is a device cycle, not '{}'", key, value);
    (key == "wave-from" ? name.wave_from_cycle : name.wave_to_cycle) = value;
  } else if (key == "trace") {
    name.trace_file = value;
  } else if (key == "mismatch-report") {
    name.mismatch_report_file = value;
  } else if (key == "record") {
    name.record_file = value;
  } else if (key == "optical-us" && name.slice) {
    name.optical_us = value;
  } else {
    return fmt::format(
        "option '{}': core, array, manager, wave, wave-from, wave-to, trace, "
        "mismatch-report and record are possible",
        key);
  }
  return {};
}

/// "key=value&key=value"
Status set_options(DeviceName& name, std::string_view text, std::string_view options) {
  while (!options.empty()) {
    const size_t end = options.find('&');
    const std::string_view option = options.substr(0, end);
    options = end == std::string_view::npos ? std::string_view() : options.substr(end + 1);
    const size_t equals = option.find('=');
    const std::string_view value = equals == std::string_view::npos ? std::string_view() : option.substr(equals + 1);
    if (std::string wrong = set_option(name, option.substr(0, equals), value); !wrong.empty())
      return invalid(text, std::move(wrong));
  }
  return {};
}

/// Chips of "<generation>-<x>x<y>[x<z>][_twisted]"; 0: it is no such name. More than kMaxSimulatedChips count as one
/// more.
uint32_t chips_of_slice(std::string_view target) {
  const size_t dash = target.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return 0;
  std::string_view sizes = target.substr(dash + 1);
  if (const size_t twisted = sizes.find("_twisted"); twisted != std::string_view::npos) {
    if (twisted + std::string_view("_twisted").size() != sizes.size()) return 0;
    sizes = sizes.substr(0, twisted);
  }
  constexpr size_t kMaxDigits = 4;
  uint32_t chips = 1, axes = 0;
  for (;;) {
    const size_t cross = sizes.find('x');
    const std::string_view size = sizes.substr(0, cross);
    if (!is_number(size) || size.size() > kMaxDigits || size.front() == '0') return 0;
    chips = std::min<uint32_t>(chips * static_cast<uint32_t>(std::stoul(std::string(size))), kMaxSimulatedChips + 1);
    axes++;
    if (cross == std::string_view::npos) break;
    sizes.remove_prefix(cross + 1);
  }
  return axes == 2 || axes == 3 ? chips : 0;
}

}  // namespace

Result<DeviceName> parse_device_name(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  std::string_view rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  DeviceName name;
  if (kind == "vfio-user") {
    if (rest.empty()) return invalid(text, "the socket's path is missing");
    name.kind = DeviceKind::kVfioUser;
    name.target = rest;
    return name;
  }
  if (kind == "pci") {
    if (rest.empty()) return invalid(text, "the PCI address is missing, as in pci:0000:00:05.0");
    name.kind = DeviceKind::kPci;
    name.target = rest;
    return name;
  }
  if (kind == "replay")
    return invalid(text,
                   fmt::format("a recorded run needs no program: weft replay {}", rest.empty() ? "<file>" : rest));
  if (kind != "sim" && kind != "mock")
    return invalid(text, "sim:<preset>, vfio-user:<socket>, pci:<address> and mock are possible");
  name.kind = kind == "sim" ? DeviceKind::kSimulator : DeviceKind::kMock;
  const size_t question = rest.find('?');
  std::string_view options = question == std::string_view::npos ? std::string_view() : rest.substr(question + 1);
  name.target = rest.substr(0, question);
  if (name.kind == DeviceKind::kMock) {
    if (!options.empty()) return invalid(text, "mock takes no options");
    if (colon == std::string_view::npos) name.target = kMockPreset;
  }
  if (spec::find_chip(name.target) == nullptr && name.kind == DeviceKind::kSimulator &&
      chips_of_slice(name.target) != 0)
    return invalid(text, "it names a slice of several chips: weft_slice_open opens those");
  if (spec::find_chip(name.target) == nullptr)
    return invalid(text, fmt::format("there is no preset '{}': {} are possible", name.target, preset_names()));
  if (Status s = set_options(name, text, options); !s.ok()) return s;
  if (name.core == "fast" && !name.array.empty())
    return invalid(text, fmt::format("array={}: the fast core has no array of RTL", name.array));
  if (name.wave_file.empty() && !(name.wave_from_cycle.empty() && name.wave_to_cycle.empty())) {
    return invalid(text, "wave-from and wave-to need wave=<file>");
  }
  return name;
}

Result<DeviceName> parse_slice_name(std::string_view text) {
  constexpr std::string_view kSimulator = "sim:", kDirectory = "vfio-user:";
  DeviceName name;
  name.slice = true;
  name.core = "fast";
  if (text.starts_with(kDirectory)) {
    name.kind = DeviceKind::kVfioUser;
    name.target = text.substr(kDirectory.size());
    if (name.target.empty()) return invalid(text, "the directory of the sockets is missing");
    return name;
  }
  if (!text.starts_with(kSimulator)) return invalid(text, "sim:<slice> and vfio-user:<directory> are possible");
  const std::string_view rest = text.substr(kSimulator.size());
  const size_t question = rest.find('?');
  name.kind = DeviceKind::kSimulator;
  name.target = rest.substr(0, question);
  name.chips = chips_of_slice(name.target);
  if (name.chips == 0)
    return invalid(text, fmt::format("'{}' is no slice: write the generation and the chips along each axis, as in "
                                     "nano-2x2, v5e-4x4, v5p-4x4x4",
                                     name.target));
  if (name.chips > kMaxSimulatedChips)
    return invalid(text, fmt::format("a simulator has at most {} chips", kMaxSimulatedChips));
  const std::string_view options = question == std::string_view::npos ? std::string_view() : rest.substr(question + 1);
  if (Status s = set_options(name, text, options); !s.ok()) return s;
  return name;
}

Status apply_environment(DeviceName& name) {
  if (name.kind != DeviceKind::kSimulator) return {};
  constexpr std::pair<const char*, const char*> kVariables[] = {
      {"WEFT_CORE", "core"},           {"WEFT_ARRAY", "array"},     {"WEFT_MANAGER", "manager"}, {"WEFT_WAVE", "wave"},
      {"WEFT_WAVE_FROM", "wave-from"}, {"WEFT_WAVE_TO", "wave-to"}, {"WEFT_RECORD", "record"}};
  for (const auto& [variable, option] : kVariables) {
    const char* value = std::getenv(variable);
    if (value == nullptr || *value == 0) continue;
    if (name.slice && option != std::string_view("array") && option != std::string_view("manager") &&
        option != std::string_view("record"))
      continue;
    if (std::string_view(option).starts_with("wave-") && name.wave_file.empty()) continue;
    if (const std::string wrong = set_option(name, option, value); !wrong.empty())
      return failure(WEFT_ERROR_INVALID_ARGUMENT, "environment variable {}={}: {}", variable, value, wrong);
  }
  return {};
}

}  // namespace weft::driver
