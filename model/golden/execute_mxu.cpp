/// MATMUL: the K tiles one after the other, each a panel on VMEM and ACC in place.
#include <algorithm>

#include "model/golden/execute.hpp"

namespace weft::golden {
namespace {

/// Elements of VMEM from word `word` on. VMEM is a mapping of its own, aligned to pages, and words to 16 bytes.
template <class T>
const T* elements(const CoreState& core, uint64_t word) {
  return reinterpret_cast<const T*>(core.vmem().data() + word * core.chip().word_bytes);
}

}  // namespace

std::optional<Fault> execute_matmul(CoreState& core, const spec::Command& command, MemoryAccess&) {
  const auto c = spec::decode_mxu(command);
  const size_t n = core.chip().n;
  const MatmulTiles tiles = matmul_tiles(c, core.chip());
  uint32_t* acc = core.acc_row(first_acc_row(c, core.chip())).data();

  for (size_t r = 0; r < c.m; r++) {
    const size_t first_cleared = c.seed == WEFT_MXU_SEED_ZERO ? 0 : c.cols;
    std::fill(acc + r * n + first_cleared, acc + (r + 1) * n, 0u);
  }
  for (uint64_t t = 0; t < tiles.count; t++) {
    const size_t depth = std::min<uint64_t>(tiles.k_per_tile, c.k - t * tiles.k_per_tile);
    const uint64_t x = c.x_addr + t * c.x_tile_stride;
    const auto* w = elements<uint16_t>(core, c.w_addr + t * c.w_tile_stride);
    if (c.dtype == WEFT_MXU_DTYPE_BF16) {
      multiply_panel(PanelBf16{c.m, depth, c.cols, elements<uint16_t>(core, x), c.x_row_stride * n, w, n, acc, n},
                     core.path());
    } else {
      core.status().int_overflow |= multiply_panel(
          PanelInt8{c.m, depth, c.cols, elements<int8_t>(core, x), c.x_row_stride * 2 * n, w, n, acc, n}, core.path());
    }
  }
  core.status().macs += uint64_t{c.m} * c.k * c.cols;
  return std::nullopt;
}

}  // namespace weft::golden
