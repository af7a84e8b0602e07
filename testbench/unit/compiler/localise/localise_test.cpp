// Random programs in random parts against the same programs whole; manual computations; what is refused.
#include "host/compiler/localise/localise.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <random>

#include "host/compiler/ir/text.hpp"
#include "testbench/unit/compiler/localise/local_run.hpp"

using namespace weft;
using namespace weft::compiler;
using namespace weft::compiler::localise;
using ir::Builder;
using ir::Dims;
using ir::ValueId;

namespace {

constexpr unsigned kSeed = 15;

/// A program on integers, which wrap: no order of sums changes their bits.
class RandomProgram {
 public:
  RandomProgram(unsigned seed, const TestMesh& mesh) : draw_(seed), mesh_(mesh), b_(module) {
    for (size_t i = 0; i < 3; i++) {
      Dims dims;
      for (size_t d = 0; d < 1 + upto(3); d++) dims.push_back(Dims{2, 4, 6, 8}[upto(4)]);
      values_.push_back(module.add_parameter(fmt::format("{}", i), {ir::ElementType::kI32, dims}));
      inputs.push_back(tiling(dims));
      auto tensor = std::make_shared<ir::Tensor>(ir::TensorType{ir::ElementType::kI32, dims});
      for (uint64_t e = 0; e < tensor->type.count(); e++) tensor->as<int32_t>()[e] = static_cast<int32_t>(draw_());
      arrays.push_back(std::move(tensor));
    }
    for (int i = 0; i < 12; i++) values_.push_back(next());
    for (size_t i = 0; i < 2; i++) {
      const ValueId output = values_[values_.size() - 1 - i];
      module.outputs.push_back({fmt::format("{}", i), output});
      outputs.push_back(tiling(b_.dims(output)));
    }
  }

  ir::Module module;
  std::vector<ir::Tiling> inputs, outputs;
  std::vector<ir::TensorPtr> arrays;

 private:
  size_t upto(size_t count) { return draw_() % count; }
  ValueId any() { return values_[upto(values_.size())]; }

  ir::Tiling tiling(const Dims& dims) {
    std::vector<std::vector<size_t>> axes(dims.size());
    Dims left = dims;
    for (size_t axis = 0; axis < mesh_.sizes.size() && !dims.empty(); axis++) {
      const size_t d = upto(dims.size());
      if (upto(4) == 0 || left[d] % mesh_.sizes[axis] != 0) continue;
      left[d] /= mesh_.sizes[axis];
      axes[d].push_back(axis);
    }
    return mesh_.tiling(axes);
  }

  ValueId next() {
    const ValueId x = any();
    const Dims dims = b_.dims(x);
    const size_t rank = dims.size();
    if (rank == 0) return b_.broadcast_to(x, {4, 8});
    const size_t d = upto(rank);
    switch (upto(17)) {
      case 0:
        return b_.plus(x, b_.iota(ir::ElementType::kI32, dims, d));
      case 1:
        return b_.times(x, b_.reverse(x, {static_cast<int64_t>(d)}));
      case 2: {
        Dims order = ir::counting(rank);
        std::shuffle(order.begin(), order.end(), draw_);
        return b_.transpose(x, order);
      }
      case 3:
        return b_.reduce(upto(2) == 0 ? "add" : "maximum", x, {static_cast<int64_t>(d)},
                         upto(2) == 0 ? Builder::Keep::kYes : Builder::Keep::kNo);
      case 4:
        return b_.reshape(x, {static_cast<int64_t>(ir::count_of(dims))});
      case 5: {
        const auto count = static_cast<int64_t>(ir::count_of(dims));
        return count % 8 == 0 ? b_.reshape(x, {count / 8, 4, 2}) : b_.reshape(x, {1, count});
      }
      case 6:
        if (ir::count_of(dims) > 4096) return b_.reduce("minimum", x, {static_cast<int64_t>(d)}, Builder::Keep::kNo);
        return b_.dot(x, x, {}, {}, {static_cast<int64_t>(d)}, {static_cast<int64_t>(d)}, ir::ElementType::kI32);
      case 7:
        return b_.slice_of(x, d, 0, std::max<int64_t>(1, dims[d] / 2));
      case 8:
        return dims[d] > 64 ? x : b_.concatenate({x, b_.times(x, 5.0)}, d);
      case 9: {
        Dims none(rank), one(rank);
        one[d] = 1;
        return dims[d] > 64 ? x : b_.pad(x, b_.scalar(ir::ElementType::kI32, 3), one, none, none);
      }
      case 10:
        return b_.sort({x}, d, true)[0];
      case 11: {
        Dims to = dims;
        to.insert(to.begin(), 4);
        return ir::count_of(to) > 4096 || rank > 3 ? x : b_.broadcast_to(x, to);
      }
      case 13:
        return loop(x, d);
      case 14:
        return branch(x, d);
      case 15:
        return scattered(x, d);
      case 12:
        return b_.take(x, b_.integers({0, dims[d] - 1}), d);
      default: {
        const ValueId y = any();  // of the same shape, perhaps in other parts
        return b_.dims(y) == dims ? b_.minus(x, y) : b_.max(x, b_.reverse(x, {static_cast<int64_t>(d)}));
      }
    }
  }

