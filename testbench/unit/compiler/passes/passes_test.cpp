// Each pass on text, before and after.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "host/compiler/ir/text.hpp"
#include "host/compiler/passes/pass.hpp"
#include "host/compiler/reference/evaluate.hpp"

using namespace weft;
using namespace weft::compiler;

namespace {

constexpr const char* kX = "module \"m\"\n%0 = parameter() {dims = [2, 3], element = f32, name = \"x\"} : f32[2, 3]\n";

void check(ir::Module (*pass)(const ir::Module&), const std::string& before, const std::string& after) {
  const auto module = ir::parse(kX + before);
  if (!module.ok()) FAIL(module.error().message);
  const auto changed = pass(module.value());
  CHECK(ir::print(changed) == kX + after);
  CHECK(ir::verify(changed).ok());
}

}  // namespace

TEST_CASE("fold computes operators on constants, and what is repeated counts as one") {
  check(passes::fold,
        "%1 = constant() [1, 2, 3, 4] : f32[2, 2]\n"
        "%2 = constant() [10] : f32[]\n"
        "%3 = broadcast_in_dim(%2) {dimensions = [], dims = [2, 2]} : f32[2, 2]\n"
        "%4 = multiply(%1, %3) : f32[2, 2]\n"
        "%5 = transpose(%4) {permutation = [1, 0]} : f32[2, 2]\n"
        "return \"y\" = %5\n",
        "%1 = constant() [1, 2, 3, 4] : f32[2, 2]\n"
        "%2 = constant() [10] : f32[]\n"
        "%3 = broadcast_in_dim(%2) {dimensions = [], dims = [2, 2]} : f32[2, 2]\n"
        "%4 = constant() [10, 20, 30, 40] : f32[2, 2]\n"
        "%5 = constant() [10, 30, 20, 40] : f32[2, 2]\n"
        "return \"y\" = %5\n");
}

TEST_CASE("fold leaves what an input decides") {
  const std::string text =
      "%1 = constant() [1] : f32[]\n"
      "%2 = broadcast_in_dim(%1) {dimensions = [], dims = [2, 3]} : f32[2, 3]\n"
      "%3 = add(%0, %2) : f32[2, 3]\n"
      "return \"y\" = %3\n";
  check(passes::fold, text, text);
}

TEST_CASE("simplify joins reshapes and transposes and drops what changes nothing") {
  check(passes::simplify,
        "%1 = reshape(%0) {dims = [6]} : f32[6]\n"
        "%2 = reshape(%1) {dims = [3, 2]} : f32[3, 2]\n"
        "%3 = transpose(%2) {permutation = [1, 0]} : f32[2, 3]\n"
        "%4 = transpose(%3) {permutation = [1, 0]} : f32[3, 2]\n"
        "%5 = convert(%4) {element = f32} : f32[3, 2]\n"
        "%6 = broadcast_in_dim(%5) {dimensions = [1, 2], dims = [1, 3, 2]} : f32[1, 3, 2]\n"
        "%7 = abs(%6) : f32[1, 3, 2]\n"
        "return \"y\" = %7\n",
        "%1 = reshape(%0) {dims = [6]} : f32[6]\n"
        "%2 = reshape(%0) {dims = [3, 2]} : f32[3, 2]\n"
        "%3 = transpose(%2) {permutation = [1, 0]} : f32[2, 3]\n"
        "%4 = reshape(%0) {dims = [1, 3, 2]} : f32[1, 3, 2]\n"
        "%5 = abs(%4) : f32[1, 3, 2]\n"
        "return \"y\" = %5\n");
}

TEST_CASE("simplify takes bits that are read as another type and back as what they were") {
  check(passes::simplify,
        "%1 = bitcast_convert(%0) {element = u32} : u32[2, 3]\n"
        "%2 = bitcast_convert(%1) {element = f32} : f32[2, 3]\n"
        "%3 = bitcast_convert(%1) {element = i32} : i32[2, 3]\n"
        "%4 = abs(%2) : f32[2, 3]\n"
        "return \"y\" = %4\nreturn \"z\" = %3\n",
        "%1 = bitcast_convert(%0) {element = u32} : u32[2, 3]\n"
        "%2 = bitcast_convert(%1) {element = i32} : i32[2, 3]\n"
        "%3 = abs(%0) : f32[2, 3]\n"
        "return \"y\" = %3\nreturn \"z\" = %2\n");
}

