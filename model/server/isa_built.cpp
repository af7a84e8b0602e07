// Compiled with the flags of the fast path; holds constants only.
#include "model/server/isa_built.hpp"

namespace weft::server {
namespace {

#ifdef __SSE4_2__
constexpr bool kSse42 = true;
#else
constexpr bool kSse42 = false;
#endif
#ifdef __AVX__
constexpr bool kAvx = true;
#else
constexpr bool kAvx = false;
#endif
#ifdef __AVX2__
constexpr bool kAvx2 = true;
#else
constexpr bool kAvx2 = false;
#endif
#ifdef __FMA__
constexpr bool kFma = true;
#else
constexpr bool kFma = false;
#endif
#ifdef __BMI2__
constexpr bool kBmi2 = true;
#else
constexpr bool kBmi2 = false;
#endif
#ifdef __AVX512F__
constexpr bool kAvx512f = true;
#else
constexpr bool kAvx512f = false;
#endif
#ifdef __AVX512BW__
constexpr bool kAvx512bw = true;
#else
constexpr bool kAvx512bw = false;
#endif
#ifdef __AVX512DQ__
constexpr bool kAvx512dq = true;
#else
constexpr bool kAvx512dq = false;
#endif
#ifdef __AVX512VL__
constexpr bool kAvx512vl = true;
#else
constexpr bool kAvx512vl = false;
#endif
#ifdef __AVX512VNNI__
constexpr bool kAvx512vnni = true;
#else
constexpr bool kAvx512vnni = false;
#endif
#ifdef __AVX512BF16__
constexpr bool kAvx512bf16 = true;
#else
constexpr bool kAvx512bf16 = false;
#endif

}  // namespace

constinit const BuiltIsa kBuiltIsa{kSse42,    kAvx,      kAvx2,     kFma,        kBmi2,      kAvx512f,
                                   kAvx512bw, kAvx512dq, kAvx512vl, kAvx512vnni, kAvx512bf16};

}  // namespace weft::server
