// Words, and what both kinds of expectation count.
#include "model/record/expectation.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::record {
namespace {

const char* accessor_text(chip::Accessor by) {
  switch (by) {
    case chip::Accessor::kFirmware:
      return "the firmware";
    case chip::Accessor::kCompletion:
      return "a completion";
    case chip::Accessor::kCopy:
      return "the copy engine";
    case chip::Accessor::kCore:
      return "the core";
  }
  return "";
}

}  // namespace

void Expectation::count_write(const chip::HostAccess& access, size_t bytes) {
  if (access.by == chip::Accessor::kCompletion) {
    compared_.completions++;
  } else {
    compared_.host_writes++;
    compared_.host_written_bytes += bytes;
  }
}

std::string access_text(RecordKind kind, const chip::HostAccess& access) {
  if (access.by == chip::Accessor::kCompletion)
    return fmt::format("completion entry of function {} at {:#x}", access.function, access.iova);
  return fmt::format("host {} of {}, function {} at {:#x}", kind == RecordKind::kHostRead ? "read" : "write",
                     accessor_text(access.by), access.function, access.iova);
}

std::string bytes_text(std::span<const std::byte> bytes, size_t first) {
  constexpr size_t kMost = 32;
  std::string text;
  const auto shown = bytes.subspan(std::min(first, bytes.size()));
  for (const std::byte b : shown.first(std::min(kMost, shown.size())))
    text += fmt::format("{}{:02x}", text.empty() ? "" : " ", std::to_integer<unsigned>(b));
  if (shown.size() > kMost) text += " ...";
  return text;
}

}  // namespace weft::record
