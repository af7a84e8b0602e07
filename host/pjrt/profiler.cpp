// One trace at a time: launches are noted as weft.profile notes them, and become the lines of a device.
#include "host/pjrt/profiler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <limits>
#include <map>
#include <string>

#include "host/pjrt/error.hpp"
#include "host/pjrt/trace_space.hpp"
#include "host/tools/cost/launch_record.hpp"
#include "host/tools/cost/measured_layers.hpp"

namespace weft::pjrt {

struct Profiler {
  uint64_t begin_ns = 0;
  std::string space;
};

namespace {

using tools::LaunchRecord;
using tools::LaunchWindow;
using tools::RecordedProgram;

uint64_t picoseconds(const spec::Chip& chip, uint64_t cycles) {
  return static_cast<uint64_t>(1e12 * static_cast<double>(cycles) / static_cast<double>(chip.clock_hz));
}

/// The operators of a launch, one behind the other, each as long as the cycles that are its own.
void add_operators(const spec::Chip& chip, const tools::Profile& measured, const LaunchWindow& launch, uint64_t first,
                   std::vector<TraceSpan>& spans) {
  uint64_t at = launch.begin;
  for (const auto& layer : measured.layers) {
    const uint64_t cycles = std::min(layer.measured.cycles(), launch.end - at);
    if (layer.part != launch.part || cycles == 0) continue;
    spans.push_back({layer.name,
                     picoseconds(chip, at - first),
                     picoseconds(chip, cycles),
                     {{"cycles", cycles},
                      {"mxu_cycles", layer.measured.by_engine[0]},
                      {"vpu_cycles", layer.measured.by_engine[1]},
                      {"dma_cycles", layer.measured.by_engine[2]},
                      {"macs", layer.work.macs},
                      {"hbm_bytes", layer.work.hbm_bytes},
                      {"bound_by", std::string(tools::bound_of(chip, layer.work).engine())},
                      {"achieved", tools::achieved_share(chip, layer.work, layer.measured.cycles())}}});
    at += cycles;
  }
}

/// By device: its launches, and below them their operators. Times count from the first launch of all.
std::vector<TraceDevice> devices_of(const std::vector<RecordedProgram>& programs) {
  uint64_t first = std::numeric_limits<uint64_t>::max();
  for (const auto& program : programs)
    for (const auto& launch : program.launches) first = std::min(first, launch.begin);
  std::map<size_t, std::pair<TraceLine, TraceLine>> lines;
  for (const auto& program : programs) {
    if (program.launches.empty()) continue;
    const spec::Chip& chip = *program.chip;
    std::optional<tools::Profile> measured;  // none of a collective, or of a loop whose end is computed
    if (program.model)
      if (auto layers = tools::measure_layers(chip, *program.model); layers.ok()) measured = std::move(layers.value());
    for (const auto& launch : program.launches) {
      auto& [launches, operators] =
          lines.try_emplace(launch.device, TraceLine{"Programs"}, TraceLine{"Operators"}).first->second;
      const uint64_t cycles = launch.end - launch.begin;
      launches.spans.push_back({program.name,
                                picoseconds(chip, launch.begin - first),
                                picoseconds(chip, cycles),
                                {{"cycles", cycles}, {"first_cycle", launch.begin}, {"chip", std::string(chip.name)}}});
      if (measured) add_operators(chip, *measured, launch, first, operators.spans);
    }
  }
  std::vector<TraceDevice> devices;
  for (auto& [device, both] : lines) {
    for (auto* line : {&both.first, &both.second}) std::ranges::stable_sort(line->spans, {}, &TraceSpan::begin_ps);
    devices.push_back({fmt::format("/device:CUSTOM:Weft {}", device), {std::move(both.first), std::move(both.second)}});
  }
  return devices;
}

/// No exception reaches the framework. The sizes of structures are not looked at: jaxlib leaves some of them unset.
template <typename A, Error* (*kFunction)(A&)>
Error* entry(A* arguments) {
  try {
    return kFunction(*arguments);
  } catch (const std::exception& error) {
    return made(ErrorCode::kInternal, fmt::format("a defect of Weft: {}", error.what()));
  }
}

void error_destroy(ProfilerErrorArguments* a) { delete a->error; }
void error_message(ProfilerMessageArguments* a) {
  a->message = a->error->message.data();
  a->message_size = a->error->message.size();
}
Error* error_code(ProfilerCodeArguments& a) {
  a.code = static_cast<int>(a.error->code);
  return nullptr;
}
Error* create(ProfilerCreateArguments& a) {
  a.profiler = new Profiler;
  return nullptr;
}
Error* destroy(ProfilerArguments& a) {
  delete a.profiler;
  return nullptr;
}
Error* start(ProfilerArguments& a) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  a.profiler->begin_ns = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  const auto status = LaunchRecord::of_process().begin();
  return status.ok() ? nullptr : made(status.error());
}
/// Waits for the launches that have begun.
Error* stop(ProfilerArguments& a) {
  const auto programs = LaunchRecord::of_process().end();
  if (!programs.ok()) return made(programs.error());
  a.profiler->space = space_of(devices_of(programs.value()), a.profiler->begin_ns);
  return nullptr;
}
Error* collect(ProfilerDataArguments& a) {
  std::string& space = a.profiler->space;
  if (a.buffer == nullptr)
    a.buffer = reinterpret_cast<uint8_t*>(space.data());
  else if (a.buffer_size < space.size())
    return made(ErrorCode::kInvalidArgument, fmt::format("{} bytes for a trace of {}", a.buffer_size, space.size()));
  else
    std::memcpy(a.buffer, space.data(), space.size());
  a.buffer_size = space.size();
  return nullptr;
}

}  // namespace

const ProfilerApi& profiler_api() {
  static const ProfilerApi api{sizeof(ProfilerApi),
                               nullptr,
                               &error_destroy,
                               &error_message,
                               &entry<ProfilerCodeArguments, error_code>,
                               &entry<ProfilerCreateArguments, create>,
                               &entry<ProfilerArguments, destroy>,
                               &entry<ProfilerArguments, start>,
                               &entry<ProfilerArguments, stop>,
                               &entry<ProfilerDataArguments, collect>};
  return api;
}

}  // namespace weft::pjrt
