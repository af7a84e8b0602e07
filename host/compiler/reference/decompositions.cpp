// Decompositions and triangular systems, matrix by matrix, in double.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/reference/rules.hpp"

namespace weft::compiler::reference {
namespace {

/// A matrix of doubles.
struct Matrix {
  size_t rows, columns;
  std::vector<double> elements;
  double& at(size_t i, size_t j) { return elements[i * columns + j]; }
  [[nodiscard]] double at(size_t i, size_t j) const { return elements[i * columns + j]; }
};

Matrix matrix_of(const ir::Tensor& tensor, size_t number) {
  const auto& dims = tensor.type.dims;
  Matrix m{static_cast<size_t>(dims[dims.size() - 2]), static_cast<size_t>(dims[dims.size() - 1]), {}};
  m.elements.resize(m.rows * m.columns);
  for (size_t i = 0; i < m.elements.size(); i++) m.elements[i] = tensor.number(number * m.elements.size() + i);
  return m;
}

void store(const Matrix& m, ir::Tensor& tensor, size_t number) {
  ir::visit_type(tensor.type.element, [&](auto t) {
    using T = typename decltype(t)::type;
    if constexpr (!std::is_integral_v<T>)
      for (size_t i = 0; i < m.elements.size(); i++)
        tensor.as<T>()[number * m.elements.size() + i] = static_cast<T>(m.elements[i]);
  });
}

/// Reflects column `c` by 1 - factor v vT, where v is column `j` of `vectors`: 1 in row j, and its elements below.
void reflect(const Matrix& vectors, size_t j, double factor, Matrix& a, size_t c) {
  double sum = a.at(j, c);
  for (size_t i = j + 1; i < a.rows; i++) sum += vectors.at(i, j) * a.at(i, c);
  sum *= factor;
  a.at(j, c) -= sum;
  for (size_t i = j + 1; i < a.rows; i++) a.at(i, c) -= vectors.at(i, j) * sum;
}

/// Reflects columns from `j` on so that column j is zero below the diagonal, where its vector stays. Returns the factor.
double eliminate(Matrix& a, size_t j) {
  double below = 0;
  for (size_t i = j + 1; i < a.rows; i++) below = std::hypot(below, a.at(i, j));
  if (below == 0) return 0;
  const double first = a.at(j, j), length = -std::copysign(std::hypot(first, below), first);
  for (size_t i = j + 1; i < a.rows; i++) a.at(i, j) /= first - length;
  a.at(j, j) = length;
  const double factor = (length - first) / length;
  for (size_t c = j + 1; c < a.columns; c++) reflect(a, j, factor, a, c);
  return factor;
}

/// Turns rows and columns p and q of a symmetric matrix so that its element at (p, q) is zero, and columns of `vectors`.
void rotate(Matrix& a, Matrix& vectors, size_t p, size_t q) {
  const double ratio = (a.at(q, q) - a.at(p, p)) / (2 * a.at(p, q));
  const double tangent = std::copysign(1 / (std::abs(ratio) + std::hypot(ratio, 1.0)), ratio);
  const double cosine = 1 / std::hypot(tangent, 1.0), sine = tangent * cosine;
  const auto turn = [&](double& x, double& y) {
    const double first = x;
    x = cosine * first - sine * y;
    y = sine * first + cosine * y;
  };
  for (size_t i = 0; i < a.rows; i++) turn(a.at(i, p), a.at(i, q));
  for (size_t i = 0; i < a.rows; i++) turn(a.at(p, i), a.at(q, i));
  for (size_t i = 0; i < a.rows; i++) turn(vectors.at(i, p), vectors.at(i, q));
  a.at(p, q) = a.at(q, p) = 0;
}

/// Jacobi's method: leaves the eigenvalues on the diagonal of a symmetric matrix. Returns the eigenvectors as columns.
Matrix diagonalize(Matrix& a) {
  constexpr int kMostSweeps = 64;   // some 6 to 10 are needed
  constexpr double kSmall = 1e-32;  // of squares: beyond double's precision
  const size_t n = a.rows;
  Matrix vectors{n, n, std::vector<double>(n * n)};
  for (size_t i = 0; i < n; i++) vectors.at(i, i) = 1;
  for (int sweep = 0; sweep < kMostSweeps; sweep++) {
    double all = 0, beside = 0;
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < n; j++) (i == j ? all : beside) += a.at(i, j) * a.at(i, j);
    if (beside <= kSmall * (all + beside)) break;
    for (size_t p = 0; p < n; p++)
      for (size_t q = p + 1; q < n; q++)
        if (a.at(p, q) != 0) rotate(a, vectors, p, q);
  }
  return vectors;
}

size_t count_of_matrices(const ir::TensorType& type) {
  return type.count() == 0 ? 0 : ir::count_of(std::span(type.dims).first(type.rank() - 2));
}

}  // namespace

