// header_check.sv: every check of section 1 of docs/command_checks.md by hand, and random headers against the golden
// model.
#include <Vheader_check_model.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>

#include "model/golden/check.hpp"
#include "weft/spec/command_fields.hpp"

namespace {

using weft::golden::Fault;
using weft::golden::SlicePlace;
using weft::spec::Command;
using weft::spec::CommandHeader;

class Bench {
 public:
  std::optional<Fault> check(const Command& command, unsigned queue, const SlicePlace& place = {}) {
    top_.in_slice_i = !place.alone();
    top_.valid_i = 1;
    top_.queue_i = static_cast<uint8_t>(queue);
    std::memcpy(top_.cmd_i.data(), command.bytes.data(), command.bytes.size());
    top_.eval();
    if (!top_.fault_o) return std::nullopt;
    return Fault{static_cast<weft_fault>(top_.code_o), top_.address_o};
  }

 private:
  Vheader_check_model top_;
};

CommandHeader legal(uint8_t opcode) {
  CommandHeader header;
  header.opcode = opcode;
  header.tag = 0x1234;
  return header;
}

constexpr SlicePlace kAlone{}, kInSlice{.chip = 1, .chips = 4};

std::optional<Fault> field(uint64_t offset) { return Fault{WEFT_FAULT_ILLEGAL_FIELD, offset}; }

}  // namespace

TEST_CASE("each opcode passes exactly on its queues, and only if it is built for where the core stands") {
  const SlicePlace place = GENERATE(kAlone, kInSlice);
  Bench bench;
  for (unsigned opcode = 0; opcode < 256; opcode++) {
    const auto* info = weft::spec::find_opcode(static_cast<uint8_t>(opcode));
    for (unsigned queue = 0; queue < WEFT_CORE_QUEUES; queue++) {
      const bool passes =
          info != nullptr && (info->built || (info->slice && !place.alone())) && (info->queue_mask >> queue & 1) != 0;
      const auto fault = bench.check(encode(legal(static_cast<uint8_t>(opcode))), queue, place);
      INFO("opcode " << opcode << ", queue " << queue << ", chips " << place.chips);
      if (passes)
        CHECK(!fault);
      else
        CHECK(fault == Fault{WEFT_FAULT_ILLEGAL_OPCODE, opcode});
    }
  }
}

TEST_CASE("each reserved bit and each flag that is not built is refused, the lowest byte first") {
  const SlicePlace place = GENERATE(kAlone, kInSlice);
  Bench bench;
  for (const auto& info : weft::spec::kOpcodes) {
    if (!info.built && (!info.slice || place.alone())) continue;
    unsigned queue = 0;
    while ((info.queue_mask >> queue & 1) == 0) queue++;
    std::array<bool, 64> covered{};
    for (const auto& f : weft::spec::kHeaderFields)
      for (unsigned i = 0; i < f.bytes; i++) covered[f.offset + i] = true;
    for (const auto& f : weft::spec::body_fields(info.body))
      for (unsigned i = 0; i < f.bytes; i++) covered[f.offset + i] = true;
    covered[1] = false;
    for (unsigned byte = 0; byte < 64; byte++) {
      if (covered[byte]) continue;
      for (unsigned bit = 0; bit < 8; bit++) {
        Command command = encode(legal(info.value));
        command.bytes[byte] = static_cast<uint8_t>(1u << bit);
        if (!covered[63]) command.bytes[63] = 0x80;
        const bool last = byte == 63;
        if (last) command.bytes[63] = static_cast<uint8_t>(1u << bit);
        INFO(info.name << ", byte " << byte << ", bit " << bit);
        CHECK(bench.check(command, queue, place) == field(byte));
      }
    }
  }
}

