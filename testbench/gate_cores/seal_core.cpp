// seal_core MODULE NAME FOLDER: the module, sealed as core NAME, in the folder of this build's key in FOLDER: a WEFT_CORES.
#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "model/loadable/core_module.hpp"
#include "model/loadable/core_seal.hpp"

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: seal_core MODULE NAME FOLDER\n");
    return 2;
  }
  const std::string name = argv[2];
  const std::filesystem::path out = std::filesystem::path(argv[3]) / weft::loadable::core_key() / (name + ".so");
  const std::string error = weft::loadable::write_sealed(argv[1], out, name, weft::loadable::core_key());
  if (!error.empty()) fmt::print(stderr, "seal_core: {}\n", error);
  return error.empty() ? 0 : 1;
}
