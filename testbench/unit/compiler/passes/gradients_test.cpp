// Gradients on text, and each operator's against differences of its values in f64.
#include "host/compiler/passes/gradients.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "host/compiler/ir/builder.hpp"
#include "host/compiler/ir/text.hpp"
#include "host/compiler/reference/evaluate.hpp"

using namespace weft;
using namespace weft::compiler;

namespace {

std::string parameter(int number, const std::string& dims, const char* element = "f64") {
  return fmt::format("%{} = parameter() {{dims = {}, element = {}, name = \"x{}\"}} : {}{}\n", number, dims, element,
                     number, element, dims);
}

ir::Module parsed(const std::string& text) {
  auto module = ir::parse("module \"m\"\n" + text);
  if (!module.ok()) FAIL(module.error().message << "\n" << text);
  return std::move(module.value());
}

std::vector<ir::TensorPtr> evaluated(const ir::Module& module, const std::vector<ir::TensorPtr>& inputs) {
  auto outputs = reference::evaluate(module, inputs);
  if (!outputs.ok()) FAIL(outputs.error().message << "\n" << ir::print(module));
  return std::move(outputs.value());
}

struct Range {
  double low = -0.9, high = 0.9;
};

/// Adds all outputs up, each element with a weight of its own, and compares the sum's gradients by all inputs, which are of
/// f64, with central differences.
void check(const std::string& text, Range range = {}, const std::vector<size_t>& constant_outputs = {}) {
  INFO(text);
  constexpr uint64_t kSeed = 7;
  constexpr double kStep = 1e-6, kTolerance = 1e-7;
  std::mt19937_64 random(kSeed);
  const auto draw = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random() >> 11) / static_cast<double>(1ull << 53);
  };
  ir::Module module = parsed(text);
  ir::Builder b(module);
  ir::ValueId sum = b.scalar(ir::ElementType::kF64, 0);
  for (const auto& output : module.outputs) {
    auto weights = std::make_shared<ir::Tensor>(module.type(output.value));
    for (uint64_t i = 0; i < weights->type.count(); i++) weights->as<double>()[i] = draw(0.5, 1.5);
    const ir::ValueId weighted = b.times(output.value, b.constant(weights));
    sum = b.plus(sum, b.reduce("add", weighted, ir::counting(b.rank(weighted)), ir::Builder::Keep::kNo));
  }
  passes::GradientRequest request{module.outputs.size(), {}};
  for (const size_t output : constant_outputs) request.constants.push_back(module.outputs[output].value);
  module.outputs.push_back({"loss", sum});
  std::vector<ir::TensorPtr> inputs;
  for (size_t i = 0; i < module.inputs.size(); i++) {
    request.inputs.push_back(i);
    auto tensor = std::make_shared<ir::Tensor>(module.type(module.inputs[i]));
    for (uint64_t e = 0; e < tensor->type.count(); e++) tensor->as<double>()[e] = draw(range.low, range.high);
    inputs.push_back(std::move(tensor));
  }
  const auto with = passes::with_gradients(module, request);
  if (!with.ok()) FAIL(with.error().message);
  REQUIRE(ir::verify(with.value()).ok());
  const auto results = evaluated(with.value(), inputs);
  REQUIRE(results.size() == module.outputs.size() + inputs.size());
  const auto loss_at = [&](size_t input, uint64_t element, double distance) {
    auto moved = inputs;
    auto tensor = std::make_shared<ir::Tensor>(*inputs[input]);
    tensor->as<double>()[element] += distance;
    moved[input] = std::move(tensor);
    return evaluated(module, moved).back()->number(0);
  };
  for (size_t i = 0; i < inputs.size(); i++) {
    const auto& gradient = *results[module.outputs.size() + i];
    REQUIRE(gradient.type == inputs[i]->type);
    for (uint64_t e = 0; e < gradient.type.count(); e++) {
      const double slope = (loss_at(i, e, kStep) - loss_at(i, e, -kStep)) / (2 * kStep);
      INFO("input " << i << " element " << e << ": " << gradient.number(e) << ", differences say " << slope);
      CHECK(std::abs(gradient.number(e) - slope) <= kTolerance * std::max(1.0, std::abs(slope)));
    }
  }
}

