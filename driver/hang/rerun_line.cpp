// Shell words.
#include "driver/hang/rerun_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace weft::driver {

std::vector<std::string> own_command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<std::string> words;
  for (size_t at = 0; at < all.size();) {
    const size_t end = std::min(all.find('\0', at), all.size());
    words.push_back(all.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) return std::string(word);
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string rerun_line(std::span<const std::string> command, const std::string& folder, std::string_view core,
                       const std::string& wave_file, uint64_t cycle) {
  if (command.empty()) return "(the command line of this process cannot be read)";
  std::string line = folder.empty() ? "" : "cd " + shell_word(folder) + " && ";
  if (core != "rtl" && core != "lockstep") line += "WEFT_CORE=rtl ";
  line += fmt::format("WEFT_WAVE={} WEFT_WAVE_FROM={} WEFT_WAVE_TO={}", shell_word(wave_file),
                      cycle - std::min(cycle, kWavesBefore), cycle + kWavesAfter);
  for (const std::string& word : command) line += " " + shell_word(word);
  return line;
}

std::string replay_line(const std::string& recording) { return "weft replay " + shell_word(recording); }

}  // namespace weft::driver
