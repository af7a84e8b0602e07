// Gathers and scatters of parts: which take a collective, and which none.
#include <catch2/catch.hpp>
#include <functional>

#include "testbench/unit/compiler/localise/local_run.hpp"

using namespace weft;
using namespace weft::compiler;
using namespace weft::compiler::localise;
using ir::Builder;
using ir::ValueId;

namespace {

using Axes = std::vector<std::vector<size_t>>;
const TestMesh kMesh{{2, 2}};

/// x: i32[8, 4], places: i32[4], updates: i32[4, 4]. How many collectives it takes; the elements are those of the whole
/// program.
size_t collectives(const std::function<ValueId(Builder&, const std::vector<ValueId>&)>& function, const Axes& x,
                   const Axes& places, const Axes& updates, const Axes& result) {
  ir::Module module;
  const std::vector<ir::Dims> dims{{8, 4}, {4}, {4, 4}};
  std::vector<ir::TensorPtr> given;
  std::vector<ValueId> values;
  for (size_t i = 0; i < dims.size(); i++) {
    values.push_back(module.add_parameter(std::to_string(i), {ir::ElementType::kI32, dims[i]}));
    auto tensor = std::make_shared<ir::Tensor>(ir::TensorType{ir::ElementType::kI32, dims[i]});
    for (uint64_t e = 0; e < tensor->type.count(); e++)
      tensor->as<int32_t>()[e] = i == 1 ? std::vector<int32_t>{6, 1, 6, 9}[e] : static_cast<int32_t>(e * 37 % 101);
    given.push_back(std::move(tensor));
  }
  Builder b(module);
  module.outputs.push_back({"y", function(b, values)});
  const std::vector<ir::Tiling> in{kMesh.tiling(x), kMesh.tiling(places), kMesh.tiling(updates)},
      out{kMesh.tiling(result)};
  const auto local = localise::localise(module, in, out, 4);
  if (!local.ok()) FAIL(local.error().message);
  CHECK(local.value().replicated.empty());
  const auto wanted = reference::evaluate(module, given);
  if (!wanted.ok()) FAIL(wanted.error().message);
  CHECK(run_local(local.value(), given, in, out, 4)[0]->data == wanted.value()[0]->data);
  return collectives_in(local.value().module);
}

ValueId rows(Builder& b, const std::vector<ValueId>& v) {
  return b.add(ir::OpKind::kGather, {v[0], v[1]},
               {{"offset_dims", ir::Dims{1}},
                {"collapsed_slice_dims", ir::Dims{0}},
                {"start_index_map", ir::Dims{0}},
                {"index_vector_dim", int64_t{1}},
                {"slice_sizes", ir::Dims{1, 4}}});
}

ValueId scatter(Builder& b, const std::vector<ValueId>& v, const char* kind) {
  return b.add(ir::OpKind::kScatter, {v[0], v[1], v[2]},
               {{"kind", std::string(kind)},
                {"update_window_dims", ir::Dims{1}},
                {"inserted_window_dims", ir::Dims{0}},
                {"scatter_dims_to_operand_dims", ir::Dims{0}},
                {"index_vector_dim", int64_t{1}}});
}

/// Index vectors: v[1], and which of them it is.
ValueId counted(Builder& b, const std::vector<ValueId>& v) {
  return b.concatenate({b.reshape(v[1], {4, 1}), b.iota(ir::ElementType::kI32, {4, 1}, 0)}, 1);
}

/// Of each row of v[2] the element that v[1] names.
ValueId element_of_each_row(Builder& b, const std::vector<ValueId>& v) {
  return b.add(ir::OpKind::kGather, {v[2], counted(b, v)},
               {{"offset_dims", ir::Dims{}},
                {"collapsed_slice_dims", ir::Dims{0, 1}},
                {"start_index_map", ir::Dims{1, 0}},
                {"index_vector_dim", int64_t{1}},
                {"slice_sizes", ir::Dims{1, 1}}});
}

/// In each row of v[2] the element that v[1] names.
ValueId written_in_each_row(Builder& b, const std::vector<ValueId>& v, const char* kind) {
  return b.add(ir::OpKind::kScatter, {v[2], counted(b, v), b.times(v[1], 5.0)},
               {{"kind", std::string(kind)},
                {"update_window_dims", ir::Dims{}},
                {"inserted_window_dims", ir::Dims{0, 1}},
                {"scatter_dims_to_operand_dims", ir::Dims{1, 0}},
                {"index_vector_dim", int64_t{1}}});
}

}  // namespace

