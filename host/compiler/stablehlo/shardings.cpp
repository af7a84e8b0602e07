// Meshes by their names, shardings by their axes.
#include "host/compiler/stablehlo/shardings.hpp"

#include <algorithm>
#include <numeric>

#include "host/compiler/ir/refusal.hpp"

namespace weft::compiler::stablehlo {
namespace {

constexpr int64_t kMostDevices = 1024;

const Attribute& array(const Program& program, AttributeIndex index) {
  const Attribute& found = program.attributes[index];
  if (found.kind != Attribute::Kind::kArray) ir::invalid("a sharding is no list of axes");
  return found;
}

const std::string& text(const Program& program, AttributeIndex index) {
  const Attribute& found = program.attributes[index];
  if (found.kind != Attribute::Kind::kText) ir::invalid("a sharding names something that is no text");
  return found.text;
}

Mesh mesh_of(const Program& program, const Attribute& attribute) {
  Mesh mesh;
  int64_t size = 1;
  for (const AttributeIndex axis : attribute.elements) {
    mesh.names.push_back(text(program, axis));
    mesh.sizes.push_back(program.attributes[axis].integer);
    if (mesh.sizes.back() < 1 || mesh.sizes.back() > kMostDevices || (size *= mesh.sizes.back()) > kMostDevices)
      ir::unsupported("a mesh of more than {} devices", kMostDevices);
  }
  mesh.devices = attribute.devices;
  if (mesh.devices.empty()) {
    mesh.devices.resize(static_cast<size_t>(size));
    std::iota(mesh.devices.begin(), mesh.devices.end(), 0);
  }
  if (static_cast<int64_t>(mesh.devices.size()) != size)
    ir::invalid("a mesh of {} places with {} devices", size, mesh.devices.size());
  return mesh;
}

const Operation* find_mesh(const Program& program, const std::vector<Operation>& operations, const std::string& name) {
  for (const auto& op : operations) {
    if (op.name == "module" || op.name == "module_v1")
      for (const auto& region : op.regions)
        if (const auto* found = find_mesh(program, region.operations, name)) return found;
    if (op.dialect != "sdy" || op.name != "mesh") continue;
    if (const auto* symbol = program.find(op, "sym_name"); symbol != nullptr && symbol->text == name) return &op;
  }
  return nullptr;
}

/// A mesh that the sharding has, or one of the program that it names.
Mesh mesh_of(const Program& program, AttributeIndex index) {
  const Attribute& reference = array(program, index);
  const bool named = reference.devices.empty() && reference.elements.size() == 1 &&
                     program.attributes[reference.elements[0]].integer == 0;  // an axis has a size
  if (!named) return mesh_of(program, reference);
  const std::string& name = text(program, reference.elements[0]);
  const Operation* op = find_mesh(program, program.operations, name);
  const Attribute* mesh = op == nullptr ? nullptr : program.find(*op, "mesh");
  if (mesh == nullptr || mesh->kind != Attribute::Kind::kArray) ir::invalid("a sharding by the mesh '{}'", name);
  return mesh_of(program, *mesh);
}

}  // namespace

size_t Mesh::axis(std::string_view name) const {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) ir::invalid("a mesh has no axis '{}'", name);
  return static_cast<size_t>(found - names.begin());
}

ir::Dims Mesh::coordinates(int64_t device) const {
  const auto found = std::ranges::find(devices, device);
  if (found == devices.end()) ir::invalid("a mesh has no device {}", device);
  int64_t place = found - devices.begin();
  ir::Dims at(sizes.size());
  for (size_t a = sizes.size(); a-- > 0;) {
    at[a] = place % sizes[a];
    place /= sizes[a];
  }
  return at;
}

Sharding sharding_of(const Program& program, const Attribute& attribute) {
  if (attribute.kind == Attribute::Kind::kOther) ir::unsupported("a sharding of another kind than tiles and sums");
  if (attribute.kind != Attribute::Kind::kArray || attribute.elements.empty()) ir::invalid("a sharding without a mesh");
  Sharding sharding{mesh_of(program, attribute.elements[0]), {}};
  const auto axes_of = [&](const std::vector<AttributeIndex>& list) {
    std::vector<size_t> axes;
    for (const AttributeIndex axis : list) {
      if (program.attributes[axis].integer != 0) ir::unsupported("a sharding by part of an axis");
      axes.push_back(sharding.mesh.axis(text(program, axis)));
    }
    return axes;
  };
  for (size_t d = 1; d < attribute.elements.size(); d++)
    sharding.axes.push_back(axes_of(array(program, attribute.elements[d]).elements));
  sharding.unreduced = axes_of(attribute.unreduced);
  std::ranges::sort(sharding.unreduced);  // parts are counted in the mesh's order
  return sharding;
}

