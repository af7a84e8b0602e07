// The ring of fault records in host memory, and what a failed completion means in words.
#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "driver/status.hpp"

namespace weft::driver {

/// Reader of the fault ring. Any thread may call find(); next() belongs to one thread at a time.
class FaultLog {
 public:
  /// `memory`: WEFT_LIMIT_FAULT_ENTRIES zeroed records, device-visible, outlives the log.
  explicit FaultLog(const std::byte* memory) : memory_(memory) {}

  /// The newest record of this command.
  std::optional<weft_fault_record> find(uint16_t queue, uint16_t command_id) const;

  /// The newest `count` records at most, oldest first.
  std::vector<weft_fault_record> last(size_t count) const;

  /// The next record that next() has not returned; skips what the device has overwritten.
  std::optional<weft_fault_record> next();
  /// What rewind() takes: next() then returns again what it has returned since.
  uint64_t position() const { return read_; }
  void rewind(uint64_t position) { read_ = position; }

 private:
  std::optional<weft_fault_record> read(uint32_t place) const;

  const std::byte* memory_;
  uint64_t read_ = 0;  ///< number of the last record returned by next()
};

/// Status of a failed completion: code, and all that the record knows. `opcode` names the command.
Status describe_failure(const weft_completion_entry& completion, uint8_t opcode,
                        const std::optional<weft_fault_record>& record);

/// The newest `count` records of a log ring at most, oldest first. `ring`: WEFT_LIMIT_LOG_ENTRIES records,
/// device-visible. Leaves them to be read again.
std::vector<weft_log_record> last_log(const std::byte* ring, size_t count);

/// One sentence about a record.
std::string describe_record(const weft_fault_record& record);

}  // namespace weft::driver
