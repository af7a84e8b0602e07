/// Files of a test, and recordings made by hand.
#pragma once
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "model/chip/boundary.hpp"
#include "model/record/block_writer.hpp"
#include "model/record/recording.hpp"
#include "model/record/varint.hpp"

namespace weft::test {

/// A path that is removed at the end.
class TemporaryFile {
 public:
  TemporaryFile() : path_(std::filesystem::temp_directory_path() / "weft-record-XXXXXX") {
    const int fd = ::mkstemp(path_.data());
    if (fd < 0) std::abort();
    ::close(fd);
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }
  std::vector<char> read() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::vector<char>& bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc).write(bytes.data(), static_cast<long>(bytes.size()));
  }

 private:
  std::string path_;
};

inline record::FileHeader header_of(const char* preset = "nano", uint8_t functions = 2) {
  record::FileHeader header{.functions = functions};
  for (size_t i = 0; preset[i] != 0; i++) header.preset[i] = preset[i];
  return header;
}

inline std::vector<std::byte> bytes_from(size_t count, unsigned seed) {
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i < count; i++) bytes[i] = static_cast<std::byte>(seed * 31 + i * 7 + i / 251);
  return bytes;
}

/// Writes records into a file and reads them back.
class HandMade {
 public:
  explicit HandMade(const record::FileHeader& header = header_of()) {
    std::string error;
    writer_ = record::BlockWriter::make(file.path(), header, error);
    REQUIRE(writer_ != nullptr);
  }

  void run(uint64_t cycles, uint8_t kind = 1) {
    start(record::RecordKind::kRun);
    out_.number(cycles);
    out_.byte(kind);
    end();
  }
  void slice(const std::string& name, uint64_t chip, uint64_t chips, std::optional<uint64_t> optical_fs = 0) {
    start(record::RecordKind::kSlice);
    out_.number(chip);
    out_.number(chips);
    out_.number(name.size());
    out_.data(std::as_bytes(std::span(name)));
    if (optical_fs) out_.number(*optical_fs);
    end();
  }
  void moment(uint64_t femtoseconds, uint64_t stop, uint8_t kind = 0) {
    start(record::RecordKind::kMoment);
    out_.number(femtoseconds);
    out_.number(stop);
    out_.byte(kind);
    end();
  }
  void region_write(uint8_t function, uint64_t offset, uint32_t value) {
    start(record::RecordKind::kRegionWrite);
    out_.byte(function);
    out_.byte(0);
    out_.number(offset);
    out_.number(sizeof value);
    out_.data(std::as_bytes(std::span(&value, 1)));
    end();
  }
  void interrupt(uint8_t function, uint8_t vector, uint64_t cycles) {
    start(record::RecordKind::kInterrupt);
    out_.byte(function);
    out_.byte(vector);
    out_.number(cycles);
    end();
  }
  void page(std::span<const std::byte> data) {
    start(record::RecordKind::kPage);
    out_.data(data);
    end();
  }
  /// Without references to pages.
  void access(record::RecordKind kind, const chip::HostAccess& access, std::span<const std::byte> data, uint64_t cycles,
              size_t piece_bytes = 0, uint8_t flags = record::kFlagOk) {
    begin_access(kind, access, data.size(), cycles, piece_bytes, flags);
    for (size_t at = 0; at < data.size();) {
      const size_t bytes =
          std::min<size_t>(record::kPageBytes - (access.iova + at) % record::kPageBytes, data.size() - at);
      out_.number(0);
      out_.data(data.subspan(at, bytes));
      at += bytes;
    }
    end();
  }
  /// One whole page by its number.
  void page_access(record::RecordKind kind, const chip::HostAccess& access, uint64_t page, uint64_t cycles) {
    begin_access(kind, access, record::kPageBytes, cycles, 0, record::kFlagOk);
    out_.number(page + 1);
    end();
  }
  void raw(std::initializer_list<uint8_t> bytes) {
    for (const uint8_t b : bytes) out_.byte(b);
    end();
  }
  void finish() { writer_->finish(record::Ending::kComplete); }
  record::BlockWriter& writer() { return *writer_; }

  std::unique_ptr<record::Recording> load() {
    finish();
    std::string error;
    auto recording = record::Recording::load(file.path(), record::Recording::Extent::kWhole, error);
    INFO(error);
    REQUIRE(recording != nullptr);
    return recording;
  }

  TemporaryFile file;

 private:
  void start(record::RecordKind kind) { out_.byte(static_cast<uint8_t>(kind)); }
  void begin_access(record::RecordKind kind, const chip::HostAccess& access, size_t bytes, uint64_t cycles,
                    size_t piece_bytes, uint8_t flags) {
    start(kind);
    out_.byte(static_cast<uint8_t>(access.function));
    out_.byte(static_cast<uint8_t>(access.by));
    out_.byte(flags);
    out_.number(access.iova);
    out_.number(bytes);
    out_.number(piece_bytes != 0 ? piece_bytes : bytes);
    out_.number(cycles);
  }
  void end() {
    writer_->append(out_.bytes());
    out_.clear();
  }

  std::unique_ptr<record::BlockWriter> writer_;
  record::Encoder out_;
};

}  // namespace weft::test
