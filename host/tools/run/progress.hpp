/// A progress line on stderr, if stderr is a terminal; nothing otherwise.
#pragma once
#include <unistd.h>

#include <cstdio>

#include "host/runtime/session.hpp"

namespace weft::tools {

/// Rewrites one line; the destructor clears it.
class ProgressLine {
 public:
  ProgressLine() : terminal_(isatty(STDERR_FILENO) != 0) {}
  ~ProgressLine() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// A callback for Session::run; `estimate_cycles` 0: unknown.
  [[nodiscard]] runtime::Progress callback(uint64_t estimate_cycles) {
    if (!terminal_) return {};
    return [this, estimate_cycles](uint64_t cycles) {
      shown_ = true;
      if (estimate_cycles > 0)
        std::fprintf(stderr, "\r\033[Krunning: cycle %llu of about %llu", static_cast<unsigned long long>(cycles),
                     static_cast<unsigned long long>(estimate_cycles));
      else
        std::fprintf(stderr, "\r\033[Krunning: cycle %llu", static_cast<unsigned long long>(cycles));
    };
  }

 private:
  const bool terminal_;
  bool shown_ = false;
};

}  // namespace weft::tools
