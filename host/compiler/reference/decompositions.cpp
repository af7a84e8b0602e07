// Cholesky's decomposition and triangular systems, matrix by matrix, in double.
#include <cmath>

#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/reference/rules.hpp"

namespace weft::compiler::reference {
namespace {

/// A matrix of doubles.
struct Matrix {
  size_t rows, columns;
  std::vector<double> elements;
  double& at(size_t i, size_t j) { return elements[i * columns + j]; }
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

size_t count_of_matrices(const ir::TensorType& type) {
  return type.count() == 0 ? 0 : ir::count_of(std::span(type.dims).first(type.rank() - 2));
}

}  // namespace

Results cholesky(const ir::Op& op, const Operands& in, const ir::Types& out) {
  auto result = make(out[0]);
  const bool lower = op.integer("lower") != 0;
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

}  // namespace weft::compiler::reference
