// Types of callbacks, and what is written of them.
#include "host/compiler/ir/callbacks.hpp"

#include <catch2/catch.hpp>

#include "host/compiler/ir/text.hpp"

using namespace weft::compiler;

namespace {

std::string refused(const std::string& results, const char* token = "i32[]") {
  const auto module =
      ir::parse(std::string("%0 = constant() ") + (token[0] == 'f' ? "[0] : f32[]" : "[0] : i32[]") +
                "\n%1 = callback(%0) {number = 1, results = [" + results + "]} : i32[]\nreturn \"y\" = %1\n");
  return module.ok() ? "" : module.error().message;
}

}  // namespace

TEST_CASE("a callback has a token and the results that are written") {
  const ir::Types types{{ir::ElementType::kF32, {2, 3}}, {ir::ElementType::kPred, {}}, {ir::ElementType::kBf16, {0}}};
  ir::Module module;
  ir::Op token;
  token.constant = ir::splat({ir::ElementType::kI32, {}}, 0);
  ir::Op callback;
  callback.kind = ir::OpKind::kCallback;
  callback.operands = {module.add(token)};
  callback.attributes = {{"number", int64_t{7}}, {"results", ir::written_types(types)}};
  const auto results = module.op_of(module.add(callback)).results;
  REQUIRE(results.size() == 4);
  CHECK(module.type(results[0]) == ir::TensorType{ir::ElementType::kI32, {}});
  for (size_t i = 0; i < types.size(); i++) CHECK(module.type(results[i + 1]) == types[i]);
  CHECK(ir::has_callback(module.op_of(results[0])));
  CHECK_FALSE(ir::has_callback(module.ops()[0]));
  CHECK(ir::callbacks_of(module) == ir::Dims{7});
}

TEST_CASE("types that no writer writes are refused") {
  CHECK(refused("").empty());
  for (const char* results : {"11", "99, 0", "-1, 0", "11, -1", "11, 2, 3", "11, 1, -3"}) {
    CAPTURE(results);
    CHECK(refused(results).find("callback") != std::string::npos);
  }
  CHECK(refused("", "f32[]").find("its token is f32[]") != std::string::npos);
}
