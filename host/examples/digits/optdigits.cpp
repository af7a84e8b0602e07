// A line is 65 numbers with commas between them.
#include "host/examples/digits/optdigits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "host/tools/formats/files.hpp"

namespace weft::examples {

Result<Optdigits> read_optdigits(const std::string& path) {
  const auto file = tools::read_file(path);
  if (!file.ok()) return file.error();
  const std::string text(reinterpret_cast<const char*>(file.value().data()), file.value().size());
  Optdigits data;
  size_t line = 0, at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::array<int, kPixels + 1> row{};
    const char* p = text.data() + at;
    for (size_t i = 0; i <= kPixels; i++) {
      const auto [next, error] = std::from_chars(p, text.data() + end, row[i]);
      const bool separator = i == kPixels || (next < text.data() + end && *next == ',');
      if (error != std::errc() || !separator || row[i] < 0 || row[i] > 16)
        return Error{WEFT_ERROR_INVALID_ARGUMENT,
                     fmt::format("{}, line {}: column {} is not a number of 0 to 16 (64 pixels and a label are needed)",
                                 path, line + 1, i + 1)};
      p = next + 1;
    }
    if (row[kPixels] >= static_cast<int>(kClasses))
      return Error{WEFT_ERROR_INVALID_ARGUMENT, fmt::format("{}, line {}: label {}", path, line + 1, row[kPixels])};
    Digits& part = line++ % 3 == 2 ? data.held_out : data.training;
    for (size_t i = 0; i < kPixels; i++) part.pixels.push_back(static_cast<float>(row[i]) / 16.0f);
    part.labels.push_back(row[kPixels]);
    at = end + 1;
  }
  return data;
}

}  // namespace weft::examples