  /// x, turned over and added to a value from outside, three times.
  ValueId loop(ValueId x, size_t d) {
    const ir::TensorType type = b_.type(x), count{ir::ElementType::kI32, {}};
    auto goes_on = std::make_shared<ir::Module>(), turn = std::make_shared<ir::Module>();
    for (const auto& region : {goes_on, turn}) {
      region->add_parameter("0", count);
      region->add_parameter("1", type);
      region->add_parameter("2", type);
    }
    Builder condition(*goes_on), body(*turn);
    goes_on->outputs.push_back(
        {"0", condition.compare("lt", goes_on->inputs[0], condition.scalar(ir::ElementType::kI32, 3))});
    turn->outputs.push_back({"0", body.plus(turn->inputs[0], 1.0)});
    turn->outputs.push_back(
        {"1", body.plus(body.reverse(turn->inputs[1], {static_cast<int64_t>(d)}), turn->inputs[2])});
    const ValueId begin = upto(2) == 0 ? x : b_.fill(type, 7);
    return b_.add_with_regions(ir::OpKind::kWhile, {b_.scalar(ir::ElementType::kI32, 0), begin, x},
                               {{"carried", int64_t{2}}}, {goes_on, turn})[1];
  }

  ValueId branch(ValueId x, size_t d) {
    std::vector<std::shared_ptr<const ir::Module>> regions;
    for (int i = 0; i < 2; i++) {
      auto region = std::make_shared<ir::Module>();
      region->add_parameter("0", b_.type(x));
      Builder inside(*region);
      region->outputs.push_back({"0", i == 0 ? inside.reverse(region->inputs[0], {static_cast<int64_t>(d)})
                                             : inside.times(region->inputs[0], 5.0)});
      regions.push_back(std::move(region));
    }
    const ValueId which = b_.reduce("maximum", x, ir::counting(b_.rank(x)), Builder::Keep::kNo);
    return b_.add_with_regions(ir::OpKind::kCase,
                               {b_.binary(ir::OpKind::kAnd, which, b_.scalar(ir::ElementType::kI32, 1)), x}, {},
                               regions)[0];
  }

  /// x itself is added to its own slices at places that are computed from it.
  ValueId scattered(ValueId x, size_t d) {
    const Dims dims = b_.dims(x);
    Dims windows;  // all dimensions but d, behind the number of the update
    for (size_t i = 1; i < dims.size(); i++) windows.push_back(static_cast<int64_t>(i));
    Dims order = ir::counting(dims.size());
    std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(d),
                order.begin() + static_cast<std::ptrdiff_t>(d) + 1);
    const ValueId updates = b_.transpose(x, order);  // d first
    const ValueId first = b_.reduce("add", updates, ir::counting(dims.size() - 1, 1), Builder::Keep::kNo);
    const ValueId places =
        b_.binary(ir::OpKind::kAnd, first, b_.broadcast_to(b_.scalar(ir::ElementType::kI32, 1), {dims[d]}));
    return b_.add(ir::OpKind::kScatter, {x, places, updates},
                  {{"kind", std::string("add")},
                   {"update_window_dims", windows},
                   {"inserted_window_dims", Dims{static_cast<int64_t>(d)}},
                   {"scatter_dims_to_operand_dims", Dims{static_cast<int64_t>(d)}},
                   {"index_vector_dim", int64_t{1}}});
  }

