/// What a replayed device is expected to do, by the recording: it is given what it read then, and what it does is
/// compared.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "model/chip/boundary.hpp"
#include "model/record/recording.hpp"

namespace weft::record {

/// The first thing that is not as it was.
struct Difference {
  size_t record = 0;         ///< number of the record that was expected, or of the one before which too much happened
  uint64_t file_offset = 0;  ///< of its block
  std::string what;          ///< "completion entry of function 0 at 0x1000"
  std::string where;         ///< "byte 12" or empty
  std::string recorded;
  std::string replayed;
};

struct Compared {
  uint64_t host_reads = 0;
  uint64_t host_read_bytes = 0;
  uint64_t completions = 0;
  uint64_t host_writes = 0;  ///< others
  uint64_t host_written_bytes = 0;
  uint64_t interrupts = 0;
  uint64_t registers = 0;
};

enum class Patience : uint8_t {
  kAll,       ///< everything that was recorded
  kRequired,  ///< only what must happen on any core
};

/// Not thread-safe. After the first difference, nothing is compared any more.
class Expectation {
 public:
  virtual ~Expectation() = default;
  /// The device has read: fills `data` with what it found then.
  virtual void read(const chip::HostAccess& access, std::span<std::byte> data, bool ok, uint64_t cycle) = 0;
  virtual void written(const chip::HostAccess& access, std::span<const std::byte> data, bool ok, uint64_t cycle) = 0;
  virtual void interrupt(unsigned function, unsigned vector, uint64_t cycle) = 0;
  /// All that was recorded before `record` has happened.
  [[nodiscard]] virtual bool seen_before(size_t record, Patience patience) = 0;
  /// What is missing before `record` becomes the difference.
  virtual void miss(size_t record) = 0;
  /// The device waits for nothing but the stimulus at `record`: what it has not read before, it will not.
  virtual void pass(size_t record) = 0;

  [[nodiscard]] const std::optional<Difference>& difference() const { return difference_; }
  void differ(Difference difference) {
    if (!difference_) difference_ = std::move(difference);
  }
  [[nodiscard]] const Compared& compared() const { return compared_; }
  void count_register() { compared_.registers++; }

 protected:
  void count_write(const chip::HostAccess& access, size_t bytes);

  Compared compared_;

 private:
  std::optional<Difference> difference_;
};

/// Same core: every access, in order, with its cycle (the core's accesses have none). Outlived by `recording`.
std::unique_ptr<Expectation> expect_exactly(const Recording& recording);

/// Another firmware: it may do things earlier, later, in other portions and in another order. Each byte of host memory
/// must be written with the same values in the same order, and is read with the values that were read, one after the
/// other. Start and end cycles of completions, and their check, are not compared, nor what the firmware writes beside
/// completions (logs, fault records, profiles, state pages: they tell cycles and progress), nor how often a vector was
/// raised, only whether.
std::unique_ptr<Expectation> expect_causally(const Recording& recording);

/// "completion entry of function 0 at 0x1000", "host read of the copy engine, function 0 at 0x2000".
std::string access_text(RecordKind kind, const chip::HostAccess& access);
/// At most 32 bytes in hexadecimal, from `first`.
std::string bytes_text(std::span<const std::byte> bytes, size_t first = 0);

}  // namespace weft::record
