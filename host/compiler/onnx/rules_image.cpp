// Resizing and sampling of images.
#include <algorithm>
#include <cmath>

#include "host/compiler/onnx/resampling.hpp"
#include "host/compiler/onnx/rules.hpp"

namespace weft::compiler::frontend {
namespace {

ValueId vector_of(Node& n, ElementType type, const std::vector<double>& values) {
  auto tensor = std::make_shared<ir::Tensor>(ir::TensorType{type, {static_cast<int64_t>(values.size())}});
  ir::visit_type(type, [&](auto t) {
    using T = typename decltype(t)::type;
    if constexpr (!std::is_integral_v<T>)
      for (size_t i = 0; i < values.size(); i++) tensor->as<T>()[i] = static_cast<T>(values[i]);
  });
  return n.b.constant(std::move(tensor));
}

/// One axis: each tap is a gather, so that an infinite element touches none but its neighbours.
ValueId resample(Node& n, ValueId x, size_t axis, const Taps& taps, bool weighted) {
  if (!weighted) return n.b.take(x, n.b.integers(taps.elements[0]), axis);
  std::optional<ValueId> sum;
  for (size_t t = 0; t < taps.elements.size(); t++) {
    const ValueId part = n.b.take(x, n.b.integers(taps.elements[t]), axis);
    const ValueId weights =
        n.b.broadcast_in(vector_of(n, n.b.element(x), taps.weights[t]), n.b.dims(part), {static_cast<int64_t>(axis)});
    const ValueId product = n.b.times(part, weights);
    sum = sum ? n.b.plus(*sum, product) : product;
  }
  return *sum;
}

struct Resize {
  Resampling by;
  std::vector<ResampledAxis> axes;  ///< of all dimensions
  double extrapolation = 0;
};

void write_resize(Node& n, const Resize& r) {
  ValueId x = n.in(0);
  const ElementType type = n.b.element(x);
  const bool weighted = r.by.mode != "nearest";
  if (weighted && !ir::is_float(type)) unsupported("mode '{}' of {}; supported: floats", r.by.mode, n.b.type(x).text());
  if (n.b.type(x).count() == 0) invalid("{} has no element", n.b.type(x).text());
  std::vector<std::pair<size_t, std::vector<bool>>> outside;
  ValueId y = weighted ? n.b.convert(x, type == ElementType::kF64 ? type : ElementType::kF32) : x;
  for (size_t d = 0; d < r.axes.size(); d++) {
    const auto& axis = r.axes[d];
    if (axis.places < 0 || axis.places > INT32_MAX || !(axis.scale > 0))
      invalid("{} elements of axis {} by a scale of {}", axis.places, d, axis.scale);
    const bool crop = r.by.coordinates == "tf_crop_and_resize";
    if (axis.scale == 1 && axis.places == axis.size && !crop) continue;
    const Taps taps = taps_of(r.by, axis);
    y = resample(n, y, d, taps, weighted);
    if (std::ranges::find(taps.outside, true) != taps.outside.end()) outside.emplace_back(d, taps.outside);
  }
  for (const auto& [d, flags] : outside) {
    Dims bits(flags.begin(), flags.end());
    const ValueId flag = n.b.compare("ne", n.b.integers(bits), n.b.scalar(ElementType::kI64, 0));
    y = n.b.select(n.b.broadcast_in(flag, n.b.dims(y), {static_cast<int64_t>(d)}), n.b.like(y, r.extrapolation), y);
  }
  n.out(n.b.convert(y, type));
}

/// Scales of all dimensions.
void set_scales(Node& n, Resize& r, const std::vector<double>& scales, const Dims& axes) {
  if (scales.size() != axes.size()) invalid("{} scales for {} dimensions", scales.size(), axes.size());
  for (size_t i = 0; i < axes.size(); i++) {
    auto& axis = r.axes[static_cast<size_t>(axes[i])];
    axis.scale = scales[i];
    if (!(scales[i] > 0) || scales[i] * static_cast<double>(axis.size) > INT32_MAX)
      invalid("a scale of {} for {}", scales[i], n.b.type(n.in(0)).text());
    axis.places = static_cast<int64_t>(std::floor(scales[i] * static_cast<double>(axis.size)));
  }
}

void set_sizes(Node& n, Resize& r, Dims sizes, const Dims& axes) {
  if (sizes.size() != axes.size()) invalid("{} sizes for {} dimensions", sizes.size(), axes.size());
  const auto policy = n.word("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller")
    invalid("keep_aspect_ratio_policy '{}'", policy);
  std::vector<double> scales;
  for (size_t i = 0; i < axes.size(); i++)
    scales.push_back(static_cast<double>(sizes[i]) / static_cast<double>(r.axes[static_cast<size_t>(axes[i])].size));
  if (policy != "stretch" && !scales.empty()) {
    const double scale = policy == "not_larger" ? *std::ranges::min_element(scales) : *std::ranges::max_element(scales);
    for (size_t i = 0; i < axes.size(); i++) {
      sizes[i] = static_cast<int64_t>(
          std::floor(scale * static_cast<double>(r.axes[static_cast<size_t>(axes[i])].size) + 0.5));
      scales[i] = scale;
    }
  }
  for (size_t i = 0; i < axes.size(); i++) {
    auto& axis = r.axes[static_cast<size_t>(axes[i])];
    axis.scale = scales[i], axis.places = sizes[i];
  }
}

std::vector<double> numbers_of(const ir::Tensor& tensor) {
  std::vector<double> values;
  for (uint64_t i = 0; i < tensor.type.count(); i++) values.push_back(tensor.number(i));
  return values;
}

Resize whole(Node& n) {
  Resize r;
  for (const int64_t d : n.b.dims(n.in(0))) r.axes.push_back({d, d});
  return r;
}

void resize(Node& n) {
  Resize r = whole(n);
  const size_t rank = r.axes.size();
  r.by.mode = n.word("mode", "nearest");
  if (n.since < 11) {
    r.by.coordinates = "asymmetric", r.by.nearest = "floor";
    set_scales(n, r, numbers_of(*n.known(1)), ir::counting(rank));
    return write_resize(n, r);
  }
  r.by.coordinates = n.word("coordinate_transformation_mode", "half_pixel");
  r.by.nearest = n.word("nearest_mode", "round_prefer_floor");
  r.by.cubic = n.number("cubic_coeff_a", -0.75);
  r.by.exclude_outside = n.integer("exclude_outside", 0) != 0;
  r.by.antialias = n.integer("antialias", 0) != 0;
  r.extrapolation = n.number("extrapolation_value", 0);
  const Dims axes = Node::axes(n.integers("axes", ir::counting(rank)), rank);
  if (r.by.coordinates == "tf_crop_and_resize") {
    const auto roi = numbers_of(*n.known(1));
    if (roi.size() != 2 * axes.size()) invalid("a region of {} numbers for {} dimensions", roi.size(), axes.size());
    for (size_t i = 0; i < axes.size(); i++) {
      auto& axis = r.axes[static_cast<size_t>(axes[i])];
      axis.roi_start = roi[i], axis.roi_end = roi[axes.size() + i];
    }
  }
  const bool sizes = n.has(3) && n.known(3)->type.count() != 0, scales = n.has(2) && n.known(2)->type.count() != 0;
  if (sizes == scales) invalid("scales and sizes; Resize takes one of them");
  if (sizes)
    set_sizes(n, r, n.known(3)->integers(), axes);
  else
    set_scales(n, r, numbers_of(*n.known(2)), axes);
  write_resize(n, r);
}

void upsample(Node& n) {
  Resize r = whole(n);
  r.by.coordinates = "asymmetric", r.by.nearest = "floor";
  r.by.mode = n.word("mode", "nearest");
  if (n.since < 7) unsupported("Upsample of opset 6; supported: 7 to 9");
  std::vector<double> scales;
  if (n.since >= 9) {
    scales = numbers_of(*n.known(1));
  } else {
    const auto given = n.numbers("scales").value_or(std::vector<float>{});
    scales.assign(given.begin(), given.end());
  }
  set_scales(n, r, scales, ir::counting(r.axes.size()));
  write_resize(n, r);
}

/// The grid of a shape, turned and moved by a matrix for each image.
void affine_grid(Node& n) {
  const ValueId theta = n.in(0);
  const Dims size = n.known(1)->integers();
  const size_t spatial = size.size() - std::min<size_t>(size.size(), 2);
  const auto rank = static_cast<int64_t>(spatial);
  if ((spatial != 2 && spatial != 3) || n.b.dims(theta) != Dims{size[0], rank, rank + 1})
    invalid("{} for shape {}", n.b.type(theta).text(), ir::dims_text(size));
  const bool corners = n.integer("align_corners", 0) != 0;
  const Dims grid(size.begin() + 2, size.end());
  const ElementType type = n.b.element(theta);
  std::vector<ValueId> columns;
  const auto points = static_cast<int64_t>(ir::count_of(grid));
  for (size_t d = spatial; d-- > 0;) {  // x first
    if (corners && grid[d] == 1) unsupported("align_corners with one element in a dimension");
    const auto count = static_cast<double>(grid[d]);
    const double step = corners ? 2 / (count - 1) : 2 / count, first = corners ? -1 : -1 + 1 / count;
    const ValueId at = n.b.plus(n.b.times(n.b.iota(type, grid, d), step), first);
    columns.push_back(n.b.reshape(at, {points, 1}));
  }
  columns.push_back(n.b.fill({type, {points, 1}}, 1));
  const ValueId y = n.b.dot(theta, n.b.concatenate(columns, 1), {}, {}, {2}, {1}, type);  // [N, rank, points]
  Dims out{size[0]};
  out.insert(out.end(), grid.begin(), grid.end());
  out.push_back(rank);
  n.out(n.b.reshape(n.b.transpose(y, {0, 2, 1}), out));
}

/// Columns of blocks added up where they lie in the image.
void col2im(Node& n) {
  const ValueId x = n.in(0);
  const Dims image = n.known(1)->integers(), block = n.known(2)->integers(), dims = n.b.dims(x);
  const size_t spatial = image.size();
  const Dims strides = n.integers("strides", Dims(spatial, 1)), dilations = n.integers("dilations", Dims(spatial, 1)),
             pads = n.integers("pads", Dims(2 * spatial));
  if (block.size() != spatial || strides.size() != spatial || dilations.size() != spatial ||
      pads.size() != 2 * spatial || dims.size() != 3)
    invalid("blocks {} of images {} for {}", ir::dims_text(block), ir::dims_text(image), n.b.type(x).text());
  Dims places(spatial);
  for (size_t d = 0; d < spatial; d++) {
    if (block[d] < 1 || strides[d] < 1 || dilations[d] < 1 || image[d] < 0)
      invalid("blocks {} of images {}", ir::dims_text(block), ir::dims_text(image));
    places[d] = (image[d] + pads[d] + pads[spatial + d] - dilations[d] * (block[d] - 1) - 1) / strides[d] + 1;
  }
  const auto taps = static_cast<int64_t>(ir::count_of(block)), count = static_cast<int64_t>(ir::count_of(places)),
             pixels = static_cast<int64_t>(ir::count_of(image));
  if (count != dims[2] || taps == 0 || dims[1] % taps != 0)
    invalid("blocks {} of images {} for {}", ir::dims_text(block), ir::dims_text(image), n.b.type(x).text());
  const Dims of_tap = ir::strides_of(block), of_place = ir::strides_of(places), of_pixel = ir::strides_of(image);
  Dims index;
  for (int64_t t = 0; t < taps; t++)
    for (int64_t p = 0; p < count; p++) {
      int64_t pixel = 0;
      for (size_t d = 0; d < spatial && pixel >= 0; d++) {
        const int64_t at = p / of_place[d] % places[d] * strides[d] + t / of_tap[d] % block[d] * dilations[d] - pads[d];
        pixel = at < 0 || at >= image[d] ? -1 : pixel + at * of_pixel[d];
      }
      index.push_back(pixel);
    }
  const int64_t channels = dims[1] / taps, rows = dims[0] * channels;
  const ValueId columns = n.b.transpose(n.b.reshape(x, {rows, taps * count}), {1, 0});
  const ValueId zeros = n.b.fill({n.b.element(x), {pixels, rows}}, 0);
  const ValueId y = n.b.add(OpKind::kScatter, {zeros, n.b.integers(index), columns},
                            {{"kind", std::string("add")},
                             {"update_window_dims", Dims{1}},
                             {"inserted_window_dims", Dims{0}},
                             {"scatter_dims_to_operand_dims", Dims{0}},
                             {"index_vector_dim", int64_t{1}}});
  Dims out{dims[0], channels};
  out.insert(out.end(), image.begin(), image.end());
  n.out(n.b.reshape(n.b.transpose(y, {1, 0}), out));
}

}  // namespace

const Rules& image_rules() {
  static const Rules rules{{"AffineGrid", affine_grid}, {"Col2Im", col2im}, {"Resize", resize}, {"Upsample", upsample}};
  return rules;
}

}  // namespace weft::compiler::frontend