  std::mt19937 draw_;
  const TestMesh& mesh_;
  Builder b_;
  std::vector<ValueId> values_;
};

constexpr const char* kManual =
    "module \"m\"\n"
    "%0 = parameter() {{dims = [8], element = f32, name = \"x\"}} : f32[8]\n"
    "%1 = manual(%0) {{absolute = {}, ids = [{}], places = [{}], tiles = [{}, {}]}} : f32[8]\n"
    "  region {{\n  module \"region\"\n"
    "  %0 = parameter() {{dims = [{}], element = f32, name = \"0\"}} : f32[{}]\n"
    "  %1 = partition_id() : u32[]\n"
    "  %2 = convert(%1) {{element = f32}} : f32[]\n"
    "  %3 = broadcast_in_dim(%2) {{dimensions = [], dims = [{}]}} : f32[{}]\n"
    "  %4 = add(%0, %3) : f32[{}]\n"
    "  return \"0\" = %4\n  }}\n"
    "return \"y\" = %1\n";

std::string manual(const char* ids, const char* places, int tiles) {
  return fmt::format(kManual, 1, ids, places, tiles, tiles, 8 / tiles, 8 / tiles, 8 / tiles, 8 / tiles, 8 / tiles);
}

}  // namespace

TEST_CASE("random programs in random parts have the elements of the same programs whole") {
  size_t collectives = 0, in_parts = 0;
  for (const TestMesh& mesh : {TestMesh{{2, 4}}, TestMesh{{4}}, TestMesh{{2, 2, 2}}, TestMesh{{3, 2}}})
    for (unsigned i = 0; i < 40; i++) {
      INFO("seed " << kSeed + i << ", mesh " << ir::dims_text(mesh.sizes));
      const RandomProgram program(kSeed + i, mesh);
      auto local = localise::localise(program.module, program.inputs, program.outputs, mesh.devices());
      if (!local.ok()) FAIL(local.error().message);
      CHECK(ir::verify(local.value().module).ok());
      const auto wanted = reference::evaluate(program.module, program.arrays);
      if (!wanted.ok()) FAIL(wanted.error().message);
      const auto compare = [&] {
        const auto made = run_local(local.value(), program.arrays, program.inputs, program.outputs, mesh.devices());
        for (size_t o = 0; o < made.size(); o++) CHECK(made[o]->data == wanted.value()[o]->data);
      };
      compare();
      auto simplified = passes::run_all(std::move(local.value().module));
      if (!simplified.ok()) FAIL(simplified.error().message);
      local.value().module = std::move(simplified.value());
      compare();
      collectives += collectives_in(local.value().module);
      in_parts += local.value().replicated.empty() ? 1 : 0;
    }
  CHECK(collectives > 100);
  CHECK(in_parts > 25);
}

TEST_CASE("a manual computation is what each device runs, whatever the order of its devices") {
  const TestMesh mesh{{4}};
  const auto module = ir::parse(manual("2, 0, 3, 1", "0, 1, 2, 3, 0, 1, 2, 3", 4));
  if (!module.ok()) FAIL(module.error().message);
  auto x = std::make_shared<ir::Tensor>(ir::TensorType{ir::ElementType::kF32, {8}});
  const auto wanted = reference::evaluate(module.value(), {x});
  REQUIRE(wanted.ok());
  for (const auto& axes : {std::vector<std::vector<size_t>>{{0}}, {{}}}) {
    const std::vector<ir::Tiling> lying{mesh.tiling(axes)};
    const auto local = localise::localise(module.value(), lying, lying, 4);
    if (!local.ok()) FAIL(local.error().message);
    CHECK(run_local(local.value(), {x}, lying, lying, 4)[0]->data == wanted.value()[0]->data);
  }
}

TEST_CASE("what cannot be localised is named") {
  const TestMesh mesh{{4}};
  const auto refused = [&](const std::string& text, const ir::Tiling& tiling) {
    const auto module = ir::parse(text);
    if (!module.ok()) FAIL(module.error().message);
    const auto local = localise::localise(module.value(), {tiling}, {mesh.tiling({{}})}, 4);
    REQUIRE_FALSE(local.ok());
    return local.error().message;
  };
  CHECK(refused(manual("0, 1", "0, 1, 0, 1", 2), mesh.tiling({{}})) == "a manual computation over 2 of 4 devices");
}

