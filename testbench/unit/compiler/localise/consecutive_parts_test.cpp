// Collectives along any dimension, and what becomes of them, give the same.
#include "host/compiler/localise/consecutive_parts.hpp"

#include <catch2/catch.hpp>

#include "testbench/unit/compiler/localise/local_run.hpp"

using namespace weft;
using namespace weft::compiler;
using namespace weft::compiler::localise;

namespace {

const ir::TensorType kType{ir::ElementType::kI32, {2, 4, 6}};

/// One collective of pairs of four devices.
LocalProgram program(ir::Attributes attributes) {
  LocalProgram made;
  const auto x = made.module.add_parameter("x", kType);
  made.module.inputs = {x};
  attributes["groups"] = ir::Dims{0, 2, 1, 3};
  attributes["group_size"] = int64_t{2};
  attributes["together"] = int64_t{1};
  ir::Builder b(made.module);
  made.module.outputs.push_back({"y", b.add(ir::OpKind::kCollective, {x}, std::move(attributes))});
  return made;
}

/// Each device's output on numbers of its own, one behind the other.
std::vector<std::byte> outputs(const LocalProgram& local) {
  auto x = std::make_shared<ir::Tensor>(ir::TensorType{kType.element, {8, 4, 6}});
  for (int i = 0; i < 192; i++) x->as<int32_t>()[i] = i * i;
  ir::Tiling in = ir::replicated(3, 4);
  const size_t rank = local.module.type(local.module.outputs[0].value).rank();
  ir::Tiling out = ir::replicated(rank, 4);
  in.tiles[0] = out.tiles[0] = 4;
  for (size_t device = 0; device < 4; device++)
    in.place[device][0] = out.place[device][0] = static_cast<int64_t>(device);
  return run_local(local, {x}, {in}, {out}, 4)[0]->data;
}

}  // namespace

TEST_CASE("parts along any dimension come from consecutive ones and transposes") {
  size_t others = 0;
  for (const std::string kind : {"all_gather", "reduce_scatter", "all_to_all"})
    for (const int64_t dimension : {0, 1, 2})
      for (const int64_t concat : {0, 1, 2}) {
        if (kind != "all_to_all" && concat != 0) continue;
        INFO(kind << " " << dimension << " " << concat);
        ir::Attributes attributes{{"kind", kind}, {"dimension", dimension}};
        if (kind == "all_to_all") attributes["concat"] = concat;
        if (kind == "reduce_scatter") attributes["combine"] = std::string("add");
        LocalProgram before = program(attributes), after;
        after.module = consecutive_parts(before.module);
        CHECK(ir::verify(after.module).ok());
        CHECK(collectives_in(after.module) == 1);
        for (const auto& op : after.module.ops())
          if (op.kind == ir::OpKind::kCollective) {
            CHECK(op.integer("dimension") == 0);
            if (kind == "all_to_all") CHECK(op.integer("concat") == 0);
          }
        const bool same = dimension == 0 && concat == 0;
        CHECK((after.module.ops().size() == before.module.ops().size()) == same);
        others += same ? 0 : 1;
        CHECK(outputs(after) == outputs(before));
      }
  CHECK(others == 12);
}
