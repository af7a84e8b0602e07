/// The memory of a fault trial: operands, results, the guard bytes around them, and a bystander.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/spec/chips.hpp"

namespace weft::tools {

/// One layout for a buffer in host memory and one in HBM: guard, x, guard, w, guard, y, guard, f, guard, bystander.
/// Every guard byte and every byte of the bystander has a value that follows from its offset and its memory.
class FaultAreas {
 public:
  struct Area {
    std::string_view name;
    uint64_t offset, bytes;
  };

  /// Operands of C[rows, columns] = A[rows, inner] B[inner, columns] in bf16, drawn from a fixed seed, C by the golden
  /// model, and an area filled with `pattern`.
  FaultAreas(const spec::Chip& chip, uint64_t rows, uint64_t inner, uint64_t columns, uint32_t pattern);

  [[nodiscard]] const Area& x() const { return areas_[0]; }
  [[nodiscard]] const Area& w() const { return areas_[1]; }
  [[nodiscard]] const Area& y() const { return areas_[2]; }
  [[nodiscard]] const Area& f() const { return areas_[3]; }
  [[nodiscard]] uint64_t total_bytes() const { return total_bytes_; }

  /// What the buffers hold before the workload: in HBM no operands yet, no results in either. `out` has total_bytes().
  void write_host_image(std::span<std::byte> out) const;
  void write_hbm_image(std::span<std::byte> out) const;

  /// The first byte that is wrong in host memory after the workload: anything but y and f changed, or y (f) is not as
  /// computed although its commands ended with OK. Empty: none.
  [[nodiscard]] std::string first_wrong_host_byte(std::span<const std::byte> bytes, bool y_done, bool f_done) const;
  /// The same for HBM: anything but the four areas changed.
  [[nodiscard]] std::string first_wrong_hbm_byte(std::span<const std::byte> bytes) const;

 private:
  [[nodiscard]] const Area* area_at(uint64_t offset) const;

  std::vector<Area> areas_;
  uint64_t total_bytes_ = 0;
  std::vector<std::byte> x_, w_, y_, f_;
};

}  // namespace weft::tools
