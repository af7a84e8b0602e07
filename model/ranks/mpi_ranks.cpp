// Finds and loads the module that links MPI.
#include "model/ranks/mpi_ranks.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

namespace weft::ranks {
namespace {

constexpr const char* kModule = "weft-mpi.so";

/// Empty: it is nowhere.
std::filesystem::path find_module() {
  std::error_code ignored;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const auto& path : {folder / kModule, folder / WEFT_MPI_FOLDER / kModule})
    if (std::filesystem::exists(path, ignored)) return path;
  return {};
}

}  // namespace

std::unique_ptr<MpiLink> join_mpi(RankLost lost, std::string& error) {
  const auto path = find_module();
  if (path.empty()) {
    error = fmt::format(
        "this program was built without MPI: it has no {} beside it. scripts/packages brings OpenMPI, "
        "scripts/build builds it in",
        kModule);
    return nullptr;
  }
  // Global: what OpenMPI itself loads looks for its symbols. Never closed.
  void* module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  void* entry = module == nullptr ? nullptr : ::dlsym(module, kMpiEntry);
  if (entry == nullptr) {
    error = fmt::format("the module of MPI does not load: {}", ::dlerror());
    return nullptr;
  }
  return std::unique_ptr<MpiLink>(reinterpret_cast<MpiEntry>(entry)(std::move(lost)));
}

}  // namespace weft::ranks
