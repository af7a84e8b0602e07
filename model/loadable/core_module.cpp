#include "model/loadable/core_module.hpp"

#include <algorithm>
#include <cstdlib>

#include "weft/core_key.hpp"

namespace weft::loadable {
namespace {

namespace fs = std::filesystem;

fs::path named_by(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? fs::path() : fs::path(value);
}

}  // namespace

std::string_view core_key() { return WEFT_CORE_KEY; }

std::string module_name(std::string_view chip, bool structural) {
  std::string name = "weft_core_" + std::string(chip) + (structural ? "_structural" : "");
  std::ranges::replace(name, '-', '_');
  return name;
}

fs::path cores_folder(std::string& error) {
  if (const fs::path cores = named_by("WEFT_CORES"); !cores.empty()) {
    if (cores.is_absolute()) return cores;
    error = "WEFT_CORES is '" + cores.string() + "'; it must be an absolute path";
    return {};
  }
  if (const fs::path caches = named_by("XDG_CACHE_HOME"); caches.is_absolute()) return caches / "weft/cores";
  if (const fs::path home = named_by("HOME"); home.is_absolute()) return home / ".cache/weft/cores";
  error = "there is no folder for RTL cores: WEFT_CORES, XDG_CACHE_HOME or HOME names it";
  return {};
}

std::vector<std::string> other_keys(const fs::path& cores, const std::string& name) {
  std::vector<std::string> keys;
  std::error_code none;
  for (fs::directory_iterator folder(cores, none), end; !none && folder != end; folder.increment(none)) {
    const std::string key = folder->path().filename().string();
    if (key != core_key() && fs::is_regular_file(folder->path() / (name + ".so"), none)) keys.push_back(key);
  }
  std::ranges::sort(keys);
  return keys;
}

}  // namespace weft::loadable
