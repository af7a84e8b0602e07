// Products and convolutions: both become C += A B on dense blocks, whose inner loop runs along the columns of B.
#include <algorithm>
#include <cstring>

#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/reference/rules.hpp"
#include "host/compiler/reference/window.hpp"

namespace weft::compiler::reference {
namespace {

using ir::Dims;
using ir::ElementType;

constexpr int64_t kColumns = 256, kDepth = 256;  // of a block of B that stays in the cache

/// c (m x n) += a (m x k) b (k x n), all dense, k ascending.
template <typename C>
void multiply(const C* a, const C* b, C* c, int64_t m, int64_t k, int64_t n) {
  for (int64_t n0 = 0; n0 < n; n0 += kColumns)
    for (int64_t k0 = 0; k0 < k; k0 += kDepth) {
      const int64_t width = std::min(kColumns, n - n0), depth = std::min(kDepth, k - k0);
      for (int64_t row = 0; row < m; row++) {
        C* to = c + row * n + n0;
        for (int64_t i = 0; i < depth; i++) {
          const C factor = a[row * k + k0 + i];
          const C* from = b + (k0 + i) * n + n0;
          for (int64_t j = 0; j < width; j++) to[j] += factor * from[j];
        }
      }
    }
}

/// The elements of a tensor in the type of the sums, dimensions in another order.
template <typename C>
std::vector<C> ordered(const ir::Tensor& tensor, const std::vector<size_t>& order) {
  const Dims own = ir::strides_of(tensor.type.dims);
  Dims dims, from;
  for (const size_t d : order) dims.push_back(tensor.type.dims[d]), from.push_back(own[d]);
  std::vector<C> elements(tensor.type.count());
  ir::visit_type(tensor.type.element, [&](auto t) {
    using T = typename decltype(t)::type;
    Odometer at(dims);
    for (auto& element : elements) {
      int64_t place = 0;
      for (size_t d = 0; d < dims.size(); d++) place += at.at()[d] * from[d];
      element = widen<C>(tensor.as<T>()[place]);
      at.next();
    }
  });
  return elements;
}

/// The type in which products of elements of this type are summed; integers as unsigned ones, which wrap.
template <typename F>
void visit_sums(ElementType type, F f) {
  if (type == ElementType::kF64)
    f(double{});
  else if (ir::is_float(type))
    f(float{});
  else
    f(uint64_t{});
}

template <typename C>
void store(const std::vector<C>& sums, ir::Tensor& result) {
  ir::visit_type(result.type.element, [&](auto t) {
    using T = typename decltype(t)::type;
    for (uint64_t i = 0; i < sums.size(); i++) result.as<T>()[i] = narrow<T>(sums[i]);
  });
}

}  // namespace

Results dot_general(const ir::Op& op, const Operands& in, const ir::Types& out) {
  auto result = make(out[0]);
  // [batch, free, summed] by [batch, summed, free].
  const auto order = [&](const ir::TensorType& type, const char* batch, const char* sum, bool sum_last) {
    std::vector<size_t> dims, free;
    const Dims &b = op.list(batch), &s = op.list(sum);
    for (size_t d = 0; d < type.rank(); d++)
      if (std::ranges::find(b, static_cast<int64_t>(d)) == b.end() &&
          std::ranges::find(s, static_cast<int64_t>(d)) == s.end())
        free.push_back(d);
    dims.assign(b.begin(), b.end());
    if (sum_last) dims.insert(dims.end(), free.begin(), free.end());
    dims.insert(dims.end(), s.begin(), s.end());
    if (!sum_last) dims.insert(dims.end(), free.begin(), free.end());
    return dims;
  };
  int64_t batch = 1, k = 1;
  for (const int64_t d : op.list("lhs_batch")) batch *= in[0]->type.dims[static_cast<size_t>(d)];
  for (const int64_t d : op.list("lhs_contract")) k *= in[0]->type.dims[static_cast<size_t>(d)];
  if (out[0].count() == 0 || k == 0) return {result};
  const int64_t m = static_cast<int64_t>(in[0]->type.count()) / batch / k,
                n = static_cast<int64_t>(in[1]->type.count()) / batch / k;
  check_work(op, static_cast<double>(out[0].count()) * static_cast<double>(k));
  visit_sums(out[0].element, [&]<typename C>(C) {
    const auto a = ordered<C>(*in[0], order(in[0]->type, "lhs_batch", "lhs_contract", true));
    const auto b = ordered<C>(*in[1], order(in[1]->type, "rhs_batch", "rhs_contract", false));
    std::vector<C> c(out[0].count());
    for (int64_t i = 0; i < batch; i++)
      multiply(&a[static_cast<size_t>(i * m * k)], &b[static_cast<size_t>(i * k * n)],
               &c[static_cast<size_t>(i * m * n)], m, k, n);
    store(c, *result);
  });
  return {result};
}

Results convolution(const ir::Op& op, const Operands& in, const ir::Types& out) {
  auto result = make(out[0]);
  const Dims &x_dims = in[0]->type.dims, &w_dims = in[1]->type.dims;
  const int64_t groups = op.integer("groups"), channels = w_dims[1], outputs = w_dims[0] / groups;
  const Dims taps(w_dims.begin() + 2, w_dims.end()), places(out[0].dims.begin() + 2, out[0].dims.end()),
      size(x_dims.begin() + 2, x_dims.end());
  const auto tap_count = static_cast<int64_t>(ir::count_of(taps)),
             place_count = static_cast<int64_t>(ir::count_of(places)),
             pixels = static_cast<int64_t>(ir::count_of(size));
  const Window under{size, op.list("strides"), op.list("low"), op.list("rhs_dilation"), op.list("lhs_dilation")};
  const int64_t k = channels * tap_count;
  if (out[0].count() == 0 || k == 0) return {result};
  check_work(op, static_cast<double>(out[0].count()) * static_cast<double>(k));
  // The pixel under each tap at each place; -1: padding, or between pixels.
  std::vector<int64_t> pixel(static_cast<size_t>(tap_count * place_count));
  Odometer tap(taps);
  for (int64_t t = 0; t < tap_count; t++, tap.next()) {
    Odometer place(places);
    for (int64_t p = 0; p < place_count; p++, place.next())
      pixel[static_cast<size_t>(t * place_count + p)] = under.element(place.at(), tap.at());
  }
  visit_sums(out[0].element, [&]<typename C>(C) {
    std::vector<size_t> same(x_dims.size());
    for (size_t d = 0; d < same.size(); d++) same[d] = d;
    const auto x = ordered<C>(*in[0], same), w = ordered<C>(*in[1], same);
    std::vector<C> y(out[0].count());
    // A block of places at a time: its pixels under all taps of all channels are the matrix B.
    const int64_t block = std::clamp<int64_t>((1 << 22) / k, 1, place_count);
    std::vector<C> patches(static_cast<size_t>(k * block)), sums(static_cast<size_t>(outputs * block));
    for (int64_t image = 0; image < x_dims[0]; image++)
      for (int64_t group = 0; group < groups; group++)
        for (int64_t p0 = 0; p0 < place_count; p0 += block) {
          const int64_t width = std::min(block, place_count - p0);
          for (int64_t c = 0; c < channels; c++)
            for (int64_t t = 0; t < tap_count; t++) {
              const C* plane = &x[static_cast<size_t>((image * x_dims[1] + group * channels + c) * pixels)];
              const int64_t* at = &pixel[static_cast<size_t>(t * place_count + p0)];
              C* to = &patches[static_cast<size_t>((c * tap_count + t) * width)];
              for (int64_t p = 0; p < width; p++) to[p] = at[p] < 0 ? C{} : plane[at[p]];
            }
          std::ranges::fill(sums, C{});
          multiply(&w[static_cast<size_t>(group * outputs * k)], patches.data(), sums.data(), outputs, k, width);
          for (int64_t o = 0; o < outputs; o++)
            std::copy_n(&sums[static_cast<size_t>(o * width)], width,
                        &y[static_cast<size_t>((image * w_dims[0] + group * outputs + o) * place_count + p0)]);
        }
    store(y, *result);
  });
  return {result};
}

}  // namespace weft::compiler::reference
