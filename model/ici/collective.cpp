#include "model/ici/collective.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "model/ici/closed_forms.hpp"

namespace weft::ici {

uint64_t Collective::pack(const Tag& tag) {
  return uint64_t{tag.part} | uint64_t{tag.phase} << 8 | uint64_t{tag.up} << 16 | uint64_t{tag.hops_left} << 24;
}

Collective::Tag Collective::unpack(uint64_t tag) {
  return {static_cast<unsigned>(tag & 0xff), static_cast<unsigned>(tag >> 8 & 0xff), (tag >> 16 & 1) != 0,
          static_cast<unsigned>(tag >> 24)};
}

Collective::Collective(const Topology& topology, const CollectiveOptions& options, Send send)
    : topology_(topology), send_(std::move(send)), in_step_(options.in_step) {
  std::vector<unsigned> axes;
  for (unsigned axis = 0; axis < kAxes; axis++)
    if ((options.axes >> axis & 1) != 0 && topology.size(axis) > 1) axes.push_back(axis);
  parts_ = static_cast<unsigned>(axes.size());
  phase_count_ = parts_ * (options.kind == CollectiveKind::kAllReduce ? 2 : 1);
  const auto shares = axis_shares(topology, options.axes);
  double share = 0;
  uint64_t taken = 0;
  for (unsigned part = 0; part < parts_; part++) {
    // a reduction takes the axes as they come and a gathering takes them back, each from another one on
    std::vector<unsigned> order(axes);
    std::rotate(order.begin(), order.begin() + part, order.end());
    share += shares[axes[part]];
    const auto end =
        part + 1 == parts_ ? options.bytes : static_cast<uint64_t>(share * static_cast<double>(options.bytes));
    uint64_t bytes = end - std::exchange(taken, end);
    std::vector<uint64_t> blocks;
    for (const auto axis : order) blocks.push_back(bytes = (bytes + topology.size(axis) - 1) / topology.size(axis));
    if (options.kind != CollectiveKind::kAllGather)
      for (unsigned i = 0; i < parts_; i++) {
        phases_.push_back({Step::kReduce, order[i]});
        block_bytes_.push_back(blocks[i]);
      }
    if (options.kind != CollectiveKind::kReduceScatter)
      for (unsigned i = parts_; i-- > 0;) {
        phases_.push_back({Step::kGather, order[i]});
        block_bytes_.push_back(blocks[i]);
      }
  }
  states_.resize(size_t{parts_} * topology.chips());
  for (auto& state : states_) state.units.assign(phase_count_, 0);
}

void Collective::start() {
  for (unsigned part = 0; part < parts_; part++)
    for (uint32_t chip = 0; chip < topology_.chips(); chip++) start_phase(part, chip);
}

/// Links that a block takes from this chip in one direction: to the end of a line; half round a ring, the last link
/// shared with the other direction if even.
unsigned Collective::reach(uint32_t chip, unsigned axis, bool up) const {
  const auto size = topology_.size(axis);
  if (topology_.wraps(axis)) return size / 2;
  const auto at = static_cast<unsigned>(topology_.coordinates(chip)[axis]);
  return up ? size - 1 - at : at;
}

/// A part has ended its last phase on this chip.
void Collective::enter_phase(unsigned part, uint32_t chip) {
  const unsigned phase = state(part, chip).phase;
  if (phase == phase_count_) {
    chips_finished_++;
    return;
  }
  if (!in_step_) return start_phase(part, chip);
  state(part, chip).waits = others_behind(part, chip);
  if (state(part, chip).waits) return;
  for (unsigned other = 0; other < parts_; other++) {
    auto& waiting = state(other, chip);
    if (waiting.phase == phase && (other == part || std::exchange(waiting.waits, false))) start_phase(other, chip);
  }
}

bool Collective::others_behind(unsigned part, uint32_t chip) {
  for (unsigned other = 0; other < parts_; other++)
    if (state(other, chip).phase < state(part, chip).phase) return true;
  return false;
}

void Collective::start_phase(unsigned part, uint32_t chip) {
  const unsigned phase = state(part, chip).phase;
  if (phase_of(part, phase).step == Step::kGather)
    start_gather(part, chip);
  else
    start_reduce(part, chip);
  arrived(part, chip, phase, 0);  // all of it may have been here before; what was held may have ended it already
}

/// This chip's block sets out both ways.
void Collective::start_gather(unsigned part, uint32_t chip) {
  const unsigned phase = state(part, chip).phase;
  const auto axis = phase_of(part, phase).axis;
  for (const bool up : {true, false})
    if (const auto links = reach(chip, axis, up); links > 0)
      hop(chip, {part, phase, up, links - 1}, halves(axis) && links == 1);
}

/// Reductions that begin here set out: those of the owners that are farthest, half of the data each way where both are
/// as far. Those that came too early go on.
void Collective::start_reduce(unsigned part, uint32_t chip) {
  const unsigned phase = state(part, chip).phase;
  const auto axis = phase_of(part, phase).axis;
  const auto size = topology_.size(axis);
  const auto at = static_cast<unsigned>(topology_.coordinates(chip)[axis]);
  for (const bool up : {true, false}) {
    if (topology_.wraps(axis)) {
      if (size / 2 > 0) hop(chip, {part, phase, up, size / 2 - 1}, halves(axis));
    } else if (up ? at == 0
                  : at == size - 1) {  // the end of a line begins the sums of every other chip, the farthest first
      for (unsigned links = size - 1; links > 0; links--) hop(chip, {part, phase, up, links - 1}, false);
    }
  }
  auto held = std::move(state(part, chip).held);
  state(part, chip).held.clear();
  for (const auto tag : held) {
    if (unpack(tag).phase == phase)
      pass_on_reduction(chip, unpack(tag));
    else
      state(part, chip).held.push_back(tag);
  }
}

/// One link on. half: only half of the block, the other half comes from the other side.
void Collective::hop(uint32_t from, const Tag& tag, bool half) {
  const auto axis = phase_of(tag.part, tag.phase).axis;
  const auto port = port_of(axis, tag.up);
  const auto bytes = block_bytes(tag.part, tag.phase);
  Message message;
  message.from = from;
  message.to = topology_.neighbor(from, port);
  message.way = topology_.size(axis) == 2 && topology_.is_wrap_link(from, port) ? 1 : 0;
  message.bytes = half ? (tag.up ? bytes - bytes / 2 : bytes / 2) : bytes;
  message.tag = pack(tag);
  send_(message);
}

void Collective::pass_on_reduction(uint32_t chip, const Tag& tag) {
  if (tag.hops_left == 0)
    arrived(tag.part, chip, tag.phase, 1);
  else
    hop(chip, {tag.part, tag.phase, tag.up, tag.hops_left - 1}, false);
}

void Collective::delivered(const Message& message) {
  const auto tag = unpack(message.tag);
  const auto chip = message.to;
  const auto& phase = phase_of(tag.part, tag.phase);
  if (phase.step == Step::kReduce) {
    auto& mine = state(tag.part, chip);
    if (mine.phase < tag.phase || mine.waits)
      mine.held.push_back(message.tag);  // this chip's own part of the sum is not there yet
    else
      pass_on_reduction(chip, tag);
    return;
  }
  const bool was_half = halves(phase.axis) && tag.hops_left == 0;
  if (tag.hops_left > 0)
    hop(chip, {tag.part, tag.phase, tag.up, tag.hops_left - 1}, halves(phase.axis) && tag.hops_left == 1);
  arrived(tag.part, chip, tag.phase, was_half ? 1 : 2);
}

/// Gathering: two units a block, one a half. Reducing: one for the sum of each side.
unsigned Collective::units_wanted(uint32_t chip, const Phase& phase) const {
  if (phase.step == Step::kGather) return 2 * (topology_.size(phase.axis) - 1);
  if (topology_.wraps(phase.axis)) return 2;
  return (reach(chip, phase.axis, true) > 0 ? 1 : 0) + (reach(chip, phase.axis, false) > 0 ? 1 : 0);
}

void Collective::arrived(unsigned part, uint32_t chip, unsigned phase, unsigned units) {
  auto& mine = state(part, chip);
  mine.units[phase] = static_cast<uint8_t>(mine.units[phase] + units);
  if (mine.phase != phase || mine.waits || mine.units[phase] != units_wanted(chip, phase_of(part, phase))) return;
  mine.phase++;
  enter_phase(part, chip);
}

}  // namespace weft::ici
