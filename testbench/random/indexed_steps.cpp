// Indices: what is there, AND a mask, and now and then less one, so that some are -1.
#include "testbench/random/indexed_steps.hpp"

#include "model/core/command/command_accesses.hpp"
#include "model/golden/indexed_rows.hpp"

namespace weft::random {
namespace {

class IndexedDraw {
 public:
  IndexedDraw(const Place& place, Draw& draw) : place_(place), chip_(*place.chip), draw_(draw) {}

  std::vector<Step> steps(uint16_t tag) {
    const bool gathers = draw_.once_in(2), skips = draw_.once_in(2);
    const uint64_t word = chip_.word_bytes, lanes = word / 4;
    spec::IndexedCommand c;
    c.header.opcode = gathers ? WEFT_OPCODE_GATHER : WEFT_OPCODE_SCATTER;
    c.count = static_cast<uint16_t>(
        draw_.one_of<uint64_t>({1, 2, lanes - 1, lanes, lanes + 1, chip_.n, 3 * lanes, draw_.between(1, 5 * lanes)}));
    const uint64_t beat = word * chip_.dma_words;
    c.row_bytes = static_cast<uint32_t>(draw_.one_of<uint64_t>(
        {16, 16, word, word + 16, beat - 16, beat, beat + 16, 2 * beat, 16 * draw_.between(1, 3 * beat / 16)}));
    const auto mask = static_cast<int32_t>((uint64_t{1} << draw_.below(8)) - 1);
    const auto least = static_cast<uint32_t>(std::max<int64_t>(1, int64_t{mask} + (skips ? 0 : 1)));
    c.table_rows = static_cast<uint32_t>(least + (draw_.once_in(2) ? 0 : draw_.below(20)));
    const Window& window = place_.windows[draw_.below(place_.windows.size())];
    const uint64_t index_rows = (c.count + chip_.n - 1) / chip_.n;
    const auto indices = words_in(window, 2 * index_rows, 2);
    const auto read = words_in(window, 2 * index_rows, 2);
    const uint8_t segment = table_segment(gathers);
    if (!indices || !read || !place_rows(c, gathers, window) || !place_table(c, gathers, segment)) return {};
    c.index_off = static_cast<uint32_t>(*indices * word);
    std::vector<Step> steps;
    steps.push_back(vpu(WEFT_VPU_OP_AND, *read, *indices, index_rows, mask, tag++));
    if (skips) steps.push_back(vpu(WEFT_VPU_OP_ADD, *indices, *indices, index_rows, -1, tag++));
    c.header.tag = tag;
    steps.push_back({gathers ? WEFT_QUEUE_DMA_IN : WEFT_QUEUE_DMA_OUT, spec::encode(c), {}});
    for (const Step& step : steps)
      if (golden::check_command(step.command, step.queue, chip_, place_.segments)) return {};
    // A result over indices that are still needed is undefined, and so is one over operands of other rows.
    const auto accesses = core::command_accesses(steps.back().command, chip_, place_.segments);
    if (core::find_overlap(accesses.reads, accesses.writes)) return {};
    const bool apart = *read + 2 * index_rows <= *indices || *indices + 2 * index_rows <= *read || read == indices;
    return apart ? steps : std::vector<Step>{};
  }

