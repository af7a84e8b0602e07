// RNN, GRU and LSTM: a step for each element of the sequence, one behind the other.
#include <algorithm>
#include <cctype>

#include "host/compiler/onnx/rules.hpp"

namespace weft::compiler::frontend {
namespace {

/// An activation of a gate, by ONNX's name, with its parameters.
struct Activation {
  std::string name;
  double alpha = 0, beta = 0;
};

ValueId activate(Builder& b, const Activation& f, ValueId x) {
  if (f.name == "sigmoid") return b.unary(OpKind::kLogistic, x);
  if (f.name == "tanh") return b.unary(OpKind::kTanh, x);
  if (f.name == "relu") return b.max(x, b.like(x, 0));
  if (f.name == "affine") return b.plus(b.times(x, f.alpha), f.beta);
  if (f.name == "leakyrelu") return b.select(b.compare("lt", x, b.like(x, 0)), b.times(x, f.alpha), x);
  if (f.name == "thresholdedrelu") return b.select(b.compare("ge", x, b.like(x, f.alpha)), x, b.like(x, 0));
  if (f.name == "scaledtanh") return b.times(b.unary(OpKind::kTanh, b.times(x, f.beta)), f.alpha);
  if (f.name == "hardsigmoid") return b.max(b.min(b.plus(b.times(x, f.alpha), f.beta), b.like(x, 1)), b.like(x, 0));
  if (f.name == "elu")
    return b.select(b.compare("lt", x, b.like(x, 0)), b.times(b.minus(b.exp(b.min(x, b.like(x, 0))), 1), f.alpha), x);
  if (f.name == "softsign") return b.over(x, b.plus(b.unary(OpKind::kAbs, x), 1));
  if (f.name == "softplus")
    return b.plus(b.max(x, b.like(x, 0)),
                  b.unary(OpKind::kLogPlusOne, b.exp(b.unary(OpKind::kNegate, b.unary(OpKind::kAbs, x)))));
  unsupported("activation '{}'", f.name);
}

/// ONNX's defaults of alpha and beta.
std::pair<double, double> defaults_of(const std::string& name) {
  if (name == "leakyrelu") return {0.01f, 0};
  if (name == "thresholdedrelu" || name == "elu") return {1, 0};
  if (name == "hardsigmoid") return {0.2f, 0.5};
  if (name == "scaledtanh" || name == "affine") return {1, name == "affine" ? 0 : 1};
  return {0, 0};
}

/// What the three have in common; g gates.
class Recurrent {
 public:
  Recurrent(Node& n, int64_t gates, const std::vector<std::string>& activations) : n_(n), b_(n.b), gates_(gates) {
    x_ = n.in(0);
    batch_first_ = n.integer("layout", 0) != 0;
    if (b_.rank(x_) != 3) invalid("an input of {}", b_.type(x_).text());
    if (batch_first_) x_ = b_.transpose(x_, {1, 0, 2});
    steps_ = b_.dim(x_, 0), batch_ = b_.dim(x_, 1);
    const auto direction = n.word("direction", "forward");
    if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
      invalid("direction '{}'", direction);
    backwards_ = direction == "reverse";
    directions_ = direction == "bidirectional" ? 2 : 1;
    hidden_ = n.integer("hidden_size", b_.dim(n.in(2), 2));
    check(1, {directions_, gates * hidden_, b_.dim(x_, 2)});
    check(2, {directions_, gates * hidden_, hidden_});
    if (n.has(3)) check(3, {directions_, 2 * gates * hidden_});
    if (n.has(4)) {
      if (b_.dims(n.in(4)) != Dims{batch_}) invalid("sequence_lens of {}", b_.type(n.in(4)).text());
      lengths_ = b_.reshape(b_.convert(n.in(4), ElementType::kI64), {batch_, 1});
    }
    read_activations(activations);
  }

  /// Of one direction.
  struct Weights {
    ValueId w, r;                   ///< [gates x hidden, input], [gates x hidden, hidden]
    std::optional<ValueId> wb, rb;  ///< [gates x hidden]
    std::vector<Activation> activations;
  };
  struct State {
    ValueId h, c;
  };

