// The one comparison of results: sizes first, and nothing compared is a failure.
#include "host/reference/comparison.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <limits>

#include "host/reference/collective_reference.hpp"
#include "host/tools/run/run_arrays.hpp"

using namespace weft;
using tools::Comparison;

namespace {

constexpr std::array<uint64_t, 2> kShape{2, 3};

std::string refusal(const Comparison& comparison) {
  const auto verdict = comparison.verdict("the golden model");
  REQUIRE(!verdict.ok());
  CHECK(verdict.error().code == WEFT_ERROR_INTERNAL);
  return verdict.error().message;
}

compiler::Graph graph_of(std::vector<std::pair<const char*, std::vector<int64_t>>> outputs) {
  compiler::Graph graph;
  for (const auto& [name, dims] : outputs) {
    graph.outputs.push_back(graph.tensors.size());
    graph.tensors.push_back({name, dims, static_cast<uint64_t>(dims[0]), static_cast<uint64_t>(dims[1])});
  }
  return graph;
}

std::vector<std::byte> bytes_of(const std::vector<float>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

TEST_CASE("elements that differ are counted over all arrays, and the first is named by its coordinates") {
  Comparison comparison;
  const std::vector<float> a{1, 2, 3, 4, 5, 6};
  auto b = a;
  comparison.add("a", kShape, a, a);
  CHECK(comparison.verdict("the golden model").ok());
  b[4] = -5, b[5] = -6;
  comparison.add("b", kShape, a, b);
  comparison.add_list("c", a, b);
  CHECK((comparison.elements() == 18 && comparison.differing() == 4));
  const auto verdict = comparison.verdict("the golden model");
  REQUIRE(!verdict.ok());
  CHECK(verdict.error().code == WEFT_ERROR_GOLDEN_MISMATCH);
  CHECK(verdict.error().message == "4 of 18 elements differ from the golden model, first at b, element [1, 1]");
}

TEST_CASE("bits are compared, not values") {
  Comparison comparison;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  comparison.add_list("equal", std::vector<float>{nan, 0.0f}, std::vector<float>{nan, 0.0f});
  CHECK(comparison.verdict("golden").ok());
  comparison.add_list("zeros", std::vector<float>{0.0f}, std::vector<float>{-0.0f});
  CHECK(comparison.differing() == 1);
}

TEST_CASE("nothing compared is a failure") {
  CHECK(refusal(Comparison()) == "nothing was compared with the golden model");
}

TEST_CASE("an empty or short array on either side is a failure, whatever else is equal") {
  const std::vector<float> six(6), five(5), none;
  for (const auto& [expected, got] : {std::pair{none, none}, {none, six}, {six, none}, {six, five}, {five, six}}) {
    Comparison comparison;
    comparison.add("good", kShape, six, six);
    comparison.add("z", kShape, expected, got);
    CHECK(comparison.elements() == 6);
    CHECK(refusal(comparison).find("cannot be compared with the golden model: z: shape [2, 3]") != std::string::npos);
  }
  Comparison empty;
  empty.add("z", std::array<uint64_t, 2>{2, 0}, none, none);
  CHECK(refusal(empty).find("z: shape [2, 0] has 0 elements") != std::string::npos);
  Comparison lists;
  lists.add_list("losses", none, none);
  CHECK(refusal(lists).find("losses: shape [0]") != std::string::npos);
}

TEST_CASE("a network's results are compared output by output: none may be missing on either side") {
  const auto graph = graph_of({{"y", {2, 2}}, {"z", {2, 2}}});
  const std::vector<float> y{1, 2, 3, 4};
  const std::vector<double> exact{1, 2, 3, 4};
  tools::RunReport report;
  tools::compare(report, graph, {y, y}, {exact, exact}, {bytes_of(y), bytes_of(y)});
  CHECK(report.comparison->verdict("golden").ok());
  CHECK(report.comparison->elements() == 8);
  CHECK(*report.max_relative_error == 0);
  // The reference of z is empty, has another size, or is not there; so is the result.
  using Values = std::vector<std::vector<float>>;
  for (const Values& golden : {Values{y, {}}, Values{y, {1}}, Values{y}, Values{}}) {
    tools::compare(report, graph, golden, {exact, exact}, {bytes_of(y), bytes_of(y)});
    CHECK(!report.comparison->verdict("golden").ok());
  }
  tools::compare(report, graph, {y, y}, {exact, exact}, {bytes_of(y)});
  CHECK(!report.comparison->verdict("golden").ok());
  CHECK(*report.max_relative_error == std::numeric_limits<double>::infinity());
  tools::compare(report, compiler::Graph{}, {}, {}, {});
  CHECK(!report.comparison->verdict("golden").ok());
}

TEST_CASE("a collective's outputs are compared on every chip that has one") {
  const compiler::SliceShape shape{.size = {2, 1, 1}};
  const compiler::Collective sum{.kind = compiler::CollectiveKind::kAllReduce,
                                 .axes = compiler::one_axis(0),
                                 .dtype = WEFT_ARGUMENT_DTYPE_I32,
                                 .bytes = 16};
  const tools::ChipData data(2, std::vector<std::byte>(16));
  CHECK(tools::check_collective(shape, sum, data, {{data[0]}, {data[1]}}).verdict("order").ok());
  CHECK(tools::check_collective(shape, sum, data, {{data[0]}, {data[1]}}).elements() == 8);
  for (const std::vector<tools::ChipData>& outputs :
       {std::vector<tools::ChipData>{}, {{data[0]}}, {{data[0]}, {}}, {{data[0]}, {std::vector<std::byte>(12)}}})
    CHECK(!tools::check_collective(shape, sum, data, outputs).verdict("order").ok());
  CHECK(!tools::check_collective(shape, sum, {}, {{data[0]}, {data[1]}}).verdict("order").ok());
}
