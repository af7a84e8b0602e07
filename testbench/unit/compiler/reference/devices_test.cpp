// Programs of several devices on the host: tiles, each collective, and groups that break a rule.
#include "host/compiler/ir/devices.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "host/compiler/ir/text.hpp"
#include "host/compiler/reference/evaluate.hpp"

using namespace weft;
using namespace weft::compiler;

namespace {

/// A manual operator of one dimension on the devices 0 to 3: x of 8 elements in four tiles, the result in `tiles` tiles.
std::string program(const std::string& region, int64_t result, int tiles) {
  return fmt::format(
      "%0 = constant() [1, 2, 3, 4, 5, 6, 7, 8] : f32[8]\n"
      "%1 = manual(%0) {{absolute = 0, ids = [0, 1, 2, 3], places = [0, 1, 2, 3, {}], tiles = [4, {}]}} : f32[{}]\n"
      "  region {{\n  module \"region\"\n"
      "  %0 = parameter() {{dims = [2], element = f32, name = \"0\"}} : f32[2]\n{}  }}\n"
      "return \"y\" = %1\n",
      tiles == 4 ? "0, 1, 2, 3" : "0, 0, 0, 0", tiles, result, region);
}

Result<std::vector<ir::TensorPtr>> run(const std::string& text) {
  auto module = ir::parse(text);
  if (!module.ok()) return module.error();
  return reference::evaluate(module.value(), {});
}

std::vector<float> values(const std::string& text) {
  const auto outputs = run(text);
  if (!outputs.ok()) FAIL(outputs.error().message);
  const ir::Tensor& tensor = *outputs.value().at(0);
  return {tensor.as<float>(), tensor.as<float>() + tensor.type.count()};
}

std::string collective(const char* attributes, int64_t size) {
  return fmt::format("  %1 = collective(%0) {{{}}} : f32[{}]\n  return \"0\" = %1\n", attributes, size);
}

using Floats = std::vector<float>;

}  // namespace

TEST_CASE("each device has its tile, and knows which device it is") {
  CHECK(values(program("  %1 = partition_id() : u32[]\n"
                       "  %2 = convert(%1) {element = f32} : f32[]\n"
                       "  %3 = broadcast_in_dim(%2) {dimensions = [], dims = [2]} : f32[2]\n"
                       "  %4 = add(%0, %3) : f32[2]\n"
                       "  return \"0\" = %4\n",
                       8, 4)) == Floats{1, 2, 4, 5, 7, 8, 10, 11});
}

