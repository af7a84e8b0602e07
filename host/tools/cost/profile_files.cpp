// HTML for a person, JSON for a program.
#include "host/tools/cost/profile_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "host/tools/formats/files.hpp"

namespace weft::tools {
namespace {

Error invalid(std::string text) { return {WEFT_ERROR_INVALID_ARGUMENT, std::move(text)}; }

}  // namespace

ProfileFiles::~ProfileFiles() {
  if (temporary_) ::unlink(trace_.c_str());
}

Status ProfileFiles::prepare(runtime::Target& target) {
  if (!wanted()) return Ok{};
  if (target.attached())
    return invalid("--profile needs a simulator that this command starts: one that is attached writes its own trace");
  for (const auto& path : paths_) {
    if (!path.ends_with(".html") && !path.ends_with(".json"))
      return invalid(fmt::format("{}: a profile is a page (.html) or a document (.json)", path));
    if (auto status = check_writable(path); !status.ok()) return status;
  }
  core_ = target.core, trace_ = target.trace;
  if (!trace_.empty()) return Ok{};
  std::error_code error;
  auto folder = std::filesystem::temp_directory_path(error).string();
  std::string name = fmt::format("{}/weft-profile-XXXXXX", error ? "/tmp" : folder);
  const int file = ::mkstemp(name.data());
  if (file < 0) return invalid(fmt::format("{}: no temporary file for the trace can be made", folder));
  ::close(file);
  temporary_ = true;
  target.trace = trace_ = name;
  return Ok{};
}

Status ProfileFiles::write(const spec::Chip& chip, const ModelProgram& model, const std::string& title,
                           const PartsResult& result) const {
  if (!wanted()) return Ok{};
  auto profile = profile_of(chip, model, trace_, result.launches);
  if (!profile.ok()) return profile.error();
  profile.value().title = title;
  profile.value().chip = chip.name, profile.value().core = core_;
  profile.value().host_seconds = result.host_seconds;
  for (const auto& path : paths_) {
    const auto text =
        path.ends_with(".json") ? profile_json(chip, profile.value()) : profile_page(chip, profile.value());
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    if (auto status = write_file(path, {first, first + text.size()}); !status.ok()) return status;
  }
  return Ok{};
}

}  // namespace weft::tools
