// Reading a file that nobody vouches for: every length is checked before it is used.
#include "model/record/recording.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "model/record/varint.hpp"

namespace weft::record {
namespace {

constexpr unsigned kMaxFunctions = 16;
constexpr unsigned kMaxRegion = 9;
constexpr unsigned kMaxVector = 64;
constexpr unsigned kMaxFds = 64;
constexpr unsigned kStandstills = 3, kStandstillsOfSlices = 2;
constexpr unsigned kAccessorKinds = 4;
constexpr uint32_t kFirstWithOptical = 4;  // version whose kSlice has the latency of optical links

uint32_t crc_of(uint32_t crc, std::span<const std::byte> bytes) {
  return static_cast<uint32_t>(
      ::crc32(crc, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

/// One pass over the file.
class RecordingReader {
 public:
  RecordingReader(Recording& out, const std::string& path) : out_(out), path_(path) {}

  /// False: a message is in `error`.
  [[nodiscard]] bool header(std::string& error) {
    FileHeader& header = out_.header_;
    if (out_.file_.size() < sizeof header)
      return fail(error, 0,
                  fmt::format("{} bytes are no recording: its header has {}", out_.file_.size(), sizeof header));
    std::memcpy(&header, out_.file_.data(), sizeof header);
    if (header.magic != kMagic) return fail(error, 0, "this is no recording of Weft (its magic number is missing)");
    if (header.version == 0 || header.version > kVersion)
      return fail(
          error, offsetof(FileHeader, version),
          fmt::format("a recording of version {}; this program reads versions 1 to {}", header.version, kVersion));
    if (header.crc != crc_of(0, bytes_of(header).first(offsetof(FileHeader, crc))))
      return fail(error, offsetof(FileHeader, crc), "the header is damaged (its CRC does not match)");
    if (header.functions == 0 || header.functions > kMaxFunctions || header.preset.back() != 0)
      return fail(error, offsetof(FileHeader, preset), "the header names no chip that can be made");
    return true;
  }

  /// False: the file is damaged or cut off; what stands before is read.
  [[nodiscard]] bool blocks(std::string& error) {
    const std::vector<std::byte>& file = out_.file_;
    uint64_t at = sizeof(FileHeader);
    for (uint32_t number = 0;; number++) {
      if (at == file.size())
        return fail(
            error, at,
            "the recording has no end: its simulator was killed, or the file is cut off (--partial replays what "
            "is there)");
      BlockHead head;
      if (file.size() - at < sizeof head) return fail(error, at, "the file is cut off within the head of a block");
      std::memcpy(&head, &file[at], sizeof head);
      if (head.magic != kBlockMagic || head.number != number)
        return fail(error, at, fmt::format("here block {} should begin", number));
      if (head.raw_bytes > kBlockMaxBytes || head.stored_bytes > kBlockMaxBytes)
        return fail(error, at, fmt::format("block {} claims to be larger than a block can be", number));
      if (file.size() - at - sizeof head < head.stored_bytes)
        return fail(error, at,
                    fmt::format("the file is cut off within block {}: it has {} of its {} bytes", number,
                                file.size() - at - sizeof head, head.stored_bytes));
      const auto stored = std::span(file).subspan(at + sizeof head, head.stored_bytes);
      if (head.crc != crc_of(crc_of(0, bytes_of(head).first(offsetof(BlockHead, crc))), stored))
        return fail(error, at, fmt::format("block {} is damaged (its CRC does not match)", number));
      if (head.kind == BlockKind::kEnd) return end(error, at, stored);
      std::span<const std::byte> raw = stored;
      if (head.kind == BlockKind::kDeflated) {
        std::vector<std::byte>& block = out_.blocks_.emplace_back(head.raw_bytes);
        uLongf bytes = head.raw_bytes;
        const int result = ::uncompress(reinterpret_cast<Bytef*>(block.data()), &bytes,
                                        reinterpret_cast<const Bytef*>(stored.data()), head.stored_bytes);
        if (result != Z_OK || bytes != head.raw_bytes)
          return fail(error, at, fmt::format("block {} does not inflate to its {} bytes", number, head.raw_bytes));
        raw = block;
      } else if (head.kind != BlockKind::kPlain || head.raw_bytes != head.stored_bytes) {
        return fail(error, at, fmt::format("block {} is of no known kind", number));
      }
      const size_t records = out_.records_.size();
      if (!records_of(raw, at)) {
        out_.records_.resize(records);
        return fail(error, at, fmt::format("block {} holds a record that is none", number));
      }
      at += sizeof head + head.stored_bytes;
    }
  }

 private:
  bool fail(std::string& error, uint64_t at, const std::string& what) {
    error = fmt::format("{}: byte {}: {}", path_, at, what);
    return false;
  }

  bool end(std::string& error, uint64_t at, std::span<const std::byte> stored) {
    EndBody body;
    if (stored.size() != sizeof body) return fail(error, at, "the end is of another size than an end");
    std::memcpy(&body, stored.data(), sizeof body);
    if (body.records != read_)
      return fail(error, at, fmt::format("the recording has {} records, and its end says {}", read_, body.records));
    if (at + sizeof(BlockHead) + stored.size() != out_.file_.size())
      return fail(error, at + sizeof(BlockHead) + stored.size(), "bytes follow the recording's end");
    out_.ending_ = body.ending;
    return true;
  }

  bool records_of(std::span<const std::byte> raw, uint64_t block_at) {
    Decoder in(raw);
    while (!in.at_end()) {
      Record record{.kind = static_cast<RecordKind>(in.byte()), .file_offset = block_at};
      if (!fields(in, record) || !in.ok() || record.function >= out_.header_.functions) return false;
      read_++;
      if (record.kind != RecordKind::kPage && record.kind != RecordKind::kSlice) out_.records_.push_back(record);
    }
    return true;
  }

  bool fields(Decoder& in, Record& record) {
    switch (record.kind) {
      case RecordKind::kRun:
        record.cycle = cycle_ += in.number();
        record.detail = in.byte();
        return record.detail < kStandstills && !in_slice();
      case RecordKind::kMoment:
        return moment(in, record);
      case RecordKind::kSlice:
        return slice(in);
      case RecordKind::kConnected:
      case RecordKind::kLeft:
      case RecordKind::kObserverResets:
        record.function = in.byte();
        return true;
      case RecordKind::kRegionRead:
      case RecordKind::kRegionWrite:
        record.function = in.byte();
        record.detail = in.byte();
        record.address = in.number();
        return record.detail < kMaxRegion && data(in, record);
      case RecordKind::kMessage: {
        record.function = in.byte();
        const uint64_t command = in.number();
        const uint64_t fds = in.number();
        record.command = static_cast<uint16_t>(command);
        record.fds = static_cast<uint16_t>(fds);
        return command <= UINT16_MAX && fds <= kMaxFds && data(in, record);
      }
      case RecordKind::kWaitEnds:
        record.function = in.byte();
        record.detail = in.byte();
        return true;
      case RecordKind::kInterrupt:
        record.function = in.byte();
        record.detail = in.byte();
        record.cycle = cycle_ += in.number();
        return record.detail < kMaxVector;
      case RecordKind::kPage:
        out_.pages_.push_back(in.data(kPageBytes));
        return out_.pages_.size() <= kMaxPages;
      case RecordKind::kHostRead:
      case RecordKind::kHostWrite:
        return access(in, record);
    }
    return false;
  }

  [[nodiscard]] bool in_slice() const { return !out_.place_.slice.empty(); }

  /// Only as the first record of all.
  bool slice(Decoder& in) {
    const uint64_t chip = in.number(), chips = in.number(), bytes = in.number();
    if (read_ != 0 || chip >= chips || chips > UINT16_MAX || bytes == 0 || bytes > kMaxSliceNameBytes) return false;
    const auto name = in.data(bytes);
    out_.place_ = {std::string(reinterpret_cast<const char*>(name.data()), name.size()), static_cast<uint32_t>(chip),
                   static_cast<uint32_t>(chips), out_.header_.version >= kFirstWithOptical ? in.number() : 0};
    return in.ok();
  }

  bool moment(Decoder& in, Record& record) {
    const uint64_t passed = in.number(), stop = in.number();
    record.detail = in.byte();
    if (!in_slice() || record.detail >= kStandstillsOfSlices || stop > UINT32_MAX || fs_ + passed < passed)
      return false;
    const auto last = std::pair(fs_, stop_);
    record.address = fs_ += passed;
    record.piece_bytes = stop_ = static_cast<uint32_t>(stop);
    return !std::exchange(told_, true) || std::pair(fs_, stop_) > last;
  }

  bool data(Decoder& in, Record& record) {
    const uint64_t bytes = in.number();
    if (bytes > kBlockMaxBytes) return false;
    record.bytes = static_cast<uint32_t>(bytes);
    record.first_part = out_.parts_.size();
    record.parts = 1;
    out_.parts_.push_back(in.data(bytes));
    return in.ok();
  }

  bool access(Decoder& in, Record& record) {
    record.function = in.byte();
    record.detail = in.byte();
    record.flags = in.byte();
    record.address = in.number();
    const uint64_t bytes = in.number();
    const uint64_t piece = in.number();
    record.cycle = cycle_ += in.number();
    if (record.detail >= kAccessorKinds || bytes > kMaxPayloadBytes || bytes == 0 || piece == 0 || piece > UINT32_MAX ||
        record.address + bytes < bytes)
      return false;
    record.bytes = static_cast<uint32_t>(bytes);
    record.piece_bytes = static_cast<uint32_t>(piece);
    record.first_part = out_.parts_.size();
    for (uint64_t at = 0; at < bytes && in.ok();) {
      const uint64_t part = std::min<uint64_t>(kPageBytes - (record.address + at) % kPageBytes, bytes - at);
      const uint64_t number = in.number();
      if (number > out_.pages_.size() || (number != 0 && part != kPageBytes)) return false;
      out_.parts_.push_back(number == 0 ? in.data(part) : out_.pages_[number - 1]);
      at += part;
    }
    record.parts = out_.parts_.size() - record.first_part;
    return in.ok();
  }

  Recording& out_;
  const std::string& path_;
  uint64_t cycle_ = 0;
  uint64_t fs_ = 0;
  uint32_t stop_ = 0;
  bool told_ = false;  // a moment
  uint64_t read_ = 0;
};

std::unique_ptr<Recording> Recording::load(const std::string& path, Extent extent, std::string& error) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    error = fmt::format("{}: cannot be read", path);
    return nullptr;
  }
  auto recording = std::make_unique<Recording>();
  std::vector<char> text{std::istreambuf_iterator<char>(in), {}};
  recording->file_.resize(text.size());
  if (!text.empty()) std::memcpy(recording->file_.data(), text.data(), text.size());
  RecordingReader reader(*recording, path);
  if (!reader.header(error)) return nullptr;
  if (!reader.blocks(recording->cut_)) {
    if (extent == Extent::kWhole) {
      error = recording->cut_;
      return nullptr;
    }
    recording->ending_ = Ending::kComplete;
  }
  return recording;
}

std::string Recording::preset() const { return std::string(header_.preset.data()); }

std::vector<std::byte> Recording::data(const Record& record) const {
  std::vector<std::byte> all;
  all.reserve(record.bytes);
  for (const auto& part : parts(record)) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace weft::record