ir::Tiling tiling_of(const Sharding& sharding, const std::vector<int64_t>& ids, const std::vector<bool>& counts) {
  const size_t rank = sharding.axes.size();
  const auto counted = [&](size_t axis) { return counts.empty() || counts[axis]; };
  ir::Tiling tiling = ir::replicated(rank, ids.size());
  for (size_t d = 0; d < rank; d++)
    for (const size_t axis : sharding.axes[d])
      if (counted(axis)) tiling.tiles[d] *= sharding.mesh.sizes[axis];
  for (size_t i = 0; i < ids.size(); i++) {
    const ir::Dims at = sharding.mesh.coordinates(ids[i]);
    for (size_t d = 0; d < rank; d++)
      for (const size_t axis : sharding.axes[d])
        if (counted(axis)) tiling.place[i][d] = tiling.place[i][d] * sharding.mesh.sizes[axis] + at[axis];
    if (sharding.unreduced.empty()) continue;
    int64_t& part = tiling.part.emplace_back();
    for (const size_t axis : sharding.unreduced) part = part * sharding.mesh.sizes[axis] + at[axis];
  }
  return tiling;
}

std::vector<const Attribute*> told_shardings(const Program& program, const Operation& function, std::string_view list,
                                             size_t count) {
  std::vector<const Attribute*> found(count);
  const Attribute* dictionaries = program.find(function, list);
  if (dictionaries == nullptr || dictionaries->kind != Attribute::Kind::kArray) return found;
  for (size_t i = 0; i < std::min(count, dictionaries->elements.size()); i++)
    for (const auto& [name, value] : program.attributes[dictionaries->elements[i]].entries)
      if (program.attributes[name].text == "sdy.sharding") found[i] = &program.attributes[value];
  return found;
}

const Attribute* sharding_of_value(const Program& program, const Block& block, ValueNumber value) {
  for (auto op = block.operations.rbegin(); op != block.operations.rend(); ++op) {
    const auto result = std::ranges::find(op->results, value);
    if (result == op->results.end()) continue;
    const auto number = static_cast<size_t>(result - op->results.begin());
    if (op->name == "unrealized_conversion_cast" && number < op->operands.size()) {
      value = op->operands[number];
    } else if (op->dialect == "sdy" && op->name == "sharding_constraint") {
      return program.find(*op, "sharding");
    } else if (op->dialect == "sdy" && op->name == "manual_computation") {
      const Attribute* all = program.find(*op, "out_shardings");
      const bool there = all != nullptr && all->kind == Attribute::Kind::kArray && number < all->elements.size();
      return there ? &program.attributes[all->elements[number]] : nullptr;
    } else {
      return nullptr;
    }
  }
  return nullptr;
}

std::vector<ir::Tiling> tilings_of_values(const Program& program, const std::vector<const Attribute*>& shardings,
                                          const std::vector<size_t>& ranks, size_t devices) {
  std::vector<int64_t> ids(devices);
  std::iota(ids.begin(), ids.end(), 0);
  std::vector<ir::Tiling> tilings;
  for (const size_t rank : ranks) tilings.push_back(ir::replicated(rank, devices));
  for (size_t i = 0; i < ranks.size(); i++) {
    if (shardings[i] == nullptr) continue;
    const Sharding sharding = sharding_of(program, *shardings[i]);
    if (sharding.mesh.sizes.empty()) continue;  // one device of many
    if (sharding.mesh.devices.size() != devices)
      ir::unsupported("a mesh of {} devices in a program for {}", sharding.mesh.devices.size(), devices);
    if (sharding.axes.size() != ranks[i])
      ir::invalid("a sharding of {} dimensions for {}", sharding.axes.size(), ranks[i]);
    tilings[i] = tiling_of(sharding, ids, {});
  }
  return tilings;
}

}  // namespace weft::compiler::stablehlo
