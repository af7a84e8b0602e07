// One random legal command.
#include "testbench/random/command_generator.hpp"

#include <tuple>

#include "model/core/command/command_accesses.hpp"
#include "model/golden/dma_runs.hpp"

namespace weft::random {
namespace {

/// The same number of rows and words between rows, so that each row is read before it is written over.
bool in_place(const spec::VpuCommand& c, uint64_t from, uint64_t stride) {
  const unsigned words = golden::words_per_row(c.dst_dtype);
  return words == golden::words_per_row(c.src_dtype) && from == c.d_addr && stride == c.d_stride &&
         (c.rows == 1 || stride >= words);
}

/// A result over operands that other rows still need is undefined (rtl/vpu/README.md).
bool self_overlaps(const spec::VpuCommand& c, const spec::Chip& chip) {
  spec::VpuCommand only_a = c, only_b = c;
  only_a.b_mode = WEFT_VPU_B_MODE_NONE;
  only_b.src_space = WEFT_VPU_SPACE_ACC;
  const golden::SegmentTable none{};
  const auto overlaps = [&](const spec::VpuCommand& part) {
    const auto accesses = core::command_accesses(spec::encode(part), chip, none);
    return core::find_overlap(accesses.reads, accesses.writes).has_value();
  };
  if (c.src_space == WEFT_VPU_SPACE_VMEM && !in_place(c, c.a_addr, c.a_stride) && overlaps(only_a)) return true;
  const bool tensor = c.b_mode == WEFT_VPU_B_MODE_TENSOR || c.b_mode == WEFT_VPU_B_MODE_RESIDUAL;
  if (tensor && in_place(c, c.b_addr, c.b_stride)) return false;
  return c.b_mode != WEFT_VPU_B_MODE_NONE && c.b_mode != WEFT_VPU_B_MODE_SCALAR && overlaps(only_b);
}

class CommandDraw {
 public:
  CommandDraw(const Place& place, Draw& draw) : place_(place), chip_(*place.chip), draw_(draw) {}

  /// Any field values; many are legal.
  Step any(const spec::OpcodeInfo& opcode, uint16_t tag) {
    std::vector<unsigned> queues;
    for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++)
      if ((opcode.queue_mask >> q & 1) != 0) queues.push_back(q);
    Step step;
    step.queue = queues[draw_.below(queues.size())];
    spec::CommandHeader header;
    header.opcode = opcode.value;
    header.tag = tag;
    switch (opcode.body) {
      case spec::Body::kDma:
        step.command = dma(header, step.queue == WEFT_QUEUE_DMA_IN);
        break;
      case spec::Body::kMxu:
        step.command = mxu(header);
        break;
      case spec::Body::kVpu:
        step.command = vpu(header);
        break;
      case spec::Body::kIndexed:  // indexed_steps.hpp
      case spec::Body::kBarrier:  // not of a core that stands alone
      case spec::Body::kNone:
        step.command = spec::encode(spec::NoneCommand{header});
        break;
    }
    return step;
  }

 private:
  /// A place in [low, high - extent] on the granule, now and then at one of its ends; low if there is no room.
  uint64_t put(uint64_t low, uint64_t high, uint64_t extent, uint64_t granule) {
    low = (low + granule - 1) / granule * granule;
    if (low + extent > high) return low;
    const uint64_t places = (high - low - extent) / granule + 1;
    if (draw_.once_in(8)) return low;
    if (draw_.once_in(8)) return low + (places - 1) * granule;
    return low + draw_.below(places) * granule;
  }
  uint64_t put_words(uint64_t extent, uint64_t granule) {
    const Window& window = place_.windows[draw_.below(place_.windows.size())];
    return put(window.first, window.first + window.words, extent, granule);
  }

  // DMA

