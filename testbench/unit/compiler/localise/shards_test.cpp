// Cuts of dimensions by devices.
#include "host/compiler/localise/shards.hpp"

#include <catch2/catch.hpp>

#include "host/compiler/ir/refusal.hpp"
#include "testbench/unit/compiler/localise/local_run.hpp"

using namespace weft;
using namespace weft::compiler;
using namespace weft::compiler::localise;

namespace {

const TestMesh kMesh{{2, 2}};
const Cut kRows{2, {0, 0, 1, 1}}, kColumns{2, {0, 1, 0, 1}}, kBoth{4, {0, 1, 2, 3}};

}  // namespace

TEST_CASE("cuts are complete if each combination of parts is somewhere, and equally often") {
  CHECK(complete({kRows, kColumns}, 4));
  CHECK(complete({kRows, Cut{}}, 4));
  CHECK(complete({kBoth}, 4));
  CHECK_FALSE(complete({kRows, kRows}, 4));
  CHECK_FALSE(complete({kBoth, kRows}, 4));
  CHECK_FALSE(complete({Cut{2, {0, 0, 0, 1}}}, 4));
}

TEST_CASE("a tiling and its cuts are the same") {
  for (const auto& axes : {std::vector<std::vector<size_t>>{{0}, {1}}, {{}, {1, 0}}, {{}, {}}, {{0, 1}, {}}}) {
    const auto tiling = kMesh.tiling(axes);
    CHECK(tiling_of(shards_of(tiling), 4) == tiling);
  }
  CHECK(shards_of(kMesh.tiling({{0}, {1}})) == Shards{kRows, kColumns});
  ir::Tiling sum = kMesh.tiling({{0}});
  sum.part = {0, 1, 0, 1};
  CHECK_FALSE(ir::guarded([&] { return shards_of(sum); }).ok());
}

TEST_CASE("parts within those of another cut") {
  CHECK(finer(kBoth, kRows) == Cut{2, {0, 1, 0, 1}});
  CHECK(finer(kBoth, kBoth) == Cut{1, {0, 0, 0, 0}});
  CHECK_FALSE(finer(kBoth, kColumns));
  CHECK_FALSE(finer(kRows, kBoth));
  CHECK_FALSE(finer(kBoth, Cut{3, {0, 1, 2, 0}}));
  CHECK_FALSE(finer(kBoth, Cut{}));
}

TEST_CASE("groups have each part along what is moved, in its order, and one part along what stays") {
  CHECK(groups_along({kRows}, {kColumns}, 4).devices == ir::Dims{0, 1, 2, 3});
  CHECK(groups_along({kColumns}, {kRows}, 4).devices == ir::Dims{0, 2, 1, 3});
  CHECK(groups_along({}, {kRows}, 4).devices == ir::Dims{0, 2, 1, 3});  // copies go side by side
  CHECK(groups_along({}, {Cut{4, {3, 1, 2, 0}}}, 4).devices == ir::Dims{3, 1, 2, 0});
  CHECK(groups_along({}, {kRows}, 4).size == 2);
  CHECK(groups_along({}, {kRows, kColumns}, 4).size == 4);
}

TEST_CASE("parts that a dimension does not have are refused") {
  CHECK(local_dims({4, 6}, {kRows, kColumns}) == ir::Dims{2, 3});
  CHECK_FALSE(ir::guarded([&] { return local_dims({4, 5}, {kRows, kColumns}); }).ok());
}
