// The image of a program in HBM, made from an executable: header, kernel table, commands, constants, control lists.
#pragma once
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "driver/program/executable_loader.hpp"

namespace weft::driver {

/// The image as pieces, so that commands and constants are not copied before they are copied to the device.
class ProgramImage {
 public:
  /// `executable` and the bytes it points into outlive the image.
  ProgramImage(const Executable& executable, const spec::Chip& chip);

  uint64_t bytes() const { return bytes_; }

  /// Copies image bytes [offset, offset + count) to `out`; gaps are 0.
  void read(uint64_t offset, std::byte* out, uint64_t count) const;

 private:
  struct Piece {
    uint64_t offset;
    std::span<const std::byte> data;
  };

  std::vector<std::byte> head_;  ///< header and kernel table
  std::array<Piece, 4> pieces_;
  uint64_t bytes_;
};

}  // namespace weft::driver