  /// `step(weights, x, state)`: the next state. `with_cell`: there is a c too, input and output of the node.
  template <typename Step>
  void run(bool with_cell, Step step) {
    std::vector<ValueId> sequences, last_h, last_c;
    for (int64_t d = 0; d < directions_; d++) {
      Weights weights{pick(n_.in(1), d), pick(n_.in(2), d), {}, {}, {}};
      if (n_.has(3)) {
        const ValueId bias = pick(n_.in(3), d);
        weights.wb = b_.slice_of(bias, 0, 0, gates_ * hidden_);
        weights.rb = b_.slice_of(bias, 0, gates_ * hidden_, 2 * gates_ * hidden_);
      }
      const size_t count = activations_.size() / static_cast<size_t>(directions_);
      weights.activations.assign(activations_.begin() + static_cast<ptrdiff_t>(count) * d,
                                 activations_.begin() + static_cast<ptrdiff_t>(count) * (d + 1));
      State state{initial(5, d), with_cell ? initial(6, d) : ValueId{}};
      std::vector<ValueId> rows(static_cast<size_t>(steps_));
      const bool back = backwards_ || d == 1;
      for (int64_t i = 0; i < steps_; i++) {
        const int64_t t = back ? steps_ - 1 - i : i;
        const ValueId x = b_.reshape(b_.slice_of(x_, 0, t, t + 1), {batch_, b_.dim(x_, 2)});
        State next = step(weights, x, state);
        ValueId row = next.h;
        if (lengths_) {  // a sequence that has ended keeps its state, and gives zeros
          const ValueId inside = b_.compare("gt", *lengths_, b_.like(*lengths_, static_cast<double>(t)));
          row = b_.select(inside, next.h, b_.like(next.h, 0));
          next.h = b_.select(inside, next.h, state.h);
          if (with_cell) next.c = b_.select(inside, next.c, state.c);
        }
        rows[static_cast<size_t>(t)] = b_.reshape(row, {1, 1, batch_, hidden_});
        state = next;
      }
      if (!rows.empty()) sequences.push_back(b_.concatenate(rows, 0));
      last_h.push_back(b_.reshape(state.h, {1, batch_, hidden_}));
      if (with_cell) last_c.push_back(b_.reshape(state.c, {1, batch_, hidden_}));
    }
    if (sequences.empty()) unsupported("a sequence of no element");
    const ValueId y = b_.concatenate(sequences, 1);  // [steps, directions, batch, hidden]
    const auto last = [&](const std::vector<ValueId>& parts) {
      const ValueId all = b_.concatenate(parts, 0);
      return batch_first_ ? b_.transpose(all, {1, 0, 2}) : all;
    };
    n_.out(batch_first_ ? b_.transpose(y, {2, 0, 1, 3}) : y);
    n_.out(last(last_h), 1);
    if (with_cell) n_.out(last(last_c), 2);
  }

  /// x w^T + bias, [batch, gates x hidden].
  ValueId product(ValueId x, ValueId w, const std::optional<ValueId>& bias) {
    const ValueId y = b_.dot(x, b_.transpose(w, {1, 0}), {}, {}, {1}, {0}, b_.element(x));
    return bias ? b_.plus(y, *bias) : y;
  }
  ValueId gate(ValueId all, int64_t i) { return b_.slice_of(all, 1, i * hidden_, (i + 1) * hidden_); }
  ValueId part(ValueId vector, int64_t i) { return b_.slice_of(vector, 0, i * hidden_, (i + 1) * hidden_); }
  /// Limited, then activated.
  ValueId activated(const Activation& f, ValueId x) {
    if (n_.has_attribute("clip")) {
      const double limit = n_.number("clip", 0);
      x = b_.max(b_.min(x, b_.like(x, limit)), b_.like(x, -limit));
    }
    return activate(b_, f, x);
  }
  ValueId pick(ValueId all, int64_t d) {
    Dims dims = b_.dims(all);
    dims.erase(dims.begin());
    return b_.reshape(b_.slice_of(all, 0, d, d + 1), dims);
  }
  [[nodiscard]] int64_t directions() const { return directions_; }
  [[nodiscard]] int64_t hidden() const { return hidden_; }

 private:
  void check(size_t i, const Dims& wanted) const {
    if (b_.dims(n_.in(i)) != wanted)
      invalid("input {} is {}; it needs shape {}", i, b_.type(n_.in(i)).text(), ir::dims_text(wanted));
  }

  ValueId initial(size_t i, int64_t d) {
    if (!n_.has(i)) return b_.fill({b_.element(x_), {batch_, hidden_}}, 0);
    const ValueId all = batch_first_ ? b_.transpose(n_.in(i), {1, 0, 2}) : n_.in(i);
    if (b_.dims(all) != Dims{directions_, batch_, hidden_}) invalid("input {} is {}", i, b_.type(all).text());
    return pick(all, d);
  }

