// The rules of docs/command_checks.md, sections 3 and 4: a legal command, one change, and the code and address that it
// must give.
#include "check_commands.hpp"

using namespace weft;
using namespace weft::test;

TEST_CASE("MATMUL fields, ACC rows and ranges") {
  expect<Mxu>(
      matmul(), kMxu,
      [](auto& c) {
        c.k = 0;
        c.m = 0;
      },
      kField, 36);
  expect<Mxu>(
      matmul(), kMxu, [](auto& c) { c.m = 0; }, kField, 40);
  expect<Mxu>(
      matmul(), kMxu, [](auto& c) { c.cols = 0; }, kField, 42);
  expect<Mxu>(
      matmul(), kMxu, [](auto& c) { c.cols = 33; }, kField, 42);
  expect<Mxu>(
      matmul(), kMxu, [](auto& c) { c.seed = 2; }, kField, 46);
  expect<Mxu>(
      matmul(), kMxu, [](auto& c) { c.dtype = 0; }, kField, 47);
  expect<Mxu>(
      matmul(), kMxu, [](auto& c) { c.dtype = 3; }, kField, 47);
  expect<Mxu>(
      matmul(), kMxu, [](auto& c) { c.mxu = 1; }, kField, 48);

  constexpr auto kAcc = WEFT_FAULT_ACC_RANGE;
  expect_legal<Mxu>(matmul(), kMxu, [](auto& c) { c.acc_row = 128 - 16; });
  expect<Mxu>(
      matmul(), kMxu, [](auto& c) { c.acc_row = 128 - 15; }, kAcc, 113);
  expect_legal<Mxu>(matmul(), kMxu, [](auto& c) { c.acc_row = 256 - 16; });
  expect<Mxu>(
      matmul(), kMxu, [](auto& c) { c.acc_row = 256 - 15; }, kAcc, 241);
  expect<Mxu>(
      matmul(), kMxu,
      [](auto& c) {
        c.acc_row = 256;
        c.m = 1;
      },
      kAcc, 256);
  expect<Mxu>(
      matmul(), kMxu, [](auto& c) { c.m = 129; }, kAcc, 0);

  const uint64_t words = chip().vmem_words;
  constexpr auto kRange = WEFT_FAULT_RANGE;
  expect_legal<Mxu>(matmul(), kMxu, [&](auto& c) { c.x_addr = static_cast<uint32_t>(words - 15 * 3 - 2 - 1); });
  expect<Mxu>(
      matmul(), kMxu, [&](auto& c) { c.x_addr = static_cast<uint32_t>(words - 15 * 3 - 2); }, kRange,
      chip().vmem_bytes);
  expect_legal<Mxu>(matmul(), kMxu, [&](auto& c) { c.w_addr = static_cast<uint32_t>(words - 2 * 32 - 6); });
  expect<Mxu>(
      matmul(), kMxu, [&](auto& c) { c.w_addr = static_cast<uint32_t>(words - 2 * 32 - 5); }, kRange,
      chip().vmem_bytes);
  // The tile before the last one reads N words: it reaches further when tiles overlap.
  expect<Mxu>(
      matmul(), kMxu,
      [&](auto& c) {
        c.w_tile_stride = 1;
        c.w_addr = static_cast<uint32_t>(words - 32);
      },
      kRange, chip().vmem_bytes);
  expect_legal<Mxu>(matmul(), kMxu, [&](auto& c) {
    c.w_tile_stride = 1;
    c.w_addr = static_cast<uint32_t>(words - 33);
  });
  expect_legal<Mxu>(matmul(), kMxu, [&](auto& c) {
    c.k = 6;
    c.w_addr = static_cast<uint32_t>(words - 6);
  });
  // int8: 70 = 64 + 6 k-values, two tiles, three words in the last.
  expect_legal<Mxu>(matmul(), kMxu, [&](auto& c) {
    c.dtype = WEFT_MXU_DTYPE_INT8;
    c.w_addr = static_cast<uint32_t>(words - 32 - 3);
  });
  expect<Mxu>(
      matmul(), kMxu,
      [&](auto& c) {
        c.dtype = WEFT_MXU_DTYPE_INT8;
        c.k = 71;
        c.w_addr = static_cast<uint32_t>(words - 32 - 3);
      },
      kRange, chip().vmem_bytes);
  expect<Mxu>(
      matmul(), kMxu,
      [](auto& c) {
        c.k = 0xffffffff;
        c.x_tile_stride = c.x_row_stride = c.w_tile_stride = c.x_addr = c.w_addr = 0xffffffff;
      },
      kRange, chip().vmem_bytes);
}

