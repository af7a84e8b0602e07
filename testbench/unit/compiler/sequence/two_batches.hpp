/// Two micro-batches through a product, a sum over pairs of devices that takes long, and another product.
#pragma once
#include <catch2/catch.hpp>
#include <string>

#include "host/compiler/ir/text.hpp"
#include "host/compiler/sequence/overlap.hpp"
#include "host/compiler/sequence/sequence_kernel.hpp"

namespace weft::compiler {

/// As nano-2x2.
inline const DeviceSlice kFourLinkedChips{{{2, 2, 1}, {}, 2'000'000'000}, {0, 1, 2, 3}};

struct TwoBatches {
  ir::Module module;
  Sequence plan;
  std::vector<Kernel> programs;
  Overlap stages;
};

inline TwoBatches two_batches() {
  const std::string type = " : f32[64, 64]\n";
  const std::string dot = "{lhs_batch = [], lhs_contract = [1], rhs_batch = [], rhs_contract = [0]}" + type;
  const std::string sum =
      "{combine = \"add\", group_size = 2, groups = [0, 1, 2, 3], kind = \"all_reduce\", together = 1}" + type;
  const auto parameter = [&](const std::string& name) {
    return "parameter() {dims = [64, 64], element = f32, name = \"" + name + "\"}" + type;
  };
  auto module =
      ir::parse("%0 = " + parameter("a") + "%1 = " + parameter("b") + "%2 = " + parameter("w") +
                "%3 = " + parameter("v") + "%4 = dot_general(%0, %2) " + dot + "%5 = dot_general(%1, %2) " + dot +
                "%6 = collective(%4) " + sum + "%7 = collective(%5) " + sum + "%8 = dot_general(%6, %3) " + dot +
                "%9 = dot_general(%7, %3) " + dot + "return \"y\" = %8\nreturn \"z\" = %9\n");
  if (!module.ok()) FAIL(module.error().message);
  TwoBatches made{std::move(module.value()), {}, {}, {}};
  const auto& chip = *spec::find_chip("nano");
  const auto parts = partition(made.module, Device::kUsed, {}, &kFourLinkedChips);
  REQUIRE(parts.ok());
  const auto launches = launches_of(parts.value());
  REQUIRE(launches.size() == 1);
  size_t refused = 0;
  auto plan = plan_sequence(made.module, parts.value(), launches.front(), refused);
  if (!plan.ok()) FAIL(plan.error().message);
  made.plan = std::move(plan.value());
  auto programs = compile_sequence_programs(chip, made.plan, refused);
  if (!programs.ok()) FAIL(programs.error().message);
  made.programs = std::move(programs.value());
  made.stages = overlap(chip, made.plan, made.programs, kFourLinkedChips);
  return made;
}

}  // namespace weft::compiler
