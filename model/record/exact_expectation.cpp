// The recorded accesses one after the other.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "model/record/expectation.hpp"

namespace weft::record {
namespace {

bool is_effect(const Record& r) {
  return r.kind == RecordKind::kHostRead || r.kind == RecordKind::kHostWrite || r.kind == RecordKind::kInterrupt;
}

chip::HostAccess access_of(const Record& r, uint64_t offset = 0) {
  return {static_cast<chip::Accessor>(r.detail), r.function, r.address + offset};
}

class Exact final : public Expectation {
 public:
  explicit Exact(const Recording& recording) : recording_(recording) { next_effect(); }

  void read(const chip::HostAccess& access, std::span<std::byte> data, bool ok, uint64_t cycle) override {
    std::ranges::fill(data, std::byte{0});
    if (difference()) return;
    compared_.host_reads++;
    compared_.host_read_bytes += data.size();
    const auto fill = [&](size_t at, std::span<const std::byte> then) {
      std::ranges::copy(then, data.begin() + static_cast<std::ptrdiff_t>(at));
      return then.size();
    };
    transfer(RecordKind::kHostRead, access, data, ok, cycle, fill);
  }

  void written(const chip::HostAccess& access, std::span<const std::byte> data, bool ok, uint64_t cycle) override {
    if (difference()) return;
    count_write(access, data.size());
    const auto equal_bytes = [&](size_t at, std::span<const std::byte> then) {
      const auto now = data.subspan(at, then.size());
      return static_cast<size_t>(std::ranges::mismatch(then, now).in1 - then.begin());
    };
    transfer(RecordKind::kHostWrite, access, data, ok, cycle, equal_bytes);
  }

  void interrupt(unsigned function, unsigned vector, uint64_t cycle) override {
    if (difference()) return;
    compared_.interrupts++;
    const std::string now = fmt::format("vector {} of function {} in cycle {}", vector, function, cycle);
    if (at_ == recording_.records().size()) return too_much("interrupt", now);
    const Record& r = recording_.records()[at_];
    if (r.kind != RecordKind::kInterrupt || r.function != function || r.detail != vector || r.cycle != cycle)
      return differ({at_, r.file_offset, "interrupt", "", effect_text(r, 0), now});
    advance();
  }

  bool seen_before(size_t record, Patience) override { return at_ >= record; }

  void miss(size_t record) override {
    if (at_ >= record || difference()) return;
    const Record& r = recording_.records()[at_];
    differ({at_, r.file_offset, "something is missing", "", effect_text(r, offset_), "nothing"});
  }

  void pass(size_t) override {}

 private:
  void advance() {
    at_++;
    next_effect();
  }
  void next_effect() {
    offset_ = 0;
    const auto& records = recording_.records();
    while (at_ < records.size() && !is_effect(records[at_])) at_++;
  }

  [[nodiscard]] std::string effect_text(const Record& r, uint64_t offset) const {
    if (r.kind == RecordKind::kInterrupt)
      return fmt::format("vector {} of function {} in cycle {}", r.detail, r.function, r.cycle);
    return transfer_text(r.kind, access_of(r, offset), std::min<uint64_t>(r.piece_bytes, r.bytes - offset),
                         (r.flags & kFlagOk) != 0, r.cycle);
  }

  static std::string transfer_text(RecordKind kind, const chip::HostAccess& access, uint64_t bytes, bool ok,
                                   uint64_t cycle) {
    return fmt::format("{}, {} bytes{}{}", access_text(kind, access), bytes, ok ? "" : ", not mapped",
                       access.by == chip::Accessor::kCore ? "" : fmt::format(", in cycle {}", cycle));
  }

  void too_much(const std::string& what, const std::string& now) {
    differ({at_, recording_.file_bytes(), what, "", "nothing: the recording ends before", now});
  }

  /// Walks over one access of the device, which may be a part of one record (accesses of the core) or several records
  /// (long ones). `compare` gets the place in the access and the recorded bytes, and tells how many of them are right.
  template <typename Compare>
  void transfer(RecordKind kind, const chip::HostAccess& access, std::span<const std::byte> data, bool ok,
                uint64_t cycle, Compare compare) {
    const uint64_t bytes = data.size();
    const std::string what = access_text(kind, access);
    for (uint64_t done = 0; done < bytes;) {
      if (at_ == recording_.records().size()) return too_much(what, transfer_text(kind, access, bytes, ok, cycle));
      const Record& r = recording_.records()[at_];
      const bool same_place = r.kind == kind && r.function == access.function &&
                              r.detail == static_cast<uint8_t>(access.by) && r.address + offset_ == access.iova + done;
      const bool same_size = r.piece_bytes == bytes;
      const bool same_time = access.by == chip::Accessor::kCore || r.cycle == cycle || done != 0;
      if (!same_place || !same_size || !same_time || ((r.flags & kFlagOk) != 0) != ok)
        return differ(
            {at_, r.file_offset, what, "", effect_text(r, offset_), transfer_text(kind, access, bytes, ok, cycle)});
      if (!walk(r, what, data, done, compare)) return;
    }
  }

  template <typename Compare>
  bool walk(const Record& r, const std::string& what, std::span<const std::byte> data, uint64_t& done,
            Compare compare) {
    const uint64_t bytes = data.size();
    uint64_t at = 0;  // in the record
    for (const auto& part : recording_.parts(r)) {
      const uint64_t begin = std::max(at, offset_);
      const uint64_t end = std::min(at + part.size(), offset_ + (bytes - done));
      if (begin < end) {
        const auto then = part.subspan(begin - at, end - begin);
        const uint64_t place = done + (begin - offset_);
        const size_t right = compare(place, then);
        if (right != then.size()) {
          differ({at_, r.file_offset, what, fmt::format("byte {}", place + right), bytes_text(then, right),
                  bytes_text(data.first(place + then.size()), place + right)});
          return false;
        }
      }
      at += part.size();
    }
    const uint64_t taken = std::min<uint64_t>(r.bytes - offset_, bytes - done);
    done += taken;
    offset_ += taken;
    if (offset_ == r.bytes) advance();
    return true;
  }

  const Recording& recording_;
  size_t at_ = 0;        // record of the next effect
  uint64_t offset_ = 0;  // bytes of it that have been seen
};

}  // namespace

std::unique_ptr<Expectation> expect_exactly(const Recording& recording) { return std::make_unique<Exact>(recording); }

}  // namespace weft::record
