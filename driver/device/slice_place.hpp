// Where a chip stands in its slice, as its registers tell.
#pragma once
#include <array>
#include <cstdint>

#include "driver/status.hpp"
#include "driver/transport/transport.hpp"
#include "weft/spec/spec.h"

namespace weft::driver {

inline constexpr uint32_t kSliceAxes = 3;
inline constexpr uint32_t kNoNeighbor = ~uint32_t{0};

/// Registers ICI_CHIP to ICI_LINK_BYTES_PER_SECOND, taken apart.
struct SlicePlace {
  uint32_t chip = 0;
  uint32_t chips = 1;
  std::array<uint32_t, kSliceAxes> dimensions{1, 1, 1};
  std::array<bool, kSliceAxes> wraps{};
  bool twisted = false;
  std::array<uint32_t, 2 * kSliceAxes> neighbors{};  ///< +x -x +y -y +z -z
  uint64_t link_bytes_per_second = 0;

  [[nodiscard]] std::array<uint32_t, kSliceAxes> coordinates() const;
};

/// What the registers hold.
struct SliceRegisterValues {
  uint32_t chip = 0;
  uint64_t shape = 0;
  uint64_t neighbors = 0;
  uint32_t neighbors_z = 0;
  uint64_t link_bytes_per_second = 0;
};

/// INVALID_STATE: the chip stands alone. INTERNAL: the registers contradict themselves.
Result<SlicePlace> decode_slice_place(const SliceRegisterValues& registers);

/// Reads them.
Result<SlicePlace> read_slice_place(Transport& transport);

/// What the chip's link at a port has done, of one moment. DEVICE_LOST: all registers read as ones.
Result<weft_ici_link> read_link(Transport& transport, uint32_t port);

}  // namespace weft::driver