Results cholesky(const ir::Op& op, const Operands& in, const ir::Types& out) {
  auto result = make(out[0]);
  const bool lower = op.integer("lower") != 0;
  check_work(op, static_cast<double>(out[0].count()) * static_cast<double>(out[0].dims.back()));
  for (size_t k = 0; k < count_of_matrices(out[0]); k++) {
    Matrix a = matrix_of(*in[0], k), l{a.rows, a.columns, std::vector<double>(a.elements.size())};
    const size_t n = a.rows;
    // The triangle that is not asked for is not read.
    for (size_t j = 0; j < n; j++)
      for (size_t i = j; i < n; i++) {
        double sum = lower ? a.at(i, j) : a.at(j, i);
        for (size_t s = 0; s < j; s++) sum -= l.at(i, s) * l.at(j, s);
        l.at(i, j) = i == j ? std::sqrt(sum) : sum / l.at(j, j);  // NaN: the matrix is not positive definite
      }
    if (!lower)
      for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) std::swap(l.at(i, j), l.at(j, i));
    store(l, *result, k);
  }
  return {result};
}

Results triangular_solve(const ir::Op& op, const Operands& in, const ir::Types& out) {
  auto result = make(out[0]);
  const bool left = op.integer("left_side") != 0, transpose = op.integer("transpose") != 0,
             unit = op.integer("unit_diagonal") != 0;
  // x a = b is aT xT = bT: a is read the other way round, and x by columns.
  const bool turned = transpose == left;
  const bool lower = (op.integer("lower") != 0) != turned;
  check_work(op, static_cast<double>(out[0].count()) * static_cast<double>(in[0]->type.dims.back()));
  for (size_t k = 0; k < count_of_matrices(out[0]); k++) {
    Matrix a = matrix_of(*in[0], k), x = matrix_of(*in[1], k);
    const size_t n = a.rows, systems = left ? x.columns : x.rows;
    const auto coefficient = [&](size_t i, size_t j) { return turned ? a.at(j, i) : a.at(i, j); };
    const auto unknown = [&](size_t i, size_t system) -> double& { return left ? x.at(i, system) : x.at(system, i); };
    for (size_t system = 0; system < systems; system++)
      for (size_t step = 0; step < n; step++) {
        const size_t i = lower ? step : n - 1 - step;
        double sum = unknown(i, system);
        for (size_t s = 0; s < step; s++) {
          const size_t j = lower ? s : n - 1 - s;
          sum -= coefficient(i, j) * unknown(j, system);
        }
        unknown(i, system) = unit ? sum : sum / coefficient(i, i);
      }
    store(x, *result, k);
  }
  return {result};
}

