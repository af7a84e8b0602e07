/// An image of the firmware in a file, in place of the one that is built in.
///
///   header     ImageFileHeader
///   ROM        `rom_bytes`
///   functions  `functions_bytes` of text: a line "<address in hexadecimal> <name>" each, by address
///
/// Little-endian. firmware/bare/embed_image.py writes it.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "firmware/image.hpp"

namespace weft::sim {

inline constexpr std::array<char, 8> kImageMagic = {'W', 'E', 'F', 'T', 'I', 'M', 'G', '\n'};

struct ImageFileHeader {
  std::array<char, 8> magic{};
  uint32_t abi = 0;  ///< ABI_VERSION
  uint32_t state_address = 0;
  uint32_t state_bytes = 0;
  uint32_t rom_bytes = 0;
  uint32_t functions_bytes = 0;
  uint32_t crc = 0;  ///< CRC-32 (zlib's) of all before it and all behind it
};
static_assert(sizeof(ImageFileHeader) == 32 && offsetof(ImageFileHeader, crc) == 28);

class ImageFile {
 public:
  /// nullptr and a message in `error`: the file does not open, is no image or a damaged one, or one that this
  /// simulator cannot run.
  static std::shared_ptr<const ImageFile> load(const std::string& path, std::string& error);
  ImageFile(const ImageFile&) = delete;
  ImageFile& operator=(const ImageFile&) = delete;

  [[nodiscard]] const fw::Image& image() const { return image_; }

 private:
  explicit ImageFile(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  std::string parse();

  std::vector<std::byte> bytes_;
  std::vector<fw::ImageFunction> functions_;
  fw::Image image_{};
};

}  // namespace weft::sim