void check_function(const char* name, Range range = {}) {
  check(parameter(0, "[2, 3]") + fmt::format("%1 = {}(%0) : f64[2, 3]\nreturn \"y\" = %1\n", name), range);
}
void check_operation(const char* name, Range range = {}) {
  check(parameter(0, "[2, 3]") + parameter(1, "[2, 3]") +
            fmt::format("%2 = {}(%0, %1) : f64[2, 3]\nreturn \"y\" = %2\n", name),
        range);
}

std::string message(const std::string& text, const passes::GradientRequest& request) {
  const auto with = passes::with_gradients(parsed(text), request);
  return with.ok() ? std::string() : with.error().message;
}

}  // namespace

TEST_CASE("the gradients of a layer with relu are the text's products, sums and choices") {
  const auto module = parsed(parameter(0, "[4, 3]", "f32") + parameter(1, "[3, 2]", "f32") +
                             "%2 = dot_general(%0, %1) {lhs_batch = [], lhs_contract = [1], rhs_batch = [], "
                             "rhs_contract = [0]} : f32[4, 2]\n"
                             "%3 = constant() [0] : f32[]\n"
                             "%4 = broadcast_in_dim(%3) {dimensions = [], dims = [4, 2]} : f32[4, 2]\n"
                             "%5 = maximum(%2, %4) : f32[4, 2]\n"
                             "%6 = reduce(%5) {dimensions = [0, 1], kind = add} : f32[]\n"
                             "return \"loss\" = %6\n");
  const auto with = passes::with_gradients(module, {0, {1}});
  REQUIRE(with.ok());
  const std::string text = ir::print(with.value());
  INFO(text);
  const auto at = [&](const char* part) { return text.find(part); };
  // By the weights: x^T times the gradient behind the relu, which the relu's result decides. None by x, which is not asked.
  CHECK(at("= compare(%5, ") != std::string::npos);
  CHECK(at("{lhs_batch = [], lhs_contract = [0], rhs_batch = [], rhs_contract = [0]} : f32[3, 2]") !=
        std::string::npos);
  CHECK(at("f32[4, 3]") == text.rfind("f32[4, 3]"));
  CHECK(with.value().outputs.back().name == "gradient of x1");
}

TEST_CASE("gradients of functions agree with differences") {
  for (const char* name : {"abs", "negate", "exponential", "exponential_minus_one", "log_plus_one", "logistic", "sine",
                           "cosine", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "atanh", "erf"})
    check_function(name);
  for (const char* name : {"log", "sqrt", "rsqrt", "cbrt", "abs"}) check_function(name, {0.5, 2});
  check_function("acosh", {1.5, 3});
  for (const char* name : {"sign", "floor", "ceil", "round_nearest_even", "round_nearest_afz"})
    check_function(name, {0.1, 0.4});
}

TEST_CASE("gradients of operations agree with differences") {
  for (const char* name : {"add", "subtract", "multiply", "maximum", "minimum"}) check_operation(name);
  for (const char* name : {"divide", "power", "atan2"}) check_operation(name, {0.5, 2});
  check(parameter(0, "[4]") + parameter(1, "[4]") + parameter(2, "[4]") +
        "%3 = compare(%0, %1) {direction = lt} : pred[4]\n%4 = select(%3, %1, %2) : f64[4]\nreturn \"y\" = %4\n");
  check(parameter(0, "[4]") +
        "%1 = multiply(%0, %0) : f64[4]\n%2 = add(%1, %0) : f64[4]\nreturn \"y\" = %2\n"
        "return \"z\" = %1\n");
  check(parameter(0, "[4]") +
            "%1 = constant() [0.5, -0.5, 0.25, 2] : f64[4]\n%2 = power(%0, %1) : f64[4]\n"
            "%3 = minimum(%1, %0) : f64[4]\nreturn \"y\" = %2\nreturn \"z\" = %3\n",
        {0.5, 2});
}

