// The file, whole and damaged.
#include "model/record/recording.hpp"

#include <random>

#include "testbench/unit/record/hand_made.hpp"

using namespace weft;
using namespace weft::record;
using Catch::Contains;
using test::bytes_from;
using test::HandMade;
using test::TemporaryFile;

namespace {

constexpr chip::HostAccess kCopy{chip::Accessor::kCopy, 1, 0x10ff0};

/// Some of everything; incompressible data too, so that there are plain blocks and deflated ones.
void fill(HandMade& made) {
  std::mt19937_64 random(7);
  made.run(100);
  made.region_write(0, 0x40, 0x12345678);
  made.page(bytes_from(kPageBytes, 3));
  made.page_access(RecordKind::kHostRead, {chip::Accessor::kCopy, 0, 0x4000}, 0, 5);
  made.access(RecordKind::kHostWrite, kCopy, bytes_from(100, 4), 7);
  made.writer().flush();
  std::vector<std::byte> noise(3000);
  for (std::byte& b : noise) b = static_cast<std::byte>(random());
  made.access(RecordKind::kHostRead, {chip::Accessor::kCore, 0, 0x8000}, noise, 0, 1000);
  made.interrupt(1, 2, 9);
}

/// The message about a file; empty: it was taken.
std::string complaint(const std::string& path) {
  std::string error;
  const auto recording = Recording::load(path, Recording::Extent::kWhole, error);
  REQUIRE((recording == nullptr) == !error.empty());
  return error;
}

}  // namespace

TEST_CASE("what is written is read") {
  HandMade made;
  fill(made);
  const auto recording = made.load();
  const auto& r = recording->records();
  REQUIRE(r.size() == 6);
  CHECK(recording->preset() == "nano");
  CHECK(recording->ending() == Ending::kComplete);
  CHECK(recording->cut().empty());
  CHECK((r[0].kind == RecordKind::kRun && r[0].cycle == 100 && r[0].detail == 1));
  CHECK((r[1].kind == RecordKind::kRegionWrite && r[1].address == 0x40 && r[1].bytes == 4));
  CHECK((r[2].kind == RecordKind::kHostRead && r[2].address == 0x4000 && r[2].cycle == 105));
  CHECK(recording->data(r[2]) == bytes_from(kPageBytes, 3));
  CHECK((r[3].function == 1 && r[3].detail == 2 && r[3].cycle == 112 && r[3].parts == 2));
  CHECK(recording->data(r[3]) == bytes_from(100, 4));
  CHECK((r[4].bytes == 3000 && r[4].piece_bytes == 1000));
  CHECK((r[5].kind == RecordKind::kInterrupt && r[5].detail == 2 && r[5].cycle == 121));
}

TEST_CASE("a chip of a slice has its place and moments in place of cycles") {
  HandMade made;
  made.slice("nano-2x2", 3, 4);
  made.moment(1'000'000, 0);
  made.region_write(0, 0x40, 1);
  made.moment(0, 1);
  made.interrupt(0, 1, 77);
  made.moment(5, 0);
  const auto recording = made.load();
  CHECK((recording->place().slice == "nano-2x2" && recording->place().chip == 3 && recording->place().chips == 4));
  const auto& r = recording->records();
  REQUIRE(r.size() == 5);
  CHECK((r[0].kind == RecordKind::kMoment && r[0].address == 1'000'000 && r[0].piece_bytes == 0));
  CHECK((r[2].kind == RecordKind::kMoment && r[2].address == 1'000'000 && r[2].piece_bytes == 1));
  CHECK(r[3].cycle == 77);
  CHECK((r[4].address == 1'000'005 && r[4].piece_bytes == 0));
  CHECK(max_pages(1) == kMaxPages);
  CHECK(max_pages(16) == kMaxPages / 16);
  CHECK(max_pages(9000) == 64);
}

