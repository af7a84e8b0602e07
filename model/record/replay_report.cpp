// Lines and JSON.
#include "model/record/replay_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace weft::record {
namespace {

const char* ending_text(const Recording& recording) {
  if (!recording.cut().empty()) return "cut off";
  switch (recording.ending()) {
    case Ending::kComplete:
      return "complete";
    case Ending::kInjected:
      return "killed by an injected fault";
    case Ending::kModel:
      return "ended by an assertion of the RTL";
  }
  return "";
}

std::string firmware_text(uint32_t image, std::string_view manager) {
  return image == 0 ? "native code, charged by the call" : fmt::format("image {:08x} on {}", image, manager);
}

}  // namespace

Recorded recorded(std::span<const std::unique_ptr<Recording>> recordings) {
  const Recording& first = *recordings.front();
  Recorded out{.preset = first.preset(),
               .slice = first.place().slice,
               .chips = first.place().chips,
               .functions = first.header().functions,
               .ending = ending_text(first)};
  for (const auto& recording : recordings) {
    out.bytes += recording->file_bytes();
    out.records += recording->records().size();
    if (out.cut.empty() && !recording->cut().empty()) {
      out.cut = recording->cut();
      out.ending = ending_text(*recording);
    }
  }
  return out;
}

std::string replay_text(const ReplayContext& context, const Recorded& recorded, const ReplayResult& result) {
  const Compared& c = result.compared;
  std::string out = fmt::format(
      "recording      {}: {} bytes, {} records, {}\n"
      "chip           {}{}, {} function{}, recorded on the {} core, replayed on the {} core\n"
      "firmware       recorded with {}, replayed with {}\n"
      "stimuli        {}\n"
      "completions    {}\n"
      "host writes    {} others, {} bytes\n"
      "host reads     {}, {} bytes\n"
      "interrupts     {}\n",
      context.file, recorded.bytes, recorded.records, recorded.ending, recorded.preset,
      recorded.slice.empty() ? "" : fmt::format(", {} of slice {}", recorded.chips, recorded.slice), recorded.functions,
      recorded.functions == 1 ? "" : "s", context.recorded_core, context.core,
      firmware_text(context.recorded_image, context.recorded_manager), firmware_text(context.image, context.manager),
      result.stimuli, c.completions, c.host_writes, c.host_written_bytes, c.host_reads, c.host_read_bytes,
      c.interrupts);
  if (context.pace == Pace::kCycles) out += fmt::format("registers      {} reads\n", c.registers);
  out += fmt::format("device cycles  {}\n", result.last_cycle);
  if (!recorded.cut.empty()) out += fmt::format("cut            {}\n", recorded.cut);
  if (!result.difference) {
    out += context.pace == Pace::kCycles ? "identical, cycles included" : "identical but for start and end cycles";
    return out;
  }
  const Difference& d = *result.difference;
  out += fmt::format("DIFFERENT at record {} (block at byte {}): {}{}{}\n  recorded  {}\n  replayed  {}", d.record,
                     d.file_offset, d.what, d.where.empty() ? "" : ", ", d.where, d.recorded, d.replayed);
  return out;
}

std::string replay_json(const ReplayContext& context, const Recorded& recorded, const ReplayResult& result) {
  const Compared& c = result.compared;
  nlohmann::ordered_json out = {{"file", context.file},
                                {"file_bytes", recorded.bytes},
                                {"records", recorded.records},
                                {"ending", recorded.ending},
                                {"chip", recorded.preset},
                                {"functions", recorded.functions},
                                {"recorded_core", context.recorded_core},
                                {"core", context.core},
                                {"recorded_manager", context.recorded_manager},
                                {"manager", context.manager},
                                {"recorded_image", context.recorded_image},
                                {"image", context.image},
                                {"cycles_compared", context.pace == Pace::kCycles},
                                {"stimuli", result.stimuli},
                                {"completions", c.completions},
                                {"host_writes", c.host_writes},
                                {"host_written_bytes", c.host_written_bytes},
                                {"host_reads", c.host_reads},
                                {"host_read_bytes", c.host_read_bytes},
                                {"interrupts", c.interrupts},
                                {"register_reads", c.registers},
                                {"device_cycles", result.last_cycle},
                                {"identical", !result.difference.has_value()}};
  if (!recorded.slice.empty()) {
    out["slice"] = recorded.slice;
    out["chips"] = recorded.chips;
  }
  if (!recorded.cut.empty()) out["cut"] = recorded.cut;
  if (result.difference) {
    const Difference& d = *result.difference;
    out["difference"] = {{"record", d.record}, {"file_offset", d.file_offset}, {"what", d.what},
                         {"where", d.where},   {"recorded", d.recorded},       {"replayed", d.replayed}};
  }
  return out.dump(2);
}

}  // namespace weft::record