TEST_CASE("gradients of movements agree with differences") {
  const auto of = [](const char* operation, const char* dims, const char* source = "[2, 3]") {
    check(parameter(0, source) + fmt::format("%1 = {} : f64{}\nreturn \"y\" = %1\n", operation, dims));
  };
  of("broadcast_in_dim(%0) {dimensions = [1, 2], dims = [4, 2, 3]}", "[4, 2, 3]");
  of("broadcast_in_dim(%0) {dimensions = [2, 0], dims = [3, 4, 2]}", "[3, 4, 2]");
  of("broadcast_in_dim(%0) {dimensions = [0, 1], dims = [2, 3]}", "[2, 3]", "[1, 3]");
  of("broadcast_in_dim(%0) {dimensions = [2, 0, 1], dims = [4, 5, 2]}", "[4, 5, 2]", "[2, 4, 1]");
  of("reshape(%0) {dims = [6]}", "[6]");
  of("transpose(%0) {permutation = [1, 2, 0]}", "[3, 4, 2]", "[2, 3, 4]");
  of("reverse(%0) {dimensions = [1]}", "[2, 3]");
  of("slice(%0) {limit = [5, 7], start = [1, 0], stride = [1, 3]}", "[4, 3]", "[6, 8]");
  of("slice(%0) {limit = [2, 1], start = [2, 0], stride = [1, 1]}", "[0, 1]");
  check(parameter(0, "[2, 3]") + parameter(1, "[]") +
        "%2 = pad(%0, %1) {high = [-1, 2], interior = [1, 0], low = [2, -1]} : f64[4, 4]\nreturn \"y\" = %2\n");
  check(parameter(0, "[2, 3]") + parameter(1, "[2, 1]") +
        "%2 = concatenate(%0, %1, %0) {dimension = 1} : f64[2, 7]\nreturn \"y\" = %2\n");
  check(parameter(0, "[4, 3]") +
        "%1 = constant() [1] : i32[]\n%2 = constant() [5] : i32[]\n"
        "%3 = dynamic_slice(%0, %1, %2) {slice_sizes = [2, 2]} : f64[2, 2]\nreturn \"y\" = %3\n");
  check(parameter(0, "[4, 3]") + parameter(1, "[2, 2]") +
        "%2 = constant() [9] : i32[]\n%3 = constant() [0] : i32[]\n"
        "%4 = dynamic_update_slice(%0, %1, %2, %3) : f64[4, 3]\nreturn \"y\" = %4\n");
}

TEST_CASE("gradients of gathers add up what is read several times, where the index is moved to") {
  check(
      parameter(0, "[5, 3]") +
      "%1 = constant() [4, 0, 4, 99, -1] : i32[5]\n"
      "%2 = gather(%0, %1) {collapsed_slice_dims = [0], index_vector_dim = 1, offset_dims = [1], slice_sizes = [1, 3], "
      "start_index_map = [0]} : f64[5, 3]\nreturn \"y\" = %2\n");
  check(parameter(0, "[5, 4]") +
        "%1 = constant() [4, 0, 0, 3, 1, 9] : i32[3, 2]\n"
        "%2 = gather(%0, %1) {collapsed_slice_dims = [], index_vector_dim = 1, offset_dims = [1, 2], slice_sizes = [2, "
        "2], "
        "start_index_map = [1, 0]} : f64[3, 2, 2]\nreturn \"y\" = %2\n");
}

TEST_CASE("gradients of products agree with differences, however the operands lie") {
  const auto of = [](const char* a, const char* b, const char* how, const char* y) {
    check(parameter(0, a) + parameter(1, b) +
          fmt::format("%2 = dot_general(%0, %1) {{{}}} : f64{}\nreturn \"y\" = %2\n", how, y));
  };
  of("[2, 3]", "[3, 4]", "lhs_batch = [], lhs_contract = [1], rhs_batch = [], rhs_contract = [0]", "[2, 4]");
  of("[3, 2]", "[4, 3]", "lhs_batch = [], lhs_contract = [0], rhs_batch = [], rhs_contract = [1]", "[2, 4]");
  of("[2, 3, 4]", "[4, 5, 2]", "lhs_batch = [0], lhs_contract = [2], rhs_batch = [2], rhs_contract = [0]", "[2, 3, 5]");
  of("[3, 2, 4, 2]", "[4, 3, 3]", "lhs_batch = [], lhs_contract = [2, 0], rhs_batch = [], rhs_contract = [0, 2]",
     "[2, 2, 3]");
  of("[3]", "[3]", "lhs_batch = [], lhs_contract = [0], rhs_batch = [], rhs_contract = [0]", "[]");
}