TEST_CASE("equal operators on equal operands become one, others do not") {
  check(passes::common_subexpressions,
        "%1 = abs(%0) : f32[2, 3]\n"
        "%2 = abs(%0) : f32[2, 3]\n"
        "%3 = negate(%0) : f32[2, 3]\n"
        "%4 = add(%1, %2) : f32[2, 3]\n"
        "%5 = add(%4, %3) : f32[2, 3]\n"
        "return \"y\" = %5\n",
        "%1 = abs(%0) : f32[2, 3]\n"
        "%2 = negate(%0) : f32[2, 3]\n"
        "%3 = add(%1, %1) : f32[2, 3]\n"
        "%4 = add(%3, %2) : f32[2, 3]\n"
        "return \"y\" = %4\n");
}

TEST_CASE("dead code goes, inputs stay") {
  check(passes::dead_code,
        "%1 = abs(%0) : f32[2, 3]\n"
        "%2 = constant() [1] : f32[1]\n"
        "return \"y\" = %2\n",
        "%1 = constant() [1] : f32[1]\n"
        "return \"y\" = %1\n");
}

TEST_CASE("operators with regions are not taken for equal, nor is what a device reads folded") {
  const auto reduced = [](const char* operation) {
    return std::string(
               "  region {\n  module \"region\"\n"
               "  %0 = parameter() {dims = [], element = f32, name = \"0\"} : f32[]\n"
               "  %1 = parameter() {dims = [], element = f32, name = \"1\"} : f32[]\n"
               "  %2 = ") +
           operation + "(%0, %1) : f32[]\n  return \"0\" = %2\n  }\n";
  };
  const std::string text =
      "%1 = constant() [0] : f32[]\n"
      "%2 = reduce_by(%0, %1) {dimensions = [0]} : f32[3]\n" +
      reduced("add") + "%3 = reduce_by(%0, %1) {dimensions = [0]} : f32[3]\n" + reduced("maximum") +
      "return \"y\" = %2\nreturn \"z\" = %3\n";
  check(passes::common_subexpressions, text, text);
  const std::string device =
      "%1 = partition_id() : u32[]\n"
      "%2 = constant() [1] : u32[]\n"
      "%3 = add(%1, %2) : u32[]\n"
      "return \"y\" = %3\n";
  check(passes::fold, device, device);
  const std::string manual =
      "%1 = manual() {absolute = 0, ids = [0, 1], places = [], tiles = []} : u32[]\n"
      "  region {\n  module \"region\"\n  %0 = partition_id() : u32[]\n  return \"0\" = %0\n  }\n"
      "return \"y\" = %1\n";
  check(passes::fold, manual, manual);
}

TEST_CASE("callbacks are neither computed in advance nor left out, though nobody reads their results") {
  const std::string kept =
      "%1 = constant() [0] : i32[]\n"
      "%2 = callback(%1) {number = 1, results = []} : i32[]\n"
      "%3 = case(%1, %2) : i32[]\n"
      "  region {\n  module \"region\"\n"
      "  %0 = parameter() {dims = [], element = i32, name = \"0\"} : i32[]\n"
      "  %1 = callback(%0) {number = 2, results = []} : i32[]\n  return \"0\" = %1\n  }\n"
      "return \"y\" = %0\n";
  check(passes::dead_code, kept, kept);
  check(passes::fold, kept, kept);
}

namespace {

/// x is multiplied by itself, turn by turn, while a counter that begins at `first` is below `limit`, an i32 in text.
std::string loop(const std::string& first, const std::string& limit, const std::string& product) {
  return "%1 = constant() [" + first + "] : i32[]\n%2 = " + limit +
         "\n%3, %4 = while(%0, %1, %2) {carried = 2} : f32[2, 2], i32[]\n"
         "  region {\n  module \"condition\"\n"
         "  %0 = parameter() {dims = [2, 2], element = f32, name = \"0\"} : f32[2, 2]\n"
         "  %1 = parameter() {dims = [], element = i32, name = \"1\"} : i32[]\n"
         "  %2 = parameter() {dims = [], element = i32, name = \"2\"} : i32[]\n"
         "  %3 = compare(%1, %2) {direction = lt} : pred[]\n  return \"0\" = %3\n  }\n"
         "  region {\n  module \"body\"\n"
         "  %0 = parameter() {dims = [2, 2], element = f32, name = \"0\"} : f32[2, 2]\n"
         "  %1 = parameter() {dims = [], element = i32, name = \"1\"} : i32[]\n"
         "  %2 = parameter() {dims = [], element = i32, name = \"2\"} : i32[]\n"
         "  %3 = constant() [2] : i32[]\n  %4 = add(%1, %3) : i32[]\n  %5 = " +
         product + " : f32[2, 2]\n  return \"0\" = %5\n  return \"1\" = %4\n  }\n";
}

constexpr const char* kSquare =
    "dot_general(%0, %0) {lhs_batch = [], lhs_contract = [1], rhs_batch = [], rhs_contract = [0]}";

size_t products(const ir::Module& module) {
  size_t count = 0;
  for (const auto& op : module.ops()) count += op.kind == ir::OpKind::kDotGeneral;
  return count;
}

}  // namespace

