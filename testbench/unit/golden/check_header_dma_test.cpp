// The rules of docs/command_checks.md, sections 1 and 2: a legal command, one change, and the code and address that it
// must give.
#include "check_commands.hpp"
#include "weft/spec/command_fields.hpp"

using namespace weft;
using namespace weft::test;

TEST_CASE("The commands that the other cases change are legal") {
  CHECK_FALSE(check(copy_in(), kIn));
  CHECK_FALSE(check(copy_out(), kOut));
  CHECK_FALSE(check(fill_in(), kIn));
  CHECK_FALSE(check(fill_out(), kOut));
  CHECK_FALSE(check(matmul(), kMxu));
  for (const auto& c : {elementwise(), reduce(), epilogue(), cast()}) CHECK_FALSE(check(c, kVpu));
  for (const auto opcode : {WEFT_OPCODE_SIGNAL, WEFT_OPCODE_WAIT, WEFT_OPCODE_FENCE})
    expect_legal<None>({}, kSync, [&](auto& c) { c.header.opcode = static_cast<uint8_t>(opcode); });
}

TEST_CASE("Each opcode is legal on its queues and on no other, and only if it is built") {
  for (unsigned opcode = 0; opcode < 256; opcode++) {
    const spec::OpcodeInfo* info = spec::find_opcode(static_cast<uint8_t>(opcode));
    for (unsigned queue = 0; queue < WEFT_CORE_QUEUES; queue++) {
      spec::Command c;
      c.bytes[0] = static_cast<uint8_t>(opcode);
      c.bytes[1] = 0xff;  // a later step
      const bool legal = info != nullptr && info->built && (info->queue_mask >> queue & 1) != 0;
      CHECK(golden::check_header(c, queue) == (legal ? Fault{kField, 1} : Fault{WEFT_FAULT_ILLEGAL_OPCODE, opcode}));
    }
  }
}

TEST_CASE("A reserved byte or flag is refused with the lowest offending offset") {
  for (const auto& info : spec::kOpcodes) {
    if (!info.built) continue;
    std::array<bool, 64> covered{};
    for (const auto& f : spec::kHeaderFields)
      for (unsigned i = 0; i < f.bytes; i++) covered[f.offset + i] = true;
    for (const auto& f : spec::body_fields(info.body))
      for (unsigned i = 0; i < f.bytes; i++) covered[f.offset + i] = true;
    spec::CommandHeader header;
    header.opcode = info.value;
    const unsigned queue = static_cast<unsigned>(__builtin_ctz(info.queue_mask));
    for (unsigned i = 0; i < 64; i++) {
      if (covered[i]) continue;
      auto c = spec::encode(header);
      c.bytes[i] = 1;
      c.bytes[63] |= covered[63] ? 0 : 0x80;
      CHECK(golden::check_header(c, queue) == Fault{kField, i});
    }
    for (unsigned flag = 1; flag < 256; flag *= 2) {
      auto c = spec::encode(header);
      c.bytes[1] = static_cast<uint8_t>(flag);
      CHECK(golden::check_header(c, queue) == Fault{kField, 1});
    }
  }
}

TEST_CASE("Semaphore fields need a semaphore and a count, or neither, and differ in pairs") {
  const auto base = matmul();
  const auto header = [&](auto change) { return [=](Mxu& c) { change(c.header); }; };
  expect<Mxu>(base, kMxu, header([](auto& h) { h.wait_sem0 = 3; }), kField, 4);
  expect<Mxu>(base, kMxu, header([](auto& h) { h.wait_count0 = 3; }), kField, 4);
  expect<Mxu>(base, kMxu, header([](auto& h) {
                h.wait_sem0 = 64;
                h.wait_count0 = 1;
              }),
              kField, 4);
  expect<Mxu>(base, kMxu, header([](auto& h) { h.wait_sem1 = 3; }), kField, 5);
  expect<Mxu>(base, kMxu, header([](auto& h) { h.wait_count1 = 3; }), kField, 5);
  expect<Mxu>(base, kMxu, header([](auto& h) {
                h.wait_sem0 = h.wait_sem1 = 9;
                h.wait_count0 = h.wait_count1 = 1;
              }),
              kField, 5);
  expect<Mxu>(base, kMxu, header([](auto& h) {
                h.post_sem0 = 254;
                h.post_count0 = 1;
              }),
              kField, 6);
  expect<Mxu>(base, kMxu, header([](auto& h) { h.post_count0 = 1; }), kField, 6);
  expect<Mxu>(base, kMxu, header([](auto& h) { h.post_sem1 = 0; }), kField, 7);
  expect<Mxu>(base, kMxu, header([](auto& h) {
                h.post_sem0 = h.post_sem1 = 9;
                h.post_count0 = h.post_count1 = 1;
              }),
              kField, 7);
  expect_legal<Mxu>(base, kMxu, header([](auto& h) {
                      h.wait_sem1 = h.post_sem0 = h.post_sem1 = 63;
                      h.wait_count1 = h.post_count1 = 0xffff;
                      h.post_sem0 = 0;
                      h.post_count0 = 1;
                    }));
  None wait;
  wait.header.opcode = WEFT_OPCODE_WAIT;
  expect<None>(
      wait, kSync,
      [](auto& c) {
        c.header.post_sem0 = 1;
        c.header.post_count0 = 1;
      },
      kField, 6);
  expect<None>(
      wait, kSync,
      [](auto& c) {
        c.header.post_sem1 = 1;
        c.header.post_count1 = 1;
      },
      kField, 7);
}