 private:
  Step vpu(uint8_t op, uint64_t a, uint64_t d, uint64_t rows, int32_t scalar, uint16_t tag) {
    spec::VpuCommand c;
    c.header.opcode = WEFT_OPCODE_ELEMENTWISE;
    c.header.tag = tag;
    c.op = op;
    c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_I32;
    c.b_mode = WEFT_VPU_B_MODE_SCALAR;
    c.scalar = static_cast<uint32_t>(scalar);
    c.rows = static_cast<uint16_t>(rows), c.cols = static_cast<uint16_t>(chip_.n);
    c.a_addr = static_cast<uint32_t>(a), c.d_addr = static_cast<uint32_t>(d);
    c.a_stride = c.d_stride = 2;
    return {WEFT_QUEUE_VPU, spec::encode(c), {}};
  }
  std::optional<uint64_t> words_in(const Window& window, uint64_t words, uint64_t granule) {
    const uint64_t first = (window.first + granule - 1) / granule * granule, end = window.first + window.words;
    if (first + words > end) return std::nullopt;
    return first + draw_.below((end - first - words) / granule + 1) * granule;
  }
  uint8_t table_segment(bool read) {
    std::vector<uint8_t> fit;
    for (uint8_t s = 1; s < WEFT_SEGMENTS; s++)
      if (place_.segments[s].space != WEFT_ADDRESS_SPACE_NONE &&
          (read ? place_.segments[s].readable : place_.segments[s].writable))
        fit.push_back(s);
    return fit[draw_.below(fit.size())];
  }
  int32_t stride(uint64_t granule, uint64_t dense) {
    const auto g = static_cast<int64_t>(granule), d = static_cast<int64_t>((dense + granule - 1) / granule * granule);
    return static_cast<int32_t>(draw_.one_of<int64_t>({d, d, d, d + g, d + 3 * g, -d, 0, g}));
  }
  /// An offset for rows in [low, high); nothing if they do not fit.
  std::optional<uint64_t> offset(const spec::IndexedCommand& c, int64_t stride, int64_t rows, uint64_t low,
                                 uint64_t high, uint64_t granule) {
    const golden::DmaExtent extent = golden::indexed_extent({0, 0, stride, rows}, c);
    const auto bytes = static_cast<uint64_t>(extent.end - extent.first);
    if (low + bytes > high) return std::nullopt;
    const auto back = static_cast<uint64_t>(-extent.first);
    return low + back + draw_.below((high - low - bytes) / granule + 1) * granule;
  }
  bool place_rows(spec::IndexedCommand& c, bool gathers, const Window& window) {
    const uint64_t word = chip_.word_bytes;
    int32_t& step = gathers ? c.dst_stride : c.src_stride;
    step = stride(word, c.row_bytes);
    const auto at = offset(c, step, c.count, window.first * word, (window.first + window.words) * word, word);
    if (at) (gathers ? c.dst_off : c.src_off) = *at;
    return at.has_value();
  }
  bool place_table(spec::IndexedCommand& c, bool gathers, uint8_t segment) {
    int32_t& step = gathers ? c.src_stride : c.dst_stride;
    step = stride(WEFT_CORE_DMA_GRANULE_BYTES, c.row_bytes);
    (gathers ? c.src_seg : c.dst_seg) = segment;
    const auto at = offset(c, step, c.table_rows, 0, place_.segments[segment].limit, WEFT_CORE_DMA_GRANULE_BYTES);
    if (at) (gathers ? c.src_off : c.dst_off) = *at;
    return at.has_value();
  }

  const Place& place_;
  const spec::Chip& chip_;
  Draw& draw_;
};

/// The step writes all indices of `c`, by `op` with a number: which; nothing else.
std::optional<int32_t> scalar_of(const Step& step, const spec::Chip& chip, const spec::IndexedCommand& c, uint8_t op) {
  const auto v = spec::decode_vpu(step.command);
  if (v.header.opcode != WEFT_OPCODE_ELEMENTWISE || v.op != op || v.b_mode != WEFT_VPU_B_MODE_SCALAR ||
      v.src_dtype != WEFT_VPU_DTYPE_I32 || v.cols != chip.n || v.d_stride != 2 ||
      uint64_t{v.d_addr} * chip.word_bytes != c.index_off || uint64_t{v.rows} * chip.n < c.count)
    return std::nullopt;
  return static_cast<int32_t>(v.scalar);
}

}  // namespace

std::vector<Step> draw_indexed_steps(const Place& place, Draw& draw, uint16_t first_tag) {
  for (unsigned attempt = 0; attempt < 200; attempt++) {
    auto steps = IndexedDraw(place, draw).steps(first_tag);
    if (!steps.empty()) return steps;
  }
  return {};
}

bool indices_bounded(const Plan& plan, size_t step) {
  const auto c = spec::decode_indexed(plan.steps[step].command);
  if (step == 0) return false;
  const Step& before = plan.steps[step - 1];
  if (const auto mask = scalar_of(before, *plan.chip, c, WEFT_VPU_OP_AND))
    return *mask >= 0 && static_cast<uint32_t>(*mask) < c.table_rows;
  const auto less = scalar_of(before, *plan.chip, c, WEFT_VPU_OP_ADD);
  const auto v = spec::decode_vpu(before.command);
  if (step < 2 || less != -1 || v.a_addr != v.d_addr || v.a_stride != v.d_stride) return false;
  const auto mask = scalar_of(plan.steps[step - 2], *plan.chip, c, WEFT_VPU_OP_AND);
  return mask && *mask >= 0 && static_cast<uint32_t>(*mask) <= c.table_rows;
}

}  // namespace weft::random