  uint8_t segment(bool read) {
    std::vector<uint8_t> fit;
    for (uint8_t s = 1; s < WEFT_SEGMENTS; s++)
      if (place_.segments[s].space != WEFT_ADDRESS_SPACE_NONE &&
          (read ? place_.segments[s].readable : place_.segments[s].writable))
        fit.push_back(s);
    return fit[draw_.below(fit.size())];
  }
  int32_t stride(uint64_t granule, uint64_t dense) {
    const auto g = static_cast<int64_t>(granule);
    const auto d = static_cast<int64_t>((dense + granule - 1) / granule * granule);
    return static_cast<int32_t>(draw_.one_of<int64_t>(
        {d, d, d, d + g, d + 3 * g, -d, -d - g, 0, g, static_cast<int64_t>(draw_.below(40)) * g}));
  }
  /// Strides of one side, and the offset at which its runs lie in place.
  void place_side(spec::DmaCommand& c, bool source, uint8_t segment) {
    const uint64_t granule = segment == 0 ? chip_.word_bytes : WEFT_CORE_DMA_GRANULE_BYTES;
    const auto [s1, s2, s3] = source ? std::tie(c.src_stride1, c.src_stride2, c.src_stride3)
                                     : std::tie(c.dst_stride1, c.dst_stride2, c.dst_stride3);
    s1 = stride(granule, c.size0);
    s2 = stride(granule, static_cast<uint64_t>(std::abs(s1)) * c.size1);
    s3 = stride(granule, static_cast<uint64_t>(std::abs(s2)) * c.size2);
    const golden::DmaExtent extent = golden::dma_extent({segment, 0, s1, s2, s3}, c);
    uint64_t low = 0, high = place_.segments[segment].limit;
    if (segment == 0) {
      const Window& window = place_.windows[draw_.below(place_.windows.size())];
      low = window.first * chip_.word_bytes, high = low + window.words * chip_.word_bytes;
    }
    const uint64_t back = static_cast<uint64_t>(-extent.first);
    const uint64_t offset = put(low, high, static_cast<uint64_t>(extent.end - extent.first), granule) +
                            (back + granule - 1) / granule * granule;
    (source ? c.src_off : c.dst_off) = offset;
  }
  spec::Command dma(const spec::CommandHeader& header, bool in) {
    spec::DmaCommand c;
    c.header = header;
    const uint64_t word = chip_.word_bytes, beat = word * chip_.dma_words;
    c.size0 = static_cast<uint32_t>(
        draw_.one_of<uint64_t>({16, word - 16, word, word + 16, 2 * word, beat - 16, beat, beat + 16, 2 * beat,
                                16 * draw_.between(1, 4 * beat / 16), word * draw_.between(1, 24)}));
    if (c.size0 == 0) c.size0 = 16;
    c.size1 = static_cast<uint16_t>(draw_.one_of<uint64_t>({1, 1, 2, 3, chip_.n, draw_.between(1, 12)}));
    c.size2 = static_cast<uint16_t>(draw_.one_of<uint64_t>({1, 1, 1, 2, 3}));
    c.size3 = static_cast<uint16_t>(draw_.one_of<uint64_t>({1, 1, 1, 1, 2, 3}));
    const bool fill = header.opcode == WEFT_OPCODE_FILL;
    c.src_seg = !in || fill ? uint8_t{0} : segment(true);
    c.dst_seg = in ? uint8_t{0} : segment(false);
    if (fill)
      c.src_off = draw_.bits() & UINT32_MAX;
    else
      place_side(c, true, c.src_seg);
    place_side(c, false, c.dst_seg);
    return spec::encode(c);
  }

  // MXU

