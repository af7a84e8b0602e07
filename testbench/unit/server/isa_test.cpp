// The check of the machine's vector instructions.
#include "model/server/isa.hpp"

#include <catch2/catch.hpp>

#include "model/server/isa_built.hpp"

TEST_CASE("the machine that built the simulator can run it") { CHECK(weft::server::missing_instructions().empty()); }

TEST_CASE("the build records its instruction sets in order: wider ones imply the narrower") {
  using weft::server::kBuiltIsa;
  if (kBuiltIsa.avx512bw) CHECK(kBuiltIsa.avx512f);
  if (kBuiltIsa.avx512f) CHECK(kBuiltIsa.avx2);
  if (kBuiltIsa.avx2) CHECK(kBuiltIsa.avx);
}
