#include "model/chip/bus_log.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace weft::chip {

std::unique_ptr<BusLog> BusLog::make(std::string path, std::string& error) {
  if (const size_t at = path.find("%p"); at != std::string::npos) path.replace(at, 2, std::to_string(::getpid()));
  std::FILE* file = std::fopen(path.c_str(), "we");
  if (file == nullptr) {
    error = fmt::format("{}: {}", path, std::strerror(errno));
    return nullptr;
  }
  return std::unique_ptr<BusLog>(new BusLog(file));
}

void BusLog::filled(std::span<const std::byte> bytes) {
  std::string text = "D ";
  for (const std::byte byte : bytes)
    fmt::format_to(std::back_inserter(text), "{:02x}", std::to_integer<unsigned>(byte));
  text += '\n';
  std::fputs(text.c_str(), file_.get());
}

void BusLog::drained(std::span<const std::byte> bytes) {
  std::fprintf(file_.get(), "W %zx %x\n", bytes.size(), weft::crc32c(bytes));
}

}  // namespace weft::chip
