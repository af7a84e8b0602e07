// What a replayed device is compared with.
#include "model/record/expectation.hpp"

#include "testbench/unit/record/hand_made.hpp"
#include "weft/spec/spec.h"

using namespace weft;
using namespace weft::record;
using Catch::Contains;
using chip::Accessor;
using chip::HostAccess;
using test::bytes_from;
using test::HandMade;

namespace {

constexpr HostAccess kCopyAt{Accessor::kCopy, 0, 0x1000};
constexpr HostAccess kCoreAt{Accessor::kCore, 0, 0x2000};
constexpr HostAccess kEntryAt{Accessor::kCompletion, 0, 0x3000};

HostAccess at(HostAccess access, uint64_t offset) {
  access.iova += offset;
  return access;
}

std::vector<std::byte> entry_of(uint64_t start, uint64_t end, uint32_t tag) {
  weft_completion_entry entry{};
  entry.start_cycle = start;
  entry.end_cycle = end;
  entry.tag = tag;
  const auto bytes = std::as_bytes(std::span(&entry, 1));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

TEST_CASE("exactly: reads get the recorded bytes, in whatever records they lie") {
  HandMade made;
  const auto beats = bytes_from(300, 1);
  const auto long_one = bytes_from(5000, 2);
  made.access(RecordKind::kHostRead, kCoreAt, beats, 0, 100);
  made.access(RecordKind::kHostRead, kCopyAt, std::span(long_one).first(4000), 10, 5000, kFlagOk | kFlagContinued);
  made.access(RecordKind::kHostRead, at(kCopyAt, 4000), std::span(long_one).subspan(4000), 0, 5000);
  const auto recording = made.load();
  const auto expected = expect_exactly(*recording);
  std::vector<std::byte> data(100);
  for (uint64_t i = 0; i < 3; i++) {
    expected->read(at(kCoreAt, 100 * i), data, true, 999);  // the core's cycles are not compared
    CHECK(std::ranges::equal(data, std::span(beats).subspan(100 * i, 100)));
  }
  data.resize(5000);
  expected->read(kCopyAt, data, true, 10);
  CHECK(data == long_one);
  CHECK_FALSE(expected->difference());
  CHECK(expected->seen_before(recording->records().size(), Patience::kAll));
}

TEST_CASE("exactly: the first write that differs is told with its byte and both values") {
  HandMade made;
  made.access(RecordKind::kHostWrite, kCopyAt, bytes_from(64, 1), 10);
  made.access(RecordKind::kHostWrite, at(kCopyAt, 64), bytes_from(64, 2), 10);
  const auto recording = made.load();
  const auto expected = expect_exactly(*recording);
  expected->written(kCopyAt, bytes_from(64, 1), true, 10);
  auto wrong = bytes_from(64, 2);
  wrong[17] = std::byte{0xee};
  expected->written(at(kCopyAt, 64), wrong, true, 20);
  REQUIRE(expected->difference());
  const Difference& d = *expected->difference();
  CHECK(d.record == 1);
  CHECK_THAT(d.what, Contains("host write of the copy engine, function 0 at 0x1040"));
  CHECK(d.where == "byte 17");
  CHECK_THAT(d.replayed, Catch::StartsWith("ee "));
  CHECK(d.recorded.substr(0, 2) != "ee");
}

TEST_CASE("exactly: place, size, order, cycle and mapping are compared") {
  HandMade made;
  made.access(RecordKind::kHostWrite, kCopyAt, bytes_from(64, 1), 10);
  const auto recording = made.load();
  const auto difference = [&](const HostAccess& access, size_t bytes, bool ok, uint64_t cycle) {
    const auto expected = expect_exactly(*recording);
    expected->written(access, std::span<const std::byte>(bytes_from(64, 1)).first(bytes), ok, cycle);
    return expected->difference().has_value();
  };
  CHECK_FALSE(difference(kCopyAt, 64, true, 10));
  CHECK(difference(at(kCopyAt, 8), 64, true, 10));
  CHECK(difference(kCopyAt, 32, true, 10));
  CHECK(difference(kCopyAt, 64, false, 10));
  CHECK(difference(kCopyAt, 64, true, 11));
  CHECK(difference({Accessor::kFirmware, 0, 0x1000}, 64, true, 10));
  CHECK(difference({Accessor::kCopy, 1, 0x1000}, 64, true, 10));
  const auto expected = expect_exactly(*recording);
  std::vector<std::byte> data(64);
  expected->read(kCopyAt, data, true, 10);
  CHECK(expected->difference());
}

TEST_CASE("exactly: an interrupt is compared with vector and cycle, and what is missing or too much is told") {
  HandMade made;
  made.interrupt(0, 1, 10);
  made.interrupt(0, 2, 5);
  const auto recording = made.load();
  auto expected = expect_exactly(*recording);
  expected->interrupt(0, 1, 10);
  CHECK_FALSE(expected->seen_before(2, Patience::kAll));
  expected->miss(2);
  REQUIRE(expected->difference());
  CHECK(expected->difference()->recorded == "vector 2 of function 0 in cycle 15");
  expected = expect_exactly(*recording);
  expected->interrupt(0, 1, 10);
  expected->interrupt(0, 2, 15);
  CHECK_FALSE(expected->difference());
  expected->interrupt(0, 2, 16);
  REQUIRE(expected->difference());
  CHECK_THAT(expected->difference()->recorded, Contains("the recording ends"));
}

TEST_CASE("causally: other portions in another order give the same bytes") {
  HandMade made;
  const auto data = bytes_from(9000, 5);
  made.access(RecordKind::kHostRead, kCoreAt, data, 0, 100);
  made.access(RecordKind::kHostWrite, at(kCoreAt, 0x8000), data, 0, 100);
  const auto recording = made.load();
  const auto expected = expect_causally(*recording);
  std::vector<std::byte> back(5000), front(4000);
  expected->read(at(kCoreAt, 4000), back, true, 1);
  expected->read(kCoreAt, front, true, 2);
  CHECK(std::ranges::equal(front, std::span(data).first(4000)));
  CHECK(std::ranges::equal(back, std::span(data).subspan(4000)));
  CHECK_FALSE(expected->seen_before(2, Patience::kAll));
  for (size_t i = data.size(); i != 0; i -= 1000)
    expected->written(at(kCoreAt, 0x8000 + i - 1000), std::span(data).subspan(i - 1000, 1000), true, i);
  CHECK_FALSE(expected->difference());
  CHECK(expected->seen_before(2, Patience::kAll));
}

TEST_CASE("causally: a byte that is accessed again has its next value, though its neighbours have not") {
  HandMade made;
  made.access(RecordKind::kHostWrite, at(kCopyAt, 8), bytes_from(8, 1), 1);
  made.access(RecordKind::kHostWrite, kCopyAt, bytes_from(16, 2), 1);
  const auto recording = made.load();
  const auto first = bytes_from(8, 1), second = bytes_from(16, 2);
  auto expected = expect_causally(*recording);
  expected->written(kCopyAt, std::span(second).first(8), true, 1);
  expected->written(at(kCopyAt, 8), first, true, 1);
  expected->written(at(kCopyAt, 8), std::span(second).subspan(8), true, 1);
  CHECK_FALSE(expected->difference());
  CHECK(expected->seen_before(2, Patience::kRequired));
  expected = expect_causally(*recording);
  expected->written(kCopyAt, second, true, 1);  // bytes 8 to 15 must be `first` before
  REQUIRE(expected->difference());
  CHECK(expected->difference()->where == "byte 8");
}

TEST_CASE("causally: start and end cycles of a completion are not compared, everything else is") {
  HandMade made;
  made.access(RecordKind::kHostWrite, kEntryAt, entry_of(100, 200, 7), 1);
  const auto recording = made.load();
  auto expected = expect_causally(*recording);
  expected->written(kEntryAt, entry_of(50, 60, 7), true, 1);
  CHECK_FALSE(expected->difference());
  CHECK(expected->compared().completions == 1);
  expected = expect_causally(*recording);
  expected->written(kEntryAt, entry_of(100, 200, 8), true, 1);
  REQUIRE(expected->difference());
  CHECK(expected->difference()->where == "byte 16");
}

TEST_CASE("causally: a read that was never recorded, a write too many and one that is missing are differences") {
  HandMade made;
  made.access(RecordKind::kHostWrite, kCopyAt, bytes_from(8, 1), 1);
  const auto recording = made.load();
  std::vector<std::byte> data(8);
  auto expected = expect_causally(*recording);
  expected->read(kCopyAt, data, true, 1);
  CHECK(expected->difference());
  expected = expect_causally(*recording);
  expected->written(kCopyAt, bytes_from(8, 1), true, 1);
  expected->written(kCopyAt, bytes_from(8, 1), true, 1);
  CHECK(expected->difference());
  expected = expect_causally(*recording);
  expected->miss(1);
  REQUIRE(expected->difference());
  CHECK_THAT(expected->difference()->recorded, Contains("host write of the copy engine"));
}

TEST_CASE("causally: a read beyond the recorded ones keeps the last value, and one that is passed over is not given") {
  HandMade made;
  made.access(RecordKind::kHostRead, kCopyAt, bytes_from(8, 1), 1);
  made.access(RecordKind::kHostRead, kCopyAt, bytes_from(8, 2), 1);
  const auto recording = made.load();
  std::vector<std::byte> data(8);
  auto expected = expect_causally(*recording);
  for (const unsigned seed : {1u, 2u, 2u}) {
    expected->read(kCopyAt, data, true, 1);
    CHECK(data == bytes_from(8, seed));
  }
  expected = expect_causally(*recording);
  expected->pass(1);
  expected->read(kCopyAt, data, true, 1);
  CHECK(data == bytes_from(8, 2));
  CHECK_FALSE(expected->difference());
}
