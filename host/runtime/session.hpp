/// C++ over weft.h: open a device, load an executable, run its kernel on arrays in host memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host/compiler/result.hpp"
#include "weft/spec/chips.hpp"
#include "weft/weft.h"

namespace weft::runtime {

/// Which device to open, and how.
struct Target {
  std::string chip = "v5e-1mxu";  ///< a preset
  std::string core = "rtl";       ///< rtl, fast, lockstep
  std::string manager;            ///< native, rv32, ibex; empty: as the simulator likes
  std::string socket;             ///< not empty: attach to a weft-sim that listens there; chip and core are its own
  std::string device;             ///< not empty: open the device of this name (weft_open); the same
  std::string wave;               ///< FST file, RTL and lockstep only
  uint64_t wave_from = 0, wave_to = UINT64_MAX;  ///< device cycles
  std::string trace;                             ///< Chrome trace JSON file
  std::string mismatch_report;                   ///< lockstep: where the first mismatch is described

  /// The device is there before this process, and tells its chip itself.
  [[nodiscard]] bool attached() const { return !socket.empty() || !device.empty(); }
};

/// The name under which weft_open opens it.
[[nodiscard]] std::string device_name(const Target& target);

/// An argument of a kernel as the executable tells it.
struct ArgumentInfo {
  std::string name;
  weft_argument_dtype dtype;
  weft_argument_layout layout;
  weft_argument_direction direction;
  uint64_t rows, columns, pitch_bytes, size_bytes;
};

/// Device cycles of one launch, step by step (spec: launch_profile).
struct LaunchCycles {
  uint64_t doorbell = 0, fetched = 0, validated = 0, first_command = 0, last_write = 0, completion = 0;
};

/// What one launch took.
struct LaunchResult {
  uint64_t start_cycle = 0;  ///< first command accepted by a queue
  uint64_t end_cycle = 0;    ///< last write visible
  LaunchCycles cycles;
  double wall_seconds = 0;         ///< from launch to completion
  std::vector<uint64_t> counters;  ///< what each core counter grew by, by index
};

/// Called about five times a second during a long launch with the device cycles since it began.
using Progress = std::function<void(uint64_t cycles)>;

/// One open device with one queue and the programs that were loaded last, the last of which is run. Not thread-safe.
/// Everything it holds is released with it.
class Session {
 public:
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// Starts weft-sim, or attaches to one. Any error of the driver, with its message and hint.
  [[nodiscard]] static Result<Session> open(const Target& target);
  /// On an open device that is not this session's to close: a chip of a slice.
  [[nodiscard]] static Result<Session> on(weft_device* device);

  [[nodiscard]] const spec::Chip& chip() const;

  /// The driver's handles, for what a session does not do itself. Valid until close() or the end of the session.
  [[nodiscard]] weft_device* device() const;
  /// Another one after reset().
  [[nodiscard]] weft_queue* queue() const;

  /// Resets the device and makes a new queue; the program is gone. `report` has its size set.
  [[nodiscard]] Status reset(weft_reset_report& report);

  /// Loads an executable, unless it is one of the last four that have been loaded. EXECUTABLE_INVALID names section,
  /// offset and reason.
  [[nodiscard]] Status load(std::span<const std::byte> executable);

  /// Arguments of the loaded kernel, in order.
  [[nodiscard]] const std::vector<ArgumentInfo>& arguments() const;

  /// Copies `inputs` into fresh HBM buffers, launches, and copies the outputs back. inputs[i] has argument i's
  /// size_bytes for an input and is empty for an output; the result has the bytes of each output, in order of
  /// arguments, inputs empty.
  [[nodiscard]] Result<std::vector<std::vector<std::byte>>> run(const std::vector<std::vector<std::byte>>& arguments,
                                                                LaunchResult& result, const Progress& progress = {});

  /// The same without counters and cycles within the launch, and quicker: small buffers stay for the next call, and the
  /// copies and the launch are submitted as one. `result` has the launch's first and last cycle, and wall time with the
  /// copies.
  [[nodiscard]] Result<std::vector<std::vector<std::byte>>> call(const std::vector<std::vector<std::byte>>& arguments,
                                                                 LaunchResult& result);

  /// Ends the simulator and waits for its files (waves, trace).
  [[nodiscard]] Status close();

 private:
  struct Loaded;
  struct State;
  explicit Session(std::unique_ptr<State> state);
  [[nodiscard]] static Result<Session> begin(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace weft::runtime
