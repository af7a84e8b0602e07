// A tensor core on a bench.
#include "testbench/unit/model_core/core_bench.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>
#include <stdexcept>

namespace weft::bench {

namespace {
/// Mixes the bits of a number: the same cycle is always judged alike, however often the core asks.
uint64_t mix(uint64_t value) {
  value = (value + 1) * 0x9e3779b97f4a7c15;
  return (value ^ value >> 31) * 0xbf58476d1ce4e5b9 >> 33;
}
}  // namespace

SimpleBus::SimpleBus(const spec::Chip& chip)
    : bytes_per_cycle_(chip.hbm_bytes_per_second / chip.clock_hz),
      read_latency_(chip.hbm_read_latency_cycles),
      write_latency_(chip.hbm_write_latency_cycles),
      hbm_(kBytes),
      host_(kBytes) {}

bool SimpleBus::good(weft_address_space space, uint64_t address, uint64_t bytes) const {
  if (space != WEFT_ADDRESS_SPACE_HBM && space != WEFT_ADDRESS_SPACE_HOST) return false;
  if (address > kBytes || bytes > kBytes - address) return false;
  return bad_address < address || bad_address >= address + bytes;
}

bool SimpleBus::read(weft_address_space space, uint64_t address, std::span<std::byte> out) {
  if (!good(space, address, out.size())) return false;
  std::memcpy(out.data(), memory(space).data() + address, out.size());
  return true;
}

bool SimpleBus::write(weft_address_space space, uint64_t address, std::span<const std::byte> data) {
  if (!good(space, address, data.size())) return false;
  std::memcpy(memory(space).data() + address, data.data(), data.size());
  return true;
}

uint64_t SimpleBus::book(uint64_t bytes, uint64_t cycle) {
  free_at_bytes_ = std::max(free_at_bytes_, cycle * bytes_per_cycle_) + bytes;
  return (free_at_bytes_ + bytes_per_cycle_ - 1) / bytes_per_cycle_;
}
uint64_t SimpleBus::schedule_read(weft_address_space, uint64_t bytes, uint64_t cycle) {
  return book(bytes, cycle) + read_latency_ + late(cycle);
}
uint64_t SimpleBus::schedule_write(weft_address_space, uint64_t bytes, uint64_t cycle) {
  return book(bytes, cycle) + (writes_are_quick ? 0 : write_latency_) + late(cycle);
}
uint64_t SimpleBus::late(uint64_t cycle) const { return refuse_percent == 0 ? 0 : mix(~cycle) % 20; }
bool SimpleBus::congested(weft_address_space space, uint64_t cycle) const {
  return free_at_bytes_ > (cycle + 64) * bytes_per_cycle_ || mix(4 * cycle + space) % 100 < refuse_percent;
}

spec::CommandHeader header(weft_opcode opcode, uint16_t tag, const Semaphores& s) {
  spec::CommandHeader h;
  h.opcode = static_cast<uint8_t>(opcode);
  h.tag = tag;
  h.wait_sem0 = s.wait0, h.wait_count0 = s.wait_count0;
  h.wait_sem1 = s.wait1, h.wait_count1 = s.wait_count1;
  h.post_sem0 = s.post0, h.post_count0 = s.post_count0;
  h.post_sem1 = s.post1, h.post_count1 = s.post_count1;
  return h;
}

spec::Command sync_command(weft_opcode opcode, uint16_t tag, const Semaphores& semaphores) {
  return encode(spec::NoneCommand{header(opcode, tag, semaphores)});
}

namespace {
const spec::Chip& chip_of(std::string_view name) {
  const spec::Chip* chip = spec::find_chip(name);
  if (chip == nullptr) throw std::invalid_argument("no chip " + std::string(name));
  return *chip;
}
}  // namespace

CoreBench::CoreBench(std::string_view name, core::CoreKind kind, const core::CoreOptions& options)
    : chip(chip_of(name)), bus(chip) {
  std::string error;
  core = core::make_core(kind, chip, bus, options, error);
  if (!core) throw std::runtime_error(error);
  const std::array<std::pair<unsigned, weft_address_space>, 2> segments{
      {{1, WEFT_ADDRESS_SPACE_HBM}, {3, WEFT_ADDRESS_SPACE_HOST}}};
  for (const auto& [index, space] : segments) {
    const uint32_t at = index * WEFT_CSR_SEGMENT_BASE_STRIDE;
    write(WEFT_CSR_SEGMENT_BASE + at, 0);
    write(WEFT_CSR_SEGMENT_LIMIT + at, SimpleBus::kBytes);
    write(WEFT_CSR_SEGMENT_ATTRIBUTES + at, uint64_t{space} | 0xc);
  }
}

bool CoreBench::push(unsigned queue, const spec::Command& command) {
  for (const uint64_t start = core->cycle(); core->cycle() < start + 1'000'000; core->advance(core->cycle() + 1))
    if (core->push(queue, command)) return true;
  return false;
}

bool CoreBench::run(uint64_t limit_cycles) {
  const uint64_t end = core->cycle() + limit_cycles;
  while (core->busy() && core->cycle() < end) core->advance(core->cycle() + 1);  // not further: an idle core would jump
  return !core->busy();
}

void CoreBench::write(uint32_t offset, uint64_t value) {
  core->write_csr(offset, value);
  core->advance(core->cycle() + 1);
}

void CoreBench::skip(uint64_t cycles) {
  for (const uint64_t end = core->cycle() + cycles; core->cycle() < end;) core->advance(end);
}

void CoreBench::reset() {
  write(WEFT_CSR_CONTROL, 1);
  skip(WEFT_CORE_CORE_RESET_CYCLES + 1);
}

std::array<uint64_t, WEFT_COUNTERS> CoreBench::counters() {
  write(WEFT_CSR_COUNTER_SNAPSHOT, 1);
  std::array<uint64_t, WEFT_COUNTERS> values{};
  for (unsigned i = 0; i < WEFT_COUNTERS; i++) values[i] = read(WEFT_CSR_COUNTER + i * WEFT_CSR_COUNTER_STRIDE);
  return values;
}

FaultInfo fault(CoreBench& bench) {
  const uint64_t code = bench.read(WEFT_CSR_FAULT_CODE);
  return {static_cast<unsigned>(code & 0xff),       static_cast<unsigned>(code >> 8 & 0xff),
          static_cast<unsigned>(code >> 16 & 0xff), static_cast<unsigned>(code >> 32 & 0xffff),
          bench.read(WEFT_CSR_FAULT_ADDRESS),       bench.read(WEFT_CSR_FAULT_CYCLE),
          bench.read(WEFT_CSR_FAULT_COUNT)};
}

namespace {

uint16_t bf16(float value) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16); }
float f32(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

template <typename T>
T load(const std::vector<std::byte>& memory, uint64_t address) {
  T value;
  std::memcpy(&value, memory.data() + address, sizeof value);
  return value;
}
template <typename T>
void store(std::vector<std::byte>& memory, uint64_t address, T value) {
  std::memcpy(memory.data() + address, &value, sizeof value);
}

}  // namespace

