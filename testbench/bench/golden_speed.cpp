/// Speed of the golden model's products and of the fast core, in multiply-accumulates a second on this host.
///
///   golden_speed            print
///   golden_speed --gate     also fail where the bf16 fast path or the fast core is below 5 G MAC/s
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <functional>
#include <random>
#include <string_view>
#include <vector>

#include "model/core/fast/fast_core.hpp"
#include "model/golden/core_state.hpp"
#include "model/golden/matmul.hpp"
#include "programs.hpp"

namespace {

namespace golden = weft::golden;

constexpr double kGateMacsPerSecond = 5e9;

/// Calls `work` until it has used 0.3 s of processor time; the best rate of `macs` a call. Other processes do not
/// count.
double best_rate(double macs, const std::function<void()>& work) {
  double best = 0;
  for (double spent = 0; spent < 0.3;) {
    const std::clock_t start = std::clock();
    work();
    const double seconds = static_cast<double>(std::max<std::clock_t>(std::clock() - start, 1)) / CLOCKS_PER_SEC;
    best = std::max(best, macs / seconds);
    spent += seconds;
  }
  return best;
}

double print(std::string_view name, double rate) {
  fmt::print("{:44} {:8.2f} G MAC/s\n", name, rate / 1e9);
  return rate;
}

/// bf16 values around 1, of both signs.
std::vector<uint16_t> random_bf16(size_t count, std::mt19937& random) {
  std::vector<uint16_t> out(count);
  for (auto& v : out) v = static_cast<uint16_t>((random() & 0x807f) | (0x7c + random() % 5) << 7);
  return out;
}

double product_bf16(size_t size, golden::Path path) {
  std::mt19937 random(1);
  const auto a = random_bf16(size * size, random);
  const auto b = random_bf16(size * size, random);
  std::vector<float> c(size * size);
  return best_rate(static_cast<double>(size) * size * size, [&] {
    golden::gemm_bf16(size, size, size, a.data(), size, b.data(), size, c.data(), size, golden::Seed::kZero, path);
  });
}

double product_int8(size_t size, golden::Path path, int32_t seed) {
  std::mt19937 random(1);
  std::vector<int8_t> a(size * size), b(size * size);
  for (auto& v : a) v = static_cast<int8_t>(random());
  for (auto& v : b) v = static_cast<int8_t>(random());
  std::vector<int32_t> c(size * size);
  return best_rate(static_cast<double>(size) * size * size, [&] {
    std::fill(c.begin(), c.end(), seed);
    golden::gemm_int8(size, size, size, a.data(), size, b.data(), size, c.data(), size, golden::Seed::kKeep, path);
  });
}

class NoMemory : public golden::MemoryAccess {
  bool read(weft_address_space, uint64_t, std::span<std::byte>) override { return false; }
  bool write(weft_address_space, uint64_t, std::span<const std::byte>) override { return false; }
};

/// One MATMUL command of a preset: a full ACC bank of rows, K = 4 tiles.
double matmul_command(std::string_view preset) {
  const weft::spec::Chip& chip = *weft::spec::find_chip(preset);
  golden::CoreState core(chip);
  std::mt19937 random(1);
  const auto values = random_bf16(std::min<size_t>(core.vmem().size() / 2, 1 << 20), random);
  std::memcpy(core.vmem().data(), values.data(), values.size() * 2);
  weft::spec::MxuCommand c;
  c.header.opcode = WEFT_OPCODE_MATMUL;
  c.m = static_cast<uint16_t>(chip.acc_bank_rows);
  c.k = 4 * chip.n;
  c.cols = static_cast<uint16_t>(chip.n);
  c.x_row_stride = 4;
  c.x_tile_stride = 1;
  c.w_addr = 4 * chip.acc_bank_rows;
  c.w_tile_stride = chip.n;
  c.dtype = WEFT_MXU_DTYPE_BF16;
  const auto command = weft::spec::encode(c);
  NoMemory memory;
  return best_rate(static_cast<double>(c.m) * c.k * c.cols,
                   [&] { (void)core.execute(command, WEFT_QUEUE_MXU, memory); });
}

/// A 2048^3 bf16 product on the fast core, data in and out of HBM: four times 512 rows, 16 column blocks.
double fast_core_product() {
  const weft::spec::Chip& chip = *weft::spec::find_chip("v5e-1mxu");
  constexpr uint64_t kPart = 8 << 20;
  weft::test::Bus bus(chip, 3 * kPart);
  std::mt19937 random(1);
  const auto values = random_bf16(kPart, random);
  std::memcpy(bus.bytes.data(), values.data(), 2 * kPart);
  weft::core::FastCore core(chip, bus);
  for (uint32_t s = 3; s <= 5; s++) {
    const uint32_t at = s * WEFT_CSR_SEGMENT_BASE_STRIDE;
    core.write_csr(WEFT_CSR_SEGMENT_BASE + at, (s - 3) * kPart);
    core.write_csr(WEFT_CSR_SEGMENT_LIMIT + at, kPart);
    core.write_csr(WEFT_CSR_SEGMENT_ATTRIBUTES + at, WEFT_ADDRESS_SPACE_HBM | 4 | 8);
  }
  const auto program = weft::test::product(chip, 512, 2048, 16);
  uint64_t cycles = 0;
  const double rate = best_rate(2048.0 * 2048 * 2048, [&] {
    const uint64_t start = core.cycle();
    for (int part = 0; part < 4; part++) {
      core.write_csr(WEFT_CSR_CONTROL, 1);  // the program leaves semaphores behind
      core.advance(core.cycle() + 100);
      std::array<size_t, WEFT_CORE_QUEUES> next{};
      bool left = true;
      while (left || core.busy()) {
        left = false;
        for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++) {
          while (next[q] < program.queues[q].size() && core.push(q, program.queues[q][next[q]])) next[q]++;
          left = left || next[q] < program.queues[q].size();
        }
        core.advance(core.cycle() + 5000);
      }
    }
    cycles = core.cycle() - start;
  });
  if (core.read_csr(WEFT_CSR_FAULT_CODE) != 0) fmt::print(stderr, "fault {:x}\n", core.read_csr(WEFT_CSR_FAULT_CODE));
  fmt::print("fast core, 2048^3: {} cycles, {:.1f} % of the array's peak\n", cycles,
             100 * 2048.0 * 2048 * 2048 / static_cast<double>(cycles) / static_cast<double>(chip.peak_macs_per_cycle));
  return rate;
}

}  // namespace

