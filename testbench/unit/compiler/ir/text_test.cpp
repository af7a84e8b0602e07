// L1 as text: what is printed is read back as the same module, and what breaks a rule is refused with its line.
#include "host/compiler/ir/text.hpp"

#include <catch2/catch.hpp>

using namespace weft;
using namespace weft::compiler;

namespace {

constexpr const char* kNet = R"(module "net"
%0 = parameter() {dims = [2, 3], element = f32, name = "x"} : f32[2, 3]
%1 = constant() [0.5, -1, 1e-45] : f32[3]
%2 = broadcast_in_dim(%1) {dimensions = [1], dims = [2, 3]} : f32[2, 3]
%3 = add(%0, %2) : f32[2, 3]
%4, %5 = sort(%3, %0) {descending = 1, dimension = 1} : f32[2, 3], f32[2, 3]
%6 = compare(%4, %5) {direction = lt} : pred[2, 3]
%7 = constant() [nan, inf, -inf, -0] : bf16[4]
%8 = constant() [-9223372036854775808] : i64[]
%9 = constant() [true, false] : pred[2]
%10 = convert(%6) {element = u8} : u8[2, 3]
return "y" = %10
return "odd \x22 name" = %3
)";

std::string refusal(const std::string& text) {
  const auto module = ir::parse(text);
  REQUIRE(!module.ok());
  return module.error().message;
}

}  // namespace

TEST_CASE("a module that is printed and parsed is the same text again") {
  const auto module = ir::parse(kNet);
  if (!module.ok()) FAIL(module.error().message);
  CHECK(ir::print(module.value()) == kNet);
  CHECK(ir::verify(module.value()).ok());
  CHECK(module.value().inputs.size() == 1);
  CHECK(module.value().outputs[1].name == "odd \" name");
  CHECK(module.value().ops()[1].constant->as<float>()[2] == 1e-45f);
}

TEST_CASE("a large constant is shown by its size") {
  const auto module = ir::parse(kNet);
  REQUIRE(module.ok());
  CHECK(ir::print(module.value(), 3).find("%7 = constant() <4> : bf16[4]") != std::string::npos);
}

TEST_CASE("a text that breaks a rule is refused with its line and the rule") {
  const std::string x = "%0 = parameter() {dims = [2, 3], element = f32, name = \"x\"} : f32[2, 3]\n";
  CHECK(refusal(x + "%1 = add(%0, %7) : f32[2, 3]\n") == "line 2: %7 is not computed before");
  CHECK(refusal(x + "%1 = gelu(%0) : f32[2, 3]\n") == "line 2: there is no operator 'gelu'");
  CHECK(refusal(x + "%1 = add(%0) : f32[2, 3]\n") == "line 2: add: 1 operands; it takes 2");
  CHECK(refusal(x + "%1 = abs(%0) : f32[2, 4]\n") == "line 2: type f32[2, 4]; the operator computes f32[2, 3]");
  CHECK(refusal(x + "%1 = abs(%0) : f99[2, 3]\n") == "line 2: there is no element type 'f99'");
  CHECK(refusal(x + "%0 = abs(%0) : f32[2, 3]\n") == "line 2: %0 is computed twice");
  CHECK(refusal(x + "%1 = transpose(%0) {permutation = [0, 0]} : f32[3, 2]\n") ==
        "line 2: transpose: attribute 'permutation' names dimension 0 twice");
  CHECK(refusal(x + "%1 = transpose(%0) : f32[3, 2]\n") == "line 2: transpose: attribute 'permutation' is missing");
  CHECK(refusal(x + "%1 = constant() [1, 2] : i8[3]\n") == "line 2: 2 elements for i8[3]");
  CHECK(refusal(x + "%1 = constant() [300] : i8[1]\n") == "line 2: '300' is no element");
  CHECK(refusal(x + "%1 = reshape(%0) {dims = [7]} : f32[7]\n") ==
        "line 2: reshape: f32[2, 3] has 6 elements, f32[7] has 7");
  CHECK(refusal("%0 = parameter() {dims = [99999999, 99999999], element = f32, name = \"x\"} : f32[1]\n")
            .find("too large") != std::string::npos);
}

TEST_CASE("regions are printed below their operator and read back") {
  const std::string loop = R"(module "loop"
%0 = parameter() {dims = [], element = i32, name = "n"} : i32[]
%1 = constant() [1] : i32[]
%2 = while(%1, %0) {carried = 1} : i32[]
  region {
  module "region"
  %0 = parameter() {dims = [], element = i32, name = "0"} : i32[]
  %1 = parameter() {dims = [], element = i32, name = "1"} : i32[]
  %2 = compare(%0, %1) {direction = lt} : pred[]
  return "0" = %2
  }
  region {
  module "region"
  %0 = parameter() {dims = [], element = i32, name = "0"} : i32[]
  %1 = parameter() {dims = [], element = i32, name = "1"} : i32[]
  %2 = add(%0, %0) : i32[]
  return "0" = %2
  }
return "y" = %2
)";
  const auto module = ir::parse(loop);
  if (!module.ok()) FAIL(module.error().message);
  CHECK(ir::print(module.value()) == loop);
  CHECK(ir::verify(module.value()).ok());
  const size_t end = loop.rfind("  }");
  CHECK(refusal(loop.substr(0, end)) == "line 17: a region does not end");
  std::string other = loop;
  other.replace(other.find("direction = lt} : pred[]"), 24, "direction = lt} : i32[]");
  CHECK(refusal(other) == "line 9: type i32[]; the operator computes pred[]");
  other = loop;
  other.replace(other.find("carried = 1"), 11, "carried = 2");
  CHECK(refusal(other) ==
        "line 18: while: a region takes (i32[], i32[]) and returns (i32[]); it should take (i32[], i32[]) and return "
        "(i32[], i32[])");
}