TEST_CASE("VPU fields follow the table") {
  struct Base {
    Vpu command;
    std::vector<unsigned> ops, spaces, b_modes, activations;
    std::vector<std::pair<unsigned, unsigned>> types;
  };
  const Base bases[] = {
      {elementwise(),
       {1, 2, 3, 4, 5, 9, 10, 11, 12, 13, 14, 15, 16, 17},
       {0},
       {1, 2, 3, 4},
       {0},
       {{1, 1}, {1, 2}, {2, 2}, {3, 3}}},
      {unary(WEFT_VPU_OP_NONE), {0, 18, 19, 20, 21, 22, 23}, {0}, {0}, {0, 1, 2, 3}, {{1, 1}, {1, 2}, {2, 2}, {3, 3}}},
      {unary(WEFT_VPU_OP_TANH), {0, 18, 19, 20, 21, 22, 23}, {0}, {0}, {0}, {{1, 1}, {1, 2}, {2, 2}}},
      {iota(), {0, 24}, {0}, {0}, {0}, {{3, 3}}},
      {logic(),
       {1, 2, 3, 4, 5, 9, 10, 11, 12, 13, 14, 15, 16, 17, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35},
       {0},
       {1, 2, 3, 4},
       {0},
       {{3, 3}}},
      {rotate(), {36}, {0}, {0, 1, 2}, {0}, {{1, 1}, {1, 2}, {2, 2}, {3, 3}}},
      {reduce(), {6, 7, 8}, {0}, {0}, {0}, {{1, 1}, {2, 2}, {3, 3}}},
      {transpose(), {0}, {0}, {0}, {0}, {{1, 1}, {2, 2}, {3, 3}}},
      {epilogue(), {0}, {1}, {0, 1, 2, 4, 5}, {0, 1, 2, 3}, {{1, 1}, {1, 2}, {3, 3}, {3, 4}}},
      {to_i8(epilogue()), {0, 25}, {1}, {0, 1, 2, 4, 6}, {0, 1}, {{1, 1}, {1, 2}, {3, 3}, {3, 4}}},
      {upper_half(), {0, 25}, {1}, {0, 1, 2, 4, 6}, {0, 1}, {{3, 4}}},
      {cast(), {0}, {0}, {0}, {0}, {{1, 2}, {1, 3}, {1, 4}, {2, 1}, {3, 1}, {3, 4}, {4, 1}, {4, 3}}},
      {upper(), {0, 25}, {0}, {0}, {0}, {{4, 1}, {4, 3}}},
  };
  const auto contains = [](const auto& set, const auto& v) {
    return std::find(set.begin(), set.end(), v) != set.end();
  };
  for (const Base& base : bases) {
    CAPTURE(static_cast<unsigned>(base.command.header.opcode));
    for (unsigned v = 0; v < 256; v++) {
      const auto with = [&](uint8_t Vpu::*field) {
        Vpu c = base.command;
        c.*field = static_cast<uint8_t>(v);
        if (field == &Vpu::b_mode) c.b_addr = c.b_stride = 0;
        return check(c, kVpu);
      };
      // An operation that the opcode has, but not with these other fields, is refused for one of them.
      const bool known = std::ranges::any_of(bases, [&](const Base& other) {
        return other.command.header.opcode == base.command.header.opcode && contains(other.ops, v);
      });
      const auto verdict = with(&Vpu::op);
      CHECK(verdict.has_value() == !contains(base.ops, v));
      if (verdict) CHECK((verdict->address == 16) == !known);
      CHECK(with(&Vpu::src_space) == (contains(base.spaces, v) ? std::nullopt : std::optional(Fault{kField, 17})));
      CHECK(with(&Vpu::b_mode) == (contains(base.b_modes, v) ? std::nullopt : std::optional(Fault{kField, 52})));
      CHECK(with(&Vpu::activation) ==
            (contains(base.activations, v) ? std::nullopt : std::optional(Fault{kField, 53})));
      if (base.command.header.opcode != WEFT_OPCODE_REDUCE)
        CHECK(with(&Vpu::axis) == (v == 0 ? std::nullopt : std::optional(Fault{kField, 54})));
    }
    for (unsigned s = 0; s < 6; s++) {
      for (unsigned d = 0; d < 6; d++) {
        Vpu c = base.command;
        c.src_dtype = static_cast<uint8_t>(s);
        c.dst_dtype = static_cast<uint8_t>(d);
        const bool source_known =
            std::any_of(base.types.begin(), base.types.end(), [&](auto& t) { return t.first == s; });
        const auto expected = contains(base.types, std::pair{s, d})
                                  ? std::nullopt
                                  : std::optional(Fault{kField, source_known ? 19u : 18u});
        CHECK(check(c, kVpu) == expected);
      }
    }
  }
  const auto field = [](const Vpu& base, uint64_t offset, auto&& change) {
    expect<Vpu>(base, kVpu, change, kField, offset);
  };
  // fields that belong to some operations only
  field(iota(), 24, [](auto& c) { c.a_addr = 2; });
  field(iota(), 28, [](auto& c) { c.a_stride = 2; });
  for (const uint32_t by : {32u, 1u << 31}) field(rotate(), 48, [=](auto& c) { c.scalar = by; });
  for (const uint32_t lanes : {0u, 5u << 16 | 5, 5u << 16 | 6, 33u << 16, 33u << 16 | 32})
    field(rotate(), 56, [=](auto& c) { c.scalar2 = lanes; });
  field(transpose(), 20, [](auto& c) { c.rows = 33; });
  field(reduce(), 54, [](auto& c) { c.axis = 2; });
  field(reduce(), 60, [](auto& c) { c.axis = WEFT_VPU_AXIS_ROWS; });
  field(reduce(), 60, [](auto& c) { c.window = 1; });
  field(elementwise(), 60, [](auto& c) { c.window = 1; });
  field(elementwise(), 56, [](auto& c) { c.scalar2 = 1; });
  field(unary(WEFT_VPU_OP_EXP2), 56, [](auto& c) { c.scalar2 = 1; });
  field(unary(WEFT_VPU_OP_NONE), 48, [](auto& c) { c.scalar = 1, c.activation = WEFT_VPU_ACTIVATION_LEAKY; });
  field(cast(), 56, [](auto& c) { c.scalar2 = 1; });
  // types that rule out an activation or a mode
  const auto i32 = [](Vpu c) {
    c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_I32;
    return c;
  };
  field(i32(unary(WEFT_VPU_OP_NONE)), 53, [](auto& c) { c.activation = WEFT_VPU_ACTIVATION_LEAKY; });
  field(i32(epilogue()), 53, [](auto& c) { c.activation = WEFT_VPU_ACTIVATION_LEAKY; });
  field(i32(epilogue()), 53,
        [](auto& c) { c.dst_dtype = WEFT_VPU_DTYPE_I8, c.activation = WEFT_VPU_ACTIVATION_CLAMP; });
  field(cast(), 52, [](auto& c) { c.b_mode = WEFT_VPU_B_MODE_TENSOR; });
  // a zero point; a row at word scalar2
  for (const Vpu& base : {to_i8(epilogue()), to_i8(i32(cast()))}) {
    for (const int32_t zero_point : {-129, 128, 256, INT32_MIN})
      field(base, 48, [=](auto& c) { c.scalar = static_cast<uint32_t>(zero_point); });
    for (const int32_t zero_point : {-128, -1, 127})
      expect_legal<Vpu>(base, kVpu, [=](auto& c) { c.scalar = static_cast<uint32_t>(zero_point); });
  }
  const auto residual = [](auto& c) { c.b_mode = WEFT_VPU_B_MODE_RESIDUAL, c.b_stride = 2, c.scalar2 = 100; };
  const auto scaled = [](auto& c) { c.b_mode = WEFT_VPU_B_MODE_SCALED, c.scalar2 = 100; };
  expect_legal<Vpu>(epilogue(), kVpu, residual);
  expect_legal<Vpu>(upper_half(), kVpu, scaled);
  for (const auto activation : {WEFT_VPU_ACTIVATION_LEAKY, WEFT_VPU_ACTIVATION_CLAMP})
    field(epilogue(), 53, [=](auto& c) { residual(c), c.activation = static_cast<uint8_t>(activation); });
  field(epilogue(), 48, [=](auto& c) { residual(c), c.scalar = 1; });
  field(to_i8(epilogue()), 52, residual);
  field(epilogue(), 52, scaled);
  field(to_i8(epilogue()), 36, [=](auto& c) { scaled(c), c.b_stride = 2; });
  for (uint8_t op : {WEFT_VPU_OP_FMA, WEFT_VPU_OP_AXPY, WEFT_VPU_OP_SELECT})
    expect_legal<Vpu>(elementwise(), kVpu, [=](auto& c) { c.op = op, c.scalar2 = 5; });
  expect_legal<Vpu>(rotate(), kVpu, [](auto& c) { c.scalar = 0, c.scalar2 = 1 << 16; });
  expect_legal<Vpu>(iota(), kVpu, [](auto& c) { c.scalar = 7, c.scalar2 = 5; });
  expect_legal<Vpu>(i32(unary(WEFT_VPU_OP_NONE)), kVpu,
                    [](auto& c) { c.activation = WEFT_VPU_ACTIVATION_CLAMP, c.scalar = 1, c.scalar2 = 2; });
  expect_legal<Vpu>(cast(), kVpu, [](auto& c) {
    c.dst_dtype = WEFT_VPU_DTYPE_I8;
    c.scalar2 = 1;
    c.b_mode = WEFT_VPU_B_MODE_TENSOR;
    c.b_stride = 2;
  });
  expect_legal<Vpu>(reduce(), kVpu, [](auto& c) { c.axis = WEFT_VPU_AXIS_ROWS, c.window = 3, c.b_stride = 2; });
  expect<Vpu>(
      reduce(), kVpu, [](auto& c) { c.rows = 0; }, kField, 20);
  expect<Vpu>(
      reduce(), kVpu, [](auto& c) { c.cols = 0; }, kField, 22);
  expect<Vpu>(
      reduce(), kVpu, [](auto& c) { c.cols = 33; }, kField, 22);
  expect<Vpu>(
      reduce(), kVpu, [](auto& c) { c.b_addr = 2; }, kField, 32);
  expect<Vpu>(
      reduce(), kVpu, [](auto& c) { c.b_stride = 2; }, kField, 36);
  expect<Vpu>(
      reduce(), kVpu, [](auto& c) { c.scalar = 2; }, kField, 48);
  expect<Vpu>(
      elementwise(), kVpu,
      [](auto& c) {
        c.b_mode = WEFT_VPU_B_MODE_SCALAR;
        c.b_stride = 0;
      },
      kField, 32);
  expect<Vpu>(
      elementwise(), kVpu, [](auto& c) { c.b_mode = WEFT_VPU_B_MODE_ROW; }, kField, 36);
  expect<Vpu>(
      elementwise(), kVpu, [](auto& c) { c.scalar = 1; }, kField, 48);
  expect_legal<Vpu>(elementwise(), kVpu, [](auto& c) {
    c.b_mode = WEFT_VPU_B_MODE_SCALAR;
    c.b_addr = c.b_stride = 0;
    c.scalar = 1;
  });
}

