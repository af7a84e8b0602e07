// Where modules with RTL cores are looked for.
#include "model/loadable/core_module.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>

#include "testbench/unit/loadable/temporary_folder.hpp"

using namespace weft::loadable;
using Catch::Contains;

namespace {

/// The environment's variables that name the folder, as the test wants them; nullptr: unset.
struct Variables {
  Variables(const char* cores, const char* caches, const char* home) {
    set("WEFT_CORES", cores), set("XDG_CACHE_HOME", caches), set("HOME", home);
  }
  static void set(const char* name, const char* value) {
    if (value == nullptr)
      ::unsetenv(name);
    else
      ::setenv(name, value, 1);
  }
};

std::string folder_with(const char* cores, const char* caches, const char* home, std::string& error) {
  const Variables variables(cores, caches, home);
  error.clear();
  return cores_folder(error).string();
}

}  // namespace

TEST_CASE("the folder of modules is WEFT_CORES, else in XDG_CACHE_HOME, else in HOME") {
  std::string error;
  CHECK(folder_with("/a", "/b", "/c", error) == "/a");
  CHECK(folder_with(nullptr, "/b", "/c", error) == "/b/weft/cores");
  CHECK(folder_with("", "", "/c", error) == "/c/.cache/weft/cores");
  CHECK(error.empty());
}

TEST_CASE("a module is never looked for in the current folder") {
  std::string error;
  CHECK(folder_with("cores", "/b", "/c", error).empty());
  CHECK_THAT(error, Contains("WEFT_CORES is 'cores'") && Contains("absolute"));
  CHECK(folder_with(nullptr, "caches", "/c", error) == "/c/.cache/weft/cores");
  CHECK(error.empty());
  CHECK(folder_with(nullptr, nullptr, nullptr, error).empty());
  CHECK_THAT(error, Contains("HOME"));
  CHECK(folder_with(nullptr, nullptr, "home", error).empty());
}

TEST_CASE("the preset and the array name the module") {
  CHECK(module_name("v5e", false) == "weft_core_v5e");
  CHECK(module_name("nano-4mxu", true) == "weft_core_nano_4mxu_structural");
}

TEST_CASE("the key is 16 hex digits") {
  CHECK(core_key().size() == 16);
  CHECK(core_key().find_first_not_of("0123456789abcdef") == std::string_view::npos);
}

TEST_CASE("modules of other keys are found, and of this key or of another core are not") {
  const weft::test::TemporaryFolder folder;
  for (const std::string& at : {"0123456789abcdef/weft_core_v4.so", "aaaaaaaaaaaaaaaa/weft_core_v4.so",
                                "bbbbbbbbbbbbbbbb/weft_core_v4_structural.so"}) {
    std::filesystem::create_directories((folder.path / at).parent_path());
    std::ofstream(folder.path / at) << "module";
  }
  std::filesystem::create_directories(folder.path / core_key());
  std::ofstream(folder.path / core_key() / "weft_core_v4.so") << "module";
  CHECK(other_keys(folder.path, "weft_core_v4") == std::vector<std::string>{"0123456789abcdef", "aaaaaaaaaaaaaaaa"});
  CHECK(other_keys(folder.path, "weft_core_v5p").empty());
  CHECK(other_keys(folder.path / "nowhere", "weft_core_v4").empty());
}
