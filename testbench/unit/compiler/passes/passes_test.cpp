// Each pass on text, before and after.
#include <catch2/catch.hpp>

#include "host/compiler/ir/text.hpp"
#include "host/compiler/passes/pass.hpp"

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
}
