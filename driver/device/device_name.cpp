// Parsing of device names.
#include "driver/device/device_name.hpp"

#include <algorithm>
#include <cstdlib>

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

Status set_option(DeviceName& name, std::string_view text, std::string_view key, std::string_view value) {
  if (value.empty()) return invalid(text, fmt::format("option '{}' has no value", key));
  if (key == "core") {
    if (value != "rtl" && value != "fast" && value != "lockstep")
      return invalid(text, fmt::format("core '{}': rtl, fast and lockstep are possible", value));
    name.core = value;
  } else if (key == "wave") {
    name.wave_file = value;
  } else if (key == "wave-from" || key == "wave-to") {
    if (!is_number(value)) return invalid(text, fmt::format("option '{}' is a device cycle, not '{}'", key, value));
    (key == "wave-from" ? name.wave_from_cycle : name.wave_to_cycle) = value;
  } else if (key == "trace") {
    name.trace_file = value;
  } else if (key == "mismatch-report") {
    name.mismatch_report_file = value;
  } else {
    return invalid(
        text, fmt::format("option '{}': core, wave, wave-from, wave-to, trace and mismatch-report are possible", key));
  }
  return {};
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
  if (kind != "sim" && kind != "mock") return invalid(text, "sim:<preset>, vfio-user:<socket> and mock are possible");
  name.kind = kind == "sim" ? DeviceKind::kSimulator : DeviceKind::kMock;
  const size_t question = rest.find('?');
  std::string_view options = question == std::string_view::npos ? std::string_view() : rest.substr(question + 1);
  name.target = rest.substr(0, question);
  if (name.kind == DeviceKind::kMock) {
    if (!options.empty()) return invalid(text, "mock takes no options");
    if (colon == std::string_view::npos) name.target = kMockPreset;
  }
  if (spec::find_chip(name.target) == nullptr)
    return invalid(text, fmt::format("there is no preset '{}': {} are possible", name.target, preset_names()));
  while (!options.empty()) {
    const size_t end = options.find('&');
    const std::string_view option = options.substr(0, end);
    options = end == std::string_view::npos ? std::string_view() : options.substr(end + 1);
    const size_t equals = option.find('=');
    const std::string_view value = equals == std::string_view::npos ? std::string_view() : option.substr(equals + 1);
    if (Status s = set_option(name, text, option.substr(0, equals), value); !s.ok()) return s;
  }
  if (name.wave_file.empty() && !(name.wave_from_cycle.empty() && name.wave_to_cycle.empty())) {
    return invalid(text, "wave-from and wave-to need wave=<file>");
  }
  return name;
}

Status apply_environment(DeviceName& name) {
  if (name.kind != DeviceKind::kSimulator) return {};
  constexpr std::pair<const char*, const char*> kVariables[] = {
      {"WEFT_CORE", "core"}, {"WEFT_WAVE", "wave"}, {"WEFT_WAVE_FROM", "wave-from"}, {"WEFT_WAVE_TO", "wave-to"}};
  for (const auto& [variable, option] : kVariables) {
    const char* value = std::getenv(variable);
    if (value == nullptr || *value == 0) continue;
    if (std::string_view(option).starts_with("wave-") && name.wave_file.empty()) continue;
    if (Status s = set_option(name, variable, option, value); !s.ok())
      return failure(s.code(), "environment variable {}={}: {}", variable, value, s.message());
  }
  return {};
}

}  // namespace weft::driver