  void read_activations(const std::vector<std::string>& otherwise) {
    auto names = n_.words("activations");
    if (names.empty())
      for (int64_t d = 0; d < directions_; d++) names.insert(names.end(), otherwise.begin(), otherwise.end());
    if (names.size() != otherwise.size() * static_cast<size_t>(directions_)) invalid("{} activations", names.size());
    const auto alphas = n_.numbers("activation_alpha"), betas = n_.numbers("activation_beta");
    // Only the functions that have a parameter take one from the lists.
    size_t next_alpha = 0, next_beta = 0;
    for (size_t i = 0; i < names.size(); i++) {
      std::ranges::transform(names[i], names[i].begin(),
                             [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      auto [alpha, beta] = defaults_of(names[i]);
      const bool has_beta = names[i] == "affine" || names[i] == "hardsigmoid" || names[i] == "scaledtanh";
      const bool has_alpha = has_beta || names[i] == "leakyrelu" || names[i] == "thresholdedrelu" || names[i] == "elu";
      if (has_alpha && alphas && next_alpha < alphas->size()) alpha = static_cast<double>((*alphas)[next_alpha++]);
      if (has_beta && betas && next_beta < betas->size()) beta = static_cast<double>((*betas)[next_beta++]);
      activations_.push_back({names[i], alpha, beta});
    }
  }

  Node& n_;
  Builder& b_;
  const int64_t gates_;
  ValueId x_{};
  bool batch_first_ = false, backwards_ = false;
  int64_t directions_ = 1, steps_ = 0, batch_ = 0, hidden_ = 0;
  std::optional<ValueId> lengths_;
  std::vector<Activation> activations_;
};

void rnn(Node& n) {
  Recurrent r(n, 1, {"Tanh"});
  r.run(false, [&](const Recurrent::Weights& w, ValueId x, const Recurrent::State& s) {
    const ValueId sum = n.b.plus(r.product(x, w.w, w.wb), r.product(s.h, w.r, w.rb));
    return Recurrent::State{r.activated(w.activations[0], sum), {}};
  });
}

void gru(Node& n) {
  Recurrent r(n, 3, {"Sigmoid", "Tanh"});
  const bool before = n.integer("linear_before_reset", 0) != 0;
  r.run(false, [&](const Recurrent::Weights& w, ValueId x, const Recurrent::State& s) {
    const auto& f = w.activations;
    const ValueId from_x = r.product(x, w.w, w.wb), from_h = r.product(s.h, w.r, w.rb);
    const ValueId z = r.activated(f[0], n.b.plus(r.gate(from_x, 0), r.gate(from_h, 0)));
    const ValueId reset = r.activated(f[0], n.b.plus(r.gate(from_x, 1), r.gate(from_h, 1)));
    ValueId recent;
    if (before) {
      recent = n.b.times(reset, r.gate(from_h, 2));
    } else {
      const auto bias = w.rb ? std::optional(r.part(*w.rb, 2)) : std::nullopt;
      recent = r.product(n.b.times(reset, s.h), r.part(w.r, 2), bias);
    }
    const ValueId fresh = r.activated(f[1], n.b.plus(r.gate(from_x, 2), recent));
    return Recurrent::State{n.b.plus(n.b.times(n.b.minus(n.b.like(z, 1), z), fresh), n.b.times(z, s.h)), {}};
  });
}

void lstm(Node& n) {
  Recurrent r(n, 4, {"Sigmoid", "Tanh", "Tanh"});
  const bool coupled = n.integer("input_forget", 0) != 0;
  int64_t direction = -1;
  std::optional<ValueId> current;
  ValueId peepholes{};
  r.run(true, [&](const Recurrent::Weights& w, ValueId x, const Recurrent::State& s) {
    if (n.has(7) && (!current || *current != w.w)) {  // another direction has begun
      current = w.w;
      peepholes = r.pick(n.in(7), ++direction);
    }
    const auto& f = w.activations;
    const ValueId sums = n.b.plus(r.product(x, w.w, w.wb), r.product(s.h, w.r, w.rb));
    const auto with_peephole = [&](ValueId sum, ValueId c, int64_t i) {
      return n.has(7) ? n.b.plus(sum, n.b.times(c, r.part(peepholes, i))) : sum;
    };
    const ValueId i = r.activated(f[0], with_peephole(r.gate(sums, 0), s.c, 0));
    const ValueId forget =
        coupled ? n.b.minus(n.b.like(i, 1), i) : r.activated(f[0], with_peephole(r.gate(sums, 2), s.c, 2));
    const ValueId fresh = r.activated(f[1], r.gate(sums, 3));
    const ValueId c = n.b.plus(n.b.times(forget, s.c), n.b.times(i, fresh));
    const ValueId o = r.activated(f[0], with_peephole(r.gate(sums, 1), c, 1));
    return Recurrent::State{n.b.times(o, activate(n.b, f[2], c)), c};
  });
}

}  // namespace

const Rules& recurrent_rules() {
  static const Rules rules{{"GRU", gru}, {"LSTM", lstm}, {"RNN", rnn}};
  return rules;
}

}  // namespace weft::compiler::frontend
