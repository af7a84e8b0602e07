// Calls added up by program.
#include "host/tools/cost/launch_record.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "host/tools/cost/measured_layers.hpp"
#include "host/tools/formats/json_text.hpp"

namespace weft::tools {
namespace {

using Json = nlohmann::ordered_json;

/// Sets "layers", or why there are none.
void add_layers(Json& json, const RecordedProgram& program) {
  json["layers"] = Json::array();
  if (!program.model) {
    json["layers_missing"] = "products and collectives are one operator";
    return;
  }
  const auto measured = measure_layers(*program.chip, *program.model);
  if (measured.ok())
    json["layers"] = Json::parse(profile_json(*program.chip, measured.value())).at("layers");
  else
    json["layers_missing"] = measured.error().message;
}

}  // namespace

LaunchRecord& LaunchRecord::of_process() {
  static LaunchRecord record;
  return record;
}

Status LaunchRecord::begin() {
  const std::lock_guard lock(mutex_);
  if (noting_ || ending_)
    return Error{WEFT_ERROR_INVALID_STATE, "launches are being noted already: one profile at a time"};
  noting_ = true;
  programs_.clear();
  return Ok{};
}

Result<std::vector<RecordedProgram>> LaunchRecord::end() {
  std::unique_lock lock(mutex_);
  if (!noting_) return Error{WEFT_ERROR_INVALID_STATE, "no launches are being noted: nobody has begun a profile"};
  noting_ = false;  // later calls are not waited for
  ending_ = true;
  ended_.wait(lock, [this] { return under_way_ == 0; });
  ending_ = false;
  return std::exchange(programs_, {});
}

std::unique_ptr<LaunchRecord::Call> LaunchRecord::call() {
  const std::lock_guard lock(mutex_);
  if (!noting_) return nullptr;
  auto made = std::make_unique<Call>(*this);
  under_way_++;
  return made;
}

LaunchRecord::Call::~Call() {
  {
    const std::lock_guard lock(record_.mutex_);
    record_.under_way_--;
  }
  record_.ended_.notify_all();
}

void LaunchRecord::Call::add(std::string_view name, const spec::Chip& chip,
                             const std::shared_ptr<const ModelProgram>& model, const PartsResult& result) {
  const std::lock_guard lock(record_.mutex_);
  auto& programs = record_.programs_;
  auto program = std::ranges::find_if(programs, [&](const RecordedProgram& known) {
    return known.chip == &chip && known.model == model && known.name == name;
  });
  if (program == programs.end())
    program = programs.insert(programs.end(), {std::string(name), &chip, model, 0, 0, 0, {}});
  program->calls++;
  program->macs += result.macs;
  program->host_seconds += result.host_seconds;
  program->launches.insert(program->launches.end(), result.launches.begin(), result.launches.end());
}

std::string record_json(const std::vector<RecordedProgram>& programs, Layers layers) {
  Json json = {{"programs", Json::array()}};
  for (const auto& program : programs) {
    Json to = {{"name", program.name},
               {"chip", program.chip->name},
               {"clock_hz", program.chip->clock_hz},
               {"peak_macs_per_cycle", program.chip->peak_macs_per_cycle},
               {"host_seconds", program.host_seconds},
               {"calls", program.calls},
               {"launches", Json::array()},
               {"macs", program.macs}};
    for (const LaunchWindow& launch : program.launches)
      to["launches"].push_back({{"part", launch.part}, {"start_cycle", launch.begin}, {"end_cycle", launch.end}});
    if (layers == Layers::kYes) add_layers(to, program);
    json["programs"].push_back(std::move(to));
  }
  return json_text(json) + "\n";
}

}  // namespace weft::tools
