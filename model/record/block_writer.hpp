/// Blocks of records into a file.
#pragma once
#include <zlib.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/record/record_format.hpp"
#include "model/server/file_descriptor.hpp"

namespace weft::record {

/// Collects records and writes them in blocks, deflated where that helps. The file is locked while it is written, so no
/// two simulators write one. A file that cannot be written any more (a full disk) ends the recording, not the run.
/// Owner: the recorder; not thread-safe.
class BlockWriter {
 public:
  /// Creates or replaces `path`. nullptr and a message in `error`: it cannot be written, or another simulator writes
  /// it.
  static std::unique_ptr<BlockWriter> make(const std::string& path, const FileHeader& header, std::string& error);
  ~BlockWriter();
  BlockWriter(const BlockWriter&) = delete;
  BlockWriter& operator=(const BlockWriter&) = delete;

  void append(std::span<const std::byte> record);
  /// Writes what is collected; whatever becomes of the process then, it is in the file.
  void flush();
  /// flush() and the end of the file. Nothing can be appended afterwards.
  void finish(Ending ending);

  [[nodiscard]] size_t collected_bytes() const { return raw_.size(); }
  [[nodiscard]] std::chrono::steady_clock::time_point last_flush() const { return last_flush_; }

 private:
  BlockWriter(std::string path, server::FileDescriptor file);
  void write_block(BlockKind kind, std::span<const std::byte> raw, std::span<const std::byte> stored);
  void write_all(std::span<const std::byte> bytes);
  /// The deflated bytes; empty: plain is better.
  std::span<const std::byte> deflated();

  std::string path_;
  server::FileDescriptor file_;
  std::vector<std::byte> raw_;
  std::vector<std::byte> packed_;
  z_stream zip_{};
  uint32_t blocks_ = 0;
  uint64_t records_ = 0;
  unsigned plain_blocks_ = 0;  // still to write without trying
  std::chrono::steady_clock::time_point last_flush_ = std::chrono::steady_clock::now();
};

}  // namespace weft::record
