/// A Chrome trace in a file: a process a chip, a track an engine or a link. Opens in Perfetto.
#pragma once
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace weft {

/// Writes JSON events as they happen, in the array form, which viewers also read when its end is missing. Shared by all
/// that write to it; the last one ends the array. One thread.
class TraceFile {
 public:
  /// nullptr and a message in `error` if the file does not open.
  static std::shared_ptr<TraceFile> open(const std::string& path, std::string& error);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  /// One JSON object, or several with commas between them.
  void event(const std::string& json);
  /// Tracks are shown in the order of their numbers.
  void name_process(uint32_t process, std::string_view name);
  void name_track(uint32_t process, uint32_t track, std::string_view name);
  /// A number of its own for an arrow from span to span.
  uint64_t new_arrow() { return arrows_++; }

 private:
  explicit TraceFile(std::FILE* file) : file_(file) {}

  std::FILE* file_;
  bool first_ = true;
  uint64_t arrows_ = 0;
};

}  // namespace weft