TEST_CASE("DMA fields") {
  expect<Dma>(
      copy_in(), kIn, [](auto& c) { c.src_seg = 64; }, kField, 16);
  expect<Dma>(
      copy_in(), kIn, [](auto& c) { c.src_seg = 0; }, kField, 16);
  expect<Dma>(
      copy_out(), kOut, [](auto& c) { c.src_seg = 3; }, kField, 16);
  expect<Dma>(
      fill_in(), kIn, [](auto& c) { c.src_seg = 3; }, kField, 16);
  expect<Dma>(
      fill_out(), kOut, [](auto& c) { c.src_seg = 3; }, kField, 16);
  expect<Dma>(
      copy_in(), kIn, [](auto& c) { c.dst_seg = 4; }, kField, 17);
  expect<Dma>(
      fill_in(), kIn, [](auto& c) { c.dst_seg = 4; }, kField, 17);
  expect<Dma>(
      copy_out(), kOut, [](auto& c) { c.dst_seg = 0; }, kField, 17);
  expect<Dma>(
      copy_out(), kOut, [](auto& c) { c.dst_seg = 64; }, kField, 17);
  expect<Dma>(
      copy_in(), kIn, [](auto& c) { c.remote_chip = 1; }, kField, 18);
  expect<Dma>(
      fill_in(), kIn, [](auto& c) { c.src_off = 0x1'0000'0000; }, kField, 20);
  expect<Dma>(
      copy_in(), kIn, [](auto& c) { c.size0 = 0; }, kField, 30);
  expect<Dma>(
      copy_in(), kIn, [](auto& c) { c.size1 = 0; }, kField, 34);
  expect<Dma>(
      copy_in(), kIn, [](auto& c) { c.size2 = 0; }, kField, 36);
  expect<Dma>(
      copy_in(), kIn, [](auto& c) { c.size3 = 0; }, kField, 38);
  expect<Dma>(
      fill_in(), kIn, [](auto& c) { c.src_stride1 = 64; }, kField, 40);
  expect<Dma>(
      fill_in(), kIn, [](auto& c) { c.src_stride2 = 64; }, kField, 44);
  expect<Dma>(
      fill_in(), kIn, [](auto& c) { c.src_stride3 = 64; }, kField, 48);
  expect<Dma>(
      copy_in(), kIn,
      [](auto& c) {
        c.src_seg = 64;
        c.dst_seg = 9;
        c.size0 = 0;
      },
      kField, 16);
}

TEST_CASE("DMA alignment: words on the VMEM side, 16 bytes on the other, whatever the sizes") {
  expect<Dma>(
      copy_in(), kIn, [](auto& c) { c.src_off = 8; }, kAlignment, 20);
  expect_legal<Dma>(copy_in(), kIn, [](auto& c) { c.src_off = 16; });
  expect<Dma>(
      copy_in(), kIn, [](auto& c) { c.dst_off = 16; }, kAlignment, 25);
  expect<Dma>(
      copy_out(), kOut, [](auto& c) { c.src_off = 16; }, kAlignment, 20);
  expect_legal<Dma>(copy_out(), kOut, [](auto& c) { c.dst_off = 16; });
  expect<Dma>(
      copy_out(), kOut, [](auto& c) { c.dst_off = 24; }, kAlignment, 25);
  expect_legal<Dma>(fill_in(), kIn, [](auto& c) { c.src_off = 3; });
  expect<Dma>(
      copy_in(), kIn, [](auto& c) { c.size0 = 40; }, kAlignment, 30);
  expect<Dma>(
      copy_in(), kIn, [](auto& c) { c.src_stride1 = 8; }, kAlignment, 40);
  expect<Dma>(
      copy_in(), kIn, [](auto& c) { c.src_stride2 = -8; }, kAlignment, 44);
  expect<Dma>(
      copy_in(), kIn, [](auto& c) { c.src_stride3 = 8; }, kAlignment, 48);
  expect<Dma>(
      copy_in(), kIn, [](auto& c) { c.dst_stride1 = 16; }, kAlignment, 52);
  expect<Dma>(
      copy_in(), kIn, [](auto& c) { c.dst_stride2 = 16; }, kAlignment, 56);
  expect<Dma>(
      copy_in(), kIn, [](auto& c) { c.dst_stride3 = -16; }, kAlignment, 60);
  expect<Dma>(
      copy_out(), kOut, [](auto& c) { c.src_stride3 = 16; }, kAlignment, 48);
  expect_legal<Dma>(copy_out(), kOut, [](auto& c) { c.dst_stride3 = 16; });
}