int main(int argc, char** argv) {
  const bool gate = argc > 1 && std::string_view(argv[1]) == "--gate";
  fmt::print("fast path: {}, host FMA exact: {}\n", golden::fast_path_name(), golden::host_fma_is_exact());
  print("bf16 reference, 64^3", product_bf16(64, golden::Path::kReference));
  const double bf16 = print("bf16 fast, 1024^3", product_bf16(1024, golden::Path::kFast));
  print("bf16 fast, 128^3", product_bf16(128, golden::Path::kFast));
  print("int8 reference, 64^3", product_int8(64, golden::Path::kReference, 0));
  print("int8 fast, 1024^3", product_int8(1024, golden::Path::kFast, 0));
  print("int8 fast with overflow check, 1024^3", product_int8(1024, golden::Path::kFast, 2147000000));
  for (const auto& chip : weft::spec::kChips)
    print(fmt::format("MATMUL command on {}", chip.name), matmul_command(chip.name));
  const double core = print("fast core on v5e-1mxu, 2048^3", fast_core_product());
  if (gate && golden::host_fma_is_exact() && std::min(bf16, core) < kGateMacsPerSecond) {
    fmt::print(stderr, "below {:.1f} G MAC/s\n", kGateMacsPerSecond / 1e9);
    return 1;
  }
  return 0;
}
