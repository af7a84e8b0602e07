/// A test's body in a process of its own.
#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <string>

namespace weft::test {

/// What `body` returns, from a process of its own, since SystemC elaborates once; how that process ended if not by
/// itself.
template <typename Body>
std::string in_own_process(Body body) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    std::string text;
    try {
      text = body();
    } catch (const std::exception& error) {  // it must not reach the test program, which would go on in two processes
      text = std::string("ended by an exception: ") + error.what();
    }
    (void)!::write(ends[1], text.data(), text.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(got));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0 ? text : "ended with status " + std::to_string(status);
}

}  // namespace weft::test
