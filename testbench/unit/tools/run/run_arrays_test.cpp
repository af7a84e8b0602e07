// Words of the command line that say how large a model's inputs are.
#include "host/tools/run/run_arrays.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

using namespace weft;

TEST_CASE("a binding is the size of a dimension or the shape of an input") {
  const auto bound = tools::binding_of({}, {"batch=4", "a=b=7", "x=1x3x48x320", "y=0x2"}, 0);
  REQUIRE(bound.ok());
  CHECK(bound.value().symbols == std::map<std::string, int64_t>{{"batch", 4}, {"a=b", 7}});
  const auto& shapes = bound.value().shapes;
  CHECK(shapes == std::map<std::string, compiler::ir::Dims>{{"x", {1, 3, 48, 320}}, {"y", {0, 2}}});
}

TEST_CASE("a binding that is neither size nor shape is refused with its text") {
  for (const char* text : {"batch", "=4", "x=", "x=4x", "x=x4", "x=4xx4", "x=-1", "x=4x-1", "x=4 x4", "x=99999999999",
                           "x=1x99999999999999999999"}) {
    CAPTURE(text);
    const auto bound = tools::binding_of({}, {text}, 0);
    REQUIRE(!bound.ok());
    CHECK(bound.error().code == WEFT_ERROR_INVALID_ARGUMENT);
    CHECK(bound.error().message == fmt::format("--bind '{}' is neither NAME=SIZE nor INPUT=SIZExSIZE", text));
  }
}
