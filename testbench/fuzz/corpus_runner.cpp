// Runs a fuzz target without libFuzzer: every file of its corpus, then random changes of each. Exits with 0, or dies
// where the target does; what it ran last stands in its output.
//
// usage: fuzz_<thing> FOLDER.. [--mutations N] [--seed S]
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "testbench/fuzz/fuzz_target.hpp"

extern "C" __attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                                                unsigned seed);

namespace {

using Bytes = std::vector<uint8_t>;

std::mt19937_64 random_source;

size_t flip_some(uint8_t* data, size_t size) {
  for (uint64_t changes = 1 + random_source() % 4; changes != 0 && size != 0; changes--) {
    uint8_t& byte = data[random_source() % size];
    byte = random_source() % 2 == 0 ? static_cast<uint8_t>(random_source())
                                    : static_cast<uint8_t>(byte ^ 1u << random_source() % 8);
  }
  return size;
}

Bytes read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::filesystem::path> files_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void run(const Bytes& input) { (void)LLVMFuzzerTestOneInput(input.data(), input.size()); }

void run_changed(Bytes input) {
  const size_t most = std::max<size_t>(2 * input.size(), 64);
  const size_t size = input.size();
  input.resize(most);
  if (LLVMFuzzerCustomMutator != nullptr) {
    input.resize(LLVMFuzzerCustomMutator(input.data(), size, most, static_cast<unsigned>(random_source())));
  } else {
    input.resize(flip_some(input.data(), size));
  }
  run(input);
}

}  // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t) { return flip_some(data, size); }

int main(int count, char** arguments) {
  std::vector<std::string> folders;
  uint64_t mutations = 50, seed = 1;
  for (int i = 1; i < count; i++) {
    const std::string argument = arguments[i];
    if (argument == "--mutations" && i + 1 < count) {
      mutations = std::stoull(arguments[++i]);
    } else if (argument == "--seed" && i + 1 < count) {
      seed = std::stoull(arguments[++i]);
    } else {
      folders.push_back(argument);
    }
  }
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  random_source.seed(seed);
  size_t files = 0;
  for (const std::string& folder : folders) {
    for (const auto& path : files_of(folder)) {
      std::printf("%s\n", path.c_str());
      std::fflush(stdout);
      const Bytes input = read_file(path);
      run(input);
      for (uint64_t i = 0; i < mutations; i++) run_changed(input);
      files++;
    }
  }
  std::printf("%zu files, %llu changes of each\n", files, static_cast<unsigned long long>(mutations));
  return files == 0 ? 1 : 0;
}
