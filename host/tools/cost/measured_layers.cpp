// A simulator of its own, with a trace that goes afterwards.
#include "host/tools/cost/measured_layers.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace weft::tools {
namespace {

/// A file that goes with this.
class TemporaryTrace {
 public:
  TemporaryTrace() {
    std::error_code error;
    const auto folder = std::filesystem::temp_directory_path(error).string();
    path_ = fmt::format("{}/weft-layers-XXXXXX", error ? "/tmp" : folder);
    const int file = ::mkstemp(path_.data());
    if (file < 0)
      path_.clear();
    else
      ::close(file);
  }
  ~TemporaryTrace() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  TemporaryTrace(const TemporaryTrace&) = delete;
  TemporaryTrace& operator=(const TemporaryTrace&) = delete;

  /// Empty: it could not be made.
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

Result<Profile> measure_layers(const spec::Chip& chip, const ModelProgram& model) {
  if (std::ranges::none_of(model.partition.parts, [](const auto& part) { return part.graph.has_value(); }))
    return Error{WEFT_ERROR_UNSUPPORTED, "the program has no device program: the host computes it"};
  const TemporaryTrace trace;
  if (trace.path().empty())
    return Error{WEFT_ERROR_INVALID_STATE, "no temporary file for a trace can be made: TMPDIR names a folder for it"};
  runtime::Target target;
  target.chip = chip.name, target.core = "fast", target.trace = trace.path();
  auto session = runtime::Session::open(target);
  if (!session.ok()) return session.error();
  std::vector<LaunchWindow> launches;
  for (size_t i = 0; i < model.partition.parts.size(); i++) {
    const auto& part = model.partition.parts[i];
    if (!part.graph || (part.loop && !part.loop->turns)) continue;  // on zeros a loop might not end
    auto alone =
        model.programs[i].executable.empty() ? compile_part(model, i, chip) : Result<PartProgram>(model.programs[i]);
    if (!alone.ok()) return alone.error();  // of a sequence
    if (auto status = session.value().load(alone.value().executable); !status.ok()) return status.error();
    std::vector<std::vector<std::byte>> arguments;
    for (const auto& argument : session.value().arguments())
      arguments.emplace_back(argument.direction == WEFT_ARGUMENT_DIRECTION_INPUT ? argument.size_bytes : 0);
    runtime::LaunchResult launch;
    if (const auto outputs = session.value().call(arguments, launch); !outputs.ok()) return outputs.error();
    launches.push_back({i, launch.start_cycle, launch.end_cycle});
  }
  if (auto status = session.value().close(); !status.ok()) return status.error();
  return profile_of(chip, model, trace.path(), launches);
}

}  // namespace weft::tools