  spec::Command mxu(const spec::CommandHeader& header) {
    spec::MxuCommand c;
    c.header = header;
    const uint32_t n = chip_.n;
    c.dtype = draw_.enum_value("mxu_dtype");
    c.seed = draw_.enum_value("mxu_seed");
    c.mxu = static_cast<uint8_t>(draw_.below(chip_.num_mxu));
    c.m = static_cast<uint16_t>(draw_.size(n, draw_.once_in(3) ? chip_.acc_bank_rows : 2 * n));
    c.k = static_cast<uint32_t>(draw_.size(c.dtype == WEFT_MXU_DTYPE_INT8 ? 2 * n : n, 5 * n));
    c.cols = static_cast<uint16_t>(draw_.size(n, n));
    const golden::MatmulTiles tiles = golden::matmul_tiles(c, chip_);
    const auto t = static_cast<uint32_t>(tiles.count);
    c.x_row_stride = draw_.one_of<uint32_t>({1, 1, t, t + 1, 2, 0});
    c.x_tile_stride = draw_.one_of<uint32_t>({1, c.m, c.m + 1u, 0, static_cast<uint32_t>(draw_.below(20))});
    c.w_tile_stride = draw_.one_of<uint32_t>({n, n, n, n + 1, 2 * n, 1, 0});
    c.x_addr = static_cast<uint32_t>(
        put_words(uint64_t{c.m - 1u} * c.x_row_stride + uint64_t{t - 1} * c.x_tile_stride + 1, 1));
    c.w_addr = static_cast<uint32_t>(put_words(uint64_t{t - 1} * c.w_tile_stride + n, 1));
    const uint64_t bank = draw_.below(2) * chip_.acc_bank_rows;
    c.acc_row = static_cast<uint16_t>(put(bank, bank + chip_.acc_bank_rows, c.m, 1));
    return spec::encode(c);
  }

  // VPU

  uint32_t scalar() {
    return static_cast<uint32_t>(
        draw_.one_of<uint64_t>({0x3f800000, 0x80000000, 0x7f800000, 0x7fc00001, 0x00000001, 0x7f7fffff, 0x80000001,
                                0xbf80, 0x7f80, 31, 32, draw_.below(32), draw_.bits(), draw_.bits() & 0xffff}));
  }
  spec::Command vpu(const spec::CommandHeader& header) {
    spec::VpuCommand c;
    c.header = header;
    const bool elementwise = header.opcode == WEFT_OPCODE_ELEMENTWISE, reduce = header.opcode == WEFT_OPCODE_REDUCE,
               epilogue = header.opcode == WEFT_OPCODE_EPILOGUE, cast = header.opcode == WEFT_OPCODE_CAST;
    // What can be legal with this opcode only, so that many draws are.
    if (elementwise || reduce || (cast && draw_.once_in(3))) c.op = draw_.enum_value("vpu_op");
    if (epilogue && draw_.once_in(3)) c.op = WEFT_VPU_OP_UPPER;
    c.src_space = epilogue ? WEFT_VPU_SPACE_ACC : WEFT_VPU_SPACE_VMEM;
    c.src_dtype = draw_.enum_value("vpu_dtype");
    const bool converts = epilogue || cast || (elementwise && draw_.once_in(3));
    c.dst_dtype = converts ? draw_.enum_value("vpu_dtype") : c.src_dtype;
    if (!reduce) c.b_mode = draw_.enum_value("vpu_b_mode");
    if (epilogue || (elementwise && c.op == WEFT_VPU_OP_NONE)) c.activation = draw_.enum_value("vpu_activation");
    if (reduce) c.axis = draw_.enum_value("vpu_axis");
    if (c.axis == WEFT_VPU_AXIS_ROWS) c.window = static_cast<uint16_t>(draw_.size(chip_.n, 2 * chip_.n));
    const bool iota = c.op == WEFT_VPU_OP_IOTA, rotate = c.op == WEFT_VPU_OP_ROTATE,
               clamp = c.activation == WEFT_VPU_ACTIVATION_CLAMP;
    const bool three = c.op == WEFT_VPU_OP_FMA || c.op == WEFT_VPU_OP_AXPY || c.op == WEFT_VPU_OP_SELECT;
    const uint32_t from = golden::words_per_row(c.src_dtype), to = golden::words_per_row(c.dst_dtype);
    c.rows = static_cast<uint16_t>(draw_.size(chip_.n, 3 * chip_.n));
    c.cols = static_cast<uint16_t>(draw_.size(chip_.n, chip_.n));
    auto stride = [&](uint32_t words) { return words * draw_.one_of<uint32_t>({1, 1, 1, 2, 3, 0}); };
    auto extent = [&](uint64_t row_stride, uint32_t words) { return uint64_t{c.rows - 1u} * row_stride + words; };
    const bool acc = c.src_space == WEFT_VPU_SPACE_ACC;
    c.a_stride = stride(acc ? 1 : from);
    const bool vector_b = c.b_mode == WEFT_VPU_B_MODE_TENSOR || c.b_mode == WEFT_VPU_B_MODE_COLUMN ||
                          c.b_mode == WEFT_VPU_B_MODE_RESIDUAL;
    if (vector_b || c.window != 0) c.b_stride = stride(from);
    const uint64_t inside = c.window == 0 ? 0 : uint64_t{c.window - 1u} * c.b_stride;
    c.a_addr = static_cast<uint32_t>(acc ? put(0, golden::acc_rows(chip_), extent(c.a_stride, 1), 1)
                                         : put_words(extent(c.a_stride, from) + inside, from));
    if (iota) c.a_addr = c.a_stride = 0;
    if (vector_b || c.b_mode == WEFT_VPU_B_MODE_ROW || c.b_mode == WEFT_VPU_B_MODE_SCALED)
      c.b_addr = static_cast<uint32_t>(put_words(extent(c.b_stride, from), from));
    if (c.b_mode == WEFT_VPU_B_MODE_SCALAR || clamp || iota) c.scalar = scalar();
    if (three || iota || clamp || c.activation == WEFT_VPU_ACTIVATION_LEAKY || c.dst_dtype == WEFT_VPU_DTYPE_I8)
      c.scalar2 = scalar();
    if (golden::keeps_row(c)) c.scalar2 = static_cast<uint32_t>(put_words(2, 2));
    if ((epilogue || cast) && c.dst_dtype == WEFT_VPU_DTYPE_I8)
      c.scalar = draw_.once_in(3) ? 0 : static_cast<uint32_t>(static_cast<int32_t>(draw_.below(256)) - 128);
    if (rotate) {
      const uint64_t first = draw_.once_in(2) ? 0 : draw_.below(chip_.n);
      const uint64_t end = draw_.once_in(2) ? chip_.n : first + 1 + draw_.below(chip_.n - first);
      c.scalar = static_cast<uint32_t>(draw_.one_of<uint64_t>({0, 1, chip_.n / 2, chip_.n - 1, draw_.below(chip_.n)}));
      c.scalar2 = static_cast<uint32_t>(first | end << 16);
    }
    c.d_stride = stride(to);
    const uint64_t written = header.opcode == WEFT_OPCODE_TRANSPOSE ? c.cols : c.rows;
    c.d_addr = static_cast<uint32_t>(put_words((written - 1) * c.d_stride + to, to));
    if (!acc && !iota && from == to && draw_.once_in(4)) c.d_addr = c.a_addr, c.d_stride = c.a_stride;
    return spec::encode(c);
  }

