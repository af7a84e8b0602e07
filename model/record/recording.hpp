/// A recorded run in memory.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/record/record_format.hpp"

namespace weft::record {

/// Which chip of which slice.
struct SlicePlace {
  std::string slice;
  uint32_t chip = 0, chips = 1;
  uint64_t optical_fs = 0;  ///< latency of links between cubes, in femtoseconds; 0: as that of other links
};

/// One record; which fields mean something depends on its kind (record_format.hpp).
struct Record {
  RecordKind kind;
  uint8_t function = 0;
  uint8_t detail =
      0;  ///< kRun, kMoment: Standstill::Kind; regions: VFIO's number; kWaitEnds: status; kInterrupt: vector; host
          ///< accesses: chip::Accessor
  uint8_t flags = 0;
  uint16_t command = 0;
  uint16_t fds = 0;
  uint32_t bytes = 0;
  uint32_t piece_bytes = 0;  ///< kMoment: the stop
  uint64_t address = 0;      ///< offset in a region, IOVA, or (kMoment) femtoseconds
  uint64_t cycle = 0;        ///< absolute
  size_t first_part = 0;
  size_t parts = 0;      ///< of the data, one after the other
  uint64_t file_offset;  ///< of its block
};

/// All records of a file. Data points into the blocks, which this object holds. Immutable after load().
class Recording {
 public:
  enum class Extent : uint8_t {
    kWhole,    ///< a file that is cut off or damaged is refused
    kReadable  ///< what stands before the damage is taken; cut() tells
  };

  /// nullptr and a message in `error` that names the byte at which the file is not what it should be.
  static std::unique_ptr<Recording> load(const std::string& path, Extent extent, std::string& error);

  [[nodiscard]] const FileHeader& header() const { return header_; }
  [[nodiscard]] std::string preset() const;
  /// Whose recording it is; a slice without a name: it is of a chip that stands alone.
  [[nodiscard]] const SlicePlace& place() const { return place_; }
  [[nodiscard]] const std::vector<Record>& records() const { return records_; }
  [[nodiscard]] std::span<const std::span<const std::byte>> parts(const Record& record) const {
    return std::span(parts_).subspan(record.first_part, record.parts);
  }
  /// The data in one piece.
  [[nodiscard]] std::vector<std::byte> data(const Record& record) const;
  [[nodiscard]] Ending ending() const { return ending_; }
  /// Empty, or why the file was not read to its end.
  [[nodiscard]] const std::string& cut() const { return cut_; }
  [[nodiscard]] uint64_t file_bytes() const { return file_.size(); }

 private:
  friend class RecordingReader;

  std::vector<std::byte> file_;
  FileHeader header_;
  SlicePlace place_;
  std::deque<std::vector<std::byte>> blocks_;  // inflated
  std::vector<std::span<const std::byte>> pages_;
  std::vector<std::span<const std::byte>> parts_;
  std::vector<Record> records_;
  Ending ending_ = Ending::kComplete;
  std::string cut_;
};

}  // namespace weft::record