/// U, and below its diagonal L without its ones; the row that each step exchanges its own with; the order of the rows.
Results lu(const ir::Op& op, const Operands& in, const ir::Types& out) {
  auto packed = make(out[0]), exchanged = make(out[1]), order = make(out[2]);
  const auto steps = static_cast<size_t>(out[1].dims.back());
  check_work(op, 2.0 * static_cast<double>(out[0].count()) * static_cast<double>(steps));
  for (size_t k = 0; k < count_of_matrices(out[0]); k++) {
    Matrix a = matrix_of(*in[0], k);
    const std::span rows = std::span(order->as<int32_t>(), order->type.count()).subspan(k * a.rows, a.rows);
    std::iota(rows.begin(), rows.end(), 0);
    for (size_t j = 0; j < steps; j++) {
      size_t pivot = j;
      for (size_t i = j + 1; i < a.rows; i++)
        if (std::abs(a.at(i, j)) > std::abs(a.at(pivot, j))) pivot = i;
      exchanged->as<int32_t>()[k * steps + j] = static_cast<int32_t>(pivot);
      std::swap(rows[j], rows[pivot]);
      for (size_t c = 0; c < a.columns; c++) std::swap(a.at(j, c), a.at(pivot, c));
      if (a.at(j, j) == 0) continue;  // the matrix is singular
      for (size_t i = j + 1; i < a.rows; i++) {
        a.at(i, j) /= a.at(j, j);
        for (size_t c = j + 1; c < a.columns; c++) a.at(i, c) -= a.at(i, j) * a.at(j, c);
      }
    }
    store(a, *packed, k);
  }
  return {packed, exchanged, order};
}

/// R, and below its diagonal the vectors of the reflections whose product Q is; then their factors.
Results qr(const ir::Op& op, const Operands& in, const ir::Types& out) {
  auto packed = make(out[0]), factors = make(out[1]);
  const auto steps = static_cast<size_t>(out[1].dims.back());
  check_work(op, 4.0 * static_cast<double>(out[0].count()) * static_cast<double>(steps));
  for (size_t k = 0; k < count_of_matrices(out[0]); k++) {
    Matrix a = matrix_of(*in[0], k), factor{1, steps, std::vector<double>(steps)};
    for (size_t j = 0; j < steps; j++) factor.at(0, j) = eliminate(a, j);
    store(a, *packed, k);
    store(factor, *factors, k);
  }
  return {packed, factors};
}

/// The first columns of the product of reflections that qr() leaves.
Results householder_product(const ir::Op& op, const Operands& in, const ir::Types& out) {
  auto result = make(out[0]);
  const auto steps = static_cast<size_t>(in[1]->type.dims.back());
  check_work(op, 4.0 * static_cast<double>(out[0].count()) * static_cast<double>(steps));
  for (size_t k = 0; k < count_of_matrices(out[0]); k++) {
    const Matrix vectors = matrix_of(*in[0], k);
    Matrix product{vectors.rows, vectors.columns, std::vector<double>(vectors.elements.size())};
    for (size_t c = 0; c < product.columns; c++) {
      product.at(c, c) = 1;
      for (size_t j = steps; j-- > 0;) reflect(vectors, j, in[1]->number(k * steps + j), product, c);
    }
    store(product, *result, k);
  }
  return {result};
}

/// Eigenvectors as columns, then eigenvalues, the smallest first. The triangle that is not asked for is not read.
Results eigh(const ir::Op& op, const Operands& in, const ir::Types& out) {
  auto columns = make(out[0]), values = make(out[1]);
  const bool lower = op.integer("lower") != 0;
  check_work(op, 100.0 * static_cast<double>(out[0].count()) * static_cast<double>(out[1].dims.back()));
  for (size_t k = 0; k < count_of_matrices(out[0]); k++) {
    Matrix a = matrix_of(*in[0], k);
    const size_t n = a.rows;
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < i; j++) {
        double& unread = lower ? a.at(j, i) : a.at(i, j);
        unread = lower ? a.at(i, j) : a.at(j, i);
      }
    const bool finite = std::ranges::all_of(a.elements, [](double x) { return std::isfinite(x); });
    if (!finite) std::ranges::fill(a.elements, std::numeric_limits<double>::quiet_NaN());
    const Matrix vectors = finite ? diagonalize(a) : a;
    std::vector<size_t> order(n);
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, [&](size_t i, size_t j) { return a.at(i, i) < a.at(j, j); });
    Matrix sorted = vectors, diagonal{1, n, std::vector<double>(n)};
    for (size_t j = 0; j < n; j++) {
      diagonal.at(0, j) = a.at(order[j], order[j]);
      for (size_t i = 0; i < n; i++) sorted.at(i, j) = vectors.at(i, order[j]);
    }
    store(sorted, *columns, k);
    store(diagonal, *values, k);
  }
  return {columns, values};
}

}  // namespace weft::compiler::reference
