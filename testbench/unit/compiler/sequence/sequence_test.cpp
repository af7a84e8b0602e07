// Which parts run in one launch, and where their values lie.
#include "host/compiler/sequence/sequence.hpp"

#include "testbench/unit/compiler/sequence/device_program.hpp"

using namespace weft;
using namespace weft::compiler;

namespace {

using Launches = std::vector<std::vector<size_t>>;

Partition cut(const ir::Module& module, const DeviceSlice* slice) {
  auto parts = partition(module, Device::kUsed, {}, slice);
  if (!parts.ok()) FAIL(parts.error().message);
  return std::move(parts.value());
}

}  // namespace

TEST_CASE("device programs and the collectives between them are one launch") {
  const auto module = sums_of_pairs(kOnDevice);
  const auto parts = cut(module, &kFourChips);
  CHECK(launches_of(parts) == Launches{{0, 1, 2, 3}});
  CHECK(parts.parts[1].collective->kind == CollectiveKind::kAllReduce);
  CHECK(parts.parts[1].collective->groups == std::vector<std::vector<uint32_t>>{{0, 1}, {2, 3}});
  CHECK_FALSE(parts.parts[3].collective);
  CHECK(parts.parts[3].graph);
  // Without a slice the sums are the host's.
  const auto alone = cut(module, nullptr);
  for (const auto& part : alone.parts) CHECK_FALSE(part.collective);
  CHECK(launches_of(alone).size() == alone.parts.size());
}

TEST_CASE("what an island computes of a sum begins another launch") {
  const auto parts = cut(sums_of_pairs(kOnHost), &kFourChips);
  const auto launches = launches_of(parts);
  REQUIRE(launches.size() == 3);
  CHECK(launches[0].size() == 3);
  CHECK_FALSE(parts.parts[launches[1].front()].on_device());
  CHECK(parts.parts[launches[2].front()].graph);
}

TEST_CASE("groups that are no boxes, and sums that the chips do not make, are the host's") {
  auto text = ir::print(sums_of_pairs(kOnDevice));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    for (size_t at = other.find(from); at != std::string::npos; at = other.find(from, at + to.size()))
      other.replace(at, from.size(), to);
    REQUIRE(other != text);
    auto module = ir::parse(other);
    if (!module.ok()) FAIL(module.error().message);
    for (const auto& op : module.value().ops())
      if (op.kind == ir::OpKind::kCollective) return device_collective(module.value(), op, kFourChips);
    return Result<Collective>(Error{});
  };
  const auto told = [](const Result<Collective>& collective) {
    return collective.ok() ? "" : collective.error().message;
  };
  CHECK(told(with("groups = [0, 1, 2, 3]", "groups = [0, 2, 1, 3]")).empty());
  CHECK(told(with("group_size = 2, groups = [0, 1, 2, 3]", "group_size = 1, groups = [0, 1, 2, 3]")) ==
        "a collective of one device");
  CHECK(told(with("groups = [0, 1, 2, 3]", "groups = [0, 1]")) == "a collective of 2 of 4 devices");
  CHECK(told(with("combine = add", "combine = maximum")) == "a collective that combines by maximum");
  CHECK(told(with(", together = 1", "")) == "a collective that some devices may not come to");
}

TEST_CASE("sums over equal groups are one collective of values that lie one behind the other") {
  const auto module = sums_of_pairs(kOnDevice);
  const auto parts = cut(module, &kFourChips);
  size_t refused = 0;
  const auto plan = plan_sequence(module, parts, launches_of(parts).front(), refused);
  if (!plan.ok()) FAIL(plan.error().message);
  const auto& steps = plan.value().steps;
  REQUIRE(steps.size() == 3);
  const uint64_t bytes = 16 * 16 * 4;
  CHECK(steps[1].collective.bytes == 2 * bytes);
  // What is summed is read by nobody outside; of the sums one is a result, so both lie among these.
  CHECK(steps[1].inputs[0].memory == SequenceMemory::kBetween);
  CHECK(steps[1].outputs[0].memory == SequenceMemory::kResults);
  REQUIRE(steps[0].outputs.size() == 2);
  for (const auto& output : steps[0].outputs) {
    CHECK(output.memory == SequenceMemory::kBetween);
    CHECK((output.offset_bytes == steps[1].inputs[0].offset_bytes ||
           output.offset_bytes == steps[1].inputs[0].offset_bytes + bytes));
  }
  REQUIRE(steps[2].inputs.size() == 2);
  for (size_t i = 0; i < 2; i++)  // a sum lies in the sums as what it is of lies in that
    CHECK(steps[2].inputs[i].offset_bytes - steps[1].outputs[0].offset_bytes ==
          steps[0].outputs[i].offset_bytes - steps[1].inputs[0].offset_bytes);
  REQUIRE(plan.value().results.size() == 2);
  CHECK(plan.value().results[0].offset_bytes != plan.value().results[1].offset_bytes);
  CHECK(plan.value().result_bytes == 3 * bytes);
  CHECK(plan.value().inputs.size() == 3);
}
