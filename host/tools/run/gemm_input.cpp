// Operands from files or from a seed; golden and fp64 products.
#include "host/tools/run/gemm_input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>

#include "host/compiler/layout.hpp"
#include "host/tools/formats/npy.hpp"
#include "model/golden/matmul.hpp"

namespace weft::tools {
namespace {

Error invalid(std::string text) { return {WEFT_ERROR_INVALID_ARGUMENT, std::move(text)}; }

/// Part `index` of an fp32 value: 0 is the value rounded to bf16, 1 the rest rounded to bf16, 2 the rest of that. A
/// value that is not finite is all in part 0.
uint16_t part(float value, unsigned index) {
  for (unsigned i = 0;; i++) {
    const uint16_t bits = compiler::bf16_from_f32(value);
    if (i == index) return bits;
    const float rounded = compiler::f32_from_bf16(bits);
    value = std::isfinite(rounded) ? value - rounded : 0.0f;
  }
}

/// Parts of A and of B that each pass multiplies, largest products first. This order is part of the result
/// (docs/numerics.md).
constexpr std::array<std::pair<unsigned, unsigned>, 6> kPasses{{{0, 0}, {0, 1}, {1, 0}, {0, 2}, {2, 0}, {1, 1}}};

Status parse_shape(const std::string& text, GemmInput& in) {
  unsigned long long m = 0, k = 0, n = 0;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%llux%llux%llu%c", &m, &k, &n, &rest) != 3 || text.find('-') != std::string::npos)
    return invalid(fmt::format("--shape '{}' is not MxKxN, for example 128x256x64", text));
  in.m = m, in.k = k, in.n = n;
  if (m == 0 || k == 0 || n == 0) return invalid(fmt::format("--shape {}: every dimension must be at least 1", text));
  const uint64_t limit = 1ull << 32;
  if (m > limit / k || k > limit / n || m > limit / n)
    return invalid(fmt::format("--shape {}: a matrix would have more than 2^32 elements", text));
  return Ok{};
}

/// Without the padding of their rows: what is more than this never fits.
Status check_fits(const GemmInput& in, uint64_t hbm_bytes) {
  const uint64_t element = in.dtype == WEFT_MXU_DTYPE_INT8 ? 1 : 2;
  const uint64_t bytes = element * in.device_k() * (in.m + in.n) + 4 * in.m * in.n;
  if (bytes <= hbm_bytes) return Ok{};
  return Error{WEFT_ERROR_NO_DEVICE_MEMORY,
               fmt::format("A ({} x {}), B ({} x {}) and C take {} bytes of HBM, the chip has {}", in.m, in.device_k(),
                           in.device_k(), in.n, bytes, hbm_bytes)};
}

Status read_operand(const std::string& path, const GemmInput& in, std::vector<uint64_t>& shape, std::vector<float>& f32,
                    std::vector<int8_t>& i8) {
  auto array = read_npy(path);
  if (!array.ok()) return array.error();
  const auto& a = array.value();
  const NpyType wanted = in.dtype == WEFT_MXU_DTYPE_INT8 ? NpyType::kI8 : NpyType::kF32;
  if (a.type != wanted)
    return invalid(fmt::format("{}: the elements are {}, --precision {} needs {}", path, type_name(a.type),
                               in.dtype == WEFT_MXU_DTYPE_INT8 ? "int8"
                               : in.passes == 3                ? "bf16x3"
                               : in.passes == 6                ? "bf16x6"
                                                               : "bf16",
                               type_name(wanted)));
  if (a.shape.size() != 2 || a.count() == 0)
    return invalid(
        fmt::format("{}: the shape is ({}), a matrix with elements is needed", path, fmt::join(a.shape, ", ")));
  shape = a.shape;
  if (wanted == NpyType::kI8)
    i8.assign(a.as<int8_t>(), a.as<int8_t>() + a.count());
  else
    f32.assign(a.as<float>(), a.as<float>() + a.count());
  return Ok{};
}

}  // namespace

std::vector<std::byte> GemmInput::packed_a() const {
  if (dtype == WEFT_MXU_DTYPE_INT8) return compiler::pack_rows(std::as_bytes(std::span(a8)), m, k, 1);
  return compiler::pack_rows(std::as_bytes(std::span<const uint16_t>(device_a())), m, device_k(), 2);
}

std::vector<uint16_t> GemmInput::device_a() const {
  std::vector<uint16_t> bits(m * device_k());
  for (uint64_t row = 0; row < m; row++)
    for (uint64_t pass = 0; pass < passes; pass++)
      for (uint64_t i = 0; i < k; i++)
        bits[row * device_k() + pass * k + i] = part(a[row * k + i], kPasses[pass].first);
  return bits;
}

std::vector<uint16_t> GemmInput::device_b() const {
  std::vector<uint16_t> bits(device_k() * n);
  for (uint64_t pass = 0; pass < passes; pass++)
    for (uint64_t i = 0; i < k * n; i++) bits[pass * k * n + i] = part(b[i], kPasses[pass].second);
  return bits;
}

std::vector<std::byte> GemmInput::packed_b(const spec::Chip& chip) const {
  if (dtype == WEFT_MXU_DTYPE_INT8) return compiler::pack_weights_int8(chip, b8, k, n);
  return compiler::pack_weights_bf16(chip, device_b(), device_k(), n);
}

Comparison GemmInput::compared_with_golden(const std::vector<std::byte>& c) const {
  std::vector<uint32_t> expected(m * n);
  if (dtype == WEFT_MXU_DTYPE_INT8) {
    (void)golden::gemm_int8(m, k, n, a8.data(), k, b8.data(), n, reinterpret_cast<int32_t*>(expected.data()), n);
  } else {
    const auto ra = device_a(), rb = device_b();
    golden::gemm_bf16(m, device_k(), n, ra.data(), device_k(), rb.data(), n, reinterpret_cast<float*>(expected.data()),
                      n);
  }
  Comparison comparison;
  comparison.add("C", std::array{m, n}, expected, c);
  return comparison;
}

double GemmInput::max_relative_error(const std::vector<std::byte>& c) const {
  const bool int8 = dtype == WEFT_MXU_DTYPE_INT8;
  double worst = 0;
  std::vector<double> row(n);
  for (uint64_t i = 0; i < m; i++) {
    std::fill(row.begin(), row.end(), 0.0);
    for (uint64_t kk = 0; kk < k; kk++) {
      const double x = int8 ? a8[i * k + kk] : static_cast<double>(a[i * k + kk]);
      for (uint64_t j = 0; j < n; j++) row[j] += x * (int8 ? b8[kk * n + j] : static_cast<double>(b[kk * n + j]));
    }
    double largest = 0;
    for (const double v : row)
      if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
    for (uint64_t j = 0; j < n; j++) {
      double got;
      if (int8) {
        int32_t value;
        std::memcpy(&value, &c[4 * (i * n + j)], 4);
        got = value;
      } else {
        float value;
        std::memcpy(&value, &c[4 * (i * n + j)], 4);
        got = static_cast<double>(value);
      }
      if (!std::isfinite(got) || !std::isfinite(row[j]) || largest == 0) continue;
      worst = std::max(worst, std::abs(got - row[j]) / largest);
    }
  }
  return worst;
}

Result<GemmInput> gemm_of_precision(const std::string& precision) {
  GemmInput in;
  if (precision == "int8")
    in.dtype = WEFT_MXU_DTYPE_INT8;
  else if (precision == "bf16x3")
    in.passes = 3;
  else if (precision == "bf16x6")
    in.passes = 6;
  else if (precision != "bf16")
    return invalid(fmt::format("there is no precision '{}'; supported: bf16, bf16x3, bf16x6, int8", precision));
  return in;
}

Result<GemmInput> make_gemm_input(const std::string& path_a, const std::string& path_b, const std::string& shape,
                                  uint64_t seed, const std::string& precision, uint64_t hbm_bytes) {
  auto made = gemm_of_precision(precision);
  if (!made.ok()) return made;
  GemmInput in = std::move(made.value());
  if (shape.empty() == (path_a.empty() && path_b.empty()))
    return invalid("give two files, A.npy and B.npy, or --shape MxKxN (one of the two)");
  if (!shape.empty()) {
    if (auto status = parse_shape(shape, in); !status.ok()) return status.error();
    if (auto status = check_fits(in, hbm_bytes); !status.ok()) return status.error();
    std::mt19937_64 random(seed);
    const auto uniform = [&random] {
      return static_cast<float>(static_cast<int64_t>(random() >> 40) - (1 << 23)) / static_cast<float>(1 << 23);
    };
    if (in.dtype == WEFT_MXU_DTYPE_INT8) {
      in.a8.resize(in.m * in.k), in.b8.resize(in.k * in.n);
      for (auto* matrix : {&in.a8, &in.b8})
        for (auto& v : *matrix) v = static_cast<int8_t>(random() >> 56);
    } else {
      in.a.resize(in.m * in.k), in.b.resize(in.k * in.n);
      for (auto* matrix : {&in.a, &in.b})
        for (auto& v : *matrix) v = uniform();
    }
    return in;
  }
  if (path_a.empty() || path_b.empty()) return invalid("two files are needed, A.npy and B.npy");
  std::vector<uint64_t> shape_a, shape_b;
  if (auto status = read_operand(path_a, in, shape_a, in.a, in.a8); !status.ok()) return status.error();
  if (auto status = read_operand(path_b, in, shape_b, in.b, in.b8); !status.ok()) return status.error();
  if (shape_a[1] != shape_b[0])
    return invalid(fmt::format("{} is {} x {} and {} is {} x {}: A's columns and B's rows must be equal", path_a,
                               shape_a[0], shape_a[1], path_b, shape_b[0], shape_b[1]));
  in.m = shape_a[0], in.k = shape_a[1], in.n = shape_b[1];
  if (auto status = check_fits(in, hbm_bytes); !status.ok()) return status.error();
  return in;
}

}  // namespace weft::tools