TEST_CASE("VPU alignment: even words for types of two words, rows of ACC excepted") {
  expect<Vpu>(
      elementwise(), kVpu, [](auto& c) { c.a_addr = 1; }, kAlignment, 24);
  expect<Vpu>(
      elementwise(), kVpu, [](auto& c) { c.a_stride = 1; }, kAlignment, 28);
  expect<Vpu>(
      elementwise(), kVpu, [](auto& c) { c.b_addr = 1; }, kAlignment, 32);
  expect<Vpu>(
      elementwise(), kVpu, [](auto& c) { c.b_stride = 1; }, kAlignment, 36);
  expect<Vpu>(
      elementwise(), kVpu, [](auto& c) { c.d_addr = 1; }, kAlignment, 40);
  expect<Vpu>(
      elementwise(), kVpu, [](auto& c) { c.d_stride = 1; }, kAlignment, 44);
  expect_legal<Vpu>(elementwise(), kVpu, [](auto& c) {
    c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_BF16;
    c.a_addr = c.b_addr = c.d_addr = c.a_stride = c.b_stride = c.d_stride = 1;
  });
  expect_legal<Vpu>(epilogue(), kVpu, [](auto& c) {
    c.a_addr = 1;
    c.a_stride = 3;
  });
  expect<Vpu>(
      epilogue(), kVpu,
      [](auto& c) {
        c.b_mode = WEFT_VPU_B_MODE_ROW;
        c.b_addr = 3;
      },
      kAlignment, 32);
  expect_legal<Vpu>(epilogue(), kVpu, [](auto& c) {
    c.dst_dtype = WEFT_VPU_DTYPE_BF16;
    c.d_addr = 3;
    c.d_stride = 1;
  });
  expect_legal<Vpu>(cast(), kVpu, [](auto& c) {
    c.d_addr = 3;
    c.d_stride = 1;
  });
  expect<Vpu>(
      cast(), kVpu,
      [](auto& c) {
        c.src_dtype = WEFT_VPU_DTYPE_BF16;
        c.dst_dtype = WEFT_VPU_DTYPE_F32;
        c.d_addr = 3;
        c.a_addr = 1;
      },
      kAlignment, 40);
}