TEST_CASE("gradients of convolutions agree with differences, with strides, padding and dilation") {
  const auto of = [](const char* x, const char* w, const char* how, const char* y) {
    check(parameter(0, x) + parameter(1, w) +
          fmt::format("%2 = convolution(%0, %1) {{{}}} : f64{}\nreturn \"y\" = %2\n", how, y));
  };
  of("[2, 3, 5]", "[4, 3, 3]",
     "groups = 1, high = [0], lhs_dilation = [1], low = [0], rhs_dilation = [1], strides = [1]", "[2, 4, 3]");
  of("[1, 2, 6, 5]", "[3, 2, 3, 2]",
     "groups = 1, high = [0, 2], lhs_dilation = [1, 1], low = [1, 1], rhs_dilation = [1, 2], strides = [2, 3]",
     "[1, 3, 3, 2]");
  of("[1, 1, 4]", "[2, 1, 2]",
     "groups = 1, high = [-1], lhs_dilation = [3], low = [2], rhs_dilation = [2], strides = [2]", "[1, 2, 5]");
  of("[2, 4, 5]", "[6, 2, 3]",
     "groups = 2, high = [1], lhs_dilation = [1], low = [0], rhs_dilation = [1], strides = [2]", "[2, 6, 2]");
  of("[1, 3, 4, 4]", "[3, 1, 2, 2]",
     "groups = 3, high = [0, 0], lhs_dilation = [1, 1], low = [0, 0], rhs_dilation = [1, 1], strides = [1, 1]",
     "[1, 3, 3, 3]");
}

TEST_CASE("gradients of reductions agree with differences") {
  const auto of = [](const char* operation, const char* dims) {
    check(parameter(0, "[2, 3, 4]") + fmt::format("%1 = {} : f64{}\nreturn \"y\" = %1\n", operation, dims));
  };
  of("reduce(%0) {dimensions = [1], kind = add}", "[2, 4]");
  of("reduce(%0) {dimensions = [0, 2], kind = maximum}", "[3]");
  of("reduce(%0) {dimensions = [2, 1], kind = minimum}", "[2]");
  of("reduce_window(%0) {dilation = [1, 1, 2], high = [0, 1, 1], kind = add, low = [0, 1, 2], strides = [1, 2, 3], "
     "window "
     "= [1, 2, 2]}",
     "[2, 2, 2]");
  for (const char* kind : {"maximum", "minimum"})
    check(parameter(0, "[4, 3]") +
          fmt::format(
              "%1 = reduce_window(%0) {{dilation = [1, 1], high = [0, 1], kind = {}, low = [1, 0], strides = [2, 1], "
              "window = [2, 2]}} : f64[2, 3]\nreturn \"y\" = %1\n",
              kind));
}

TEST_CASE("gradients of softmax cross-entropy, gelu and layer norm agree with differences") {
  check(parameter(0, "[3, 4]") + parameter(1, "[3, 4]") +
        "%2 = reduce(%0) {dimensions = [1], kind = maximum} : f64[3]\n"
        "%3 = broadcast_in_dim(%2) {dimensions = [0], dims = [3, 4]} : f64[3, 4]\n"
        "%4 = subtract(%0, %3) : f64[3, 4]\n%5 = exponential(%4) : f64[3, 4]\n"
        "%6 = reduce(%5) {dimensions = [1], kind = add} : f64[3]\n%7 = log(%6) : f64[3]\n"
        "%8 = multiply(%4, %1) : f64[3, 4]\n%9 = reduce(%8) {dimensions = [1], kind = add} : f64[3]\n"
        "%10 = subtract(%7, %9) : f64[3]\nreturn \"losses\" = %10\n");
  check(parameter(0, "[3, 4]") +
        "%1 = constant() [0.5] : f64[]\n%2 = broadcast_in_dim(%1) {dimensions = [], dims = [3, 4]} : f64[3, 4]\n"
        "%3 = multiply(%0, %2) : f64[3, 4]\n%4 = erf(%3) : f64[3, 4]\n%5 = add(%4, %2) : f64[3, 4]\n"
        "%6 = multiply(%0, %5) : f64[3, 4]\nreturn \"gelu\" = %6\n");
  check(parameter(0, "[3, 4]") + parameter(1, "[4]") +
        "%2 = reduce(%0) {dimensions = [1], kind = add} : f64[3]\n"
        "%3 = constant() [0.25] : f64[]\n%4 = broadcast_in_dim(%3) {dimensions = [], dims = [3]} : f64[3]\n"
        "%5 = multiply(%2, %4) : f64[3]\n%6 = broadcast_in_dim(%5) {dimensions = [0], dims = [3, 4]} : f64[3, 4]\n"
        "%7 = subtract(%0, %6) : f64[3, 4]\n%8 = multiply(%7, %7) : f64[3, 4]\n"
        "%9 = reduce(%8) {dimensions = [1], kind = add} : f64[3]\n%10 = rsqrt(%9) : f64[3]\n"
        "%11 = broadcast_in_dim(%10) {dimensions = [0], dims = [3, 4]} : f64[3, 4]\n"
        "%12 = broadcast_in_dim(%1) {dimensions = [1], dims = [3, 4]} : f64[3, 4]\n"
        "%13 = multiply(%7, %11) : f64[3, 4]\n%14 = multiply(%13, %12) : f64[3, 4]\nreturn \"norm\" = %14\n");
}