TEST_CASE("loops with products, or with shifts of words, are written out if their turns can be counted") {
  const std::string x = "module \"m\"\n%0 = parameter() {dims = [2, 2], element = f32, name = \"x\"} : f32[2, 2]\n",
                    end = "return \"y\" = %3\nreturn \"n\" = %4\n";
  const auto unrolled = [&](const std::string& text) {
    const auto module = ir::parse(x + text + end);
    if (!module.ok()) FAIL(module.error().message);
    auto result = passes::dead_code(passes::unroll(module.value()));
    CHECK(ir::verify(result).ok());
    return result;
  };
  const std::string known = "constant() [9] : i32[]";
  const auto five = unrolled(loop("0", known, kSquare));
  CHECK(products(five) == 5);
  REQUIRE(five.op_of(five.outputs[1].value).constant);
  CHECK(five.op_of(five.outputs[1].value).constant->integer(0) == 10);
  CHECK(unrolled(loop("9", known, kSquare)).outputs[0].value == five.inputs[0]);
  // Nothing is gained, it depends on an input, or there are too many turns.
  const auto stays = [&](const std::string& text) {
    const auto module = unrolled(text);
    CHECK(module.op_of(module.outputs[0].value).kind == ir::OpKind::kWhile);
  };
  stays(loop("0", known, "add(%0, %0)"));
  const std::string shifted =
      "bitcast_convert(%0) {element = u32} : u32[2, 2]\n  %6 = shift_left(%5, %5) : u32[2, 2]\n"
      "  %7 = bitcast_convert(%6) {element = f32}";
  std::string shifts = loop("0", known, shifted);
  shifts.replace(shifts.rfind("= %5"), 4, "= %7");
  const auto bits = unrolled(shifts);
  CHECK(std::ranges::count(bits.ops(), ir::OpKind::kShiftLeft, &ir::Op::kind) == 5);
  stays(loop("0", "parameter() {dims = [], element = i32, name = \"n\"} : i32[]", kSquare));
  stays(loop("-2000000000", known, kSquare));
  // The turns of a loop that is too long are noted, if they can be counted in a moment.
  const auto noted = [&](const char* first) {
    const auto module = unrolled(loop(first, known, kSquare));
    const auto& attributes = module.op_of(module.outputs[0].value).attributes;
    const auto turns = attributes.find("turns");
    return turns == attributes.end() ? int64_t{0} : std::get<int64_t>(turns->second);
  };
  CHECK(noted("-3001") == 1505);
  CHECK(noted("-2000000000") == 0);
}

TEST_CASE("what a loop carries and never changes is read from outside") {
  std::string text = loop("0", "parameter() {dims = [], element = i32, name = \"n\"} : i32[]", kSquare);
  const auto put = [&](const std::string& old, const std::string& now) {
    REQUIRE(text.find(old) != std::string::npos);
    text.replace(text.find(old), old.size(), now);
  };
  // The limit is carried between the square and the counter.
  put("%3, %4 = while(%0, %1, %2) {carried = 2} : f32[2, 2], i32[]",
      "%3, %4, %5 = while(%2, %0, %1) {carried = 3} : i32[], f32[2, 2], i32[]");
  const std::string region =
      "  %0 = parameter() {dims = [], element = i32, name = \"0\"} : i32[]\n"
      "  %1 = parameter() {dims = [2, 2], element = f32, name = \"1\"} : f32[2, 2]\n"
      "  %2 = parameter() {dims = [], element = i32, name = \"2\"} : i32[]\n";
  text = text.substr(0, text.find("  region")) + "  region {\n  module \"condition\"\n" + region +
         "  %3 = compare(%2, %0) {direction = lt} : pred[]\n  return \"0\" = %3\n  }\n  region {\n  module \"body\"\n" +
         region + "  %3 = constant() [2] : i32[]\n  %4 = add(%2, %3) : i32[]\n  %5 = multiply(%1, %1) : f32[2, 2]\n" +
         "  return \"0\" = %0\n  return \"1\" = %5\n  return \"2\" = %4\n  }\n";
  const auto module =
      ir::parse("module \"m\"\n%0 = parameter() {dims = [2, 2], element = f32, name = \"x\"} : f32[2, 2]\n" + text +
                "return \"n\" = %3\nreturn \"y\" = %4\nreturn \"i\" = %5\n");
  if (!module.ok()) FAIL(module.error().message);
  const auto less = passes::loop_constants(module.value());
  REQUIRE(ir::verify(less).ok());
  CHECK(less.outputs[0].value == less.inputs[1]);
  const auto& made = less.op_of(less.outputs[1].value);
  CHECK(made.integer("carried") == 2);
  CHECK(made.operands.back() == less.inputs[1]);
  const auto square = std::make_shared<ir::Tensor>(less.type(less.inputs[0]));
  square->as<float>()[1] = 1.5f, square->as<float>()[2] = -2;
  const auto limit = std::make_shared<ir::Tensor>(less.type(less.inputs[1]));
  limit->as<int32_t>()[0] = 5;
  const auto before = reference::evaluate(module.value(), {square, limit}),
             after = reference::evaluate(less, {square, limit});
  REQUIRE(before.ok());
  REQUIRE(after.ok());
  for (size_t i = 0; i < 3; i++) CHECK(before.value()[i]->data == after.value()[i]->data);
  CHECK(after.value()[2]->integer(0) == 6);
}

