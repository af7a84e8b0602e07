// collector.cpp: what a process leaves behind, however it ends. A child process plays the test, with counters of its
// own for a model.
#include "collector.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

/// Stands for a model's symbol table.
struct Symbols {
  uint32_t counters[3];
};

void begin(Symbols& symbols) {
  weft::coverage::model_begins(&symbols, sizeof symbols, [](void*) {
    weft_coverage_port("m", "x_i", 40, 0, 0x3, 0x6);
    weft_coverage_port("m", "x_i", 40, 32, 0x80, 0x80);
  });
  weft::coverage::add_point(&symbols.counters[0], "/r/m.sv", 3, 5, "v_line/m", "block", "3-4");
  weft::coverage::add_point(&symbols.counters[1], "/r/m.sv", 7, 5, "v_user/m", "Seen_C", "");
}

/// What the child left in a fresh folder: extension to content.
struct Left {
  std::string points, ports;
  int files = 0;
  int status = 0;
};

Left run(const std::function<void()>& child, bool with_folder = true) {
  const fs::path folder = fs::temp_directory_path() / ("weft-collector-" + std::to_string(getpid()));
  fs::remove_all(folder);
  fs::create_directory(folder);
  const pid_t pid = fork();
  if (pid == 0) {
    if (with_folder)
      setenv("WEFT_COVERAGE_DIR", folder.c_str(), 1);
    else
      unsetenv("WEFT_COVERAGE_DIR");
    child();
    std::exit(0);
  }
  Left left;
  waitpid(pid, &left.status, 0);
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    (entry.path().extension() == ".dat" ? left.points : left.ports) = text;
    left.files++;
  }
  fs::remove_all(folder);
  return left;
}

const std::string kHead = "# SystemC::Coverage-3\n";
const std::string kBlock = "C '\001f\002/r/m.sv\001l\0023\001n\0025\001page\002v_line/m\001o\002block\001S\0023-4' ";

TEST_CASE("the counters of models that are gone add up") {
  const Left left = run([] {
    for (const uint32_t hits : {2u, 5u}) {
      auto symbols = std::make_unique<Symbols>();
      begin(*symbols);
      symbols->counters[0] += hits;
      weft::coverage::model_ends(symbols.get());
    }
  });
  CHECK(left.files == 2);
  CHECK(left.points.starts_with(kHead));
  CHECK(left.points.find(kBlock + "7\n") != std::string::npos);
  CHECK(left.points.find("Seen_C' 0\n") != std::string::npos);
}

TEST_CASE("a port's bits count as both only within one instance") {
  const Left left = run([] {
    Symbols symbols;
    begin(symbols);
    weft::coverage::model_ends(&symbols);
  });
  CHECK(left.ports.find("m x_i 40 0000008000000003 0000008000000006 0000008000000002\n") != std::string::npos);
}

TEST_CASE("models that live at exit, and processes that abort, count") {
  for (const bool aborts : {false, true}) {
    const Left left = run([aborts] {
      static Symbols symbols;
      begin(symbols);
      symbols.counters[0] = 3;
      if (aborts) std::abort();
    });
    CHECK(left.files == 2);
    CHECK(left.points.find(kBlock + "3\n") != std::string::npos);
    CHECK(WIFSIGNALED(left.status) == aborts);
  }
}

TEST_CASE("without the folder's name nothing is written") {
  const Left left = run(
      [] {
        Symbols symbols;
        begin(symbols);
        weft::coverage::model_ends(&symbols);
      },
      false);
  CHECK(left.files == 0);
}

}  // namespace
