// Which files are loaded as modules, and why others are not.
#include "model/loadable/core_seal.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

#include "testbench/unit/loadable/temporary_folder.hpp"

using namespace weft::loadable;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

constexpr const char *kName = "weft_core_v4", *kKey = "0123456789abcdef";

/// A module with its seal, and what it is made of: more than one buffer of the reader.
struct SealedModule {
  SealedModule() {
    for (size_t i = 0; i < (3u << 20) + 5; i++) content += static_cast<char>(i * i >> 3);
    std::ofstream(folder.path / "built.so", std::ios::binary) << content;
    REQUIRE(write_sealed(folder.path / "built.so", file, kName, kKey) == "");
  }

  [[nodiscard]] std::string bytes() const {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& text) const { std::ofstream(file, std::ios::binary | std::ios::trunc) << text; }
  [[nodiscard]] std::string refused(const char* name = kName, const char* key = kKey) const {
    return refused_at(file, name, key);
  }
  static std::string refused_at(const fs::path& path, const char* name = kName, const char* key = kKey) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    REQUIRE(fd >= 0);
    const std::string why = why_refused(fd, name, key);
    ::close(fd);
    return why;
  }

  weft::test::TemporaryFolder folder;
  fs::path file = folder.path / "cores/weft_core_v4.so";
  std::string content;
};

}  // namespace

TEST_CASE("a sealed module is the module and its seal, and may be loaded") {
  const SealedModule module;
  CHECK(module.bytes().size() == module.content.size() + kSealBytes);
  CHECK(module.bytes().substr(0, module.content.size()) == module.content);
  CHECK(module.bytes().back() == '\n');
  CHECK(module.refused() == "");
  CHECK_FALSE(fs::exists(module.file.string() + ".new"));
}

TEST_CASE("a module that ends too early is refused, wherever it ends") {
  const SealedModule module;
  const std::string whole = module.bytes();
  for (const size_t bytes :
       {size_t{0}, size_t{1}, kSealBytes - 1, kSealBytes, whole.size() / 2, module.content.size(), whole.size() - 1}) {
    INFO(bytes << " bytes");
    module.write(whole.substr(0, bytes));
    CHECK_THAT(module.refused(), Contains("no seal"));
  }
}

TEST_CASE("a module with one wrong byte is refused, wherever it is") {
  const SealedModule module;
  const std::string whole = module.bytes();
  for (const size_t at : {size_t{0}, size_t{1} << 20, module.content.size() - 1}) {
    INFO("byte " << at);
    std::string wrong = whole;
    wrong[at] = static_cast<char>(wrong[at] ^ 1);
    module.write(wrong);
    CHECK_THAT(module.refused(), Contains("CRC-32"));
  }
  for (size_t at = module.content.size(); at < whole.size(); at++) {
    INFO("byte " << at - module.content.size() << " of the seal");
    std::string wrong = whole;
    wrong[at] = static_cast<char>(wrong[at] ^ 1);
    module.write(wrong);
    CHECK(module.refused() != "");
  }
}

TEST_CASE("a module with bytes between it and its seal, or without some, is refused") {
  const SealedModule module;
  const std::string seal = module.bytes().substr(module.content.size());
  module.write(module.content + "x" + seal);
  CHECK_THAT(module.refused(), Contains("bytes where its seal tells"));
  module.write(module.content.substr(1) + seal);
  CHECK_THAT(module.refused(), Contains("bytes where its seal tells"));
}

TEST_CASE("a module of other sources or of another core is refused, and told so") {
  const SealedModule module;
  CHECK_THAT(module.refused(kName, "fedcba9876543210"),
             Contains("built for key 0123456789abcdef") && Contains("fedcba9876543210"));
  CHECK_THAT(module.refused("weft_core_v5e"), Contains("it holds weft_core_v4, not weft_core_v5e"));
}

TEST_CASE("a module that others may write, or that belongs to another user, is refused") {
  const SealedModule module;
  for (const mode_t mode : {0664u, 0646u, 0666u}) {
    REQUIRE(::chmod(module.file.c_str(), mode) == 0);
    CHECK_THAT(module.refused(), Contains("others may write it"));
  }
  REQUIRE(::chmod(module.file.c_str(), 0400) == 0);
  CHECK(module.refused() == "");
  if (::geteuid() == 0) {
    REQUIRE(::chown(module.file.c_str(), 65534, 65534) == 0);
    CHECK_THAT(module.refused(), Contains("belongs to user 65534"));
  }
}

TEST_CASE("what is no regular file is refused") {
  const SealedModule module;
  CHECK_THAT(SealedModule::refused_at(module.folder.path), Contains("no regular file"));
  const fs::path pipe = module.folder.path / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THAT(SealedModule::refused_at(pipe), Contains("no regular file"));
}

TEST_CASE("the mode of a sealed module is 0644 under every umask") {
  const mode_t before = ::umask(0);
  const SealedModule module;
  ::umask(before);
  struct stat status {};
  REQUIRE(::stat(module.file.c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0644);
}

TEST_CASE("a module that cannot be written leaves what was there") {
  const SealedModule module;
  CHECK_THAT(write_sealed(module.folder.path / "missing.so", module.file, kName, kKey), Contains("missing.so"));
  CHECK(module.refused() == "");
  const fs::path in_file = module.file / "inside.so";  // its folder is a file
  CHECK_THAT(write_sealed(module.folder.path / "built.so", in_file, kName, kKey), Contains("cannot be written"));
  CHECK(module.refused() == "");
}
