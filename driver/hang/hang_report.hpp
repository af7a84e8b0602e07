// The hang report: all that can be known of a device on which something does not end. Collected by Device, printed
// here.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "driver/hang/firmware_health.hpp"
#include "driver/queue/wait_graph.hpp"

namespace weft::driver {

/// A queue as the driver sees it.
struct QueueView {
  uint32_t id = 0;
  std::string state;  ///< of the driver's object
  uint32_t entries = 0;
  uint32_t head = 0;  ///< that completions have told
  uint32_t tail = 0;
  uint32_t in_flight = 0;
};

/// Plain data; whatever could not be had is empty.
struct HangReport {
  weft_error code = WEFT_ERROR_OK;
  std::string why;
  uint32_t queue = 0;       ///< of the command that the report is about
  uint32_t command_id = 0;  ///< 0: it is about the whole device
  uint32_t tag = 0;
  std::string device;  ///< name given to weft_open
  std::string chip;    ///< preset
  std::string core;    ///< "rtl", "fast", "lockstep"
  RegisterSnapshot before, after;
  FirmwareHealth health = FirmwareHealth::kNotAsked;
  std::optional<StatePage> page;
  std::string page_source;  ///< where the page is from, or why there is none
  std::vector<QueueView> queues;
  std::vector<OutstandingCommand> outstanding;  ///< oldest first within a queue
  std::vector<weft_log_record> log;             ///< last ones, oldest first
  std::vector<std::string> faults;              ///< last fault records in words, oldest first
  WaitGraph graph;
  std::string recording;  ///< file that the run is recorded to
  std::string rerun;      ///< command that runs the case again, with waves around the moment
};

/// For people; ends with a newline. The first line tells what happened, the next ones where.
std::string report_text(const HangReport& report);

/// Its tables of queues and engines, and who waits for whom; each begins with an empty line.
std::string state_text(const HangReport& report);

/// For programs: the same as one JSON object, fields as in docs/hang_report.md.
std::string report_json(const HangReport& report);

/// "LAUNCH 0x1003 (tag 7)"; opcode 0: "-".
std::string command_text(uint8_t opcode, uint32_t command_id, uint32_t tag);

/// What a core's command does and waits for: "MATMUL, tag 3, waits for semaphore 2 >= 1 (is 0)".
std::string core_command_text(const weft_state_core_queue& queue, const StatePage& page);

}  // namespace weft::driver