TEST_CASE("a chip of a slice tells what its optical links take and none did in version 3") {
  HandMade made;
  made.slice("v4-4x4x8", 3, 128, 6'500'000'000);
  made.moment(1'000'000, 0);
  const auto recording = made.load();
  CHECK(recording->place().optical_fs == 6'500'000'000);
  CHECK(recording->records().size() == 1);
  FileHeader header = test::header_of();
  header.version = 3;
  HandMade older(header);
  older.slice("v4-4x4x8", 3, 128, {});
  older.moment(1'000'000, 0);
  const auto old = older.load();
  CHECK(old->place().optical_fs == 0);
  CHECK(old->records().size() == 1);
  HandMade cut;  // of this version, without it
  cut.slice("v4-4x4x8", 3, 128, {});
  cut.finish();
  CHECK_THAT(complaint(cut.file.path()), Contains("a record that is none"));
}

TEST_CASE("places and moments that cannot be are refused") {
  const auto complaint_of = [](const auto& fill) {
    HandMade made;
    fill(made);
    made.finish();
    return complaint(made.file.path());
  };
  constexpr auto kNone = "a record that is none";
  CHECK(complaint_of([](HandMade& m) { m.slice("nano-2x2", 0, 4), m.moment(1, 0), m.moment(1, 0); }).empty());
  CHECK_THAT(complaint_of([](HandMade& m) { m.slice("nano-2x2", 4, 4); }), Contains(kNone));
  CHECK_THAT(complaint_of([](HandMade& m) { m.slice("nano-2x2", 0, 70'000); }), Contains(kNone));
  CHECK_THAT(complaint_of([](HandMade& m) { m.slice("", 0, 4); }), Contains(kNone));
  CHECK_THAT(complaint_of([](HandMade& m) { m.slice(std::string(65, 'x'), 0, 4); }), Contains(kNone));
  CHECK_THAT(complaint_of([](HandMade& m) { m.slice("nano-2x2", 0, 4), m.slice("nano-2x2", 0, 4); }), Contains(kNone));
  CHECK_THAT(complaint_of([](HandMade& m) { m.interrupt(0, 1, 1), m.slice("nano-2x2", 0, 4); }), Contains(kNone));
  CHECK_THAT(complaint_of([](HandMade& m) { m.slice("nano-2x2", 0, 4), m.run(1); }), Contains(kNone));
  CHECK_THAT(complaint_of([](HandMade& m) { m.moment(1, 0); }), Contains(kNone));  // of a chip that stands alone
  CHECK_THAT(complaint_of([](HandMade& m) { m.slice("nano-2x2", 0, 4), m.moment(1, 0, 2); }), Contains(kNone));
  CHECK_THAT(complaint_of([](HandMade& m) { m.slice("nano-2x2", 0, 4), m.moment(1, 0), m.moment(0, 0); }),
             Contains(kNone));  // the same moment again
  CHECK_THAT(complaint_of([](HandMade& m) { m.slice("nano-2x2", 0, 4), m.moment(1, 0), m.moment(UINT64_MAX, 0); }),
             Contains(kNone));
}

TEST_CASE("a page that comes a thousand times takes its bytes once") {
  HandMade made;
  std::mt19937_64 random(1);
  std::vector<std::byte> noise(kPageBytes);
  for (std::byte& b : noise) b = static_cast<std::byte>(random());
  made.page(noise);
  for (int i = 0; i < 1000; i++) made.page_access(RecordKind::kHostRead, {chip::Accessor::kCopy, 0, 0x4000}, 0, 5);
  const auto recording = made.load();
  CHECK(recording->data(recording->records().back()) == noise);
  CHECK(recording->file_bytes() < kPageBytes + 4000);
}

TEST_CASE("a file that is cut off anywhere is refused with the byte") {
  HandMade made;
  fill(made);
  made.finish();
  const auto whole = made.file.read();
  CHECK(complaint(made.file.path()).empty());
  TemporaryFile cut;
  for (size_t bytes = 0; bytes < whole.size(); bytes++) {
    cut.write({whole.begin(), whole.begin() + static_cast<long>(bytes)});
    const std::string error = complaint(cut.path());
    INFO(bytes << ": " << error);
    REQUIRE_THAT(error, Contains(cut.path() + ": byte "));
  }
}

TEST_CASE("what stands before the cut can be had") {
  HandMade made;
  fill(made);
  made.finish();
  auto whole = made.file.read();
  whole.resize(whole.size() - sizeof(BlockHead) - sizeof(EndBody) - 1);  // within the second block
  made.file.write(whole);
  std::string error;
  const auto recording = Recording::load(made.file.path(), Recording::Extent::kReadable, error);
  REQUIRE(recording != nullptr);
  CHECK(recording->records().size() == 4);
  CHECK_THAT(recording->cut(), Contains("cut off within block 1"));
}

TEST_CASE("a flipped bit anywhere is refused") {
  HandMade made;
  fill(made);
  made.finish();
  const auto whole = made.file.read();
  const uint64_t seed = Catch::rngSeed() != 0 ? Catch::rngSeed() : 20'261'122;
  WARN("seed " << seed << " (rerun with --rng-seed)");
  std::mt19937_64 random(seed);
  TemporaryFile damaged;
  for (int i = 0; i < 5000; i++) {
    auto bytes = whole;
    const size_t bit = random() % (bytes.size() * 8);
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    damaged.write(bytes);
    INFO("bit " << bit);
    REQUIRE_THAT(complaint(damaged.path()), Contains(": byte "));
  }
}

TEST_CASE("garbage behind a right CRC is refused as well") {
  const uint64_t seed = Catch::rngSeed() != 0 ? Catch::rngSeed() : 20'261'122;
  WARN("seed " << seed << " (rerun with --rng-seed)");
  std::mt19937_64 random(seed);
  int refused = 0;
  for (int i = 0; i < 3000; i++) {
    HandMade made;
    if (random() % 2 == 0) made.slice("nano-2x2", 1, 4);
    const size_t records = 1 + random() % 3;
    for (size_t r = 0; r < records; r++) {
      Encoder out;
      out.byte(static_cast<uint8_t>(random() % (kRecordKinds + 1)));
      const size_t bytes = random() % 60;
      for (size_t b = 0; b < bytes; b++) out.byte(static_cast<uint8_t>(random() % 3 == 0 ? random() : random() % 4));
      made.writer().append(out.bytes());
    }
    made.finish();
    refused += complaint(made.file.path()).empty() ? 0 : 1;
  }
  CHECK(refused > 2000);  // a few are records by chance
}

TEST_CASE("records with impossible fields are refused") {
  const auto refused = [](std::initializer_list<uint8_t> record) {
    HandMade made;
    made.raw(record);
    made.finish();
    return complaint(made.file.path());
  };
  CHECK_THAT(refused({0}), Contains("a record that is none"));
  CHECK_THAT(refused({99, 1, 2}), Contains("a record that is none"));
  CHECK_THAT(refused({1, 0, 3}), Contains("a record that is none"));                       // no such standstill
  CHECK_THAT(refused({2, 2}), Contains("a record that is none"));                          // functions 0 and 1
  CHECK_THAT(refused({4, 0, 9, 0, 1, 0}), Contains("a record that is none"));              // no such region
  CHECK_THAT(refused({8, 0, 4, 1, 0, 1, 1, 0, 0, 7}), Contains("a record that is none"));  // no such accessor
  CHECK_THAT(refused({8, 0, 1, 1, 0, 0, 1, 0}), Contains("a record that is none"));        // of no bytes
  CHECK_THAT(refused({8, 0, 1, 1, 0, 0x80, 0x20, 0x80, 0x20, 0, 1}), Contains("a record that is none"));  // no page 0
  CHECK_THAT(refused({1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}),
             Contains("a record that is none"));
}

TEST_CASE("other files, versions and presets are told apart") {
  TemporaryFile file;
  file.write({});
  CHECK_THAT(complaint(file.path()), Contains("0 bytes are no recording"));
  file.write(std::vector<char>(100, 'x'));
  CHECK_THAT(complaint(file.path()), Contains("no recording of Weft"));
  FileHeader header = test::header_of();
  header.version = kVersion + 1;
  HandMade made(header);
  made.finish();
  CHECK_THAT(complaint(made.file.path()),
             Contains("byte 8: a recording of version 5; this program reads versions 1 to 4"));
  CHECK_THAT(complaint("/nowhere/x"), Contains("cannot be read"));
}

TEST_CASE("a file that is being written belongs to one simulator") {
  HandMade made;
  std::string error;
  CHECK(BlockWriter::make(made.file.path(), test::header_of(), error) == nullptr);
  CHECK_THAT(error, Contains("being written by another simulator"));
  CHECK(BlockWriter::make("/nowhere/x", test::header_of(), error) == nullptr);
  CHECK_THAT(error, Contains("No such file"));
}

TEST_CASE("a full disk ends the recording and not the run") {
  std::string error;
  const auto writer = BlockWriter::make("/dev/full", test::header_of(), error);
  REQUIRE(writer != nullptr);
  for (int i = 0; i < 100; i++) writer->append(bytes_from(10'000, 1));
  writer->finish(Ending::kComplete);
}
