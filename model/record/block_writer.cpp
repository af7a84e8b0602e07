// write() of whole blocks.
#include "model/record/block_writer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace weft::record {
namespace {

constexpr int kLevel = 1;
constexpr unsigned kPlainAfterFailure = 15;  // blocks that are not tried after one that did not shrink

uint32_t crc_of(uint32_t crc, std::span<const std::byte> bytes) {
  return static_cast<uint32_t>(
      ::crc32(crc, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

std::unique_ptr<BlockWriter> BlockWriter::make(const std::string& path, const FileHeader& header, std::string& error) {
  server::FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (!file.valid()) {
    error = fmt::format("recording '{}': {}", path, std::strerror(errno));
    return nullptr;
  }
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    error = fmt::format(
        "recording '{}' is being written by another simulator; give each its own file (%p in the name "
        "is the process id)",
        path);
    return nullptr;
  }
  if (::ftruncate(file.get(), 0) != 0 && errno != EINVAL) {  // EINVAL: a pipe or a device
    error = fmt::format("recording '{}': {}", path, std::strerror(errno));
    return nullptr;
  }
  std::unique_ptr<BlockWriter> writer(new BlockWriter(path, std::move(file)));
  if (::deflateInit(&writer->zip_, kLevel) != Z_OK) {
    error = fmt::format("recording '{}': zlib has no memory", path);
    return nullptr;
  }
  FileHeader out = header;
  out.crc = crc_of(0, bytes_of(out).first(offsetof(FileHeader, crc)));
  writer->write_all(bytes_of(out));
  return writer;
}

BlockWriter::BlockWriter(std::string path, server::FileDescriptor file)
    : path_(std::move(path)), file_(std::move(file)), packed_(kBlockMaxBytes) {
  raw_.reserve(kBlockMaxBytes);
}

BlockWriter::~BlockWriter() { ::deflateEnd(&zip_); }

void BlockWriter::append(std::span<const std::byte> record) {
  if (!file_.valid()) return;
  if (raw_.size() + record.size() > kBlockMaxBytes) flush();
  raw_.insert(raw_.end(), record.begin(), record.end());
  records_++;
  if (raw_.size() >= kBlockTargetBytes) flush();
}

void BlockWriter::flush() {
  last_flush_ = std::chrono::steady_clock::now();
  if (raw_.empty()) return;
  const auto packed = deflated();
  if (packed.empty()) {
    write_block(BlockKind::kPlain, raw_, raw_);
  } else {
    write_block(BlockKind::kDeflated, raw_, packed);
  }
  raw_.clear();
}

void BlockWriter::finish(Ending ending) {
  flush();
  const EndBody body{records_, ending, 0};
  write_block(BlockKind::kEnd, bytes_of(body), bytes_of(body));
  file_.reset();
}

std::span<const std::byte> BlockWriter::deflated() {
  if (plain_blocks_ != 0) {
    plain_blocks_--;
    return {};
  }
  ::deflateReset(&zip_);
  zip_.next_in = reinterpret_cast<Bytef*>(raw_.data());
  zip_.avail_in = static_cast<uInt>(raw_.size());
  zip_.next_out = reinterpret_cast<Bytef*>(packed_.data());
  zip_.avail_out = static_cast<uInt>(std::min(packed_.size(), raw_.size() - raw_.size() / 4));
  if (::deflate(&zip_, Z_FINISH) != Z_STREAM_END) {
    if (raw_.size() >= kBlockTargetBytes) plain_blocks_ = kPlainAfterFailure;
    return {};
  }
  return std::span<const std::byte>(packed_).first(zip_.total_out);
}

void BlockWriter::write_block(BlockKind kind, std::span<const std::byte> raw, std::span<const std::byte> stored) {
  BlockHead head{.kind = kind,
                 .number = blocks_++,
                 .raw_bytes = static_cast<uint32_t>(raw.size()),
                 .stored_bytes = static_cast<uint32_t>(stored.size())};
  head.crc = crc_of(crc_of(0, bytes_of(head).first(offsetof(BlockHead, crc))), stored);
  write_all(bytes_of(head));
  write_all(stored);
}

void BlockWriter::write_all(std::span<const std::byte> bytes) {
  while (!bytes.empty() && file_.valid()) {
    const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      fmt::print(stderr, "weft-sim: recording '{}' ends here: {}\n", path_, std::strerror(errno));
      file_.reset();
      return;
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

}  // namespace weft::record
