/// docs/command_checks.md, step by step.
#include "model/golden/check.hpp"

#include <algorithm>

#include "model/golden/dma_runs.hpp"
#include "model/golden/indexed_rows.hpp"
#include "model/golden/remote.hpp"
#include "weft/spec/command_fields.hpp"

namespace weft::golden {
namespace {

using spec::Body;
using spec::Chip;
using spec::Command;

/// The first field that is bad; fields are added in order of offset.
class FieldCheck {
 public:
  explicit FieldCheck(weft_fault code) : code_(code) {}
  void require(bool ok, unsigned offset) {
    if (!ok && !fault_) fault_ = Fault{code_, offset};
  }
  [[nodiscard]] const std::optional<Fault>& fault() const { return fault_; }

 private:
  weft_fault code_;
  std::optional<Fault> fault_;
};

/// Flags that are legal together on this command. Those of slices: COPY on dma_out, a reduction only with remote.
bool flags_legal(const spec::CommandHeader& h, unsigned queue, const SlicePlace& place) {
  constexpr unsigned kReduce = WEFT_COMMAND_FLAG_REDUCE_F32 | WEFT_COMMAND_FLAG_REDUCE_BF16;
  if ((h.flags & spec::kFlagsSlice) == 0) return (h.flags & ~spec::kFlagsBuilt) == 0;
  if (place.alone() || h.opcode != WEFT_OPCODE_COPY || queue != WEFT_QUEUE_DMA_OUT) return false;
  if ((h.flags & ~(spec::kFlagsBuilt | spec::kFlagsSlice)) != 0) return false;
  return (h.flags & WEFT_COMMAND_FLAG_REMOTE) != 0 && (h.flags & kReduce) != kReduce;
}

std::optional<unsigned> first_reserved_byte(const Command& command, Body body) {
  std::array<bool, WEFT_COMMAND_BYTES> covered{};
  const auto cover = [&](const spec::FieldInfo& f) { std::fill_n(covered.begin() + f.offset, f.bytes, true); };
  std::ranges::for_each(spec::kHeaderFields, cover);
  std::ranges::for_each(spec::body_fields(body), cover);
  for (unsigned i = 0; i < WEFT_COMMAND_BYTES; i++)
    if (!covered[i] && command.bytes[i] != 0) return i;
  return std::nullopt;
}

bool semaphore_legal(uint8_t semaphore, uint16_t count) {
  return semaphore == WEFT_NO_SEMAPHORE ? count == 0 : semaphore < WEFT_SEMAPHORES && count >= 1;
}
/// Post semaphore 1 of a remote command is another chip's.
bool remote_post_legal(const spec::CommandHeader& h) {
  return !is_remote(h) || h.post_sem1 == WEFT_NO_SEMAPHORE || h.post_sem1 >= WEFT_REMOTE_SEMAPHORE_FIRST;
}
bool differ_unless_none(uint8_t a, uint8_t b) { return a != b || a == WEFT_NO_SEMAPHORE; }

std::optional<Fault> check_semaphores(const spec::CommandHeader& h) {
  const bool posts_allowed = h.opcode != WEFT_OPCODE_WAIT;
  FieldCheck check(WEFT_FAULT_ILLEGAL_FIELD);
  check.require(semaphore_legal(h.wait_sem0, h.wait_count0), 4);
  check.require(semaphore_legal(h.wait_sem1, h.wait_count1) && differ_unless_none(h.wait_sem0, h.wait_sem1), 5);
  check.require(semaphore_legal(h.post_sem0, h.post_count0) && (posts_allowed || h.post_sem0 == WEFT_NO_SEMAPHORE), 6);
  check.require(semaphore_legal(h.post_sem1, h.post_count1) && differ_unless_none(h.post_sem0, h.post_sem1) &&
                    (posts_allowed || h.post_sem1 == WEFT_NO_SEMAPHORE) && remote_post_legal(h),
                7);
  return check.fault();
}

// DMA

std::optional<Fault> check_dma_fields(const spec::DmaCommand& c, unsigned queue) {
  const bool fill = c.header.opcode == WEFT_OPCODE_FILL;
  const bool in = queue == WEFT_QUEUE_DMA_IN;
  FieldCheck check(WEFT_FAULT_ILLEGAL_FIELD);
  const bool source_ok = fill ? c.src_seg == 0 : in ? c.src_seg != 0 : c.src_seg == 0;
  constexpr size_t kEntries = std::tuple_size_v<SegmentTable>;
  check.require(c.src_seg < kEntries && source_ok, 16);
  // The receiver of a remote COPY looks in version 0.
  check.require(
      c.dst_seg < (is_remote(c.header) ? WEFT_SEGMENTS : kEntries) && (is_remote(c.header) || (c.dst_seg == 0) == in),
      17);
  check.require(is_remote(c.header) || c.remote_chip == 0, 18);
  check.require(!fill || c.src_off <= UINT32_MAX, 20);
  check.require(c.size0 != 0, 30);
  check.require(c.size1 != 0, 34);
  check.require(c.size2 != 0, 36);
  check.require(c.size3 != 0, 38);
  check.require(!fill || c.src_stride1 == 0, 40);
  check.require(!fill || c.src_stride2 == 0, 44);
  check.require(!fill || c.src_stride3 == 0, 48);
  return check.fault();
}

std::optional<Fault> check_dma_alignment(const spec::DmaCommand& c, const Chip& chip) {
  const bool fill = c.header.opcode == WEFT_OPCODE_FILL;
  const auto granule = [&](uint8_t segment) {
    return segment == 0 ? static_cast<int64_t>(chip.word_bytes) : int64_t{WEFT_CORE_DMA_GRANULE_BYTES};
  };
  const int64_t source = granule(c.src_seg);
  const int64_t destination = granule(c.dst_seg);
  FieldCheck check(WEFT_FAULT_ALIGNMENT);
  check.require(fill || static_cast<int64_t>(c.src_off) % source == 0, 20);
  check.require(static_cast<int64_t>(c.dst_off) % destination == 0, 25);
  check.require(c.size0 % WEFT_CORE_DMA_GRANULE_BYTES == 0, 30);
  check.require(c.src_stride1 % source == 0, 40);
  check.require(c.src_stride2 % source == 0, 44);
  check.require(c.src_stride3 % source == 0, 48);
  check.require(c.dst_stride1 % destination == 0, 52);
  check.require(c.dst_stride2 % destination == 0, 56);
  check.require(c.dst_stride3 % destination == 0, 60);
  return check.fault();
}

std::optional<Fault> check_dma_side(const DmaSide& side, const spec::DmaCommand& c, uint64_t limit) {
  const DmaExtent extent = dma_extent(side, c);
  if (extent.first < 0) return Fault{WEFT_FAULT_RANGE, static_cast<uint64_t>(extent.first)};
  if (static_cast<uint64_t>(extent.end) > limit) return Fault{WEFT_FAULT_RANGE, limit};
  return std::nullopt;
}

std::optional<Fault> check_dma(const Command& command, unsigned queue, const Chip& chip, const SegmentTable& segments,
                               const SlicePlace& place) {
  const auto c = spec::decode_dma(command);
  const bool copy = c.header.opcode == WEFT_OPCODE_COPY;
  if (auto fault = check_dma_fields(c, queue)) return fault;
  if (auto fault = check_dma_alignment(c, chip)) return fault;
  const auto mapped = [&](uint8_t s) { return segments[s].space != WEFT_ADDRESS_SPACE_NONE; };
  if (copy && c.src_seg != 0 && !(mapped(c.src_seg) && segments[c.src_seg].readable))
    return Fault{WEFT_FAULT_SEGMENT, c.src_seg % uint64_t{kSegmentVersion1}};
  const bool remote = is_remote(c.header);
  if (!remote && c.dst_seg != 0 && !(mapped(c.dst_seg) && segments[c.dst_seg].writable))
    return Fault{WEFT_FAULT_SEGMENT, c.dst_seg % uint64_t{kSegmentVersion1}};
  const auto limit = [&](uint8_t s) { return s == 0 ? chip.vmem_bytes : segments[s].limit; };
  if (copy)
    if (auto fault = check_dma_side(dma_source(c), c, limit(c.src_seg))) return fault;
  if (remote) {  // the destination is the receiver's to check
    if (c.remote_chip < place.chips && c.remote_chip != place.chip) return std::nullopt;
    return ici_fault(WEFT_ICI_CAUSE_NO_SUCH_CHIP, c.remote_chip, 0);
  }
  return check_dma_side(dma_destination(c), c, limit(c.dst_seg));
}

// GATHER and SCATTER

std::optional<Fault> check_indexed_fields(const spec::IndexedCommand& c) {
  constexpr size_t kEntries = std::tuple_size_v<SegmentTable>;
  FieldCheck check(WEFT_FAULT_ILLEGAL_FIELD);
  check.require(c.src_seg < kEntries && (c.src_seg != 0) == is_gather(c), 16);
  check.require(c.dst_seg < kEntries && (c.dst_seg == 0) == is_gather(c), 17);
  check.require(c.row_bytes != 0, 30);
  check.require(c.count != 0, 34);
  check.require(c.table_rows != 0 && c.table_rows <= INT32_MAX, 36);
  return check.fault();
}

std::optional<Fault> check_indexed_alignment(const spec::IndexedCommand& c, const Chip& chip) {
  const int64_t word = chip.word_bytes, granule = WEFT_CORE_DMA_GRANULE_BYTES;
  const int64_t source = is_gather(c) ? granule : word, destination = is_gather(c) ? word : granule;
  FieldCheck check(WEFT_FAULT_ALIGNMENT);
  check.require(static_cast<int64_t>(c.src_off) % source == 0, 20);
  check.require(static_cast<int64_t>(c.dst_off) % destination == 0, 25);
  check.require(c.row_bytes % granule == 0, 30);
  check.require(c.src_stride % source == 0, 40);
  check.require(c.index_off % word == 0, 44);
  check.require(c.dst_stride % destination == 0, 52);
  return check.fault();
}

std::optional<Fault> check_indexed(const Command& command, const Chip& chip, const SegmentTable& segments) {
  const auto c = spec::decode_indexed(command);
  if (auto fault = check_indexed_fields(c)) return fault;
  if (auto fault = check_indexed_alignment(c, chip)) return fault;
  const IndexedSide table = indexed_table(c), rows = indexed_rows(c);
  const Segment& segment = segments[table.segment];
  if (segment.space == WEFT_ADDRESS_SPACE_NONE || !(is_gather(c) ? segment.readable : segment.writable))
    return Fault{WEFT_FAULT_SEGMENT, table.segment % uint64_t{kSegmentVersion1}};
  const auto check_side = [&](const IndexedSide& side) -> std::optional<Fault> {
    const DmaExtent extent = indexed_extent(side, c);
    const uint64_t limit = side.segment == 0 ? chip.vmem_bytes : segment.limit;
    if (extent.first < 0) return Fault{WEFT_FAULT_RANGE, static_cast<uint64_t>(extent.first)};
    if (static_cast<uint64_t>(extent.end) > limit) return Fault{WEFT_FAULT_RANGE, limit};
    return std::nullopt;
  };
  if (auto fault = check_side(is_gather(c) ? table : rows)) return fault;
  if (auto fault = check_side(is_gather(c) ? rows : table)) return fault;
  if (uint64_t{c.index_off} + sizeof(int32_t) * c.count > chip.vmem_bytes)
    return Fault{WEFT_FAULT_RANGE, chip.vmem_bytes};
  return std::nullopt;
}

// BARRIER

std::optional<Fault> check_barrier(const Command& command, const SlicePlace& place) {
  const auto c = spec::decode_barrier(command);
  const auto stride_legal = [](unsigned count, unsigned stride) { return (stride >= 1) == (count > 1); };
  FieldCheck check(WEFT_FAULT_ILLEGAL_FIELD);
  check.require(c.count0 >= 1, 18);
  check.require(c.count1 >= 1, 20);
  check.require(c.count2 >= 1, 22);
  check.require(stride_legal(c.count0, c.stride0), 24);
  check.require(stride_legal(c.count1, c.stride1), 26);
  check.require(stride_legal(c.count2, c.stride2), 28);
  if (check.fault()) return check.fault();
  if (!barrier_legal(c, place)) return ici_fault(WEFT_ICI_CAUSE_BARRIER_GROUP, c.base, 0);
  return std::nullopt;
}

// MXU

std::optional<Fault> check_mxu(const Command& command, const Chip& chip) {
  const auto c = spec::decode_mxu(command);
  FieldCheck check(WEFT_FAULT_ILLEGAL_FIELD);
  check.require(c.k != 0, 36);
  check.require(c.m != 0, 40);
  check.require(c.cols != 0 && c.cols <= chip.n, 42);
  check.require(c.seed == WEFT_MXU_SEED_ZERO || c.seed == WEFT_MXU_SEED_KEEP, 46);
  check.require(c.dtype == WEFT_MXU_DTYPE_BF16 || c.dtype == WEFT_MXU_DTYPE_INT8, 47);
  check.require(c.mxu < chip.num_mxu, 48);
  if (check.fault()) return check.fault();

  const unsigned bank = chip.acc_bank_rows;
  if (c.acc_row >= 2 * bank || c.acc_row % bank + c.m > bank) return Fault{WEFT_FAULT_ACC_RANGE, c.acc_row};

  const MatmulTiles tiles = matmul_tiles(c, chip);
  const uint64_t last_x = c.x_addr + uint64_t{c.m - 1u} * c.x_row_stride + (tiles.count - 1) * c.x_tile_stride;
  uint64_t last_w = c.w_addr + (tiles.count - 1) * c.w_tile_stride + tiles.last_words - 1;
  if (tiles.count > 1) last_w = std::max(last_w, c.w_addr + (tiles.count - 2) * c.w_tile_stride + chip.n - 1);
  if (last_x >= chip.vmem_words || last_w >= chip.vmem_words) return Fault{WEFT_FAULT_RANGE, chip.vmem_bytes};
  return std::nullopt;
}

// VPU

/// A set of enum values as bits.
constexpr unsigned bit(unsigned value) { return 1u << value; }
constexpr bool in_set(unsigned value, uint64_t set) { return value < 64 && (set >> value & 1) != 0; }

/// A row of the table in docs/command_checks.md. Destination types are given for each source type.
struct VpuRule {
  uint8_t opcode;
  uint64_t ops;
  bool same_type;  // else the destinations of each source type
  unsigned sources, from_f32, from_bf16, from_i32, from_i8;
  unsigned b_modes, activations;
};
constexpr unsigned kF32 = bit(WEFT_VPU_DTYPE_F32), kBf16 = bit(WEFT_VPU_DTYPE_BF16), kI32 = bit(WEFT_VPU_DTYPE_I32),
                   kI8 = bit(WEFT_VPU_DTYPE_I8);
constexpr unsigned kAnyWide = kF32 | kBf16 | kI32;
constexpr unsigned kNoB = bit(WEFT_VPU_B_MODE_NONE), kTensorB = bit(WEFT_VPU_B_MODE_TENSOR),
                   kVectorB = bit(WEFT_VPU_B_MODE_ROW) | bit(WEFT_VPU_B_MODE_COLUMN),
                   kAnyB = kTensorB | kVectorB | bit(WEFT_VPU_B_MODE_SCALAR),
                   kResidualB = bit(WEFT_VPU_B_MODE_RESIDUAL), kScaledB = bit(WEFT_VPU_B_MODE_SCALED),
                   kEpilogueB = kNoB | kTensorB | kVectorB | kResidualB | kScaledB;
constexpr unsigned kIdentity = bit(WEFT_VPU_ACTIVATION_NONE), kRelu = bit(WEFT_VPU_ACTIVATION_RELU),
                   kAnyActivation = kIdentity | kRelu | bit(WEFT_VPU_ACTIVATION_LEAKY) | bit(WEFT_VPU_ACTIVATION_CLAMP);
/// Operations `first` to `last`.
constexpr uint64_t ops(weft_vpu_op first, weft_vpu_op last) { return (uint64_t{2} << last) - (uint64_t{1} << first); }
constexpr unsigned kNoOp = bit(WEFT_VPU_OP_NONE);
constexpr VpuRule kVpuRules[] = {
    {WEFT_OPCODE_ELEMENTWISE, kNoOp, false, kAnyWide, kF32 | kBf16, kBf16, kI32, 0, kNoB, kAnyActivation},
    {WEFT_OPCODE_ELEMENTWISE, ops(WEFT_VPU_OP_ADD, WEFT_VPU_OP_MAX) | ops(WEFT_VPU_OP_FMA, WEFT_VPU_OP_GE), false,
     kAnyWide, kF32 | kBf16, kBf16, kI32, 0, kAnyB, kIdentity},
    {WEFT_OPCODE_ELEMENTWISE, ops(WEFT_VPU_OP_AND, WEFT_VPU_OP_GEU), true, kI32, 0, 0, 0, 0, kAnyB, kIdentity},
    {WEFT_OPCODE_ELEMENTWISE, ops(WEFT_VPU_OP_EXP2, WEFT_VPU_OP_ERF), false, kF32 | kBf16, kF32 | kBf16, kBf16, 0, 0,
     kNoB, kIdentity},
    {WEFT_OPCODE_ELEMENTWISE, bit(WEFT_VPU_OP_IOTA), true, kI32, 0, 0, 0, 0, kNoB, kIdentity},
    {WEFT_OPCODE_ELEMENTWISE, ops(WEFT_VPU_OP_ROTATE, WEFT_VPU_OP_ROTATE), false, kAnyWide, kF32 | kBf16, kBf16, kI32,
     0, kNoB | kTensorB | bit(WEFT_VPU_B_MODE_ROW), kIdentity},
    {WEFT_OPCODE_REDUCE, ops(WEFT_VPU_OP_SUM, WEFT_VPU_OP_RMIN), true, kAnyWide, 0, 0, 0, 0, kNoB, kIdentity},
    {WEFT_OPCODE_TRANSPOSE, kNoOp, true, kAnyWide, 0, 0, 0, 0, kNoB, kIdentity},
    {WEFT_OPCODE_EPILOGUE, kNoOp, false, kF32 | kI32, kF32 | kBf16, 0, kI32 | kI8, 0, kEpilogueB, kAnyActivation},
    {WEFT_OPCODE_EPILOGUE, bit(WEFT_VPU_OP_UPPER), false, kI32, 0, 0, kI8, 0, kEpilogueB, kAnyActivation},
    {WEFT_OPCODE_CAST, kNoOp, false, kAnyWide | kI8, kBf16 | kI32 | kI8, kF32, kF32 | kI8, kF32 | kI32, kNoB | kTensorB,
     kIdentity},
    {WEFT_OPCODE_CAST, bit(WEFT_VPU_OP_UPPER), false, kI8, 0, 0, 0, kF32 | kI32, kNoB, kIdentity},
};

unsigned destinations(const VpuRule& rule, uint8_t src_dtype) {
  if (rule.same_type) return src_dtype < 32 ? bit(src_dtype) : 0;
  switch (src_dtype) {
    case WEFT_VPU_DTYPE_F32:
      return rule.from_f32;
    case WEFT_VPU_DTYPE_BF16:
      return rule.from_bf16;
    case WEFT_VPU_DTYPE_I32:
      return rule.from_i32;
    case WEFT_VPU_DTYPE_I8:
      return rule.from_i8;
    default:
      return 0;
  }
}

/// What the table's b mode and activation columns leave to the types.
unsigned b_modes(const VpuRule& rule, const spec::VpuCommand& c) {
  const bool to_i8 = c.dst_dtype == WEFT_VPU_DTYPE_I8;
  if (rule.opcode == WEFT_OPCODE_CAST && !to_i8) return rule.b_modes & ~kTensorB;
  return rule.b_modes & ~(to_i8 ? kResidualB : kScaledB);
}
unsigned activations(const VpuRule& rule, const spec::VpuCommand& c) {
  if (c.dst_dtype == WEFT_VPU_DTYPE_I8 || keeps_row(c)) return rule.activations & (kIdentity | kRelu);
  const unsigned floats_only = bit(WEFT_VPU_ACTIVATION_LEAKY);
  return c.src_dtype == WEFT_VPU_DTYPE_I32 ? rule.activations & ~floats_only : rule.activations;
}
bool uses_scalar(const spec::VpuCommand& c) {
  return c.b_mode == WEFT_VPU_B_MODE_SCALAR || c.activation == WEFT_VPU_ACTIVATION_CLAMP || c.op == WEFT_VPU_OP_IOTA ||
         c.op == WEFT_VPU_OP_ROTATE;
}
bool uses_scalar2(const spec::VpuCommand& c) {
  constexpr uint64_t kOps =
      ops(WEFT_VPU_OP_FMA, WEFT_VPU_OP_SELECT) | bit(WEFT_VPU_OP_IOTA) | ops(WEFT_VPU_OP_ROTATE, WEFT_VPU_OP_ROTATE);
  return in_set(c.op, kOps) || c.activation == WEFT_VPU_ACTIVATION_LEAKY || c.activation == WEFT_VPU_ACTIVATION_CLAMP ||
         c.dst_dtype == WEFT_VPU_DTYPE_I8 || keeps_row(c);
}
bool has_zero_point(const spec::VpuCommand& c) {
  return c.dst_dtype == WEFT_VPU_DTYPE_I8 &&
         (c.header.opcode == WEFT_OPCODE_EPILOGUE || c.header.opcode == WEFT_OPCODE_CAST);
}

std::optional<Fault> check_vpu_fields(const spec::VpuCommand& c, const Chip& chip) {
  const auto* rule = std::ranges::find_if(
      kVpuRules, [&](const VpuRule& r) { return r.opcode == c.header.opcode && in_set(c.op, r.ops); });
  if (rule == std::end(kVpuRules)) return Fault{WEFT_FAULT_ILLEGAL_FIELD, 16};
  const bool acc = c.header.opcode == WEFT_OPCODE_EPILOGUE, reduce = c.header.opcode == WEFT_OPCODE_REDUCE;
  const bool iota = c.op == WEFT_VPU_OP_IOTA, rotate = c.op == WEFT_VPU_OP_ROTATE,
             windows = c.axis == WEFT_VPU_AXIS_ROWS;
  const bool transpose = c.header.opcode == WEFT_OPCODE_TRANSPOSE;
  const bool vector_b =
      c.b_mode == WEFT_VPU_B_MODE_TENSOR || c.b_mode == WEFT_VPU_B_MODE_COLUMN || c.b_mode == WEFT_VPU_B_MODE_RESIDUAL;
  FieldCheck check(WEFT_FAULT_ILLEGAL_FIELD);
  check.require(c.src_space == (acc ? WEFT_VPU_SPACE_ACC : WEFT_VPU_SPACE_VMEM), 17);
  check.require(in_set(c.src_dtype, rule->sources), 18);
  check.require(in_set(c.dst_dtype, destinations(*rule, c.src_dtype)), 19);
  check.require(c.rows != 0 && (!transpose || c.rows <= chip.n), 20);
  check.require(c.cols != 0 && c.cols <= chip.n, 22);
  check.require(!iota || c.a_addr == 0, 24);
  check.require(!iota || c.a_stride == 0, 28);
  check.require(c.b_addr == 0 || (c.b_mode != WEFT_VPU_B_MODE_NONE && c.b_mode != WEFT_VPU_B_MODE_SCALAR), 32);
  check.require(c.b_stride == 0 || vector_b || windows, 36);
  if (has_zero_point(c))
    check.require(zero_point(c) >= -128 && zero_point(c) <= 127, 48);
  else
    check.require(c.scalar == 0 || uses_scalar(c), 48);
  check.require(!rotate || c.scalar < chip.n, 48);
  check.require(in_set(c.b_mode, b_modes(*rule, c)), 52);
  check.require(in_set(c.activation, activations(*rule, c)), 53);
  check.require(c.axis == WEFT_VPU_AXIS_LANES || (reduce && windows), 54);
  check.require(c.scalar2 == 0 || uses_scalar2(c), 56);
  if (rotate) {
    const RotatedLanes lanes = rotated_lanes(c);
    check.require(lanes.first < lanes.end && lanes.end <= chip.n, 56);
  }
  check.require((c.window != 0) == windows, 60);
  return check.fault();
}

std::optional<Fault> check_vpu_alignment(const spec::VpuCommand& c) {
  const bool source_pairs = words_per_row(c.src_dtype) == 2;
  const bool a_pairs = source_pairs && c.src_space == WEFT_VPU_SPACE_VMEM;
  const bool d_pairs = words_per_row(c.dst_dtype) == 2;
  FieldCheck check(WEFT_FAULT_ALIGNMENT);
  check.require(!a_pairs || c.a_addr % 2 == 0, 24);
  check.require(!a_pairs || c.a_stride % 2 == 0, 28);
  check.require(!source_pairs || c.b_addr % 2 == 0, 32);
  check.require(!source_pairs || c.b_stride % 2 == 0, 36);
  check.require(!d_pairs || c.d_addr % 2 == 0, 40);
  check.require(!d_pairs || c.d_stride % 2 == 0, 44);
  check.require(!keeps_row(c) || c.scalar2 % 2 == 0, 56);
  return check.fault();
}

std::optional<Fault> check_vpu(const Command& command, const Chip& chip) {
  const auto c = spec::decode_vpu(command);
  if (auto fault = check_vpu_fields(c, chip)) return fault;
  if (auto fault = check_vpu_alignment(c)) return fault;
  const VpuRows rows = vpu_rows(c, chip);
  const auto last_of = [](uint64_t first, uint64_t count, uint64_t stride) { return first + (count - 1) * stride; };
  const uint64_t last_a = last_of(c.a_addr, c.rows, c.a_stride) + (rows.window - 1) * c.b_stride;
  if (c.src_space == WEFT_VPU_SPACE_ACC && last_a >= acc_rows(chip)) return Fault{WEFT_FAULT_ACC_RANGE, c.a_addr};

  const unsigned src_words = words_per_row(c.src_dtype), dst_words = words_per_row(c.dst_dtype);
  const auto outside = [&](uint64_t last, unsigned words) { return last + words - 1 >= chip.vmem_words; };
  if ((c.src_space == WEFT_VPU_SPACE_VMEM && outside(last_a, src_words)) ||
      (rows.b != 0 && outside(last_of(c.b_addr, rows.b, c.b_stride), src_words)) ||
      (rows.kept != 0 && outside(c.scalar2, 2)) || outside(last_of(c.d_addr, rows.d, c.d_stride), dst_words))
    return Fault{WEFT_FAULT_RANGE, chip.vmem_bytes};
  return std::nullopt;
}

}  // namespace

uint32_t acc_rows(const Chip& chip) { return chip.num_mxu * 2 * chip.acc_bank_rows; }

uint32_t first_acc_row(const spec::MxuCommand& command, const Chip& chip) {
  return command.mxu * 2 * chip.acc_bank_rows + command.acc_row;
}

MatmulTiles matmul_tiles(const spec::MxuCommand& command, const spec::Chip& chip) {
  const uint64_t per_word = command.dtype == WEFT_MXU_DTYPE_INT8 ? 2 : 1;
  const uint64_t per_tile = chip.n * per_word;
  const uint64_t count = (command.k + per_tile - 1) / per_tile;
  const uint64_t rest = command.k - (count - 1) * per_tile;
  return {per_tile, count, (rest + per_word - 1) / per_word};
}

VpuRows vpu_rows(const spec::VpuCommand& c, const spec::Chip& chip) {
  VpuRows rows{c.rows, 1, 0, 0, c.rows};
  if (c.axis == WEFT_VPU_AXIS_ROWS) rows.window = c.window, rows.a = uint64_t{c.rows} * c.window;
  if (c.op == WEFT_VPU_OP_IOTA) rows.a = 0;
  if (c.header.opcode == WEFT_OPCODE_TRANSPOSE) rows.d = c.cols;
  if (c.b_mode == WEFT_VPU_B_MODE_TENSOR || c.b_mode == WEFT_VPU_B_MODE_RESIDUAL) rows.b = c.rows;
  if (c.b_mode == WEFT_VPU_B_MODE_ROW || c.b_mode == WEFT_VPU_B_MODE_SCALED) rows.b = 1;
  if (keeps_row(c)) rows.kept = 1;
  if (c.b_mode == WEFT_VPU_B_MODE_COLUMN) rows.b = (uint64_t{c.rows} + chip.n - 1) / chip.n;
  return rows;
}

std::optional<Fault> check_header(const Command& command, unsigned queue, const SlicePlace& place) {
  const auto header = spec::decode_header(command);
  const spec::OpcodeInfo* opcode = spec::find_opcode(header.opcode);
  const bool built = opcode != nullptr && (opcode->built || (opcode->slice && !place.alone()));
  if (!built || (opcode->queue_mask >> queue & 1) == 0) return Fault{WEFT_FAULT_ILLEGAL_OPCODE, header.opcode};
  if (!flags_legal(header, queue, place)) return Fault{WEFT_FAULT_ILLEGAL_FIELD, 1};
  if (const auto offset = first_reserved_byte(command, opcode->body)) return Fault{WEFT_FAULT_ILLEGAL_FIELD, *offset};
  return check_semaphores(header);
}

std::optional<Fault> check_unit(const Command& command, unsigned queue, const Chip& chip, const SegmentTable& segments,
                                const SlicePlace& place) {
  switch (spec::find_opcode(command.bytes[0])->body) {
    case Body::kDma:
      return check_dma(command, queue, chip, segments, place);
    case Body::kIndexed:
      return check_indexed(command, chip, segments);
    case Body::kMxu:
      return check_mxu(command, chip);
    case Body::kVpu:
      return check_vpu(command, chip);
    case Body::kBarrier:
      return check_barrier(command, place);
    case Body::kNone:
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Fault> check_command(const Command& command, unsigned queue, const Chip& chip,
                                   const SegmentTable& segments, const SlicePlace& place) {
  if (auto fault = check_header(command, queue, place)) return fault;
  return check_unit(command, queue, chip, segments, place);
}

}  // namespace weft::golden
