// The weft command.
#include <sys/resource.h>

#include "host/tools/commands/command_line.hpp"

int main(int argc, char** argv) {
  rlimit files{};  // a slice of 256 chips needs more than the 1024 that a shell gives
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    (void)::setrlimit(RLIMIT_NOFILE, &files);
  }
  return weft::tools::run_command_line({argv + 1, argv + argc});
}
