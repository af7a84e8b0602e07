/// A Chrome trace in a file: a process a chip, a track an engine or a link. Opens in Perfetto.
#pragma once
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// Where an event stands in a trace.
struct TracePlace {
  static constexpr double kFirst = -1;                                      ///< as `at`: before all times
  static constexpr double kMark = std::numeric_limits<double>::infinity();  ///< as `length`: no span

  double at;      ///< us
  double length;  ///< us, of a span
  uint32_t process, track;
  uint32_t step = 0;  ///< of an arrow: 0 begins, 1 passes, 2 ends; at one time they stand in this order

  /// By the phase of an arrow's event: s, t or f.
  static constexpr uint32_t step_of(char phase) { return phase == 's' ? 0 : phase == 't' ? 1 : 2; }
};

/// Writes JSON events as they happen, in the array form, which viewers also read when its end is missing. When it ends
/// it puts them in order: by time, step of an arrow, process, track, spans before marks, shorter spans first, then by
/// their text. So a trace depends on what happened and not on the order in which the simulator came to it. What is no
/// regular file keeps its order. Shared by all that write to it; the last one ends it. One thread.
class TraceFile {
 public:
  using Visit = std::function<void(const TracePlace& place, std::string_view json)>;

  /// nullptr and a message in `error` if the file does not open.
  static std::shared_ptr<TraceFile> open(const std::string& path, std::string& error);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  /// One JSON object, or several with commas between them.
  void event(const TracePlace& place, std::string_view json);
  /// Tracks are shown in the order of their numbers.
  void name_process(uint32_t process, std::string_view name);
  void name_track(uint32_t process, uint32_t track, std::string_view name);

  [[nodiscard]] size_t events() const { return entries_.size(); }
  /// Some of the events, in the order in which they came, as many as there are. False, and errno: the file cannot be read.
  [[nodiscard]] bool for_each(size_t first, size_t count, const Visit& visit) const;
  /// Puts the events in order and closes the file; no more come.
  void finish();
  /// The file goes: its events stand elsewhere.
  void remove();

 private:
  struct Entry {
    TracePlace place;
    uint64_t offset, bytes;  // in the file
  };

  TraceFile(std::FILE* file, std::string path) : file_(file), path_(std::move(path)) {}
  void put_in_order();

  std::FILE* file_;
  const std::string path_;
  std::vector<Entry> entries_;
  uint64_t bytes_ = 0;
};

}  // namespace weft
