// A command as a person reads it.
#include "model/core/command/command_text.hpp"

#include <catch2/catch.hpp>

TEST_CASE("a command's text names its opcode, its tag and every field that is set") {
  weft::spec::MxuCommand product;
  product.header.opcode = WEFT_OPCODE_MATMUL;
  product.header.tag = 7;
  product.header.wait_sem0 = 0, product.header.wait_count0 = 2;
  product.k = 256, product.m = 64, product.dtype = WEFT_MXU_DTYPE_INT8;
  CHECK(weft::core::command_text(encode(product)) ==
        "MATMUL tag 7, wait_sem0 0, wait_count0 2, k 256, m 64, dtype int8");
}

TEST_CASE("negative strides and unknown opcodes are readable") {
  weft::spec::DmaCommand copy;
  copy.header.opcode = WEFT_OPCODE_COPY;
  copy.src_stride1 = -64;
  CHECK(weft::core::command_text(encode(copy)) == "COPY tag 0, size1 1, size2 1, size3 1, src_stride1 -64");
  weft::spec::Command unknown;
  unknown.bytes[0] = 0xee;
  CHECK(weft::core::command_text(unknown).substr(0, 16) == "opcode 0xee tag ");
}
