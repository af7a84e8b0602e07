// Chosen elements, slices and boxes.
#include "host/compiler/onnx/selection.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>

namespace weft::compiler::frontend {

TensorPtr places_of_non_zero(const ir::Tensor& x) {
  const Dims strides = ir::strides_of(x.type.dims);
  Dims places;
  for (uint64_t i = 0; i < x.type.count(); i++)
    if (x.number(i) != 0) places.push_back(static_cast<int64_t>(i));
  const auto count = static_cast<int64_t>(places.size());
  auto result =
      std::make_shared<ir::Tensor>(ir::TensorType{ElementType::kI64, {static_cast<int64_t>(strides.size()), count}});
  for (size_t d = 0; d < strides.size(); d++)
    for (size_t i = 0; i < places.size(); i++)
      result->as<int64_t>()[d * places.size() + i] = places[i] / strides[d] % x.type.dims[d];
  return result;
}

UniqueSlices unique_slices(const ir::Tensor& x, size_t axis, bool sorted) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  for (uint64_t i = 0; i < x.type.count(); i++) {
    const double value = x.number(i);
    if (std::isnan(value)) unsupported("NaN among the elements");
    if (!ir::is_float(x.type.element) && std::abs(value) > kExact)
      unsupported("an integer beyond 2^53 among the elements");
  }
  const int64_t size = x.type.dims[axis], inner = ir::strides_of(x.type.dims)[axis];
  const int64_t outer = size == 0 ? 0 : static_cast<int64_t>(x.type.count()) / size / std::max<int64_t>(inner, 1);
  std::vector<std::vector<double>> slices(static_cast<size_t>(size));
  for (int64_t i = 0; i < size; i++)
    for (int64_t o = 0; o < outer; o++)
      for (int64_t k = 0; k < inner; k++)
        slices[static_cast<size_t>(i)].push_back(x.number(static_cast<uint64_t>((o * size + i) * inner + k)));
  std::map<std::vector<double>, int64_t> kinds;  // by slice, in order
  UniqueSlices found;
  for (int64_t i = 0; i < size; i++)
    if (kinds.emplace(slices[static_cast<size_t>(i)], static_cast<int64_t>(found.first.size())).second)
      found.first.push_back(i);
  if (sorted) {
    const Dims seen = found.first;
    int64_t next = 0;
    for (auto& [slice, kind] : kinds) {
      found.first[static_cast<size_t>(next)] = seen[static_cast<size_t>(kind)];
      kind = next++;
    }
  }
  found.counts.resize(found.first.size());
  for (const auto& slice : slices) {
    found.inverse.push_back(kinds.at(slice));
    found.counts[static_cast<size_t>(found.inverse.back())]++;
  }
  return found;
}

namespace {

/// Lower and upper corner.
using Box = std::array<double, 4>;

double overlap(const Box& a, const Box& b) {
  const double height = std::min(a[2], b[2]) - std::max(a[0], b[0]),
               width = std::min(a[3], b[3]) - std::max(a[1], b[1]);
  if (height <= 0 || width <= 0) return 0;
  const auto area = [](const Box& c) { return (c[2] - c[0]) * (c[3] - c[1]); };
  return height * width / (area(a) + area(b) - height * width);
}

}  // namespace

TensorPtr suppress(const ir::Tensor& boxes, const ir::Tensor& scores, const Suppression& by) {
  const Dims &b = boxes.type.dims, &s = scores.type.dims;
  if (b.size() != 3 || s.size() != 3 || b[2] != 4 || b[0] != s[0] || b[1] != s[2])
    invalid("boxes of {} and scores of {}", boxes.type.text(), scores.type.text());
  const auto count = static_cast<size_t>(b[1]);
  Dims chosen;
  for (int64_t batch = 0; batch < b[0]; batch++) {
    std::vector<Box> corners(count);
    for (size_t i = 0; i < count; i++) {
      const auto at = [&](size_t k) { return boxes.number((static_cast<size_t>(batch) * count + i) * 4 + k); };
      if (by.corners)
        corners[i] = {std::min(at(0), at(2)), std::min(at(1), at(3)), std::max(at(0), at(2)), std::max(at(1), at(3))};
      else
        corners[i] = {at(1) - at(3) / 2, at(0) - at(2) / 2, at(1) + at(3) / 2, at(0) + at(2) / 2};
    }
    for (int64_t c = 0; c < s[1]; c++) {
      const auto score = [&](size_t i) { return scores.number((static_cast<size_t>(batch * s[1] + c)) * count + i); };
      std::vector<size_t> order(count), kept;
      std::iota(order.begin(), order.end(), size_t{0});
      std::ranges::stable_sort(order, [&](size_t i, size_t k) { return score(i) > score(k); });
      for (const size_t i : order) {
        if (static_cast<int64_t>(kept.size()) >= by.most) break;
        if (by.score && !(score(i) > *by.score)) break;
        if (std::ranges::any_of(kept, [&](size_t k) { return overlap(corners[i], corners[k]) > by.overlap; })) continue;
        kept.push_back(i);
        chosen.insert(chosen.end(), {batch, c, static_cast<int64_t>(i)});
      }
    }
  }
  auto result =
      std::make_shared<ir::Tensor>(ir::TensorType{ElementType::kI64, {static_cast<int64_t>(chosen.size() / 3), 3}});
  std::ranges::copy(chosen, result->as<int64_t>());
  return result;
}

}  // namespace weft::compiler::frontend
