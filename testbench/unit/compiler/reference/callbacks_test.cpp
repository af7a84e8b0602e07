// Callbacks reach who is in charge of the thread, in order, and their refusals come back.
#include "host/compiler/reference/callbacks.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <mutex>

#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/ir/text.hpp"
#include "host/compiler/reference/evaluate.hpp"

using namespace weft;
using namespace weft::compiler;

namespace {

/// Function 1 returns twice what it is given, function 2 nothing, function 3 fails.
struct Functions : reference::Callbacks {
  std::vector<std::pair<int64_t, float>> calls;
  std::mutex mutex;
  void call(const ir::Op& callback, const std::vector<ir::TensorPtr>& operands,
            const std::vector<std::shared_ptr<ir::Tensor>>& results) override {
    const std::lock_guard lock(mutex);
    calls.emplace_back(callback.integer("number"), operands.at(0)->as<float>()[0]);
    if (callback.integer("number") == 3) ir::invalid("no third function");
    if (!results.empty()) results[0]->as<float>()[0] = 2 * calls.back().second;
  }
};

constexpr const char* kTwice =
    "  %2, %3 = callback(%1, %0) {number = 1, results = [11, 0]} : i32[], f32[]\n"
    "  %4 = callback(%2, %3) {number = 2, results = []} : i32[]\n";

Result<std::vector<ir::TensorPtr>> run(const std::string& body, reference::Callbacks* callbacks) {
  const auto module = ir::parse("%0 = constant() [3] : f32[]\n%1 = constant() [0] : i32[]\n" + body);
  if (!module.ok()) FAIL(module.error().message);
  const reference::Callbacks::Scope scope(callbacks);
  return reference::evaluate(module.value(), {});
}

}  // namespace

TEST_CASE("a callback is called with its operands and fills its results") {
  Functions functions;
  const auto outputs = run(std::string(kTwice) + "return \"y\" = %3\n", &functions);
  REQUIRE(outputs.ok());
  CHECK(outputs.value()[0]->as<float>()[0] == 6);
  CHECK(functions.calls == std::vector<std::pair<int64_t, float>>{{1, 3}, {2, 6}});
  CHECK(reference::Callbacks::of_thread() == nullptr);
}

TEST_CASE("what a callback refuses ends the evaluation, and so does a thread without callbacks") {
  Functions functions;
  const std::string third = "  %2 = callback(%1, %0) {number = 3, results = []} : i32[]\nreturn \"y\" = %2\n";
  const auto failed = run(third, &functions);
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.error().message == "no third function");
  const auto nobody = run(third, nullptr);
  REQUIRE_FALSE(nobody.ok());
  CHECK(nobody.error().message == "callback 3: there is no program to call");
}

TEST_CASE("each device of a manual operator calls") {
  Functions functions;
  const auto outputs =
      run("%2 = manual(%0, %1) {absolute = 0, ids = [0, 1, 2], places = [], tiles = []} : f32[]\n"
          "  region {\n  module \"region\"\n"
          "  %0 = parameter() {dims = [], element = f32, name = \"0\"} : f32[]\n"
          "  %1 = parameter() {dims = [], element = i32, name = \"1\"} : i32[]\n" +
              std::string(kTwice) + "  return \"0\" = %3\n  }\nreturn \"y\" = %2\n",
          &functions);
  if (!outputs.ok()) FAIL(outputs.error().message);
  CHECK(outputs.value()[0]->as<float>()[0] == 6);
  CHECK(std::ranges::count(functions.calls, std::pair<int64_t, float>{1, 3}) == 3);
  CHECK(std::ranges::count(functions.calls, std::pair<int64_t, float>{2, 6}) == 3);
}
