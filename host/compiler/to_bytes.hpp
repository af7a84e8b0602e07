/// How numbers become bytes with a sign, as CAST and EPILOGUE do it.
#pragma once
#include <cstdint>

namespace weft::compiler {

struct ToBytes {
  float scale = 1;         ///< what they are multiplied by first, in f32; i32 becomes f32 before
  int32_t zero_point = 0;  ///< -128 to 127; added to what has been rounded, before it saturates

  bool operator==(const ToBytes&) const = default;
};

}  // namespace weft::compiler
