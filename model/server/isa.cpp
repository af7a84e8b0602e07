// Asks the CPU for each instruction set that the build used.
#include "model/server/isa.hpp"

#include "model/server/isa_built.hpp"

namespace weft::server {

std::string missing_instructions() {
  std::string missing;
#if defined(__x86_64__)
  __builtin_cpu_init();
  const auto need = [&](bool built, bool present, const char* name) {
    if (built && !present) missing += std::string(missing.empty() ? "" : ", ") + name;
  };
  need(kBuiltIsa.sse42, __builtin_cpu_supports("sse4.2"), "SSE4.2");
  need(kBuiltIsa.avx, __builtin_cpu_supports("avx"), "AVX");
  need(kBuiltIsa.avx2, __builtin_cpu_supports("avx2"), "AVX2");
  need(kBuiltIsa.fma, __builtin_cpu_supports("fma"), "FMA");
  need(kBuiltIsa.bmi2, __builtin_cpu_supports("bmi2"), "BMI2");
  need(kBuiltIsa.avx512f, __builtin_cpu_supports("avx512f"), "AVX512F");
  need(kBuiltIsa.avx512bw, __builtin_cpu_supports("avx512bw"), "AVX512BW");
  need(kBuiltIsa.avx512dq, __builtin_cpu_supports("avx512dq"), "AVX512DQ");
  need(kBuiltIsa.avx512vl, __builtin_cpu_supports("avx512vl"), "AVX512VL");
  need(kBuiltIsa.avx512vnni, __builtin_cpu_supports("avx512vnni"), "AVX512VNNI");
  need(kBuiltIsa.avx512bf16, __builtin_cpu_supports("avx512bf16"), "AVX512BF16");
#endif
  if (missing.empty()) return missing;
  return "this build needs " + missing +
         ", which this machine does not have: configure with -DWEFT_MARCH= for the machine that runs it";
}

}  // namespace weft::server
