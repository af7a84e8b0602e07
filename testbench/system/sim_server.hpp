/// A weft-sim that stands by itself and serves several processes, and what it holds of them.
#pragma once
#include <optional>
#include <string>

#include "testbench/system/child_process.hpp"

namespace weft::test {

/// Descriptors and mappings of client memory that the server holds now.
struct Holdings {
  size_t descriptors = 0;
  size_t maps = 0;
  bool operator==(const Holdings&) const = default;
};

/// Its sockets lie in a directory of its own under /tmp, which goes with it.
class SimServer {
 public:
  /// Starts the weft-sim that WEFT_SIM names and waits until it listens; aborts the test program if it does not.
  SimServer(const std::string& chip, const std::string& core, unsigned functions);
  ~SimServer();
  SimServer(const SimServer&) = delete;
  SimServer& operator=(const SimServer&) = delete;

  [[nodiscard]] pid_t pid() const { return process_->pid(); }
  [[nodiscard]] std::string socket(unsigned function) const;
  /// As weft_open() wants it.
  [[nodiscard]] std::string device(unsigned function) const { return "vfio-user:" + socket(function); }
  [[nodiscard]] Holdings holdings() const;
  /// Waits up to 10 s until the last client's memory is unmapped and nothing has changed for 0.1 s; returns what the
  /// server holds then.
  [[nodiscard]] Holdings without_clients() const;
  /// Waits up to 10 s until the server holds what is `expected`; returns what it holds then.
  [[nodiscard]] Holdings settle(const Holdings& expected) const;

 private:
  std::string directory_;
  std::optional<ChildProcess> process_;
};

}  // namespace weft::test
