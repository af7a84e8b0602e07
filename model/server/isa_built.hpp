/// What the compiler was told about the machine, recorded by a file that is compiled with the fast path's flags.
#pragma once

namespace weft::server {

/// One flag for each instruction set that the fast path may contain. Constant data: reading it runs no code of that
/// file.
struct BuiltIsa {
  bool sse42;
  bool avx;
  bool avx2;
  bool fma;
  bool bmi2;
  bool avx512f;
  bool avx512bw;
  bool avx512dq;
  bool avx512vl;
  bool avx512vnni;
  bool avx512bf16;
};
extern const BuiltIsa kBuiltIsa;

}  // namespace weft::server
