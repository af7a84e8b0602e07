/// MATMUL: the K tiles one after the other, each a panel on VMEM and ACC in place.
#include <algorithm>
#include <span>
#include <vector>

#include "model/golden/execute.hpp"

namespace weft::golden {
namespace {

/// Words of VMEM as elements. VMEM in place is a mapping of its own, aligned to pages, and words to 16 bytes.
class Words {
 public:
  explicit Words(const CoreState& core) : core_(core) {}
  /// `rows` words, `stride` words apart from `word` on, until the next call: in place, or side by side in a copy.
  template <class T>
  const T* take(uint64_t word, uint64_t rows, uint64_t stride) {
    const uint64_t bytes = core_.chip().word_bytes;
    if (core_.vmem_is_flat()) {
      stride_ = stride;
      return reinterpret_cast<const T*>(core_.vmem().data() + word * bytes);
    }
    stride_ = 1;
    copy_.resize(rows * bytes);
    for (uint64_t r = 0; r < rows; r++)
      core_.read_vmem((word + r * stride) * bytes, std::span(copy_).subspan(r * bytes, bytes));
    return reinterpret_cast<const T*>(copy_.data());
  }
  /// Words from one row of what was taken to the next.
  [[nodiscard]] uint64_t stride() const { return stride_; }

 private:
  const CoreState& core_;
  uint64_t stride_ = 1;
  std::vector<std::byte> copy_;
};

}  // namespace

std::optional<Fault> execute_matmul(CoreState& core, const spec::Command& command, MemoryAccess&) {
  const auto c = spec::decode_mxu(command);
  const size_t n = core.chip().n;
  const MatmulTiles tiles = matmul_tiles(c, core.chip());
  Words inputs(core), weights(core);
  uint32_t* acc = core.acc_row(first_acc_row(c, core.chip())).data();

  for (size_t r = 0; r < c.m; r++) {
    const size_t first_cleared = c.seed == WEFT_MXU_SEED_ZERO ? 0 : c.cols;
    std::fill(acc + r * n + first_cleared, acc + (r + 1) * n, 0u);
  }
  for (uint64_t t = 0; t < tiles.count; t++) {
    const size_t depth = std::min<uint64_t>(tiles.k_per_tile, c.k - t * tiles.k_per_tile);
    const bool bf16 = c.dtype == WEFT_MXU_DTYPE_BF16;
    const uint64_t x = c.x_addr + t * c.x_tile_stride;
    const auto* w = weights.take<uint16_t>(c.w_addr + t * c.w_tile_stride, bf16 ? depth : (depth + 1) / 2, 1);
    if (bf16) {
      const auto* rows = inputs.take<uint16_t>(x, c.m, c.x_row_stride);
      multiply_panel(PanelBf16{c.m, depth, c.cols, rows, inputs.stride() * n, w, n, acc, n}, core.path());
    } else {
      const auto* rows = inputs.take<int8_t>(x, c.m, c.x_row_stride);
      core.status().int_overflow |=
          multiply_panel(PanelInt8{c.m, depth, c.cols, rows, inputs.stride() * 2 * n, w, n, acc, n}, core.path());
    }
  }
  core.status().macs += uint64_t{c.m} * c.k * c.cols;
  return std::nullopt;
}

}  // namespace weft::golden
