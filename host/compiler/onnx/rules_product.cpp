// Matrix products, contractions, determinants and attention.
#include <algorithm>
#include <cmath>

#include "host/compiler/onnx/functions.hpp"
#include "host/compiler/onnx/rules.hpp"

namespace weft::compiler::frontend {
namespace {

using Keep = Builder::Keep;

void matmul_rule(Node& n) { n.out(matmul(n.b, n.in(0), n.in(1), n.b.element(n.in(0)))); }

/// alpha goes into the second operand, beta into the third: of constants both are folded away.
void gemm(Node& n) {
  ValueId x = n.in(0), w = n.in(1);
  if (n.b.rank(x) != 2 || n.b.rank(w) != 2)
    invalid("a product of {} and {}; Gemm takes matrices", n.b.type(x).text(), n.b.type(w).text());
  const double alpha = n.number("alpha", 1), beta = n.number("beta", 1);
  if (n.integer("transA", 0) != 0) x = n.b.transpose(x, {1, 0});
  if (n.integer("transB", 0) != 0) w = n.b.transpose(w, {1, 0});
  if (!ir::is_float(n.b.element(x)) && (alpha != std::floor(alpha) || beta != std::floor(beta)))
    unsupported("alpha {} and beta {} of integers; supported: whole numbers", alpha, beta);
  if (n.b.dim(x, 1) != n.b.dim(w, 0)) invalid("a product of {} and {}", n.b.type(x).text(), n.b.type(w).text());
  if (alpha != 1) w = n.b.times(w, alpha);
  ValueId y = n.b.dot(x, w, {}, {}, {1}, {0}, n.b.element(x));
  if (n.has(2)) {
    ValueId c = n.in(2);
    if (ir::broadcast_dims(n.b.dims(c), n.b.dims(y)) != n.b.dims(y))
      invalid("input 2 of shape {} is added to a product of shape {}: it must broadcast to that",
              ir::dims_text(n.b.dims(c)), ir::dims_text(n.b.dims(y)));
    if (beta != 1) c = n.b.times(c, beta);
    y = n.b.plus(y, c);
  }
  n.out(y);
}

void matmul_integer(Node& n) {
  const auto shifted = [&](size_t operand, size_t zero_point) {
    const ValueId x = n.b.convert(n.in(operand), ElementType::kI32);
    if (!n.has(zero_point)) return x;
    ValueId zero = n.b.convert(n.in(zero_point), ElementType::kI32);
    // One for each row of the first operand: a column.
    if (operand == 0 && n.b.rank(zero) == 1 && n.b.dim(zero, 0) != 1) zero = n.b.reshape(zero, {n.b.dim(zero, 0), 1});
    return n.b.minus(x, zero);
  };
  n.out(matmul(n.b, shifted(0, 2), shifted(1, 3), ElementType::kI32));
}

// ---- Einsum

using Labels = std::string;

struct Term {
  ValueId value;
  Labels labels;
};

/// Sums over a label, or takes the diagonal of one that is there twice.
void merge_repeated(Node& n, Term& term) {
  for (size_t i = 0; i < term.labels.size(); i++) {
    const size_t k = term.labels.find(term.labels[i], i + 1);
    if (k == Labels::npos) continue;
    const Dims dims = n.b.dims(term.value);
    if (dims[i] != dims[k]) invalid("label '{}' has {} and {} elements", term.labels[i], dims[i], dims[k]);
    const ValueId diagonal =
        n.b.compare("eq", n.b.iota(ElementType::kI64, dims, i), n.b.iota(ElementType::kI64, dims, k));
    term.value = n.b.reduce("add", n.b.select(diagonal, term.value, n.b.like(term.value, 0)), {static_cast<int64_t>(k)},
                            Keep::kNo);
    term.labels.erase(k, 1);
    i--;
  }
}

void sum_unless(Node& n, Term& term, const Labels& needed) {
  Dims gone;
  Labels kept;
  for (size_t i = 0; i < term.labels.size(); i++)
    if (needed.find(term.labels[i]) == Labels::npos)
      gone.push_back(static_cast<int64_t>(i));
    else
      kept += term.labels[i];
  term.value = n.b.reduce("add", term.value, gone, Keep::kNo);
  term.labels = kept;
}

/// Multiplies a by b and sums over the labels that no later term uses.
Term contract(Node& n, Term a, Term b, const Labels& later) {
  sum_unless(n, a, later + b.labels);
  sum_unless(n, b, later + a.labels);
  Dims batch_a, batch_b, sum_a, sum_b;
  Labels batch, rest;
  for (size_t i = 0; i < a.labels.size(); i++) {
    const size_t k = b.labels.find(a.labels[i]);
    if (k == Labels::npos) {
      rest += a.labels[i];
      continue;
    }
    // A dimension of one element is as long as the other's.
    if (n.b.dim(a.value, i) != n.b.dim(b.value, k)) {
      Term& narrow = n.b.dim(a.value, i) == 1 ? a : b;
      Dims dims = n.b.dims(narrow.value);
      dims[&narrow == &a ? i : k] = &narrow == &a ? n.b.dim(b.value, k) : n.b.dim(a.value, i);
      narrow.value = n.b.broadcast_to(narrow.value, dims);
    }
    const bool needed = later.find(a.labels[i]) != Labels::npos;
    (needed ? batch_a : sum_a).push_back(static_cast<int64_t>(i));
    (needed ? batch_b : sum_b).push_back(static_cast<int64_t>(k));
    if (needed) batch += a.labels[i];
  }
  for (const char label : b.labels)
    if (a.labels.find(label) == Labels::npos) rest += label;
  return {n.b.dot(a.value, b.value, batch_a, batch_b, sum_a, sum_b, n.b.element(a.value)), batch + rest};
}

void einsum(Node& n) {
  std::string equation = n.word("equation", "");
  std::erase(equation, ' ');
  const size_t arrow = equation.find("->");
  std::vector<Term> terms;
  std::string left = equation.substr(0, arrow);
  std::vector<Labels> words{""};
  for (const char c : left) {
    if (c == ',')
      words.emplace_back();
    else
      words.back() += c;
  }
  if (words.size() != n.inputs()) invalid("equation '{}' of {} terms, {} inputs", equation, words.size(), n.inputs());
  size_t dots = 0;  // dimensions that the longest ellipsis stands for; they get the labels '0', '1', ...
  const auto spread = [&](Labels& labels, size_t count) {
    const size_t at = labels.find("...");
    if (at == Labels::npos) return;
    Labels names;
    for (size_t i = 0; i < count; i++) names += static_cast<char>('0' + (dots - count + i));
    labels.replace(at, 3, names);
  };
  for (int pass = 0; pass < 2; pass++)
    for (size_t i = 0; i < words.size(); i++) {
      const size_t rank = n.b.rank(n.in(i));
      const bool open = words[i].find("...") != Labels::npos;
      const size_t named = words[i].size() - (open ? 3 : 0);
      if (open ? named > rank : named != rank)
        invalid("term '{}' of equation '{}' for {}", words[i], equation, n.b.type(n.in(i)).text());
      if (pass == 0 && open) dots = std::max(dots, rank - named);
      if (pass == 1 && open) spread(words[i], rank - named);
    }
  if (dots > 8) unsupported("an ellipsis of {} dimensions", dots);
  Labels out = arrow == std::string::npos ? "" : equation.substr(arrow + 2);
  if (arrow == std::string::npos) {
    std::map<char, int> count;
    for (const auto& word : words)
      for (const char c : word) count[c]++;
    for (const auto& [label, times] : count)
      if (times == 1 && label >= 'A') out += label;
    if (dots != 0) out = "..." + out;
  }
  spread(out, dots);
  for (size_t i = 0; i < words.size(); i++) {
    terms.push_back({n.in(i), words[i]});
    for (const char c : words[i])
      if (c != '0' && !std::isalnum(static_cast<unsigned char>(c))) invalid("equation '{}'", equation);
    merge_repeated(n, terms.back());
  }
  Term result = terms[0];
  for (size_t i = 1; i < terms.size(); i++) {
    Labels later = out;
    for (size_t k = i + 1; k < terms.size(); k++) later += terms[k].labels;
    result = contract(n, result, terms[i], later);
  }
  sum_unless(n, result, out);
  Dims order;
  for (const char label : out) {
    const size_t at = result.labels.find(label);
    if (at == Labels::npos || out.find(label) != out.rfind(label)) invalid("equation '{}'", equation);
    order.push_back(static_cast<int64_t>(at));
  }
  n.out(n.b.transpose(result.value, order));
}

// ---- Det

/// Gaussian elimination with the largest pivot of each column.
void det(Node& n) {
  const ValueId given = n.in(0);
  const size_t rank = n.b.rank(given);
  constexpr int64_t kMost = 64;
  if (rank < 2 || n.b.dim(given, rank - 1) != n.b.dim(given, rank - 2))
    invalid("{}; Det takes square matrices", n.b.type(given).text());
  const int64_t size = n.b.dim(given, rank - 1);
  if (size > kMost) unsupported("matrices of {} rows; supported: {}", size, kMost);
  const Dims batch_dims(n.b.dims(given).begin(), n.b.dims(given).end() - 2);
  const auto batch = static_cast<int64_t>(ir::count_of(batch_dims));
  ValueId a = n.b.reshape(given, {batch, size, size});
  ValueId result = n.b.fill({n.b.element(given), {batch, 1, 1}}, 1);
  const Dims grid{batch, size};
  const ValueId rows = n.b.iota(ElementType::kI64, grid, 1),
                base = n.b.times(n.b.iota(ElementType::kI64, grid, 0), static_cast<double>(size));
  for (int64_t i = 0; i < size; i++) {
    const ValueId column = n.b.reshape(n.b.slice_of(a, 2, i, i + 1), grid);
    const ValueId open = n.b.compare("ge", rows, n.b.like(rows, static_cast<double>(i)));
    const ValueId pivot = arg_extreme(n.b, n.b.select(open, n.b.unary(OpKind::kAbs, column), n.b.like(column, -1)), 1,
                                      Extreme::kMaximum, Tie::kFirst);
    const ValueId here = n.b.like(rows, static_cast<double>(i));
    const ValueId order =
        n.b.select(n.b.compare("eq", rows, here), pivot, n.b.select(n.b.compare("eq", rows, pivot), here, rows));
    a = n.b.take(n.b.reshape(a, {batch * size, size}), n.b.plus(order, base), 0);
    const ValueId top = n.b.slice_of(a, 1, i, i + 1), value = n.b.slice_of(top, 2, i, i + 1);
    const ValueId sign =
        n.b.select(n.b.reshape(n.b.compare("eq", pivot, n.b.like(pivot, static_cast<double>(i))), {batch, 1, 1}),
                   n.b.like(value, 1), n.b.like(value, -1));
    result = n.b.times(result, n.b.times(value, sign));
    const ValueId zero = n.b.like(value, 0);
    const ValueId factor =
        n.b.over(n.b.slice_of(a, 2, i, i + 1), n.b.select(n.b.compare("eq", value, zero), n.b.like(value, 1), value));
    const ValueId below = n.b.compare("gt", n.b.iota(ElementType::kI64, {batch, size, 1}, 1),
                                      n.b.scalar(ElementType::kI64, static_cast<double>(i)));
    a = n.b.minus(a, n.b.times(n.b.select(below, factor, zero), top));
  }
  n.out(n.b.reshape(result, batch_dims));
}

}  // namespace

const Rules& product_rules() {
  static const Rules rules{
      {"Det", det}, {"Einsum", einsum}, {"Gemm", gemm}, {"MatMul", matmul_rule}, {"MatMulInteger", matmul_integer}};
  return rules;
}

}  // namespace weft::compiler::frontend