namespace {

/// Attention of two heads whose scores are 600 x 4096 each, a mask beside them; `last`: what the module returns.
ir::Module attention(const std::string& last) {
  const auto module = ir::parse(
      "module \"attention\"\n"
      "%0 = parameter() {dims = [2, 600, 3], element = f32, name = \"q\"} : f32[2, 600, 3]\n"
      "%1 = parameter() {dims = [4096, 2, 3], element = f32, name = \"k\"} : f32[4096, 2, 3]\n"
      "%2 = parameter() {dims = [2, 4096, 2], element = f32, name = \"v\"} : f32[2, 4096, 2]\n"
      "%3 = parameter() {dims = [600, 4096], element = f32, name = \"mask\"} : f32[600, 4096]\n"
      "%4 = dot_general(%0, %1) {lhs_batch = [0], lhs_contract = [2], rhs_batch = [1], rhs_contract = [2]} : f32[2, "
      "600, 4096]\n"
      "%5 = constant() [8] : f32[]\n"
      "%6 = broadcast_in_dim(%5) {dimensions = [], dims = [2, 600, 4096]} : f32[2, 600, 4096]\n"
      "%7 = divide(%4, %6) : f32[2, 600, 4096]\n"
      "%8 = broadcast_in_dim(%3) {dimensions = [1, 2], dims = [2, 600, 4096]} : f32[2, 600, 4096]\n"
      "%9 = add(%7, %8) : f32[2, 600, 4096]\n"
      "%10 = reduce(%9) {dimensions = [2], kind = maximum} : f32[2, 600]\n"
      "%11 = reshape(%10) {dims = [2, 600, 1]} : f32[2, 600, 1]\n"
      "%12 = broadcast_in_dim(%11) {dimensions = [0, 1, 2], dims = [2, 600, 4096]} : f32[2, 600, 4096]\n"
      "%13 = subtract(%9, %12) : f32[2, 600, 4096]\n"
      "%14 = exponential(%13) : f32[2, 600, 4096]\n"
      "%15 = dot_general(%14, %2) {lhs_batch = [0], lhs_contract = [2], rhs_batch = [0], rhs_contract = [1]} : f32[2, "
      "600, 2]\n" +
      last);
  if (!module.ok()) FAIL(module.error().message);
  return module.value();
}

}  // namespace

TEST_CASE("scores between two products are computed block by block of rows, and come to the same") {
  const auto before = attention("return \"y\" = %15\n");
  const auto after = passes::dead_code(passes::row_blocks(before));
  REQUIRE(ir::verify(after).ok());
  uint64_t products = 0, largest = 0;
  for (const auto& op : after.ops()) {
    products += op.kind == ir::OpKind::kDotGeneral;
    if (op.kind != ir::OpKind::kBroadcast) largest = std::max(largest, after.type(op.results[0]).count());
  }
  CHECK(products == 2 * 2 * 3);  // of each head, two blocks of 256 rows and one of 88
  CHECK(largest == 600 * 4096);  // the mask
  std::vector<ir::TensorPtr> inputs;
  for (const auto input : before.inputs) {
    auto tensor = std::make_shared<ir::Tensor>(before.type(input));
    for (uint64_t i = 0; i < tensor->type.count(); i++)
      tensor->as<float>()[i] = static_cast<float>(i * 2654435761u % 1000) / 500.0f - 1;
    inputs.push_back(tensor);
  }
  const auto wanted = reference::evaluate(before, inputs), got = reference::evaluate(after, inputs);
  REQUIRE(wanted.ok());
  REQUIRE(got.ok());
  REQUIRE(got.value()[0]->type == wanted.value()[0]->type);
  CHECK(std::memcmp(got.value()[0]->data.data(), wanted.value()[0]->data.data(), wanted.value()[0]->data.size()) == 0);
}

TEST_CASE("scores that something else reads too stay in one piece") {
  for (const char* last :
       {"return \"y\" = %15\nreturn \"largest\" = %10\n", "return \"y\" = %15\nreturn \"e\" = %14\n"})
    CHECK(ir::print(passes::row_blocks(attention(last))) == ir::print(attention(last)));
}
