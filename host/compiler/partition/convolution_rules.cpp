// Convolutions by constants as sums over the taps of a window, without moving what lies under it.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "host/compiler/partition/graph_builder.hpp"
#include "host/compiler/partition/integer_products.hpp"

namespace weft::compiler {

using ir::Dims;
using ir::Module;
using ir::Op;

namespace {

constexpr uint64_t kMaxWholePixels = 4096;  // of an image that is summed
constexpr uint64_t kLineChannels = 32;      // channels times tap lines up to which lines become pixels on the device

/// Of an operator of one or two dimensions, whose lists `from` on are of these; one dimension is that of columns.
Windows windows_of(const Module& module, const Op& op, const Dims& taps, const char* dilation, size_t from) {
  const auto &x = module.type(op.operands[0]), &y = module.type(op.results[0]);
  Windows windows;
  windows.images = static_cast<uint64_t>(x.dims[0]);
  for (size_t d = 2; d < x.rank(); d++) {
    const size_t to = d + 2 - x.rank(), at = d - from;
    windows.size[to] = static_cast<uint64_t>(x.dims[d]);
    windows.taps[to] = static_cast<uint64_t>(taps[d]);
    windows.places[to] = static_cast<uint64_t>(y.dims[d]);
    windows.stride[to] = static_cast<uint64_t>(op.list("strides")[at]);
    windows.dilation[to] = static_cast<uint64_t>(op.list(dilation)[at]);
    windows.low[to] = op.list("low")[at];
  }
  return windows;
}
Windows windows_of_convolution(const Module& module, const Op& op) {
  return windows_of(module, op, module.type(op.operands[1]).dims, "rhs_dilation", 2);
}

/// Padding and strides that images in VMEM are made for.
bool moderate(const Windows& w) {
  for (size_t d = 0; d < 2; d++)
    if (w.taps[d] * w.dilation[d] > 256 || w.stride[d] > 16 || std::abs(w.low[d]) > 256) return false;
  return true;
}

/// A convolution of one or two dimensions by constants.
bool of_images(const Module& module, const Op& op) {
  const size_t rank = module.type(op.operands[0]).rank();
  return rank >= 3 && rank <= 4 && module.type(op.operands[1]).count() != 0 &&
         constant_behind(module, op.operands[1]) != nullptr && constant_behind(module, op.operands[0]) == nullptr &&
         moderate(windows_of_convolution(module, op));
}
bool all_ones(const Dims& dims) {
  return std::ranges::all_of(dims, [](int64_t d) { return d == 1; });
}

/// A transposed convolution in which all results of a pixel's place are of the same pixels.
bool is_spread(const Module& module, const Op& op) {
  const auto &w = module.type(op.operands[1]), &y = module.type(op.results[0]);
  for (size_t d = 2; d < w.rank(); d++) {
    const int64_t apart = op.list("lhs_dilation")[d - 2];
    const int64_t low = op.list("low")[d - 2];
    if (w.dims[d] % apart != 0 || low < 0 || low % apart != apart - 1 || y.dims[d] % apart != 0) return false;
  }
  return all_ones(op.list("strides")) && all_ones(op.list("rhs_dilation"));
}

/// Dimensions with the second one last.
std::vector<size_t> channels_last(size_t rank) {
  std::vector<size_t> order{0};
  for (size_t d = 2; d < rank; d++) order.push_back(d);
  order.push_back(1);
  return order;
}

}  // namespace

bool is_windows_product(const Module& module, const Op& op) {
  if (op.integer("groups") != 1 || !of_images(module, op)) return false;
  if (!all_ones(op.list("lhs_dilation"))) return is_spread(module, op);
  const Windows windows = windows_of_convolution(module, op);
  return windows.tap_count() != 1 || windows.stride != std::array<uint64_t, 2>{1, 1} ||
         windows.low != std::array<int64_t, 2>{0, 0} || windows.places != windows.size;
}

bool is_depthwise(const Module& module, const Op& op) {
  const auto &x = module.type(op.operands[0]), &w = module.type(op.operands[1]);
  return op.integer("groups") == x.dims[1] && w.dims[0] == x.dims[1] && x.dims[1] > 1 &&
         all_ones(op.list("lhs_dilation")) && of_images(module, op);
}

bool is_window_fold(const Module& module, const Op& op) {
  const size_t rank = module.type(op.operands[0]).rank();
  if (rank < 3 || rank > 4) return false;
  for (size_t d = 0; d < 2; d++)
    if (op.list("window")[d] != 1 || op.list("strides")[d] != 1 || op.list("low")[d] != 0 || op.list("high")[d] != 0)
      return false;
  return moderate(windows_of(module, op, op.list("window"), "dilation", 0));
}

/// The tensors whose rows, put side by side, are the rows of the view: one that is a concatenation of channels is not
/// put together for a sum over them. Of its parts those come to lie as pixels that do not; `as_they_lie`: if there are
/// such, it is put together.
std::vector<size_t> GraphBuilder::channel_sources(const std::string& name, const ValueView& view, uint64_t pixels,
                                                  uint64_t channels, bool as_they_lie) {
  const auto uniform = [&](size_t t) { return graph_.tensors[t].uniform; };
  if (!view.from || view.tensors.size() < 2 || std::ranges::any_of(view.tensors, uniform))
    return {tensor_of(name, view, pixels * channels, channels)};
  std::vector<uint64_t> begins;
  uint64_t next = 0;
  for (const size_t t : view.tensors) {
    begins.push_back(next);
    next += graph_.tensors[t].rows * graph_.tensors[t].columns;
  }
  const auto& from = *view.from;
  const auto source_of = [&](uint64_t i) {
    return static_cast<size_t>(std::ranges::upper_bound(begins, uint64_t{from[i]}) - begins.begin()) - 1;
  };
  struct Part {
    size_t source = 0;
    uint64_t first = 0, count = 0;
  };
  std::vector<Part> parts;
  for (uint64_t channel = 0; channel < channels; channel++) {
    const size_t source = source_of(channel);
    if (parts.empty() || parts.back().source != source) parts.push_back({source, channel, 0});
    parts.back().count++;
  }
  bool apart = parts.size() <= view.tensors.size();
  for (const Part& part : parts)
    for (uint64_t p = 0; apart && p < pixels; p++)
      for (uint64_t c = part.first; apart && c < part.first + part.count; c++)
        apart = source_of(p * channels + c) == part.source;
  if (!apart) return {tensor_of(name, view, pixels * channels, channels)};
  std::vector<size_t> sources;
  for (const Part& part : parts) {
    std::vector<uint32_t> own;
    own.reserve(pixels * part.count);
    for (uint64_t p = 0; p < pixels; p++)
      for (uint64_t c = part.first; c < part.first + part.count; c++)
        own.push_back(from[p * channels + c] - static_cast<uint32_t>(begins[part.source]));
    const size_t tensor = view.tensors[part.source];
    const Tensor& lies = graph_.tensors[tensor];
    bool whole = lies.rows == pixels && lies.columns == part.count;
    for (uint64_t i = 0; whole && i < own.size(); i++) whole = own[i] == i;
    if (whole) {
      sources.push_back(tensor);
      continue;
    }
    if (as_they_lie) return {pixel_rows(name, view, pixels, channels)};
    sources.push_back(tensor_of(name, {{tensor}, std::make_shared<const std::vector<uint32_t>>(std::move(own))},
                                pixels * part.count, part.count));
  }
  return sources;
}

/// A tensor whose rows are those of the view. Where it is a concatenation whose parts do not lie in rows of pixels, each
/// part comes to lie so first, and then all rows of a part go to their lanes together.
size_t GraphBuilder::pixel_rows(const std::string& name, const ValueView& view, uint64_t pixels, uint64_t channels) {
  uint64_t runs = view.from ? 0 : pixels;  // of elements that lie behind each other
  for (uint64_t i = 0; view.from && i < pixels * channels; i++)
    runs += i % channels == 0 || (*view.from)[i] != (*view.from)[i - 1] + 1;
  if (runs <= pixels * view.tensors.size()) return tensor_of(name, view, pixels * channels, channels);
  const auto sources = channel_sources(name, view, pixels, channels, false);
  if (sources.size() == 1) return sources[0];
  std::vector<uint32_t> from(pixels * channels);
  uint64_t begin = 0, channel = 0;
  for (const size_t t : sources) {
    const uint64_t count = graph_.tensors[t].columns;
    for (uint64_t p = 0; p < pixels; p++)
      for (uint64_t c = 0; c < count; c++)
        from[p * channels + channel + c] = static_cast<uint32_t>(begin + p * count + c);
    begin += pixels * count, channel += count;
  }
  return tensor_of(name, {sources, std::make_shared<const std::vector<uint32_t>>(std::move(from))}, pixels * channels,
                   channels);
}

/// The tensor whose rows are the value's pixels, with its channels as columns, if it lies so.
std::optional<size_t> GraphBuilder::pixel_tensor(ir::ValueId value, const std::vector<uint32_t>& order) const {
  const auto found = views_.find(value);
  if (found == views_.end() || found->second.tensors.size() != 1 || !found->second.from) return std::nullopt;
  const Tensor& tensor = graph_.tensors[found->second.tensors[0]];
  const auto channels = static_cast<uint64_t>(module_.type(value).dims[1]);
  if (tensor.uniform || tensor.columns != channels || tensor.rows * channels != order.size()) return std::nullopt;
  for (uint64_t i = 0; i < order.size(); i++)
    if ((*found->second.from)[order[i]] != i) return std::nullopt;
  return found->second.tensors[0];
}

/// Whether each pixel of the value lies in one row of each tensor that it is of, pixels in their order: channels that are
/// concatenated, some of all channels, or channels in another order.
bool GraphBuilder::lies_in_pixels(ir::ValueId value, const std::vector<uint32_t>& order) const {
  const auto found = views_.find(value);
  if (found == views_.end() || !found->second.from) return false;
  const auto channels = static_cast<uint64_t>(module_.type(value).dims[1]), pixels = order.size() / channels;
  std::vector<uint64_t> begins;
  uint64_t next = 0;
  for (const size_t t : found->second.tensors) {
    const Tensor& tensor = graph_.tensors[t];
    if (tensor.uniform || tensor.rows != pixels) return false;
    begins.push_back(next);
    next += tensor.rows * tensor.columns;
  }
  for (uint64_t i = 0; i < order.size(); i++) {
    const uint64_t element = (*found->second.from)[order[i]];
    const auto source = static_cast<size_t>(std::ranges::upper_bound(begins, element) - begins.begin()) - 1;
    if ((element - begins[source]) / graph_.tensors[found->second.tensors[source]].columns != i / channels)
      return false;
  }
  return true;
}

/// Where an operand lies as pixels with its channels last, the others come to lie so too: they are what is repeated.
bool GraphBuilder::align_as_pixels(const Op& op, Aligned& aligned) {
  const auto& out = module_.type(op.results[0]);
  const auto integers = [&](ir::ValueId value) { return lies_as_i32(module_.type(value).element); };
  if (out.rank() < 3 || integers(op.results[0]) || std::ranges::any_of(op.operands, integers)) return false;
  const uint64_t count = out.count(), channels = static_cast<uint64_t>(out.dims[1]);
  const auto order = permuted(out.dims, channels_last(out.rank()));  // pixel by pixel: which element
  for (const auto value : op.operands)
    if (!aligned.from && !is_constant(value) && pixel_tensor(value, order)) aligned.from = views_.at(value).from;
  if (!aligned.from) {
    const auto in_pixels = [&](ir::ValueId value) { return !is_constant(value) && lies_in_pixels(value, order); };
    if (std::ranges::none_of(op.operands, in_pixels)) return false;
    auto from = std::make_shared<std::vector<uint32_t>>(count);
    for (uint32_t i = 0; i < count; i++) (*from)[order[i]] = i;
    aligned.from = std::move(from);
  }
  aligned.rows = count / channels, aligned.columns = channels;
  for (const auto value : op.operands) {
    if (!is_constant(value)) {
      aligned.operands.emplace_back(
          pixel_rows(op.origin.node, picked(graph_, views_.at(value), order), count / channels, channels));
      continue;
    }
    const auto values = constant_values(module_, value);
    std::vector<float> ordered;
    ordered.reserve(count);
    for (const uint32_t i : order) ordered.push_back(values[i]);
    aligned.operands.push_back(constant_second(op.origin.node, std::move(ordered), channels));
  }
  return true;
}

/// The sum, largest or smallest of all pixels of an image, channel by channel: a window as large as the image.
bool GraphBuilder::add_whole_images(const Op& op) {
  const auto& x = module_.type(op.operands[0]);
  Dims spatial;
  for (size_t d = 2; d < x.rank(); d++) spatial.push_back(static_cast<int64_t>(d));
  const auto& kind = op.word("kind");
  if (lies_as_i32(x.element)) return false;
  if (spatial.empty() || op.list("dimensions") != spatial || (kind != "add" && kind != "maximum" && kind != "minimum"))
    return false;
  const auto tensor = pixel_tensor(op.operands[0], permuted(x.dims, channels_last(x.rank())));
  if (!tensor) return false;
  WindowNode node;
  node.name = op.origin.node;
  const auto images = static_cast<uint64_t>(x.dims[0]), pixels = graph_.tensors[*tensor].rows / images;
  if (pixels > kMaxWholePixels) return false;
  node.windows.images = images;
  node.windows.size = node.windows.taps = {1, pixels};
  node.op = kind == "add" ? WEFT_VPU_OP_ADD : kind == "maximum" ? WEFT_VPU_OP_MAX : WEFT_VPU_OP_MIN;
  node.x = *tensor;
  node.y = new_tensor(op.origin.node, module_.type(op.results[0]).dims, images, graph_.tensors[*tensor].columns);
  views_[op.results[0]] = {{node.y}, nullptr};
  graph_.nodes.emplace_back(std::move(node));
  return true;
}

size_t GraphBuilder::pixels_of(const Op& op) {
  const auto& x = module_.type(op.operands[0]);
  const ValueView source =
      picked(graph_, view(op.operands[0], op.origin.node), permuted(x.dims, channels_last(x.rank())));
  const auto channels = static_cast<uint64_t>(x.dims[1]);
  return pixel_rows(op.origin.node, source, x.count() / channels, channels);
}

/// The result's elements lie in a tensor whose rows are pixels.
void GraphBuilder::set_channels_last(const Op& op, size_t tensor) {
  const auto& y = module_.type(op.results[0]);
  const auto pixels = static_cast<int64_t>(y.count()) / (y.dims[0] * y.dims[1]);
  views_[op.results[0]] = picked(graph_, {{tensor}, nullptr}, permuted({y.dims[0], pixels, y.dims[1]}, {0, 2, 1}));
}

/// Channel by channel, on the vector unit.
void GraphBuilder::add_depthwise(const Op& op) {
  WindowNode node;
  node.name = op.origin.node;
  node.windows = windows_of_convolution(module_, op);
  node.x = pixels_of(op);
  const bool integers = is_i32_result(op);  // few enough to be exact in f32
  if (integers) node.x = cast(op, node.x, WEFT_VPU_DTYPE_F32);
  const uint64_t channels = graph_.tensors[node.x].columns, taps = node.windows.tap_count();
  const auto values = constant_values(module_, op.operands[1]);
  for (uint64_t t = 0; t < taps; t++)
    for (uint64_t c = 0; c < channels; c++) node.weights.push_back(values[c * taps + t]);
  size_t y = node.y = new_tensor(op.origin.node, module_.type(op.results[0]).dims, node.windows.results(), channels);
  graph_.nodes.emplace_back(std::move(node));
  if (integers) y = cast(op, y, WEFT_VPU_DTYPE_I32);
  set_channels_last(op, y);
}

void GraphBuilder::add_window_fold(const Op& op, weft_vpu_op what, float neutral) {
  WindowNode node;
  node.name = op.origin.node;
  node.windows = windows_of(module_, op, op.list("window"), "dilation", 0);
  node.op = what, node.padding = neutral;
  node.x = pixels_of(op);
  node.y = new_tensor(op.origin.node, module_.type(op.results[0]).dims, node.windows.results(),
                      graph_.tensors[node.x].columns);
  set_channels_last(op, node.y);
  graph_.nodes.emplace_back(std::move(node));
}

void GraphBuilder::add_windows_product(const Op& op) {
  const auto &x = module_.type(op.operands[0]), &w = module_.type(op.operands[1]);
  ConvolutionNode node;
  node.name = op.origin.node;
  node.windows = windows_of_convolution(module_, op);
  const auto channels = static_cast<uint64_t>(x.dims[1]);
  const auto [high, wide] = node.windows.taps;
  const bool spreads = !all_ones(op.list("lhs_dilation"));
  if (spreads)
    for (size_t d = 2; d < x.rank(); d++) {
      const size_t to = d + 2 - x.rank();
      const auto apart = static_cast<uint64_t>(op.list("lhs_dilation")[d - 2]);
      node.spread[to] = apart;
      node.windows.taps[to] /= apart, node.windows.places[to] /= apart;
      node.windows.low[to] /= static_cast<int64_t>(apart);  // of what is apart - 1 more than a multiple
    }
  const ValueView source = view(op.operands[0], op.origin.node);
  // As the model has it, x has lines as rows; of integers, where f32 sums them up exactly.
  const bool lines = !spreads && !source.from &&
                     (!is_i32_result(op) || node.windows.tap_count() * channels <= integer_terms(op)) &&
                     graph_.tensors[source.tensors[0]].columns == node.windows.size[1] &&
                     !graph_.tensors[source.tensors[0]].uniform && channels * high <= kLineChannels &&
                     node.windows.dilation[0] == 1 && node.windows.low[0] >= 0 && node.windows.low[1] >= 0;
  const bool integers = !lines && is_i32_result(op);  // of i8
  if (lines) {
    node.order = ConvolutionNode::Order::kLines;
    node.sources = {is_i32(source.tensors[0]) ? cast(op, source.tensors[0], WEFT_VPU_DTYPE_F32) : source.tensors[0]};
  } else if (integers) {
    // One source, whose channels fill whole pairs.
    const size_t pixels = tensor_of(op.origin.node, picked(graph_, source, permuted(x.dims, channels_last(x.rank()))),
                                    x.count(), channels);
    const int32_t offset = *integer_range_of(module_, op.operands[0])->to_bytes();
    node.int8 = true, node.padding = static_cast<int8_t>(offset);
    const Bytes bytes = before_bytes(op, pixels, offset);
    node.sources = {bytes.tensor}, node.bytes = bytes.by;
  } else {
    node.sources = channel_sources(op.origin.node, picked(graph_, source, permuted(x.dims, channels_last(x.rank()))),
                                   node.windows.pixels(), channels, true);
  }
  node.k = node.windows.tap_count() * channels, node.n = static_cast<uint64_t>(w.dims[0]);
  const auto values = constant_values(module_, op.operands[1]);
  if (integers && node.padding != 0) node.integer_bias.resize(node.n);
  node.weights.resize(high * wide * channels * node.n);
  for (uint64_t o = 0; o < node.n; o++)
    for (uint64_t c = 0; c < channels; c++)
      for (uint64_t ky = 0; ky < high; ky++)
        for (uint64_t kx = 0; kx < wide; kx++) {
          const auto [sy, sx] = node.spread;
          // Of a transposed convolution the last one of `spread` taps is that of residue 0.
          const uint64_t residue = (sy - 1 - ky % sy) * sx + sx - 1 - kx % sx;
          const uint64_t tap = residue * (high / sy) * (wide / sx) + ky / sy * (wide / sx) + kx / sx;
          const uint64_t k = lines ? (ky * channels + c) * wide + kx : tap * channels + c;
          node.weights[k * node.n + o] = values[((o * channels + c) * high + ky) * wide + kx];
          if (!node.integer_bias.empty())
            node.integer_bias[o] -= node.padding * static_cast<int32_t>(node.weights[k * node.n + o]);
        }
  node.y = new_tensor(op.origin.node, module_.type(op.results[0]).dims, module_.type(op.results[0]).count() / node.n,
                      node.n);
  if (integers) graph_.tensors[node.y].dtype = WEFT_VPU_DTYPE_I32;
  producer_[node.y] = graph_.nodes.size();
  size_t y = node.y;
  graph_.nodes.emplace_back(std::move(node));
  if (lines && is_i32_result(op)) y = cast(op, y, WEFT_VPU_DTYPE_I32);
  set_channels_last(op, y);
}

}  // namespace weft::compiler
