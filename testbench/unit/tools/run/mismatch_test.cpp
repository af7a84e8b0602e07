// A lockstep mismatch as the user reads it.
#include "host/tools/run/mismatch.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

using namespace weft;

std::string explained(const std::string& report) {
  runtime::Target target;
  target.core = "lockstep";
  const tools::MismatchReport mismatch(target);
  std::ofstream(mismatch.target().mismatch_report) << report;
  return mismatch.explain({WEFT_ERROR_INTERNAL, "the launch failed"}).message;
}

}  // namespace

TEST_CASE("a mismatch comes with the line that runs the command again with waves of the 2000 cycles before it") {
  const std::string text = explained("unit mxu, cycle 5210: tile 0 of 1, row 5, lane 0: RTL 1, golden 2\n");
  CHECK(text.find("the RTL differs from the golden model\nunit mxu, cycle 5210") == 0);
  CHECK(text.find("rerun: ") != std::string::npos);
  CHECK(text.find("tools_test") != std::string::npos);  // this process's command line
  CHECK(text.find("--wave mismatch.fst --wave-from 3210 --wave-to 5211\n") != std::string::npos);
}

TEST_CASE("the waves of an early mismatch begin at cycle 0") {
  CHECK(explained("unit vpu, cycle 12: row 0\n").find("--wave-from 0 --wave-to 13\n") != std::string::npos);
}

TEST_CASE("a report without a cycle has no line to run again, an error without a report stays as it is") {
  CHECK(explained("garbage").find("rerun") == std::string::npos);
  CHECK(explained("") == "the launch failed");
}
