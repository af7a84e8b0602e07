// Byte by byte, each with its own history.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <vector>

#include "model/record/byte_history.hpp"
#include "model/record/expectation.hpp"

namespace weft::record {
namespace {

constexpr size_t kCycleBytes = offsetof(weft_completion_entry, tag);  // start and end come first
static_assert(offsetof(weft_completion_entry, start_cycle) == 0 && offsetof(weft_completion_entry, end_cycle) == 8 &&
              kCycleBytes == 16);
constexpr size_t kCheckAt = offsetof(weft_completion_entry, status) + 3;  // of all other bytes, the cycles included
static_assert(kCheckAt + 1 == sizeof(weft_completion_entry) && WEFT_STATUS_CHECK(0xff000000u) == 0xff);

bool mapped(const Record& r) { return (r.flags & kFlagOk) != 0; }
bool firmware(const Record& r) { return r.detail == static_cast<uint8_t>(chip::Accessor::kFirmware); }

class Causal final : public Expectation {
 public:
  explicit Causal(const Recording& recording) : recording_(recording), left_(recording.records().size()) {
    for (size_t i = 0; i < recording.records().size(); i++) know(i, recording.records()[i]);
  }

  void read(const chip::HostAccess& access, std::span<std::byte> data, bool ok, uint64_t) override {
    std::ranges::fill(data, std::byte{0});
    if (difference()) return;
    compared_.host_reads++;
    compared_.host_read_bytes += data.size();
    if (!ok) return;
    for (size_t at = 0; at < data.size();) {
      const auto found = reads_[access.function].take_or_last(access.iova + at, data.size() - at, floor_);
      if (found.piece == nullptr)
        return unexpected(RecordKind::kHostRead, access, at, "the recorded run has not read it", "");
      std::copy_n(found.data, found.bytes, data.begin() + static_cast<std::ptrdiff_t>(at));
      use(found);
      at += found.bytes;
    }
  }

  void written(const chip::HostAccess& access, std::span<const std::byte> data, bool ok, uint64_t) override {
    if (difference()) return;
    count_write(access, data.size());
    if (!ok) return;
    for (size_t at = 0; at < data.size();) {
      const auto found = writes_[access.function].take(access.iova + at, data.size() - at);
      if (found.piece == nullptr) {
        if (access.by == chip::Accessor::kFirmware) return;  // another number of log lines
        return unexpected(RecordKind::kHostWrite, access, at, "nothing any more", bytes_text(data, at));
      }
      if (!found.piece->loose && access.by != chip::Accessor::kFirmware) {
        const auto now = data.subspan(at, found.bytes);
        const auto wrong = std::ranges::mismatch(now, std::span(found.data, found.bytes)).in1;
        if (wrong != now.end()) {
          const auto place = static_cast<size_t>(wrong - now.begin());
          const Record& r = recording_.records()[found.piece->record];
          return differ({found.piece->record, r.file_offset, access_text(RecordKind::kHostWrite, access),
                         fmt::format("byte {}", at + place), bytes_text(std::span(found.data, found.bytes), place),
                         bytes_text(now, place)});
        }
      }
      use(found);
      at += found.bytes;
    }
  }

  void interrupt(unsigned function, unsigned vector, uint64_t) override {
    if (difference()) return;
    compared_.interrupts++;
    auto& line = interrupts_[{function, vector}];
    if (line.records.empty())
      return differ({0, 0, "interrupt", "", "never", fmt::format("vector {} of function {}", vector, function)});
    if (line.seen < line.records.size()) left_[line.records[line.seen++]] = 0;
  }

  bool seen_before(size_t record, Patience patience) override {
    size_t& first = patience == Patience::kAll ? first_unseen_ : first_missing_;
    while (first < record && (left_[first] == 0 || (patience == Patience::kRequired && !required(first)))) first++;
    return first >= record;
  }

  void miss(size_t record) override {
    if (seen_before(record, Patience::kRequired)) return;
    const Record& r = recording_.records()[first_missing_];
    const chip::HostAccess access{static_cast<chip::Accessor>(r.detail), r.function, r.address};
    const std::string text = r.kind == RecordKind::kInterrupt
                                 ? fmt::format("vector {} of function {}", r.detail, r.function)
                                 : fmt::format("{}, {} bytes", access_text(r.kind, access), r.bytes);
    differ({first_missing_, r.file_offset, "something is missing", "", text, "nothing: the device is idle"});
  }

  void pass(size_t record) override { floor_ = record; }

 private:
  struct Line {
    std::vector<size_t> records;
    size_t seen = 0;
  };

  void know(size_t number, const Record& r) {
    if (r.kind == RecordKind::kInterrupt) {
      left_[number] = 1;
      interrupts_[{r.function, r.detail}].records.push_back(number);
      return;
    }
    if ((r.kind != RecordKind::kHostRead && r.kind != RecordKind::kHostWrite) || !mapped(r)) return;
    const bool write = r.kind == RecordKind::kHostWrite;
    const bool completion = r.detail == static_cast<uint8_t>(chip::Accessor::kCompletion);
    const bool whole_entry = completion && r.bytes == sizeof(weft_completion_entry);
    uint64_t at = 0;
    for (auto part : recording_.parts(r)) {
      while (!part.empty()) {
        const bool entry = write && whole_entry;
        const bool cycles = entry && at < kCycleBytes, check = entry && at >= kCheckAt;
        const size_t left = cycles ? kCycleBytes - at : entry && !check ? kCheckAt - at : part.size();
        const auto same = part.first(std::min<size_t>(part.size(), left));
        (write ? writes_ : reads_)[r.function].add(r.address + at, same, number,
                                                   write && (firmware(r) || cycles || check));
        at += same.size();
        part = part.subspan(same.size());
      }
    }
    left_[number] = r.bytes;
  }

  /// Must happen on any core; other accesses may be fewer or more.
  [[nodiscard]] bool required(size_t number) const {
    const Record& r = recording_.records()[number];
    return r.kind == RecordKind::kHostWrite && !firmware(r);
  }

  void use(const ByteHistory::Found& found) {
    uint32_t& left = left_[found.piece->record];
    left -= std::min<uint32_t>(left, static_cast<uint32_t>(found.bytes));
  }

  void unexpected(RecordKind kind, chip::HostAccess access, size_t at, const std::string& recorded,
                  const std::string& replayed) {
    differ({recording_.records().size(), recording_.file_bytes(), access_text(kind, access), fmt::format("byte {}", at),
            recorded, replayed});
  }

  const Recording& recording_;
  std::array<ByteHistory, WEFT_LIMIT_FUNCTIONS> reads_;
  std::array<ByteHistory, WEFT_LIMIT_FUNCTIONS> writes_;
  std::map<std::pair<unsigned, unsigned>, Line> interrupts_;
  std::vector<uint32_t> left_;  // bytes of a record that have not happened yet; 1 for an interrupt
  size_t first_unseen_ = 0;
  size_t first_missing_ = 0;
  size_t floor_ = 0;
};

}  // namespace

std::unique_ptr<Expectation> expect_causally(const Recording& recording) { return std::make_unique<Causal>(recording); }

}  // namespace weft::record
