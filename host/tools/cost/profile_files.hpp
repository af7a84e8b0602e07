/// weft run --profile: the trace that it needs, and the files that it writes.
#pragma once
#include <string>
#include <vector>

#include "host/runtime/session.hpp"
#include "host/tools/cost/profile.hpp"

namespace weft::tools {

/// The files of --profile. The trace is the target's own, or a temporary one that goes with this. Not thread-safe.
class ProfileFiles {
 public:
  explicit ProfileFiles(std::vector<std::string> paths) : paths_(std::move(paths)) {}
  ~ProfileFiles();
  ProfileFiles(const ProfileFiles&) = delete;
  ProfileFiles& operator=(const ProfileFiles&) = delete;

  /// Before long work. INVALID_ARGUMENT: an ending other than .html and .json, a file that cannot be written, or a
  /// target that is attached. Gives the target a trace if it has none.
  [[nodiscard]] Status prepare(runtime::Target& target);

  [[nodiscard]] bool wanted() const { return !paths_.empty(); }
  [[nodiscard]] const std::vector<std::string>& paths() const { return paths_; }

  /// Writes all of them, once the session has closed. Errors of profile_of().
  [[nodiscard]] Status write(const spec::Chip& chip, const ModelProgram& model, const std::string& title,
                             const PartsResult& result) const;

 private:
  std::vector<std::string> paths_;
  std::string core_, trace_;
  bool temporary_ = false;
};

}  // namespace weft::tools
