// True values of operations, on words at the ends of the range and on floats.
#include "host/reference/plain_operations.hpp"

#include <catch2/catch.hpp>
#include <cmath>

using weft::tools::operate_fp64;
using weft::tools::operate_words;

TEST_CASE("words wrap where they leave the range") {
  CHECK(operate_words(WEFT_VPU_OP_ADD, 2147483647, 1, 0) == -2147483648.0);
  CHECK(operate_words(WEFT_VPU_OP_SUB, -2147483648.0, 1, 0) == 2147483647);
  CHECK(operate_words(WEFT_VPU_OP_MUL, 65536, 65537, 0) == 65536);
  CHECK(operate_words(WEFT_VPU_OP_MUL, -2147483648.0, -1, 0) == -2147483648.0);
  CHECK(operate_words(WEFT_VPU_OP_FMA, -3, 5, 7) == -8);
  CHECK(operate_words(WEFT_VPU_OP_AXPY, -3, 5, 7) == -16);
}

TEST_CASE("logic and shifts see two's complement") {
  CHECK(operate_words(WEFT_VPU_OP_AND, -1, 12, 0) == 12);
  CHECK(operate_words(WEFT_VPU_OP_OR, -8, 5, 0) == -3);
  CHECK(operate_words(WEFT_VPU_OP_XOR, -1, 5, 0) == -6);
  CHECK(operate_words(WEFT_VPU_OP_SLL, 3, 31, 0) == -2147483648.0);
  CHECK(operate_words(WEFT_VPU_OP_SLL, 3, 32, 0) == 0);
  CHECK(operate_words(WEFT_VPU_OP_SRL, -1, 28, 0) == 15);
  CHECK(operate_words(WEFT_VPU_OP_SRL, -1, -1, 0) == 0);  // by the largest number
  CHECK(operate_words(WEFT_VPU_OP_SRA, -5, 1, 0) == -3);
  CHECK(operate_words(WEFT_VPU_OP_SRA, -5, 99, 0) == -1);
  CHECK(operate_words(WEFT_VPU_OP_SRA, 5, 99, 0) == 0);
}

TEST_CASE("unsigned comparisons put negative numbers last") {
  CHECK(operate_words(WEFT_VPU_OP_LTU, 1, -1, 0) == 1);
  CHECK(operate_words(WEFT_VPU_OP_LEU, -1, -1, 0) == 1);
  CHECK(operate_words(WEFT_VPU_OP_GTU, 1, -1, 0) == 0);
  CHECK(operate_words(WEFT_VPU_OP_GEU, -1, 1, 0) == 1);
  CHECK(operate_words(WEFT_VPU_OP_LT, 1, -1, 0) == 0);
}

TEST_CASE("floats: a NaN wins, and an operation of words is none") {
  CHECK(std::isnan(operate_fp64(WEFT_VPU_OP_MAX, NAN, 1, 0)));
  CHECK(operate_fp64(WEFT_VPU_OP_AXPY, 2, 1, 3) == 7);
  CHECK(operate_fp64(WEFT_VPU_OP_SELECT, 0, 1, 3) == 3);
  CHECK(std::isnan(operate_fp64(WEFT_VPU_OP_XOR, 1, 1, 0)));
}