  const Place& place_;
  const spec::Chip& chip_;
  Draw& draw_;
};

}  // namespace

std::optional<Step> draw_step(const Place& place, Draw& draw, uint16_t tag, spec::Body body) {
  std::vector<const spec::OpcodeInfo*> opcodes;
  for (const auto& opcode : spec::kOpcodes)
    if (opcode.built && opcode.body == body) opcodes.push_back(&opcode);
  const spec::OpcodeInfo& opcode = *opcodes[draw.below(opcodes.size())];
  for (unsigned attempt = 0; attempt < 2000; attempt++) {
    Step step = CommandDraw(place, draw).any(opcode, tag);
    if (golden::check_command(step.command, step.queue, *place.chip, place.segments)) continue;
    if (body == spec::Body::kVpu && self_overlaps(spec::decode_vpu(step.command), *place.chip)) continue;
    return step;
  }
  return std::nullopt;
}

Step draw_step(const Place& place, Draw& draw, uint16_t tag) {
  using spec::Body;
  for (;;) {
    const Body body = draw.one_of({Body::kDma, Body::kDma, Body::kDma, Body::kMxu, Body::kMxu, Body::kMxu, Body::kVpu,
                                   Body::kVpu, Body::kVpu, Body::kVpu, Body::kNone});
    if (auto step = draw_step(place, draw, tag, body)) return *step;
  }
}

}  // namespace weft::random