TEST_CASE("a row at word scalar2 begins at an even word and lies in VMEM") {
  const auto words = chip().vmem_words;
  const auto residual = [](uint32_t word) {
    return [=](Vpu& c) { c.b_mode = WEFT_VPU_B_MODE_RESIDUAL, c.b_stride = 2, c.scalar2 = word; };
  };
  const auto scaled = [](uint32_t word) {
    return [=](Vpu& c) { c.b_mode = WEFT_VPU_B_MODE_SCALED, c.scalar2 = word; };
  };
  const auto both = [&](auto&& at) {
    at(epilogue(), residual);
    at(upper_half(), scaled);
  };
  both([&](const Vpu& base, auto& place) {
    expect<Vpu>(base, kVpu, place(101), kAlignment, 56);
    expect_legal<Vpu>(base, kVpu, place(words - 2));
    expect<Vpu>(base, kVpu, place(words), WEFT_FAULT_RANGE, chip().vmem_bytes);
    expect<Vpu>(base, kVpu, place(0xfffffffe), WEFT_FAULT_RANGE, chip().vmem_bytes);
  });
  for (const auto mode : {WEFT_VPU_B_MODE_TENSOR, WEFT_VPU_B_MODE_RESIDUAL}) {
    const auto tensor = [=](uint32_t word) {
      return [=](Vpu& c) { c.b_mode = static_cast<uint8_t>(mode), c.b_stride = 2, c.b_addr = word; };
    };
    expect_legal<Vpu>(epilogue(), kVpu, tensor(words - 16));
    expect<Vpu>(epilogue(), kVpu, tensor(words - 14), WEFT_FAULT_RANGE, chip().vmem_bytes);
  }
}

