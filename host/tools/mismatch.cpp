// The report travels through a file: the core is in another process.
#include "host/tools/mismatch.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "host/tools/files.hpp"

namespace weft::tools {

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
  return {WEFT_ERROR_GOLDEN_MISMATCH, fmt::format("the RTL differs from the golden model\n{}", text)};
}

}  // namespace weft::tools
