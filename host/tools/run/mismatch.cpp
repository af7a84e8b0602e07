// The report travels through a file: the core is in another process.
#include "host/tools/run/mismatch.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "host/tools/formats/files.hpp"

namespace weft::tools {
namespace {

constexpr uint64_t kWaveWindowCycles = 2000;

/// The command line of this process with waves of the cycles before the mismatch; empty if the report names no cycle.
std::string rerun_text(const std::string& report) {
  static constexpr std::string_view kBefore = ", cycle ";
  const size_t at = report.find(kBefore);
  uint64_t cycle = 0;
  if (at == std::string::npos || std::sscanf(report.c_str() + at + kBefore.size(), "%" SCNu64, &cycle) != 1) return {};
  std::ifstream arguments("/proc/self/cmdline", std::ios::binary);
  std::string line;
  for (std::string argument; std::getline(arguments, argument, '\0');) line += argument + ' ';
  return fmt::format("rerun: {}--wave mismatch.fst --wave-from {} --wave-to {}\n", line,
                     cycle - std::min(cycle, kWaveWindowCycles), cycle + 1);
}

}  // namespace

MismatchReport::MismatchReport(const runtime::Target& target) : target_(target) {
  if (target_.core != "lockstep" || !target_.mismatch_report.empty()) return;
  std::error_code error;
  const auto folder = std::filesystem::temp_directory_path(error);
  target_.mismatch_report = fmt::format("{}/weft-mismatch-{}.txt", error ? "." : folder.string(), getpid());
}

MismatchReport::~MismatchReport() {
  if (!target_.mismatch_report.empty()) std::remove(target_.mismatch_report.c_str());
}

Error MismatchReport::explain(const Error& error) const {
  if (target_.mismatch_report.empty()) return error;
  const auto file = read_file(target_.mismatch_report);
  if (!file.ok() || file.value().empty()) return error;
  const std::string text(reinterpret_cast<const char*>(file.value().data()), file.value().size());
  return {WEFT_ERROR_GOLDEN_MISMATCH,
          fmt::format("the RTL differs from the golden model\n{}{}", text, rerun_text(text))};
}

}  // namespace weft::tools