TEST_CASE("a result that nothing is said of lies as its operator leaves it") {
  const TestMesh mesh{{4}};
  const auto module = ir::parse(
      "module \"m\"\n%0 = parameter() {dims = [8, 4], element = i32, name = \"x\"} : i32[8, 4]\n"
      "%1 = transpose(%0) {permutation = [1, 0]} : i32[4, 8]\nreturn \"y\" = %1\nreturn \"z\" = %1\n");
  if (!module.ok()) FAIL(module.error().message);
  const auto whole = mesh.tiling({{}, {}});
  const auto local = localise::localise(module.value(), {mesh.tiling({{0}, {}})}, {whole, whole}, 4, {}, {true, false});
  if (!local.ok()) FAIL(local.error().message);
  CHECK(local.value().outputs == std::vector{mesh.tiling({{}, {0}}), whole});
  CHECK(collectives_in(local.value().module) == 1);
}

TEST_CASE("a sum of truth values is true where a part is") {
  const TestMesh mesh{{4}};
  const auto module = ir::parse(
      "module \"m\"\n%0 = parameter() {dims = [8], element = pred, name = \"x\"} : pred[8]\nreturn \"y\" = %0\n");
  if (!module.ok()) FAIL(module.error().message);
  ir::Tiling sum = mesh.tiling({{}});
  sum.part = {0, 1, 2, 3};
  const auto local = localise::localise(module.value(), {sum}, {mesh.tiling({{}})}, 4);
  if (!local.ok()) FAIL(local.error().message);
  const auto& ops = local.value().module.ops();
  const auto added = std::ranges::find(ops, ir::OpKind::kCollective, &ir::Op::kind);
  REQUIRE(added != ops.end());
  CHECK(added->word("combine") == "or");
}

TEST_CASE("parts of a sum are added up first, and the first part of a result is all of it") {
  const TestMesh mesh{{2, 2}};
  const auto module = ir::parse(
      "module \"m\"\n%0 = parameter() {dims = [8], element = i32, name = \"x\"} : i32[8]\n"
      "%1 = multiply(%0, %0) : i32[8]\nreturn \"y\" = %1\n");
  if (!module.ok()) FAIL(module.error().message);
  ir::Tiling halves = mesh.tiling({{0}}), sum = halves, copies = mesh.tiling({{}});
  sum.part = {0, 1, 0, 1};
  copies.part = {0, 0, 1, 1};
  for (const auto& in : {sum, copies})
    for (const auto& out : {sum, copies, halves}) {
      const auto local = localise::localise(module.value(), {in}, {out}, 4);
      if (!local.ok()) FAIL(local.error().message);
      CHECK(collectives_in(local.value().module) == (in == sum && out == copies ? 2 : 1));
      InMemory exchange(4);
      std::vector<ir::TensorPtr> made(4);
      std::vector<std::thread> threads;
      for (size_t device = 0; device < 4; device++)
        threads.emplace_back([&, device] {
          const reference::OnDevice scope(exchange, static_cast<int64_t>(device));
          auto part = std::make_shared<ir::Tensor>(in.local({ir::ElementType::kI32, {8}}));
          for (size_t i = 0; i < part->type.count(); i++)  // element e is e + 1, of which part 1 has e
            part->as<int32_t>()[i] =
                in.part[device] == 0 ? 1 : static_cast<int32_t>(i + (in == sum ? 4 * (device / 2) : 0));
          std::vector<ir::TensorPtr> own{part};
          for (const auto& extra : local.value().extras)
            own.push_back(ir::tile_of(extra.constant ? extra.constant : own[*extra.input], extra.tiling, device));
          auto result = reference::evaluate(local.value().module, own);
          if (result.ok()) made[device] = result.value()[0];
        });
      for (auto& thread : threads) thread.join();
      REQUIRE(std::ranges::all_of(made, [](const auto& tensor) { return tensor != nullptr; }));
      const auto whole = ir::joined(made, out);
      for (int32_t e = 0; e < 8; e++) CHECK(whole->as<int32_t>()[e] == (e + 1) * (e + 1));
      for (size_t device = 0; device < 4; device++)
        if (!out.part.empty() && out.part[device] != 0)
          for (size_t i = 0; i < made[device]->type.count(); i++) CHECK(made[device]->as<int32_t>()[i] == 0);
    }
}

