/// A child program with its output in a pipe, for tests that kill it.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

namespace weft::test {

/// Started by posix_spawn (fork and exec), so nothing of this process is in it. Killed with this object. Its standard
/// input is a pipe that ends with close_input() or this object: a child that reads it learns when to stop.
class ChildProcess {
 public:
  /// `program` alone: searched beside this program. Aborts the test program if it cannot be started.
  ChildProcess(const std::string& program, const std::vector<std::string>& arguments);
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ChildProcess& operator=(ChildProcess&&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const;
  void close_input();
  /// The next line of its output without the line's end; empty at the end of the output.
  [[nodiscard]] std::string read_line();
  /// Reads the output to its end and waits for the child. Exit code, or 128 + signal.
  int wait(std::string& output);

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
  std::string buffered_;
};

}  // namespace weft::test