TEST_CASE("DMA segments: mapped, and readable or writable as the command needs") {
  expect<Dma>(
      copy_in(), kIn, [](auto& c) { c.src_seg = 6; }, WEFT_FAULT_SEGMENT, 6);
  expect<Dma>(
      copy_in(), kIn, [](auto& c) { c.src_seg = 4; }, WEFT_FAULT_SEGMENT, 4);
  expect<Dma>(
      copy_out(), kOut, [](auto& c) { c.dst_seg = 3; }, WEFT_FAULT_SEGMENT, 3);
  expect<Dma>(
      fill_out(), kOut, [](auto& c) { c.dst_seg = 31; }, WEFT_FAULT_SEGMENT, 31);
  expect<Dma>(
      copy_in(), kIn,
      [](auto& c) {
        c.src_seg = 6;
        c.src_off = 0xfffffffff0;
      },
      WEFT_FAULT_SEGMENT, 6);
}

TEST_CASE("DMA ranges: the first byte outside on either side, source before destination") {
  constexpr auto kRange = WEFT_FAULT_RANGE;
  expect_legal<Dma>(copy_in(), kIn, [](auto& c) { c.src_off = 0x8000 - 3 * 128 - 64; });
  expect<Dma>(
      copy_in(), kIn, [](auto& c) { c.src_off = 0x8000 - 3 * 128 - 48; }, kRange, 0x8000);
  expect_legal<Dma>(copy_in(), kIn, [](auto& c) { c.dst_off = chip().vmem_bytes - 4 * 64; });
  expect<Dma>(
      copy_in(), kIn, [](auto& c) { c.dst_off = chip().vmem_bytes - 3 * 64; }, kRange, chip().vmem_bytes);
  expect_legal<Dma>(copy_in(), kIn, [](auto& c) {
    c.src_off = 384;
    c.src_stride1 = -128;
  });
  expect<Dma>(
      copy_in(), kIn,
      [](auto& c) {
        c.src_off = 368;
        c.src_stride1 = -128;
      },
      kRange, static_cast<uint64_t>(-16));
  expect<Dma>(
      copy_in(), kIn,
      [](auto& c) {
        c.dst_off = 128;
        c.dst_stride1 = -64;
      },
      kRange, static_cast<uint64_t>(-64));
  expect<Dma>(
      copy_in(), kIn,
      [](auto& c) {
        c.src_off = 0xfffffffff0;
        c.dst_off = 0xffffffffc0;
      },
      kRange, 0x8000);
  expect<Dma>(
      copy_out(), kOut, [](auto& c) { c.dst_off = 0x8000 - 32; }, kRange, 0x8000);
  expect<Dma>(
      copy_out(), kOut,
      [](auto& c) {
        c.src_off = chip().vmem_bytes;
        c.dst_off = 0x8000;
      },
      kRange, chip().vmem_bytes);
  // The largest reach of all: nothing wraps.
  expect<Dma>(
      fill_in(), kIn,
      [](auto& c) {
        c.dst_off = 0xffffffffc0;
        c.size0 = 0xfffffff0;
        c.size1 = c.size2 = c.size3 = 0xffff;
        c.dst_stride1 = c.dst_stride2 = c.dst_stride3 = 0x7fffffc0;
      },
      kRange, chip().vmem_bytes);
  expect<Dma>(
      fill_in(), kIn,
      [](auto& c) {
        c.size1 = c.size2 = c.size3 = 0xffff;
        c.dst_stride1 = c.dst_stride2 = c.dst_stride3 = INT32_MIN;
      },
      kRange, static_cast<uint64_t>(int64_t{INT32_MIN} * 0xfffe * 3));
  expect_legal<Dma>(copy_out(), kOut, [](auto& c) {
    c.dst_seg = 5;
    c.dst_off = 0xfffffffff0;
  });  // limit 2^64 - 1
}