TEST_CASE("devices beside those of a manual computation run what their twins run") {
  auto text = manual("0, 2", "0, 1, 0, 1", 2);
  text.replace(text.find("tiles = "), 0, "twins = [0, 0, 1, 1], ");
  const TestMesh mesh{{2, 2}};
  const auto module = ir::parse(text);
  if (!module.ok()) FAIL(module.error().message);
  const std::vector<ir::Tiling> lying{mesh.tiling({{}})};
  const auto local = localise::localise(module.value(), lying, {mesh.tiling({{0}})}, 4);
  if (!local.ok()) FAIL(local.error().message);
  CHECK(local.value().extras.size() == 2);  // the device's number, and its half of x
}

TEST_CASE("a manual computation in another one cuts what the devices of one place have, and joins it again") {
  const char* text =
      "module \"m\"\n"
      "%0 = parameter() {dims = [4, 8], element = f32, name = \"x\"} : f32[4, 8]\n"
      "%1 = manual(%0) {absolute = 0, ids = [0, 2], places = [0, 0, 1, 0, 0, 0, 1, 0], tiles = [2, 1, 2, 1], "
      "twins = [0, 0, 1, 1]} : f32[4, 8]\n"
      "  region {\n  module \"outer\"\n"
      "  %0 = parameter() {dims = [2, 8], element = f32, name = \"0\"} : f32[2, 8]\n"
      "  %1 = manual(%0) {absolute = 0, ids = [0, 1], places = [0, 0, 0, 1, 0, 0, 0, 1], tiles = [1, 2, 1, 2], "
      "twins = [0, 1, 0, 1]} : f32[2, 8]\n"
      "    region {\n    module \"inner\"\n"
      "    %0 = parameter() {dims = [2, 4], element = f32, name = \"0\"} : f32[2, 4]\n"
      "    %1 = collective(%0) {combine = add, group_size = 2, groups = [0, 1, 2, 3], kind = all_reduce} : f32[2, 4]\n"
      "    %2 = multiply(%0, %1) : f32[2, 4]\n"
      "    return \"0\" = %2\n    }\n"
      "  %2 = add(%1, %0) : f32[2, 8]\n"
      "  return \"0\" = %2\n  }\n"
      "return \"y\" = %1\n";
  const auto module = ir::parse(text);
  if (!module.ok()) FAIL(module.error().message);
  auto x = std::make_shared<ir::Tensor>(ir::TensorType{ir::ElementType::kF32, {4, 8}});
  for (size_t i = 0; i < 32; i++) x->as<float>()[i] = static_cast<float>(i * 37 % 29);
  const auto wanted = reference::evaluate(module.value(), {x});
  if (!wanted.ok()) FAIL(wanted.error().message);
  const TestMesh mesh{{2, 2}};
  for (const auto& axes : {std::vector<std::vector<size_t>>{{0}, {}}, {{}, {}}, {{}, {0, 1}}}) {
    const std::vector<ir::Tiling> lying{mesh.tiling(axes)};
    const auto local = localise::localise(module.value(), lying, lying, 4);
    if (!local.ok()) FAIL(local.error().message);
    CHECK(run_local(local.value(), {x}, lying, lying, 4)[0]->data == wanted.value()[0]->data);
  }
}

TEST_CASE("what each device computes whole is counted by operator") {
  const TestMesh mesh{{4}};
  ir::Module module;
  const ValueId x = module.add_parameter("x", {ir::ElementType::kF32, {8, 8}});
  Builder b(module);
  module.outputs.push_back({"y", b.add(ir::OpKind::kCholesky, {x}, {{"lower", int64_t{1}}})});
  const auto local = localise::localise(module, {mesh.tiling({{0}, {}})}, {mesh.tiling({{}, {}})}, 4);
  if (!local.ok()) FAIL(local.error().message);
  CHECK(local.value().replicated == std::map<std::string, uint64_t>{{"cholesky", 1}});
}