TEST_CASE("VPU rows of ACC and words of VMEM") {
  expect_legal<Vpu>(epilogue(), kVpu, [](auto& c) { c.a_addr = 248; });
  expect<Vpu>(
      epilogue(), kVpu, [](auto& c) { c.a_addr = 249; }, WEFT_FAULT_ACC_RANGE, 249);
  expect<Vpu>(
      epilogue(), kVpu, [](auto& c) { c.a_stride = 0xffffffff; }, WEFT_FAULT_ACC_RANGE, 0);
  const auto words = chip().vmem_words;
  constexpr auto kRange = WEFT_FAULT_RANGE;
  for (uint32_t Vpu::*field : {&Vpu::a_addr, &Vpu::b_addr, &Vpu::d_addr}) {
    expect_legal<Vpu>(elementwise(), kVpu, [&](auto& c) { c.*field = words - 16; });
    expect<Vpu>(
        elementwise(), kVpu, [&](auto& c) { c.*field = words - 14; }, kRange, chip().vmem_bytes);
  }
  const auto bf16 = [](Vpu& c) {
    c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_BF16;
    c.a_stride = c.b_stride = c.d_stride = 1;
  };
  expect_legal<Vpu>(elementwise(), kVpu, [&](auto& c) {
    bf16(c);
    c.d_addr = words - 8;
  });
  expect<Vpu>(
      elementwise(), kVpu,
      [&](auto& c) {
        bf16(c);
        c.d_addr = words - 7;
      },
      kRange, chip().vmem_bytes);
  expect_legal<Vpu>(epilogue(), kVpu, [&](auto& c) {
    c.b_mode = WEFT_VPU_B_MODE_ROW;
    c.b_addr = words - 2;
  });
  expect<Vpu>(
      epilogue(), kVpu,
      [&](auto& c) {
        c.b_mode = WEFT_VPU_B_MODE_ROW;
        c.b_addr = words;
      },
      kRange, chip().vmem_bytes);
  // A column vector of 8 elements is one row of b; a transpose writes cols rows; windows reach further than their first
  // row.
  expect_legal<Vpu>(elementwise(), kVpu, [&](auto& c) { c.b_mode = WEFT_VPU_B_MODE_COLUMN, c.b_addr = words - 2; });
  expect<Vpu>(
      elementwise(), kVpu, [&](auto& c) { c.b_mode = WEFT_VPU_B_MODE_COLUMN, c.b_addr = words - 2, c.rows = 33; },
      kRange, chip().vmem_bytes);
  expect_legal<Vpu>(transpose(), kVpu, [&](auto& c) { c.cols = 5, c.d_addr = words - 10; });
  expect<Vpu>(
      transpose(), kVpu, [&](auto& c) { c.cols = 6, c.d_addr = words - 10; }, kRange, chip().vmem_bytes);
  const auto windows = [&](uint32_t first) {
    return [=](Vpu& c) { c.axis = WEFT_VPU_AXIS_ROWS, c.window = 3, c.b_stride = 4, c.a_addr = first; };
  };
  expect_legal<Vpu>(reduce(), kVpu, windows(words - 2 * 7 - 2 - 8));
  expect<Vpu>(reduce(), kVpu, windows(words - 2 * 7 - 8), kRange, chip().vmem_bytes);
  expect<Vpu>(
      elementwise(), kVpu,
      [](auto& c) {
        c.rows = 0xffff;
        c.d_stride = 0xfffffffe;
      },
      kRange, chip().vmem_bytes);
}