TEST_CASE("collectives of all devices") {
  CHECK(values(program(collective("combine = add, group_size = 4, groups = [0, 1, 2, 3], kind = all_reduce", 2), 2,
                       1)) == Floats{16, 20});
  CHECK(values(program(collective("combine = maximum, group_size = 4, groups = [0, 1, 2, 3], kind = all_reduce", 2), 8,
                       4)) == Floats{7, 8, 7, 8, 7, 8, 7, 8});
  CHECK(values(program(collective("dimension = 0, group_size = 4, groups = [0, 1, 2, 3], kind = all_gather", 8), 8,
                       1)) == Floats{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(values(program(collective("group_size = 4, groups = [2, 0, 1, 3], kind = broadcast", 2), 8, 4)) ==
        Floats{5, 6, 5, 6, 5, 6, 5, 6});
}

TEST_CASE("collectives in groups of two, whose order decides the order of the parts") {
  CHECK(values(program(collective("combine = add, dimension = 0, group_size = 2, groups = [0, 1, 2, 3], "
                                  "kind = reduce_scatter",
                                  1),
                       4, 4)) == Floats{4, 6, 12, 14});
  CHECK(values(program(collective("dimension = 0, group_size = 2, groups = [1, 0, 2, 3], kind = all_gather", 4), 16,
                       4)) == Floats{3, 4, 1, 2, 3, 4, 1, 2, 5, 6, 7, 8, 5, 6, 7, 8});
  CHECK(values(program(collective("concat = 0, dimension = 0, group_size = 2, groups = [0, 1, 2, 3], "
                                  "kind = all_to_all",
                                  2),
                       8, 4)) == Floats{1, 3, 2, 4, 5, 7, 6, 8});
}

TEST_CASE("a permutation has zeros where no device sends") {
  CHECK(values(program(collective("group_size = 2, groups = [0, 1, 1, 2, 3, 3], kind = permute", 2), 8, 4)) ==
        Floats{0, 0, 1, 2, 3, 4, 7, 8});
}

TEST_CASE("groups that cannot meet are refused, and nothing waits for ever") {
  const auto message = [](const std::string& text) {
    const auto outputs = run(text);
    REQUIRE(!outputs.ok());
    return outputs.error().message;
  };
  CHECK(message(program(collective("combine = add, group_size = 4, groups = [0, 1, 2, 9], kind = all_reduce", 2), 2, 1))
            .find("none of the 4 that run") != std::string::npos);
  CHECK(message(program(collective("combine = add, group_size = 2, groups = [0, 1], kind = all_reduce", 2), 2, 1))
            .find("in no group") != std::string::npos);
  CHECK(message(program(collective("combine = add, group_size = 2, groups = [0, 0], kind = all_reduce", 2), 2, 1))
            .find("in two places") != std::string::npos);
  CHECK(message(program(collective("group_size = 2, groups = [0, 1], kind = sort", 2), 2, 1)).find("'sort'") !=
        std::string::npos);
  // Device 3 goes another way and ends.
  CHECK(message("%0 = constant() [1, 2, 3, 4] : i32[4]\n"
                "%1 = manual(%0) {absolute = 0, ids = [0, 1, 2, 3], places = [0, 1, 2, 3, 0, 1, 2, 3], "
                "tiles = [4, 4]} : i32[4]\n"
                "  region {\n"
                "  module \"region\"\n"
                "  %0 = parameter() {dims = [1], element = i32, name = \"0\"} : i32[1]\n"
                "  %1 = reshape(%0) {dims = []} : i32[]\n"
                "  %2 = case(%1, %0) : i32[1]\n"
                "    region {\n"
                "    module \"region\"\n"
                "    %0 = parameter() {dims = [1], element = i32, name = \"0\"} : i32[1]\n"
                "    return \"0\" = %0\n"
                "    }\n"
                "    region {\n"
                "    module \"region\"\n"
                "    %0 = parameter() {dims = [1], element = i32, name = \"0\"} : i32[1]\n"
                "    return \"0\" = %0\n"
                "    }\n"
                "    region {\n"
                "    module \"region\"\n"
                "    %0 = parameter() {dims = [1], element = i32, name = \"0\"} : i32[1]\n"
                "    %1 = collective(%0) {combine = add, group_size = 4, groups = [0, 1, 2, 3], kind = all_reduce} : "
                "i32[1]\n"
                "    return \"0\" = %1\n"
                "    }\n"
                "  return \"0\" = %2\n"
                "  }\n"
                "return \"y\" = %1\n")
            .find("waits for one that has ended") != std::string::npos);
}

TEST_CASE("tiles join to what they were cut from") {
  auto whole = std::make_shared<ir::Tensor>(ir::TensorType{ir::ElementType::kI16, {4, 3, 2}});
  for (int16_t i = 0; i < 24; i++) whole->as<int16_t>()[i] = i;
  // Two tiles along dimension 0, two along dimension 2; devices 0 and 4 have the same.
  const ir::Tiling tiling{{2, 1, 2}, {{0, 0, 0}, {0, 0, 1}, {1, 0, 0}, {1, 0, 1}, {0, 0, 0}}};
  std::vector<ir::TensorPtr> tiles;
  for (size_t device = 0; device < 5; device++) tiles.push_back(ir::tile_of(whole, tiling, device));
  CHECK(tiles[3]->type.dims == ir::Dims{2, 3, 1});
  CHECK(tiles[3]->integers() == ir::Dims{13, 15, 17, 19, 21, 23});
  CHECK(tiles[4]->data == tiles[0]->data);
  CHECK(ir::joined(tiles, tiling)->data == whole->data);
}
