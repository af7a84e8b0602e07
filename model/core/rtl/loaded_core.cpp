#include "model/core/rtl/loaded_core.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>

#include "model/loadable/core_module.hpp"
#include "model/loadable/core_seal.hpp"

namespace weft::core {
namespace {

std::string rebuild(std::string_view chip, ArrayForm array) {
  return fmt::format("weft build-chip {}{}", chip, array == ArrayForm::kStructural ? " --array structural" : "");
}

/// The module's maker. The file stays open: it is loaded by its descriptor, so that what was judged is what is loaded, and
/// the linker takes two files of one path for the same.
RtlCoreMaker* load_file(const std::filesystem::path& path, const std::string& name, std::string& why) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    if (errno != ENOENT && errno != ENOTDIR) why = std::strerror(errno);
    return nullptr;
  }
  why = loadable::why_refused(file, name, loadable::core_key());
  void* module = nullptr;
  if (why.empty()) {
    module = ::dlopen(fmt::format("/proc/self/fd/{}", file).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (module == nullptr) why = ::dlerror();
  }
  if (module == nullptr) {
    ::close(file);
    return nullptr;
  }
  const auto maker = reinterpret_cast<RtlCoreMaker* (*)()>(::dlsym(module, "weft_loadable_core_maker"));
  if (maker == nullptr) why = ::dlerror();
  return maker == nullptr ? nullptr : maker();
}

}  // namespace

RtlCoreMaker* load_core(std::string_view chip, ArrayForm array, std::string& error) {
  static std::mutex mutex;
  static std::map<std::string, RtlCoreMaker*> loaded;
  const std::string name = loadable::module_name(chip, array == ArrayForm::kStructural);
  const std::scoped_lock lock(mutex);
  if (const auto found = loaded.find(name); found != loaded.end()) return found->second;
  std::string no_folder;
  const std::filesystem::path cores = loadable::cores_folder(no_folder);
  if (cores.empty()) return nullptr;
  const std::filesystem::path path = cores / loadable::core_key() / (name + ".so");
  std::string why;
  RtlCoreMaker* const maker = load_file(path, name, why);
  if (maker != nullptr) loaded[name] = maker;
  if (!why.empty())
    error = fmt::format("{} is not loaded: {}; '{}' builds it again", path.string(), why, rebuild(chip, array));
  return maker;
}

std::string why_no_module(std::string_view chip, ArrayForm array) {
  std::string no_folder;
  const std::filesystem::path cores = loadable::cores_folder(no_folder);
  if (cores.empty()) return no_folder;
  const auto keys = loadable::other_keys(cores, loadable::module_name(chip, array == ArrayForm::kStructural));
  if (keys.empty()) return {};
  return fmt::format("{} has it only of other sources (key {}, and this program needs {})", cores.string(),
                     fmt::join(keys, ", "), loadable::core_key());
}

}  // namespace weft::core
