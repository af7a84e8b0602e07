/// A chip as its management socket tells it: one moment, all functions. From text to numbers; any text is safe.
#pragma once
#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/compiler/result.hpp"

namespace weft::tools {

class JsonFields;

struct QueueSnapshot {
  uint32_t id = 0;
  std::string state, priority;
  uint32_t entries = 0, head = 0, tail = 0, fetched = 0;
  uint32_t completion_entries = 0, completion_head = 0, completion_tail = 0;
};

/// The newest of one error code, and how many there were since the function booted.
struct LastError {
  std::string error, fault;  ///< fault: of the core, empty: none
  uint32_t count = 0, queue = 0, command = 0;
  uint64_t cycle = 0;
};

struct FunctionSnapshot {
  uint32_t function = 0;
  std::string state;  ///< "gone": its registers read as ones, and the rest is empty
  uint32_t owner_pid = 0;
  std::string owner_process;
  uint64_t reset_generation = 0, heartbeat = 0, progress = 0, pending_errors = 0;
  std::string first_error;
  uint64_t hbm_bytes = 0, hbm_reserved_bytes = 0;
  std::optional<uint64_t> hbm_used_bytes, hbm_largest_free_bytes;  ///< as its driver tells it
  uint64_t programs = 0, timelines = 0;
  std::vector<QueueSnapshot> queues;
  std::vector<LastError> last_errors;
};

/// The manager's processor as it runs the firmware's image.
struct ProcessorSnapshot {
  std::string kind;    ///< "rv32": an instruction-set simulator; "ibex": Ibex's RTL
  uint32_t image = 0;  ///< CRC-32 of its ROM
  uint32_t pc = 0;
  std::vector<uint32_t> registers;     ///< x0 to x31
  std::vector<std::string> backtrace;  ///< by function, the innermost first
  uint64_t cycles = 0, instructions = 0;
};

/// The command that an engine works on.
struct EngineCommand {
  uint32_t function = 0, queue = 0, command = 0, tag = 0;
  std::string opcode;
};

struct ChipSnapshot {
  std::string folder;
  std::string preset, core;
  uint32_t number = 0, chips = 1;  ///< which chip of how many in the folder
  uint32_t pid = 0;                ///< of weft-sim
  uint64_t clock_hz = 0, num_mxu = 0, hbm_bytes = 0, hbm_bytes_per_second = 0, peak_macs_per_cycle = 0;
  uint64_t cycle = 0;              ///< device cycle of all but the counters
  uint64_t counters_cycle = 0;     ///< of the counters
  std::vector<uint64_t> counters;  ///< by weft_counter
  std::string waypoint;
  bool asleep = false, halted = false, panicked = false;
  std::optional<ProcessorSnapshot> processor;  ///< nothing: the firmware runs natively, and its cycles are charged
  uint64_t awake_cycles = 0;
  bool core_busy = false, core_faulted = false, copy_busy = false, copy_lost = false;
  uint64_t copy_busy_cycles = 0, copy_bytes = 0;
  std::optional<EngineCommand> core_command, copy_command;
  uint64_t hbm_read_bytes = 0, hbm_written_bytes = 0, host_read_bytes = 0, host_written_bytes = 0;
  std::vector<FunctionSnapshot> functions;
};

/// A request of one line: `kind` "state", "function" or "reset", of chip `chip`, and more fields, each with a comma
/// before it.
[[nodiscard]] std::string management_request(std::string_view kind, uint32_t chip, std::string_view fields = {});

/// From a reply to "state". ABI_MISMATCH: a reply of another version; DEVICE_LOST: no reply, and the
/// message says which field is missing or not of its type.
[[nodiscard]] Result<ChipSnapshot> parse_chip_snapshot(std::string_view reply);

/// The document of a reply, of this version; errors as above. For replies to other requests.
[[nodiscard]] Result<nlohmann::json> parse_management_reply(std::string_view reply);
[[nodiscard]] Error wrong_management_reply(std::string_view why);
/// The processor of an object that holds "processor"; nothing: null, or it is not there.
[[nodiscard]] std::optional<ProcessorSnapshot> read_processor(const JsonFields& fields);
/// A function as both kinds of reply describe it.
[[nodiscard]] FunctionSnapshot read_function(const JsonFields& fields);

}  // namespace weft::tools