TEST_CASE("rows by places in parts take no collective, nor do parts of rows") {
  CHECK(collectives(rows, {{}, {}}, {{0}}, {{}, {}}, {{0}, {}}) == 0);
  CHECK(collectives(rows, {{}, {1}}, {{0}}, {{}, {}}, {{0}, {1}}) == 0);
  CHECK(collectives(rows, {{}, {1}}, {{}}, {{}, {}}, {{}, {1}}) == 0);
}

TEST_CASE("a table whose rows are in parts is gathered") {
  CHECK(collectives(rows, {{0}, {1}}, {{}}, {{}, {}}, {{}, {1}}) == 1);
}

TEST_CASE("updates in parts are one sum over devices, and parts of windows none") {
  const auto add = [](Builder& b, const std::vector<ValueId>& v) { return scatter(b, v, "add"); };
  CHECK(collectives(add, {{}, {}}, {{0}}, {{0}, {}}, {{}, {}}) == 1);
  CHECK(collectives(add, {{}, {1}}, {{0}}, {{0}, {1}}, {{}, {1}}) == 1);
  CHECK(collectives(add, {{}, {1}}, {{}}, {{}, {1}}, {{}, {1}}) == 0);
}

TEST_CASE("updates that take the place of others are not in parts") {
  const auto set = [](Builder& b, const std::vector<ValueId>& v) { return scatter(b, v, "set"); };
  CHECK(collectives(set, {{}, {1}}, {{0}}, {{0}, {1}}, {{}, {1}}) == 2);  // places and updates are gathered
  CHECK(collectives(set, {{}, {1}}, {{}}, {{}, {1}}, {{}, {1}}) == 0);
}

TEST_CASE("an element of each row takes no collective where rows are in parts") {
  CHECK(collectives(element_of_each_row, {{}, {}}, {{0}}, {{0}, {}}, {{0}}) == 0);
  CHECK(collectives(element_of_each_row, {{}, {}}, {{}}, {{0}, {}}, {{0}}) == 0);
  CHECK(collectives(element_of_each_row, {{}, {}}, {{0}}, {{}, {}}, {{0}}) == 0);
  CHECK(collectives(element_of_each_row, {{}, {}}, {{0, 1}}, {{0, 1}, {}}, {{0, 1}}) == 0);
  CHECK(collectives(element_of_each_row, {{}, {}}, {{0}}, {{0}, {1}}, {{0}}) == 1);  // the row may be anywhere
}

TEST_CASE("what is written in each row takes no collective where rows are in parts, whatever the operation") {
  for (const char* kind : {"add", "set", "maximum"}) {
    const auto write = [&](Builder& b, const std::vector<ValueId>& v) { return written_in_each_row(b, v, kind); };
    CHECK(collectives(write, {{}, {}}, {{0}}, {{0}, {}}, {{0}, {}}) == 0);
    CHECK(collectives(write, {{}, {}}, {{}}, {{0}, {}}, {{0}, {}}) == 0);
    CHECK(collectives(write, {{}, {}}, {{0}}, {{}, {}}, {{0}, {}}) == 0);
    CHECK(collectives(write, {{}, {}}, {{0}}, {{0}, {1}}, {{0}, {}}) == 1);
  }
}
