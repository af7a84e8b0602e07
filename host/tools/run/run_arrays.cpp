// Files, names, shapes; and bits.
#include "host/tools/run/run_arrays.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "host/compiler/layout.hpp"
#include "host/tools/run/tensor_arrays.hpp"
#include "weft/spec/names.hpp"

namespace weft::tools {
namespace {

Error invalid(std::string text) { return {WEFT_ERROR_INVALID_ARGUMENT, std::move(text)}; }

constexpr double kUnknown = std::numeric_limits<double>::infinity();

/// Largest |got - exact| of an element divided by the largest |exact| of its row; infinite if the sizes differ.
/// Elements that are not finite are left out: the comparison of bits sees them.
double relative_error(const std::vector<double>& exact, const std::vector<std::byte>& got, uint64_t columns) {
  if (exact.empty() || got.size() != 4 * exact.size() || exact.size() % columns != 0) return kUnknown;
  double worst = 0;
  for (size_t row = 0; row < exact.size(); row += columns) {
    double largest = 0;
    for (size_t i = row; i < row + columns; i++) largest = std::max(largest, std::abs(exact[i]));
    for (size_t i = row; i < row + columns; i++) {
      float value;
      std::memcpy(&value, &got[4 * i], 4);
      if (largest > 0 && std::isfinite(value))
        worst = std::max(worst, std::abs(static_cast<double>(value) - exact[i]) / largest);
    }
  }
  return worst;
}

}  // namespace

Result<std::map<std::string, std::string>> parse_pairs(const std::vector<std::string>& texts, const char* option) {
  std::map<std::string, std::string> pairs;
  for (const auto& text : texts) {
    const size_t equal = text.rfind('=');
    if (equal == std::string::npos || equal == 0 || equal + 1 == text.size())
      return invalid(fmt::format("{} '{}' is not NAME=FILE.npy", option, text));
    if (!pairs.emplace(text.substr(0, equal), text.substr(equal + 1)).second)
      return invalid(fmt::format("{} names '{}' twice", option, text.substr(0, equal)));
  }
  return pairs;
}

Result<std::map<std::string, NpyArray>> read_arrays(const std::map<std::string, std::string>& files) {
  std::map<std::string, NpyArray> arrays;
  for (const auto& [name, path] : files) {
    auto array = read_npy(path);
    if (!array.ok()) return array.error();
    arrays[name] = std::move(array.value());
  }
  return arrays;
}

Status check_names(const char* kind, const std::map<std::string, std::string>& files,
                   const std::vector<std::string>& names) {
  for (const auto& [name, path] : files)
    if (std::find(names.begin(), names.end(), name) == names.end())
      return invalid(fmt::format("there is no {} '{}'; {}s: {}", kind, name, kind, fmt::join(names, ", ")));
  return Ok{};
}

Result<compiler::frontend::Binding> binding_of(const std::map<std::string, NpyArray>& arrays,
                                               const std::vector<std::string>& binds, int64_t first,
                                               compiler::frontend::Precision precision) {
  compiler::frontend::Binding binding;
  binding.first = first;
  binding.precision = precision;
  for (const auto& [name, array] : arrays) {
    binding.shapes[name].assign(array.shape.begin(), array.shape.end());
    binding.values[name] = tensor_of(array);
  }
  for (const auto& text : binds) {
    const size_t equal = text.rfind('=');
    const char *at = text.data() + equal + 1, *const end = text.data() + text.size();
    compiler::ir::Dims sizes;
    while (equal != std::string::npos && equal != 0) {
      const auto [stop, error] = std::from_chars(at, end, sizes.emplace_back());
      if (error != std::errc{} || sizes.back() < 0 || sizes.back() > INT32_MAX || (stop != end && *stop != 'x')) {
        sizes.clear();
        break;
      }
      if (stop == end) break;
      at = stop + 1;
    }
    if (sizes.empty()) return invalid(fmt::format("--bind '{}' is neither NAME=SIZE nor INPUT=SIZExSIZE", text));
    if (sizes.size() == 1)
      binding.symbols[text.substr(0, equal)] = sizes[0];
    else
      binding.shapes[text.substr(0, equal)] = sizes;
  }
  return binding;
}

Status check_shape(const compiler::Tensor& input, const std::string& path, const NpyArray& array) {
  const std::vector<uint64_t> wanted(input.dims.begin(), input.dims.end());
  if (array.shape == wanted) return Ok{};
  return invalid(fmt::format("{}: the shape is ({}), input '{}' needs ({})", path, fmt::join(array.shape, ", "),
                             input.name, fmt::join(wanted, ", ")));
}

Error missing_input(const std::string& name, const std::vector<std::string>& names) {
  return invalid(
      fmt::format("input '{}' is missing: give --input {}=FILE.npy; inputs: {}", name, name, fmt::join(names, ", ")));
}

Result<std::vector<std::byte>> pack_input(const runtime::ArgumentInfo& info, const std::string& path,
                                          const NpyArray& array, std::vector<float>& values) {
  // Rows may be of any of the last dimensions.
  const uint64_t rows = info.rows, columns = info.columns;
  bool fits = array.count() == rows * columns && (rows == 1 || columns == 1);
  uint64_t last = 1;
  for (size_t i = array.shape.size(); i-- > 0;)
    fits = fits || ((last *= array.shape[i]) == columns && array.count() == rows * columns);
  if (!fits)
    return invalid(fmt::format("{}: the shape is ({}), input '{}' needs {} x {}", path, fmt::join(array.shape, ", "),
                               info.name, info.rows, info.columns));
  const bool f32 = info.dtype == WEFT_ARGUMENT_DTYPE_F32;
  if (f32 || info.dtype == WEFT_ARGUMENT_DTYPE_BF16) {
    if (array.type != NpyType::kF32)
      return invalid(
          fmt::format("{}: the elements are {}, input '{}' needs float32", path, type_name(array.type), info.name));
    values.assign(array.as<float>(), array.as<float>() + array.count());
    if (info.layout == WEFT_ARGUMENT_LAYOUT_ROWS)
      return compiler::pack_rows_as(values, rows, columns, f32 ? WEFT_VPU_DTYPE_F32 : WEFT_VPU_DTYPE_BF16);
  }
  return Error{WEFT_ERROR_UNSUPPORTED,
               fmt::format("input '{}' has element type {} and layout {}; weft run takes rows of bf16 and f32",
                           info.name, spec::argument_dtype_name(info.dtype), spec::argument_layout_name(info.layout))};
}

void compare(RunReport& report, const compiler::Graph& graph, const std::vector<std::vector<float>>& golden,
             const std::vector<std::vector<double>>& exact, const std::vector<std::vector<std::byte>>& results) {
  Comparison comparison;
  double worst = 0;
  for (size_t i = 0; i < graph.outputs.size(); i++) {
    const auto& tensor = graph.tensors[graph.outputs[i]];
    const std::vector<uint64_t> shape(tensor.dims.begin(), tensor.dims.end());
    const auto& expected = i < golden.size() ? golden[i] : std::vector<float>{};
    const auto& got = i < results.size() ? results[i] : std::vector<std::byte>{};
    comparison.add(tensor.name, shape, expected, got);
    if (!exact.empty())
      worst = std::max(worst, i < exact.size() ? relative_error(exact[i], got, tensor.columns) : kUnknown);
  }
  report.comparison = std::move(comparison);
  if (!exact.empty()) report.max_relative_error = worst;
}

}  // namespace weft::tools
