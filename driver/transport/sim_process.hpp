// The simulator as a child process: found, started, watched, ended.
#pragma once
#include <sys/types.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "driver/status.hpp"
#include "driver/transport/device_name.hpp"
#include "driver/transport/file_descriptor.hpp"

namespace weft::driver {

/// One weft-sim. It is only ever signalled and reaped by its own process descriptor, so neither the application's
/// SIGCHLD handling nor a reused process id matters. Thread-safe.
class SimProcess {
 public:
  static constexpr int kExitWaitMs = 30000;  ///< after its socket closed: it may still write waves

  struct Started {
    std::unique_ptr<SimProcess> process;
    std::vector<FileDescriptor> sockets;  ///< one a chip
  };

  /// Finds weft-sim and starts it with one end of a socket pair for each chip. INVALID_STATE if it is not found: says
  /// where it looked.
  static Result<Started> start(const DeviceName& name);

  ~SimProcess() { stop(); }
  SimProcess(const SimProcess&) = delete;
  SimProcess& operator=(const SimProcess&) = delete;

  /// Waits for it to end by itself (its socket must be shut down), then kills it. Does nothing the second time.
  void stop();

  /// Ends it at once: for one that does not answer. Does nothing once it has ended.
  void kill();

  /// How it ended and the last lines of its standard error.
  std::string last_words();

  /// Why it refuses to start, in its own words: INVALID_ARGUMENT if what it was asked to simulate cannot be, or
  /// INVALID_STATE if this machine does not let it run. OK if it has not ended, or has ended otherwise. Called when the
  /// connection fails before the simulator has answered; waits a moment for the end of the process.
  Status refusal();

  pid_t pid() const { return pid_; }

  /// Absolute path of the recording that it writes; empty: none.
  const std::string& record_file() const { return record_file_; }

 private:
  SimProcess() = default;
  bool reap(int wait_ms);  ///< mutex_ is held
  void kill_locked();
  std::string output() const;  ///< the last bytes that it wrote to its standard output and error

  std::mutex mutex_;
  pid_t pid_ = -1;
  FileDescriptor process_;  ///< pidfd
  FileDescriptor errors_;   ///< memfd with its standard output and error
  bool reaped_ = false;
  std::optional<int> exit_code_;  ///< none: it runs, a signal ended it, or another thread has reaped it
  std::string ending_;
  std::string record_file_;
};

/// Where weft-sim is: $WEFT_SIM, beside the running program, beside this library, in PATH. INVALID_STATE names all
/// places.
Result<std::string> find_simulator();

}  // namespace weft::driver
