// Operands of weft gemm: made from a seed or read, split into passes, and compared.
#include "host/tools/run/gemm_input.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "host/compiler/layout.hpp"
#include "model/golden/matmul.hpp"

using namespace weft;
using Catch::Contains;

namespace {

std::string refusal(const std::string& a, const std::string& b, const std::string& shape,
                    const std::string& precision) {
  const auto input = tools::make_gemm_input(a, b, shape, 1, precision);
  REQUIRE(!input.ok());
  CHECK(input.error().code == WEFT_ERROR_INVALID_ARGUMENT);
  return input.error().message;
}

}  // namespace

TEST_CASE("operands and result that no HBM of the chip holds are told before they are drawn") {
  // 2 (2 x 3 + 3 x 5) + 4 x 2 x 5 = 82 bytes; of int8 61; of six passes 292.
  for (const auto& [precision, bytes] : {std::pair{"bf16", 82}, {"int8", 61}, {"bf16x6", 292}}) {
    CAPTURE(precision);
    CHECK(tools::make_gemm_input("", "", "2x3x5", 1, precision, static_cast<uint64_t>(bytes)).ok());
    const auto refused = tools::make_gemm_input("", "", "2x3x5", 1, precision, static_cast<uint64_t>(bytes - 1));
    REQUIRE(!refused.ok());
    CHECK(refused.error().code == WEFT_ERROR_NO_DEVICE_MEMORY);
    CHECK_THAT(refused.error().message, Contains(std::to_string(bytes) + " bytes of HBM"));
  }
  // 40 GB, which no machine that this runs on has to lose
  const auto refused = tools::make_gemm_input("", "", "65536x65536x65536", 1, "bf16", uint64_t{16} << 30);
  REQUIRE(!refused.ok());
  CHECK_THAT(
      refused.error().message,
      Contains("A (65536 x 65536), B (65536 x 65536) and C take 34359738368 bytes of HBM, the chip has 17179869184"));
}

TEST_CASE("the same seed makes the same operands, another seed others") {
  const auto one = tools::make_gemm_input("", "", "5x6x7", 1, "bf16");
  const auto same = tools::make_gemm_input("", "", "5x6x7", 1, "bf16");
  const auto other = tools::make_gemm_input("", "", "5x6x7", 2, "bf16");
  REQUIRE((one.ok() && same.ok() && other.ok()));
  CHECK(one.value().a == same.value().a);
  CHECK(one.value().b == same.value().b);
  CHECK(one.value().a != other.value().a);
}

TEST_CASE("three and six passes come closer to fp64, each by its share of the significand") {
  double error[3];
  int i = 0;
  for (const char* precision : {"bf16", "bf16x3", "bf16x6"}) {
    const auto input = tools::make_gemm_input("", "", "20x64x20", 3, precision);
    REQUIRE(input.ok());
    const auto& in = input.value();
    CHECK(in.device_k() == in.k * in.passes);
    const auto a = in.device_a(), b = in.device_b();
    std::vector<std::byte> c(in.m * in.n * 4);
    golden::gemm_bf16(in.m, in.device_k(), in.n, a.data(), in.device_k(), b.data(), in.n,
                      reinterpret_cast<float*>(c.data()), in.n);
    CHECK(in.compared_with_golden(c).verdict("golden").ok());
    error[i++] = in.max_relative_error(c);
  }
  CHECK(error[0] < 1e-2);
  CHECK(error[1] < 1e-4);
  CHECK(error[1] < error[0] / 50);
  CHECK(error[2] < 2e-6);
}

TEST_CASE("one element changed is one element that differs") {
  const auto input = tools::make_gemm_input("", "", "4x5x6", 1, "int8");
  REQUIRE(input.ok());
  const auto& in = input.value();
  std::vector<std::byte> c(4 * 6 * 4);
  (void)golden::gemm_int8(4, 5, 6, in.a8.data(), 5, in.b8.data(), 6, reinterpret_cast<int32_t*>(c.data()), 6);
  CHECK(in.compared_with_golden(c).verdict("golden").ok());
  CHECK(in.max_relative_error(c) == 0);
  c[17] ^= std::byte{1};
  CHECK(in.compared_with_golden(c).differing() == 1);
  CHECK(in.compared_with_golden(c).first() == "C, element [0, 4]");
  CHECK(in.max_relative_error(c) > 0);
}

TEST_CASE("what cannot be multiplied is refused with the values") {
  CHECK(refusal("", "", "", "bf16") == "give two files, A.npy and B.npy, or --shape MxKxN (one of the two)");
  CHECK(refusal("a.npy", "b.npy", "1x1x1", "bf16") ==
        "give two files, A.npy and B.npy, or --shape MxKxN (one of the two)");
  CHECK(refusal("", "", "1x2", "bf16") == "--shape '1x2' is not MxKxN, for example 128x256x64");
  CHECK(refusal("", "", "-1x2x3", "bf16") == "--shape '-1x2x3' is not MxKxN, for example 128x256x64");
  CHECK(refusal("", "", "0x2x3", "bf16") == "--shape 0x2x3: every dimension must be at least 1");
  CHECK(refusal("", "", "99999999x99999999x2", "bf16") ==
        "--shape 99999999x99999999x2: a matrix would have more than 2^32 elements");
  CHECK(refusal("", "", "1x1x1", "fp8") == "there is no precision 'fp8'; supported: bf16, bf16x3, bf16x6, int8");
}
