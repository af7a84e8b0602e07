// Draws commands: fields within what is legal, then, in half of the cases, any bits somewhere.
#include "field_commands.hpp"

#include <algorithm>

namespace weft {
namespace {

// ------------------------------------------------------------------ commands that are often legal, with wide fields
/// A side of a copy: strides, and how far they reach below and above the offset.
struct Side {
  int32_t stride[3];
  int64_t below = 0, above = 0;
};

Side draw_side(Draw& draw, const uint16_t (&sizes)[3], int64_t granule, int64_t largest) {
  Side side{};
  for (unsigned d = 0; d < 3; d++) {
    if (sizes[d] == 1) {
      side.stride[d] = static_cast<int32_t>(draw.bits() & ~static_cast<uint64_t>(granule - 1));
    } else if (sizes[d] < 8 && !draw.once_in(4)) {
      side.stride[d] = static_cast<int32_t>(
          (static_cast<int64_t>(draw.below(2 * static_cast<uint64_t>(largest) + 1)) - largest) * granule);
    }
    const int64_t reach = int64_t{side.stride[d]} * (sizes[d] - 1);
    (reach < 0 ? side.below : side.above) += reach;
  }
  return side;
}

uint64_t draw_offset(Draw& draw, const Side& side, uint64_t bytes, uint64_t limit, uint64_t granule) {
  const uint64_t low = static_cast<uint64_t>(-side.below);
  const uint64_t need = low + static_cast<uint64_t>(side.above) + bytes;
  if (need > limit) return low;
  return low + draw.below((limit - need) / granule + 1) * granule;
}

spec::Command draw_dma(FieldBench& bench, bool out) {
  Draw& draw = bench.draw;
  spec::DmaCommand c;
  const bool fill = draw.once_in(3);
  c.header.opcode = fill ? WEFT_OPCODE_FILL : WEFT_OPCODE_COPY;
  const uint8_t segment = static_cast<uint8_t>(draw.between(1, 31));
  uint16_t sizes[3];
  for (auto& size : sizes)
    size = static_cast<uint16_t>(draw.once_in(20) ? draw.between(1, 65535) : draw.once_in(3) ? draw.between(2, 5) : 1);
  c.size0 = static_cast<uint32_t>(
      16 * draw.one_of<uint64_t>({1, 2, 3, 4, 5, 8, 9, draw.between(1, 64), draw.between(1, 16384)}));
  c.size1 = sizes[0], c.size2 = sizes[1], c.size3 = sizes[2];
  const Side vmem = draw_side(draw, sizes, bench.chip.word_bytes, 20);
  const Side memory = draw_side(draw, sizes, 16, 1 << 20);
  const uint64_t rounded = (c.size0 + bench.chip.word_bytes - 1) / bench.chip.word_bytes * bench.chip.word_bytes;
  const uint64_t vmem_off =
      draw_offset(draw, vmem, rounded, bench.chip.vmem_bytes - bench.chip.word_bytes, bench.chip.word_bytes);
  const uint64_t limit = std::min(bench.segments[segment].limit, uint64_t{1} << 40);
  const uint64_t memory_off = draw_offset(draw, memory, c.size0, limit, 16);
  const Side& src = out ? vmem : memory;
  const Side& dst = out ? memory : vmem;
  c.src_seg = out || fill ? 0 : segment;
  c.dst_seg = out ? segment : 0;
  c.src_off = fill ? draw.bits() & 0xffffffff : out ? vmem_off : memory_off;
  c.dst_off = out ? memory_off : vmem_off;
  if (!fill) c.src_stride1 = src.stride[0], c.src_stride2 = src.stride[1], c.src_stride3 = src.stride[2];
  c.dst_stride1 = dst.stride[0], c.dst_stride2 = dst.stride[1], c.dst_stride3 = dst.stride[2];
  return encode(c);
}

spec::Command draw_mxu(FieldBench& bench) {
  Draw& draw = bench.draw;
  const unsigned n = bench.chip.n;
  spec::MxuCommand c;
  c.header.opcode = WEFT_OPCODE_MATMUL;
  c.dtype = draw.one_of<uint8_t>({WEFT_MXU_DTYPE_BF16, WEFT_MXU_DTYPE_INT8});
  c.seed = static_cast<uint8_t>(draw.below(2));
  c.m = static_cast<uint16_t>(draw.once_in(2) ? 1 : draw.size(n, bench.chip.acc_bank_rows));
  c.cols = static_cast<uint16_t>(draw.size(n, n));
  c.acc_row =
      static_cast<uint16_t>(draw.below(2) * bench.chip.acc_bank_rows + draw.below(bench.chip.acc_bank_rows - c.m + 1u));
  const unsigned tile = c.dtype == WEFT_MXU_DTYPE_INT8 ? 2 * n : n;
  c.k = static_cast<uint32_t>(draw.once_in(6)   ? draw.bits() | 1
                              : draw.once_in(2) ? draw.between(1, tile)
                                                : draw.between(1, 5 * tile));
  const uint64_t tiles = (uint64_t{c.k} + tile - 1) / tile;
  const bool one = tiles == 1, few = tiles <= 6;
  c.x_row_stride = static_cast<uint32_t>(c.m == 1 ? draw.bits() : draw.below(4));
  c.x_tile_stride = static_cast<uint32_t>(one ? draw.bits() : few ? draw.below(200) : 0);
  c.w_tile_stride = static_cast<uint32_t>(one ? draw.bits() : few ? draw.below(200) : 0);
  const uint64_t words = bench.chip.vmem_bytes / bench.chip.word_bytes;
  c.x_addr = static_cast<uint32_t>(draw.below(words - 2000));
  c.w_addr = static_cast<uint32_t>(draw.below(words - 2000));
  return encode(c);
}

spec::Command draw_vpu(FieldBench& bench) {
  Draw& draw = bench.draw;
  spec::VpuCommand c;
  const weft_opcode opcode =
      draw.one_of({WEFT_OPCODE_ELEMENTWISE, WEFT_OPCODE_REDUCE, WEFT_OPCODE_EPILOGUE, WEFT_OPCODE_CAST});
  c.header.opcode = static_cast<uint8_t>(opcode);
  c.src_dtype = c.dst_dtype = draw.one_of<uint8_t>({WEFT_VPU_DTYPE_F32, WEFT_VPU_DTYPE_I32});
  switch (opcode) {
    case WEFT_OPCODE_ELEMENTWISE:
      c.op = static_cast<uint8_t>(draw.between(WEFT_VPU_OP_ADD, WEFT_VPU_OP_MAX));
      c.b_mode = static_cast<uint8_t>(draw.between(WEFT_VPU_B_MODE_TENSOR, WEFT_VPU_B_MODE_SCALAR));
      if (draw.once_in(3)) c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_BF16;
      break;
    case WEFT_OPCODE_REDUCE:
      c.op = draw.one_of<uint8_t>({WEFT_VPU_OP_SUM, WEFT_VPU_OP_RMAX});
      break;
    case WEFT_OPCODE_EPILOGUE:
      c.src_space = WEFT_VPU_SPACE_ACC;
      if (c.src_dtype == WEFT_VPU_DTYPE_I32 && draw.once_in(2)) {
        c.dst_dtype = WEFT_VPU_DTYPE_I8;
        c.op = draw.one_of<uint8_t>({WEFT_VPU_OP_NONE, WEFT_VPU_OP_UPPER});
        c.scalar = static_cast<uint32_t>(static_cast<int32_t>(draw.below(256)) - 128);
        c.scalar2 = static_cast<uint32_t>(draw.bits());
      }
      c.b_mode = draw.one_of<uint8_t>(
          {WEFT_VPU_B_MODE_NONE, WEFT_VPU_B_MODE_ROW, WEFT_VPU_B_MODE_TENSOR,
           c.dst_dtype == WEFT_VPU_DTYPE_I8 ? uint8_t{WEFT_VPU_B_MODE_SCALED} : uint8_t{WEFT_VPU_B_MODE_RESIDUAL}});
      c.activation = static_cast<uint8_t>(draw.below(2));
      break;
    default:
      if (c.src_dtype == WEFT_VPU_DTYPE_F32)
        c.dst_dtype = draw.one_of<uint8_t>({WEFT_VPU_DTYPE_BF16, WEFT_VPU_DTYPE_I32});
      else
        c.dst_dtype = WEFT_VPU_DTYPE_F32;
      break;
  }
  c.rows = static_cast<uint16_t>(draw.once_in(3) ? 1 : draw.once_in(12) ? draw.bits() | 1 : draw.between(1, 60));
  c.cols = static_cast<uint16_t>(draw.size(bench.chip.n, bench.chip.n));
  const bool acc = c.src_space == WEFT_VPU_SPACE_ACC;
  const auto stride = [&] {
    return static_cast<uint32_t>(c.rows == 1 ? draw.bits() & ~1u : c.rows > 60 ? 0 : 2 * draw.below(40));
  };
  // Sources in one half of VMEM, the result in the other: what is read after it was written is the program's business.
  const uint64_t half = bench.chip.vmem_bytes / bench.chip.word_bytes / 2;
  const uint64_t source = draw.below(2) * half;
  const auto address = [&](uint64_t base) { return static_cast<uint32_t>(base + 2 * draw.below(half / 2 - 2450)); };
  c.a_stride = acc && c.rows > 1 ? static_cast<uint32_t>(c.rows < 60 ? draw.below(2) : 0) : stride();
  c.a_addr = acc ? static_cast<uint32_t>(draw.below(bench.chip.acc_bank_rows)) : address(source);
  c.d_stride = stride(), c.d_addr = address(half - source);
  const bool kept = golden::keeps_row(c);
  if (c.b_mode == WEFT_VPU_B_MODE_TENSOR || c.b_mode == WEFT_VPU_B_MODE_RESIDUAL) c.b_stride = stride();
  if (c.b_mode == WEFT_VPU_B_MODE_TENSOR || c.b_mode == WEFT_VPU_B_MODE_ROW || kept) c.b_addr = address(source);
  if (kept) c.scalar2 = address(source);
  if (c.b_mode == WEFT_VPU_B_MODE_SCALAR) c.scalar = static_cast<uint32_t>(draw.bits());
  return encode(c);
}

// ------------------------------------------------------------------ header
struct Semaphores {
  uint8_t index[4];   ///< waits 0 and 1, posts 0 and 1; 0xff: none
  uint16_t count[4];  ///< of any width
};

Semaphores draw_semaphores(Draw& draw) {
  Semaphores s{};
  for (unsigned i = 0; i < 4; i++) {
    s.index[i] = draw.once_in(3) ? 0xff : static_cast<uint8_t>((draw.below(16) << 2) + i);  // all four differ
    s.count[i] = s.index[i] == 0xff ? 0 : static_cast<uint16_t>(draw.once_in(6) ? 65535 : draw.bits() | 1);
  }
  return s;
}

}  // namespace

FieldCase draw_case(FieldBench& bench) {
  Draw& draw = bench.draw;
  FieldCase c;
  switch (draw.below(10)) {
    case 0:
      c.queue = WEFT_QUEUE_SYNC;
      spec::store_le(c.command, 0, 1, draw.one_of<uint64_t>({WEFT_OPCODE_SIGNAL, WEFT_OPCODE_WAIT, WEFT_OPCODE_FENCE}));
      break;
    case 1:
    case 2:
    case 3:
      c.queue = WEFT_QUEUE_MXU, c.command = draw_mxu(bench);
      break;
    case 4:
    case 5:
    case 6:
      c.queue = WEFT_QUEUE_VPU, c.command = draw_vpu(bench);
      break;
    case 7:
      c.queue = WEFT_QUEUE_DMA_OUT, c.command = draw_dma(bench, true);
      break;
    default:
      c.queue = WEFT_QUEUE_DMA_IN, c.command = draw_dma(bench, false);
      break;
  }
  Semaphores semaphores = draw_semaphores(draw);
  if (spec::load_le(c.command, 0, 1) == WEFT_OPCODE_WAIT)
    for (unsigned i = 2; i < 4; i++) semaphores.index[i] = 0xff, semaphores.count[i] = 0;
  spec::store_le(c.command, 2, 2, draw.bits());
  for (unsigned i = 0; i < 4; i++) {
    spec::store_le(c.command, 4 + i, 1, semaphores.index[i]);
    spec::store_le(c.command, 8 + 2 * i, 2, semaphores.count[i]);
  }
  if (draw.once_in(2)) {  // any bits anywhere, the semaphores but seldom
    const unsigned at = static_cast<unsigned>(draw.once_in(4) ? draw.below(16) : draw.between(16, 63));
    const unsigned bytes = static_cast<unsigned>(std::min<uint64_t>(draw.between(1, 8), 64 - at));
    spec::store_le(c.command, at, bytes, draw.once_in(4) ? 0 : draw.bits());
  }
  if (draw.once_in(16)) c.queue = static_cast<unsigned>(draw.below(WEFT_CORE_QUEUES));
  if (draw.once_in(16))
    for (auto& byte : c.command.bytes) byte = static_cast<uint8_t>(draw.bits());
  c.expected = golden::check_command(c.command, c.queue, bench.chip, bench.segments);
  const unsigned opcode = c.command.bytes[0];
  if (!c.expected && (opcode == WEFT_OPCODE_COPY || opcode == WEFT_OPCODE_FILL)) {
    // The lockstep core lists the runs of a legal command: one long dimension is enough.
    const spec::DmaCommand dma = spec::decode_dma(c.command);
    if (uint64_t{dma.size1} * dma.size2 * dma.size3 > 200'000) return draw_case(bench);
  }
  return c;
}

}  // namespace weft