TEST_CASE("equal elements of a maximum share its gradient, and a relu has none at zero") {
  const auto of = [](const std::string& text, const std::vector<double>& values) {
    const auto module = parsed(parameter(0, "[4]") + text);
    auto x = std::make_shared<ir::Tensor>(module.type(module.inputs[0]));
    for (size_t i = 0; i < values.size(); i++) x->as<double>()[i] = values[i];
    const auto with = passes::with_gradients(module, {0, {0}});
    if (!with.ok()) FAIL(with.error().message);
    const auto gradient = evaluated(with.value(), {x}).back();
    return std::vector<double>(gradient->as<double>(), gradient->as<double>() + 4);
  };
  CHECK(of("%1 = reduce(%0) {dimensions = [0], kind = maximum} : f64[]\nreturn \"y\" = %1\n", {1, 3, 3, 2}) ==
        std::vector<double>{0, 0.5, 0.5, 0});
  const std::string sum = "%{} = reduce(%{}) {{dimensions = [0], kind = add}} : f64[]\nreturn \"y\" = %{}\n";
  CHECK(of("%1 = constant() [0, 0, 0, 0] : f64[4]\n%2 = maximum(%1, %0) : f64[4]\n" +
               fmt::format(fmt::runtime(sum), 3, 2, 3),
           {-1, 0, 2, 0}) == std::vector<double>{0, 0, 1, 0});
  CHECK(of("%1 = reverse(%0) {dimensions = [0]} : f64[4]\n%2 = maximum(%0, %1) : f64[4]\n" +
               fmt::format(fmt::runtime(sum), 3, 2, 3),
           {5, 1, 1, 2}) == std::vector<double>{2, 1, 1, 0});
}

TEST_CASE("no gradient goes through a value that counts as a constant, or comes from what does not reach the loss") {
  const auto module = parsed(parameter(0, "[]") + parameter(1, "[]") +
                             "%2 = multiply(%0, %0) : f64[]\n%3 = multiply(%2, %0) : f64[]\nreturn \"y\" = %3\n");
  const auto with = passes::with_gradients(module, {0, {0, 1}, {module.op_of(module.outputs[0].value).operands[0]}});
  REQUIRE(with.ok());
  const auto results =
      evaluated(with.value(), {ir::splat({ir::ElementType::kF64, {}}, 3), ir::splat({ir::ElementType::kF64, {}}, 5)});
  CHECK(results[0]->number(0) == 27);
  CHECK(results[1]->number(0) == 9);  // not 27
  CHECK(results[2]->number(0) == 0);
}

TEST_CASE("what has no gradient is refused with its name") {
  const std::string x = parameter(0, "[3]");
  CHECK(message(x + "return \"y\" = %0\n", {0, {0}}) == "gradients of output 'y' of type f64[3]: it must be one float");
  CHECK(message(x + "return \"y\" = %0\n", {1, {0}}) == "gradients of output 1 of a module of 1");
  const std::string sum = "%1 = reduce(%0) {dimensions = [0], kind = add} : f64[]\nreturn \"y\" = %1\n";
  CHECK(message(x + sum, {0, {1}}) == "gradients by input 1 of a module of 1");
  CHECK(message(x + sum, {0, {0}, {static_cast<ir::ValueId>(99)}}) == "value %99 counts as a constant: there is none");
  CHECK(message(parameter(0, "[3]", "i32") +
                    "%1 = convert(%0) {element = f64} : f64[3]\n"
                    "%2 = reduce(%1) {dimensions = [0], kind = add} : f64[]\nreturn \"y\" = %2\n",
                {0, {0}}) == "gradients by input 'x0' of type i32[3]: it must be of floats");
  CHECK(message(x + "%1 = reduce(%0) {dimensions = [0], kind = multiply} : f64[]\nreturn \"y\" = %1\n", {0, {0}}) ==
        "'' (reduce) has no gradient");
}
