// Slice registers: reading, taking apart, and whether they can be true.
#include "driver/device/slice_place.hpp"

#include "driver/transport/registers.hpp"
#include "weft/spec/spec.h"

namespace weft::driver {
namespace {

constexpr unsigned kBits = 16;
constexpr uint32_t kMask = 0xffff;
constexpr std::array<uint64_t, kSliceAxes> kSizes{WEFT_REG_ICI_SHAPE_X, WEFT_REG_ICI_SHAPE_Y, WEFT_REG_ICI_SHAPE_Z};

uint32_t neighbor(uint64_t ports, unsigned port) {
  const uint32_t chip = ports >> (kBits * port) & kMask;
  return chip == kMask ? kNoNeighbor : chip;
}

}  // namespace

std::array<uint32_t, kSliceAxes> SlicePlace::coordinates() const {
  return {chip % dimensions[0], chip / dimensions[0] % dimensions[1], chip / dimensions[0] / dimensions[1]};
}

Result<SlicePlace> decode_slice_place(const SliceRegisterValues& registers) {
  if (registers.chip == 0) return failure(WEFT_ERROR_INVALID_STATE, "the chip stands alone: it belongs to no slice");
  SlicePlace place;
  place.chip = WEFT_FIELD(WEFT_REG_ICI_CHIP_NUMBER, registers.chip);
  place.chips = WEFT_FIELD(WEFT_REG_ICI_CHIP_CHIPS, registers.chip);
  uint64_t product = 1;
  for (unsigned axis = 0; axis < kSliceAxes; axis++) {
    place.dimensions[axis] = static_cast<uint32_t>(WEFT_FIELD(kSizes[axis], registers.shape));
    place.wraps[axis] = (WEFT_FIELD(WEFT_REG_ICI_SHAPE_RINGS, registers.shape) >> axis & 1) != 0;
    product *= place.dimensions[axis];
  }
  place.twisted = (registers.shape & WEFT_REG_ICI_SHAPE_TWISTED) != 0;
  bool possible = product == place.chips && place.chip < place.chips;
  for (unsigned port = 0; port < 2 * kSliceAxes; port++) {
    place.neighbors[port] = port < 4 ? neighbor(registers.neighbors, port) : neighbor(registers.neighbors_z, port - 4);
    possible &= place.neighbors[port] == kNoNeighbor || place.neighbors[port] < place.chips;
  }
  if (!possible)
    return failure(WEFT_ERROR_INTERNAL,
                   "the slice registers contradict themselves: chip {:#x}, shape {:#x}, neighbours {:#x} {:#x}",
                   registers.chip, registers.shape, registers.neighbors, registers.neighbors_z);
  place.link_bytes_per_second = registers.link_bytes_per_second;
  return place;
}

Result<SlicePlace> read_slice_place(Transport& transport) {
  const auto chip = read32(transport, WEFT_REG_ICI_CHIP);
  if (!chip.ok()) return chip.status();
  const auto shape = read64(transport, WEFT_REG_ICI_SHAPE);
  if (!shape.ok()) return shape.status();
  const auto neighbors = read64(transport, WEFT_REG_ICI_NEIGHBORS);
  if (!neighbors.ok()) return neighbors.status();
  const auto neighbors_z = read32(transport, WEFT_REG_ICI_NEIGHBORS_Z);
  if (!neighbors_z.ok()) return neighbors_z.status();
  const auto link = read64(transport, WEFT_REG_ICI_LINK_BYTES_PER_SECOND);
  if (!link.ok()) return link.status();
  return decode_slice_place({chip.value(), shape.value(), neighbors.value(), neighbors_z.value(), link.value()});
}

Result<weft_ici_link> read_link(Transport& transport, uint32_t port) {
  weft_ici_link link{};
  if (Status s = transport.read(Region::kRegisters, WEFT_REG_ICI_LINKS + port * sizeof link, &link, sizeof link);
      !s.ok())
    return s;
  if (link.state == kAllOnes) return failure(WEFT_ERROR_DEVICE_LOST, "all registers read as ones");
  if (link.state > WEFT_LINK_STATE_DOWN)
    return failure(WEFT_ERROR_INTERNAL, "port {} is in state {}, which does not exist", port, link.state);
  return link;
}

}  // namespace weft::driver
