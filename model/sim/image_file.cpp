// Every check before the bytes that it covers are used.
#include "model/sim/image_file.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "model/chip/image_report.hpp"
#include "weft/spec/spec.h"

namespace weft::sim {
namespace {

constexpr uint32_t kAbi = WEFT_ABI_MAJOR << 16 | WEFT_ABI_MINOR;
constexpr size_t kMaxBytes = size_t{1} << 20;  // of a file; a ROM has 64 KiB, the rest are names

uint32_t crc32_of(const std::vector<std::byte>& bytes, size_t begin, size_t end, uint32_t crc) {
  return static_cast<uint32_t>(
      ::crc32(crc, reinterpret_cast<const Bytef*>(bytes.data() + begin), static_cast<uInt>(end - begin)));
}

/// By address; false: not of the form.
bool parse_functions(std::string_view text, std::vector<fw::ImageFunction>& functions) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return false;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    uint32_t address = 0;
    const auto [at, code] = std::from_chars(line.data(), line.data() + line.size(), address, 16);
    const std::string_view name = line.substr(static_cast<size_t>(at - line.data()));
    const bool printable = std::ranges::all_of(name, [](char c) { return c >= ' ' && c <= '~'; });
    if (code != std::errc() || name.size() < 2 || name[0] != ' ' || !printable) return false;
    if (!functions.empty() && address < functions.back().address) return false;
    functions.push_back({address, name.substr(1)});
  }
  return true;
}

}  // namespace

std::shared_ptr<const ImageFile> ImageFile::load(const std::string& path, std::string& error) {
  const auto refuse = [&](const std::string& why) {
    error = fmt::format("--image {}: {}", path, why);
    return nullptr;
  };
  std::error_code code;
  const std::filesystem::file_status status = std::filesystem::status(path, code);
  if (!std::filesystem::exists(status)) return refuse(code ? code.message() : "there is no such file");
  if (!std::filesystem::is_regular_file(status)) return refuse("it is no regular file");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"), &std::fclose);
  if (file == nullptr) return refuse(std::generic_category().message(errno));
  std::vector<std::byte> bytes(kMaxBytes + 1);
  bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file.get()));
  if (std::ferror(file.get()) != 0) return refuse("it cannot be read");
  if (bytes.size() > kMaxBytes)
    return refuse(fmt::format("it is too large for an image of the firmware: more than {} bytes", kMaxBytes));
  std::shared_ptr<ImageFile> image(new ImageFile(std::move(bytes)));
  if (const std::string why = image->parse(); !why.empty()) return refuse(why);
  return image;
}

std::string ImageFile::parse() {
  ImageFileHeader header;
  if (bytes_.size() >= sizeof header) std::memcpy(&header, bytes_.data(), sizeof header);
  if (header.magic != kImageMagic) return "it is no image of Weft's firmware";
  if (header.abi != kAbi)
    return fmt::format("an image of ABI {}.{}; this simulator has {}.{}", header.abi >> 16, header.abi & 0xffff,
                       WEFT_ABI_MAJOR, WEFT_ABI_MINOR);
  const uint64_t size = sizeof header + uint64_t{header.rom_bytes} + header.functions_bytes;
  if (bytes_.size() != size)
    return fmt::format("it has {} bytes, and its header says {}: it is {}", bytes_.size(), size,
                       bytes_.size() < size ? "cut off, or damaged" : "damaged");
  const uint32_t head = crc32_of(bytes_, 0, offsetof(ImageFileHeader, crc), 0);
  if (const uint32_t crc = crc32_of(bytes_, sizeof header, bytes_.size(), head); crc != header.crc)
    return fmt::format("it is damaged: its checksum is {:08x}, and its bytes have {:08x}", header.crc, crc);
  const size_t rom_end = sizeof header + header.rom_bytes;
  const std::string_view names(reinterpret_cast<const char*>(bytes_.data()) + rom_end, header.functions_bytes);
  if (!parse_functions(names, functions_)) return "its functions' names are not of the form";
  image_.rom = std::span(bytes_).subspan(sizeof header, header.rom_bytes);
  image_.state_address = header.state_address;
  image_.state_bytes = header.state_bytes;
  image_.crc = crc32_of(bytes_, sizeof header, rom_end, 0);
  image_.functions = functions_;
  return chip::image_error(image_);
}

}  // namespace weft::sim
