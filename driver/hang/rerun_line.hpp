// The command that runs a case again, with waves around the moment.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::driver {

/// Cycles before and after the moment that are worth looking at.
inline constexpr uint64_t kWavesBefore = 20000;
inline constexpr uint64_t kWavesAfter = 2000;

/// This process's command line as it was started; empty: not to be had.
std::vector<std::string> own_command_line();

/// One line for a POSIX shell: changes to `folder`, sets the environment that weft_open reads (WEFT_CORE if the core
/// makes no waves, WEFT_WAVE and its cycles), and runs `command`.
std::string rerun_line(std::span<const std::string> command, const std::string& folder, std::string_view core,
                       const std::string& wave_file, uint64_t cycle);

/// The line that runs a recording again, without the program.
std::string replay_line(const std::string& recording);

/// The word as a shell reads it back.
std::string shell_word(std::string_view word);

}  // namespace weft::driver
