/// The digits: optdigits.csv, cut into what is trained on and what is held out.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "host/compiler/result.hpp"

namespace weft::examples {

inline constexpr size_t kPixels = 64, kClasses = 10;

struct Digits {
  std::vector<float> pixels;  ///< [count, kPixels], 0 to 1 in sixteenths, which bf16 holds exactly
  std::vector<int> labels;    ///< 0 to 9
};

/// Every row whose index modulo 3 is 2 is held out (train.py and digits_train never see them).
struct Optdigits {
  Digits training, held_out;
};

/// INVALID_ARGUMENT with path, line and column if the file cannot be read or is not 64 pixels of 0 to 16 and a label
/// per line.
[[nodiscard]] Result<Optdigits> read_optdigits(const std::string& path);

}  // namespace weft::examples