TEST_CASE("semaphore fields are checked one by one") {
  Bench bench;
  const unsigned queue = WEFT_QUEUE_MXU;
  auto check = [&](auto change) {
    CommandHeader header = legal(WEFT_OPCODE_MATMUL);
    change(header);
    return bench.check(encode(header), queue);
  };
  CHECK(!check([](auto& h) { h.wait_sem0 = 0, h.wait_count0 = 1, h.wait_sem1 = 63, h.wait_count1 = 65535; }));
  CHECK(!check([](auto& h) { h.post_sem0 = 63, h.post_count0 = 65535, h.post_sem1 = 0, h.post_count1 = 1; }));
  CHECK(!check([](auto& h) { h.wait_sem1 = 5, h.wait_count1 = 1, h.post_sem1 = 5, h.post_count1 = 1; }));
  // none with a count
  CHECK(check([](auto& h) { h.wait_count0 = 1; }) == field(4));
  CHECK(check([](auto& h) { h.wait_count1 = 1; }) == field(5));
  CHECK(check([](auto& h) { h.post_count0 = 1; }) == field(6));
  CHECK(check([](auto& h) { h.post_count1 = 0x100; }) == field(7));
  // a semaphore without a count
  CHECK(check([](auto& h) { h.wait_sem0 = 1; }) == field(4));
  CHECK(check([](auto& h) { h.wait_sem1 = 1; }) == field(5));
  CHECK(check([](auto& h) { h.post_sem0 = 1; }) == field(6));
  CHECK(check([](auto& h) { h.post_sem1 = 1; }) == field(7));
  // a semaphore that does not exist
  for (const uint8_t sem : {64, 128, 254}) {
    CHECK(check([&](auto& h) { h.wait_sem0 = sem, h.wait_count0 = 1; }) == field(4));
    CHECK(check([&](auto& h) { h.wait_sem1 = sem, h.wait_count1 = 1; }) == field(5));
    CHECK(check([&](auto& h) { h.post_sem0 = sem, h.post_count0 = 1; }) == field(6));
    CHECK(check([&](auto& h) { h.post_sem1 = sem, h.post_count1 = 1; }) == field(7));
  }
  // the same twice
  CHECK(check([](auto& h) { h.wait_sem0 = h.wait_sem1 = 9, h.wait_count0 = h.wait_count1 = 1; }) == field(5));
  CHECK(check([](auto& h) { h.post_sem0 = h.post_sem1 = 9, h.post_count0 = h.post_count1 = 1; }) == field(7));
}

TEST_CASE("WAIT posts nothing") {
  Bench bench;
  CommandHeader header = legal(WEFT_OPCODE_WAIT);
  header.post_sem0 = 3, header.post_count0 = 1;
  CHECK(bench.check(encode(header), WEFT_QUEUE_SYNC) == field(6));
  header = legal(WEFT_OPCODE_WAIT);
  header.post_sem1 = 3, header.post_count1 = 1;
  CHECK(bench.check(encode(header), WEFT_QUEUE_SYNC) == field(7));
  header.opcode = WEFT_OPCODE_SIGNAL;
  CHECK(!bench.check(encode(header), WEFT_QUEUE_SYNC));
}

TEST_CASE(
    "of all flags, opcodes, queues and places, a remote COPY of dma_out in a slice passes, with one addition or none") {
  Bench bench;
  for (const SlicePlace& place : {kAlone, kInSlice})
    for (const auto& info : weft::spec::kOpcodes)
      for (unsigned queue = 0; queue < WEFT_CORE_QUEUES; queue++)
        for (unsigned flags = 0; flags < 256; flags++) {
          CommandHeader header = legal(info.value);
          header.flags = static_cast<uint8_t>(flags);
          const auto fault = bench.check(encode(header), queue, place);
          if (fault && fault->code == WEFT_FAULT_ILLEGAL_OPCODE) continue;
          const bool remote = flags == WEFT_COMMAND_FLAG_REMOTE ||
                              flags == (WEFT_COMMAND_FLAG_REMOTE | WEFT_COMMAND_FLAG_REDUCE_F32) ||
                              flags == (WEFT_COMMAND_FLAG_REMOTE | WEFT_COMMAND_FLAG_REDUCE_BF16);
          const bool passes =
              flags == 0 || (remote && !place.alone() && info.value == WEFT_OPCODE_COPY && queue == WEFT_QUEUE_DMA_OUT);
          INFO(info.name << ", queue " << queue << ", flags " << flags << ", chips " << place.chips);
          CHECK(fault == (passes ? std::nullopt : field(1)));
        }
}

