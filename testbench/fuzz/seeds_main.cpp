// Writes the seeds of all corpora, or compares them with those that are committed.
//
// usage: fuzz_seeds CORPORA [--check]      exit code 1: a committed seed is not what the specification makes it
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string_view>

#include "testbench/fuzz/seeds.hpp"

namespace {

using weft::fuzz::Seeds;
using Bytes = std::vector<uint8_t>;

const std::map<std::string, std::function<Seeds()>> kMakers{
    {"executable", weft::fuzz::executable_seeds},
    {"program_image", weft::fuzz::program_image_seeds},
    {"firmware_image", weft::fuzz::firmware_image_seeds},
    {"command_check", weft::fuzz::command_seeds},
    {"fast_core", weft::fuzz::core_seeds},
    {"firmware_rings", weft::fuzz::firmware_seeds},
    {"state_page", weft::fuzz::state_page_seeds},
    {"fault_schedule", weft::fuzz::fault_schedule_seeds},
    {"npy", weft::fuzz::npy_seeds},
    {"onnx", weft::fuzz::onnx_seeds},
    {"chakra", weft::fuzz::chakra_seeds},
    {"vfio_user_server", weft::fuzz::server_seeds},
    {"vfio_user_client", weft::fuzz::client_seeds},
};

bool same(const std::filesystem::path& path, const Bytes& bytes) {
  std::ifstream file(path, std::ios::binary);
  return file.is_open() && Bytes{std::istreambuf_iterator<char>(file), {}} == bytes;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2 || (count == 3 && std::string_view(arguments[2]) != "--check") || count > 3) {
    std::fprintf(stderr, "usage: fuzz_seeds CORPORA [--check]\n");
    return 2;
  }
  const std::filesystem::path corpora = arguments[1];
  int stale = 0, total = 0;
  for (const auto& [thing, make] : kMakers) {
    for (const auto& [name, bytes] : make()) {
      const auto path = corpora / thing / ("seed_" + name);
      total++;
      if (same(path, bytes)) continue;
      stale++;
      if (count == 3) {
        std::fprintf(stderr, "%s is not what the specification makes it: scripts/fuzz --seeds\n", path.c_str());
        continue;
      }
      std::filesystem::create_directories(path.parent_path());
      std::ofstream(path, std::ios::binary)
          .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
      std::printf("%s: %zu bytes\n", path.c_str(), bytes.size());
    }
  }
  std::printf("%d seeds, %d %s\n", total, stale, count == 3 ? "stale" : "written");
  return count == 3 && stale != 0 ? 1 : 0;
}