void MatmulProgram::place(CoreBench& bench, unsigned seed) const {
  std::mt19937 random(seed);
  auto small = [&] { return static_cast<float>(static_cast<int>(random() % 9) - 4); };
  auto& hbm = bench.bus.memory(WEFT_ADDRESS_SPACE_HBM);
  const unsigned n = bench.chip.n;
  const unsigned k = tiles * n;
  for (unsigned i = 0; i < m * k; i++) store(hbm, x_address + 2 * i, bf16(small()));
  for (unsigned i = 0; i < k * n; i++) store(hbm, w_address + 2 * i, bf16(small()));
  for (unsigned i = 0; i < n; i++) store(hbm, b_address + 4 * i, small());
}

bool MatmulProgram::push(CoreBench& bench) const {
  const unsigned n = bench.chip.n;
  const unsigned k = tiles * n;
  const unsigned word = bench.chip.word_bytes;
  // VMEM words: x tile by tile, weights, bias (two words), y (two words a row, even).
  const uint32_t x_word = 0, w_word = tiles * m, b_word = (w_word + k + 1) & ~1u, y_word = b_word + 2;
  constexpr uint8_t kLoaded = 0, kComputed = 1, kBias = 2, kDone = 3;

  spec::DmaCommand x;
  x.header = header(WEFT_OPCODE_COPY, first_tag, {.post0 = kLoaded, .post_count0 = 1});
  x.src_seg = 1, x.src_off = x_address, x.dst_off = x_word * word;
  x.size0 = word, x.size1 = static_cast<uint16_t>(m), x.size2 = static_cast<uint16_t>(tiles);
  x.src_stride1 = static_cast<int32_t>(2 * k), x.src_stride2 = static_cast<int32_t>(2 * n);
  x.dst_stride1 = static_cast<int32_t>(word), x.dst_stride2 = static_cast<int32_t>(m * word);

  spec::DmaCommand w;
  w.header = header(WEFT_OPCODE_COPY, static_cast<uint16_t>(first_tag + 1), {.post0 = kLoaded, .post_count0 = 1});
  w.src_seg = 1, w.src_off = w_address, w.dst_off = uint64_t{w_word} * word, w.size0 = k * word;

  spec::DmaCommand b;
  b.header = header(WEFT_OPCODE_COPY, static_cast<uint16_t>(first_tag + 2), {.post0 = kBias, .post_count0 = 1});
  b.src_seg = 1, b.src_off = b_address, b.dst_off = uint64_t{b_word} * word, b.size0 = 2 * word;

  spec::MxuCommand product;
  product.header = header(WEFT_OPCODE_MATMUL, static_cast<uint16_t>(first_tag + 3),
                          {.wait0 = kLoaded, .wait_count0 = 2, .post0 = kComputed, .post_count0 = 1});
  product.x_addr = x_word, product.x_row_stride = 1, product.x_tile_stride = m;
  product.w_addr = w_word, product.w_tile_stride = n;
  product.k = k, product.m = static_cast<uint16_t>(m), product.cols = static_cast<uint16_t>(cols);
  product.seed = WEFT_MXU_SEED_ZERO, product.dtype = WEFT_MXU_DTYPE_BF16;

  spec::VpuCommand epilogue;
  epilogue.header = header(
      WEFT_OPCODE_EPILOGUE, static_cast<uint16_t>(first_tag + 4),
      {.wait0 = kComputed, .wait_count0 = 1, .wait1 = kBias, .wait_count1 = 1, .post0 = kDone, .post_count0 = 1});
  epilogue.src_space = WEFT_VPU_SPACE_ACC, epilogue.src_dtype = WEFT_VPU_DTYPE_F32,
  epilogue.dst_dtype = WEFT_VPU_DTYPE_F32;
  epilogue.rows = static_cast<uint16_t>(m), epilogue.cols = static_cast<uint16_t>(cols);
  epilogue.a_addr = 0, epilogue.a_stride = 1, epilogue.b_addr = b_word, epilogue.d_addr = y_word, epilogue.d_stride = 2;
  epilogue.b_mode = WEFT_VPU_B_MODE_ROW, epilogue.activation = WEFT_VPU_ACTIVATION_RELU;

  spec::DmaCommand y;
  y.header = header(WEFT_OPCODE_COPY, static_cast<uint16_t>(first_tag + 5), {.wait0 = kDone, .wait_count0 = 1});
  y.dst_seg = 1, y.src_off = uint64_t{y_word} * word, y.dst_off = y_address, y.size0 = m * 2 * word;

  return bench.push(WEFT_QUEUE_DMA_IN, encode(x)) && bench.push(WEFT_QUEUE_DMA_IN, encode(w)) &&
         bench.push(WEFT_QUEUE_DMA_IN, encode(b)) && bench.push(WEFT_QUEUE_MXU, encode(product)) &&
         bench.push(WEFT_QUEUE_VPU, encode(epilogue)) && bench.push(WEFT_QUEUE_DMA_OUT, encode(y));
}

std::vector<float> MatmulProgram::expected(CoreBench& bench) const {
  const auto& hbm = bench.bus.memory(WEFT_ADDRESS_SPACE_HBM);
  const unsigned n = bench.chip.n;
  const unsigned k = tiles * n;
  std::vector<float> y(size_t{m} * n);
  for (unsigned r = 0; r < m; r++) {
    for (unsigned c = 0; c < cols; c++) {
      float sum = 0;
      for (unsigned i = 0; i < k; i++)
        sum += f32(load<uint16_t>(hbm, x_address + 2 * (r * k + i))) *
               f32(load<uint16_t>(hbm, w_address + 2 * (i * n + c)));
      y[r * n + c] = std::max(sum + load<float>(hbm, b_address + 4 * c), 0.0f);
    }
  }
  return y;
}

std::vector<float> MatmulProgram::result(CoreBench& bench) const {
  const auto& hbm = bench.bus.memory(WEFT_ADDRESS_SPACE_HBM);
  std::vector<float> y(size_t{m} * bench.chip.n);
  for (size_t i = 0; i < y.size(); i++) y[i] = load<float>(hbm, y_address + 4 * i);
  return y;
}

}  // namespace weft::bench