TEST_CASE("a remote COPY posts there to the semaphores of other chips only, and here to any") {
  Bench bench;
  for (unsigned semaphore = 0; semaphore < 256; semaphore++) {
    CommandHeader header = legal(WEFT_OPCODE_COPY);
    header.flags = WEFT_COMMAND_FLAG_REMOTE;
    header.post_sem1 = static_cast<uint8_t>(semaphore);
    header.post_count1 = semaphore == WEFT_NO_SEMAPHORE ? 0 : 1;
    const bool legal_there =
        semaphore == WEFT_NO_SEMAPHORE || (semaphore >= WEFT_REMOTE_SEMAPHORE_FIRST && semaphore < WEFT_SEMAPHORES);
    INFO("semaphore " << semaphore);
    CHECK(bench.check(encode(header), WEFT_QUEUE_DMA_OUT, kInSlice) == (legal_there ? std::nullopt : field(7)));
    header.flags = 0;
    CHECK(bench.check(encode(header), WEFT_QUEUE_DMA_OUT, kInSlice).has_value() ==
          (semaphore >= WEFT_SEMAPHORES && semaphore != WEFT_NO_SEMAPHORE));
  }
  CommandHeader header = legal(WEFT_OPCODE_COPY);
  header.flags = WEFT_COMMAND_FLAG_REMOTE;
  header.post_sem0 = 3, header.post_count0 = 1;
  CHECK(!bench.check(encode(header), WEFT_QUEUE_DMA_OUT, kInSlice));
}

TEST_CASE("random headers are judged as the golden model judges them") {
  Bench bench;
  constexpr unsigned kSeed = 1;
  INFO("seed " << kSeed);
  std::mt19937 random(kSeed);
  auto draw = [&](unsigned below) { return static_cast<unsigned>(random() % below); };
  auto semaphore = [&] { return static_cast<uint8_t>(draw(4) == 0 ? draw(256) : draw(3) == 0 ? 0xff : draw(4)); };
  auto count = [&](uint8_t sem) {
    return static_cast<uint16_t>(draw(12) == 0 ? draw(3) : sem == 0xff ? 0 : 1 + draw(65535));
  };
  unsigned passed = 0;
  for (unsigned i = 0; i < 200000; i++) {
    const auto& info = weft::spec::kOpcodes[draw(weft::spec::kOpcodes.size())];
    CommandHeader header = legal(draw(50) == 0 ? static_cast<uint8_t>(draw(256)) : info.value);
    header.wait_sem0 = semaphore(), header.wait_count0 = count(header.wait_sem0);
    header.wait_sem1 = semaphore(), header.wait_count1 = count(header.wait_sem1);
    header.post_sem0 = semaphore(), header.post_count0 = count(header.post_sem0);
    header.post_sem1 = semaphore(), header.post_count1 = count(header.post_sem1);
    const SlicePlace& place = draw(2) == 0 ? kAlone : kInSlice;
    constexpr unsigned kSliceFlags[] = {WEFT_COMMAND_FLAG_REMOTE, WEFT_COMMAND_FLAG_REDUCE_F32,
                                        WEFT_COMMAND_FLAG_REDUCE_BF16, 1u};
    if (draw(4) == 0)
      for (const unsigned flag : kSliceFlags)
        if (draw(2) == 0) header.flags = static_cast<uint8_t>(header.flags | flag);
    if (draw(8) == 0) header.post_sem1 = static_cast<uint8_t>(44 + draw(24)), header.post_count1 = 1;
    Command command = encode(header);
    if (draw(10) == 0) command.bytes[draw(64)] = static_cast<uint8_t>(draw(256));
    const unsigned queue =
        draw(4) == 0 ? draw(WEFT_CORE_QUEUES) : static_cast<unsigned>(__builtin_ctz(info.queue_mask));
    const auto rtl = bench.check(command, queue, place);
    REQUIRE(rtl == weft::golden::check_header(command, queue, place));
    passed += !rtl;
  }
  CHECK(passed > 5000);
}
