// Loops and branches: their regions are localised like programs, with what goes from turn to turn lying alike.
#include <algorithm>

#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/localise/localiser.hpp"
#include "host/compiler/passes/pass.hpp"

namespace weft::compiler::localise {
namespace {

using ir::Op;
using ir::ValueId;

/// The regions' programs become modules of one signature: the operands, then what each of them takes beside.
std::vector<std::shared_ptr<const ir::Module>> joined(std::vector<LocalProgram>& programs) {
  std::vector<std::vector<ir::TensorType>> types;  // by region, of what it takes beside
  for (const auto& program : programs) {
    auto& own = types.emplace_back();
    const auto& inputs = program.module.inputs;
    for (size_t i = inputs.size() - program.extras.size(); i < inputs.size(); i++)
      own.push_back(program.module.type(inputs[i]));
  }
  std::vector<std::shared_ptr<const ir::Module>> modules;
  for (size_t r = 0; r < programs.size(); r++) {
    ir::Module& module = programs[r].module;
    const size_t count = module.inputs.size() - types[r].size();
    std::vector<ValueId> inputs(module.inputs.begin(), module.inputs.begin() + static_cast<std::ptrdiff_t>(count));
    const std::vector<ValueId> own(module.inputs.begin() + static_cast<std::ptrdiff_t>(count), module.inputs.end());
    for (size_t other = 0; other < programs.size(); other++)
      for (size_t i = 0; i < types[other].size(); i++)
        inputs.push_back(other == r ? own[i]
                                    : module.add_parameter(fmt::format("of region {}, {}", other, i), types[other][i]));
    module.inputs = std::move(inputs);
    auto simplified = passes::run_all(std::move(module));
    if (!simplified.ok()) throw ir::Refusal{simplified.error()};
    modules.push_back(std::make_shared<const ir::Module>(std::move(simplified.value())));
  }
  return modules;
}

/// The operator on parts; its results lie as `results` says.
void add(Localiser& program, const Op& op, std::vector<ValueId> operands, std::vector<LocalProgram> regions,
         const std::vector<Shards>& results) {
  const auto values = program.add_with_regions(op, std::move(operands), std::move(regions));
  for (size_t i = 0; i < values.size(); i++) program.define(op.results[i], results[i], values[i]);
}

std::vector<ValueId> needed(Localiser& program, const Op& op, size_t first, const std::vector<Shards>& lying) {
  std::vector<ValueId> operands;
  for (size_t i = first; i < op.operands.size(); i++)
    operands.push_back(program.need(op.operands[i], lying[i - first]));
  return operands;
}

std::vector<Shards> lying_of(const Localiser& program, const Op& op, size_t first) {
  std::vector<Shards> lying;
  for (size_t i = first; i < op.operands.size(); i++) lying.push_back(program.shards(op.operands[i]));
  return lying;
}

bool in_parts(const std::vector<Shards>& lying) { return !std::ranges::all_of(lying, is_whole); }

}  // namespace

std::vector<ValueId> Localiser::add_with_regions(const Op& op, std::vector<ValueId> operands,
                                                 std::vector<LocalProgram> regions) {
  for (auto& region : regions) {
    for (const auto& extra : region.extras) operands.push_back(this->extra(extra, extra.constant->type));
    count_replicated(region.replicated);
  }
  Op local = op;
  local.regions = joined(regions);
  return b_.module().op_of(add(local, operands)).results;
}

bool loop_by_rule(Localiser& program, const Op& op, bool manual) {
  auto lying = lying_of(program, op, 0);
  if (!in_parts(lying) && !manual) return false;
  const auto carried = static_cast<size_t>(op.integer("carried"));
  const ir::Module& body = *op.regions[1];
  Localiser probe(body, program.devices(), &program);  // what begins as a constant lies as a turn leaves it
  const auto left = probe.enter(lying).walk().outputs();
  for (size_t i = 0; i < carried; i++)
    if (program.is_free(op.operands[i])) lying[i] = left[i];
  const std::vector<Shards> results(lying.begin(), lying.begin() + static_cast<std::ptrdiff_t>(carried));
  std::vector<LocalProgram> regions;
  regions.push_back(Localiser(*op.regions[0], program.devices(), &program).enter(lying).walk().leave({whole(0)}));
  regions.push_back(Localiser(body, program.devices(), &program).enter(lying).walk().leave(results));
  add(program, op, needed(program, op, 0, lying), std::move(regions), results);
  return true;
}

bool branches_by_rule(Localiser& program, const Op& op, bool manual) {
  const auto lying = lying_of(program, op, 1);
  if (!in_parts(lying) && !manual) return false;
  std::vector<LocalProgram> regions;
  std::vector<Shards> results;
  for (const auto& region : op.regions) {
    Localiser branch(*region, program.devices(), &program);
    branch.enter(lying).walk();
    if (results.empty()) results = branch.outputs();
    regions.push_back(branch.leave(results));
  }
  auto operands = needed(program, op, 1, lying);
  operands.insert(operands.begin(), program.need(op.operands[0], whole(0)));
  add(program, op, std::move(operands), std::move(regions), results);
  return true;
}

}  // namespace weft::compiler::localise
