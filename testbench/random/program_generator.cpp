// Random programs: segments, windows, loads of the windows, then any commands.
#include "testbench/random/program_generator.hpp"

#include <algorithm>

#include "testbench/random/command_generator.hpp"
#include "testbench/random/indexed_steps.hpp"
#include "testbench/random/program_ending.hpp"
#include "weft/spec/command_fields.hpp"

namespace weft::random {
namespace {

constexpr unsigned kMaxWindows = 2;

golden::Segment draw_segment(const spec::Chip& chip, Draw& draw) {
  golden::Segment s;
  const uint64_t memory = memory_bytes(chip);
  s.space = draw.once_in(3) ? WEFT_ADDRESS_SPACE_HOST : WEFT_ADDRESS_SPACE_HBM;
  s.base = draw.below(memory / 2 / 16) * 16;
  s.limit = draw.between(memory / 8, memory - s.base);  // any byte may be the first outside
  s.readable = !draw.once_in(4);
  s.writable = !draw.once_in(4);
  return s;
}

/// One that may be read and written, and some of any kind.
golden::SegmentTable draw_segments(const spec::Chip& chip, Draw& draw) {
  golden::SegmentTable table{};
  const unsigned count = static_cast<unsigned>(draw.between(1, 5));
  for (unsigned i = 0; i < count; i++) table[draw.between(1, WEFT_SEGMENTS - 1)] = draw_segment(chip, draw);
  auto& sure = table[draw.between(1, WEFT_SEGMENTS - 1)];
  sure = draw_segment(chip, draw);
  sure.readable = sure.writable = true;
  golden::copy_to_version1(table);
  return table;
}

std::vector<Window> draw_windows(const spec::Chip& chip, Draw& draw) {
  std::vector<Window> windows(draw.between(1, kMaxWindows));
  for (Window& window : windows) {
    window.words = chip.n * draw.one_of<uint64_t>({24, 48, 96});
    window.first =
        draw.one_of<uint64_t>({0, chip.vmem_words - window.words, draw.below(chip.vmem_words - window.words)});
  }
  return windows;
}

/// Data for all windows, one COPY a half.
void add_loads(Plan& plan, const Place& place, Draw& draw) {
  uint8_t segment = 1;
  while (!place.segments[segment].readable || place.segments[segment].space == WEFT_ADDRESS_SPACE_NONE) segment++;
  for (const Window& window : place.windows) {
    for (unsigned half = 0; half < 2; half++) {
      spec::DmaCommand c;
      c.header.opcode = WEFT_OPCODE_COPY;
      c.header.tag = static_cast<uint16_t>(plan.steps.size());
      c.src_seg = segment;
      c.size0 = static_cast<uint32_t>(window.words / 2 * place.chip->word_bytes);
      c.size0 = static_cast<uint32_t>(std::min<uint64_t>(c.size0, place.segments[segment].limit / 16 * 16));
      c.src_off = draw.below((place.segments[segment].limit - c.size0) / 16 + 1) * 16;
      c.dst_off = (window.first + half * window.words / 2) * place.chip->word_bytes;
      plan.steps.push_back({WEFT_QUEUE_DMA_IN, spec::encode(c), {}});
    }
  }
}

/// A GATHER or SCATTER with what makes its indices.
void add_indexed(Plan& plan, const Place& place, Draw& draw) {
  const size_t before = plan.steps.size();
  for (Step& step : draw_indexed_steps(place, draw, static_cast<uint16_t>(before))) plan.steps.push_back(step);
  if (!make_program(plan)) plan.steps.resize(before);
}

/// Now and then many commands of one kind in a row: only so do a queue, a unit's lane of retirement and the order of
/// the MXUs hold all that they can.
void add_steps(Plan& plan, const Place& place, Draw& draw) {
  const size_t count = plan.steps.size() + draw.between(4, 40);
  size_t burst_end = 0;
  auto kind = spec::Body::kNone;
  while (plan.steps.size() < count) {
    if (plan.steps.size() >= burst_end && draw.once_in(8)) add_indexed(plan, place, draw);
    const auto tag = static_cast<uint16_t>(plan.steps.size());
    if (plan.steps.size() >= burst_end && draw.once_in(32)) {
      burst_end = plan.steps.size() + draw.between(6, 24);
      kind = draw.one_of({spec::Body::kMxu, spec::Body::kMxu, spec::Body::kDma, spec::Body::kVpu, spec::Body::kNone});
    }
    const bool burst = plan.steps.size() < burst_end;
    auto of_kind = burst ? draw_step(place, draw, tag, kind) : std::nullopt;
    Step step = of_kind ? std::move(*of_kind) : draw_step(place, draw, tag);
    const bool sync = step.queue == WEFT_QUEUE_SYNC;
    const unsigned extra = static_cast<unsigned>(sync ? draw.between(0, 3) : draw.once_in(6));
    for (unsigned i = 0; i < extra; i++)
      step.after.push_back(plan.steps.size() - 1 - draw.below(std::min<size_t>(plan.steps.size(), 12)));
    plan.steps.push_back(std::move(step));
    if (!make_program(plan)) {  // semaphores have run out
      plan.steps.pop_back();
      burst_end = 0;
    }
  }
}

/// A wrong value for one field, or a reserved byte that is not zero.
Damage draw_damage(const Plan& plan, Draw& draw) {
  Damage damage;
  damage.step = draw.below(plan.steps.size());
  const spec::Command& command = plan.steps[damage.step].command;
  const spec::Body body = spec::find_opcode(command.bytes[0])->body;
  std::vector<spec::FieldInfo> fields(spec::kHeaderFields.begin(), spec::kHeaderFields.end());
  fields.insert(fields.end(), spec::body_fields(body).begin(), spec::body_fields(body).end());
  if (draw.once_in(12)) {
    damage.offset = static_cast<unsigned>(draw.below(WEFT_COMMAND_BYTES)), damage.bytes = 1;
  } else {
    const spec::FieldInfo& field = fields[draw.below(fields.size())];
    damage.offset = field.offset, damage.bytes = field.bytes;
  }
  const uint64_t max = damage.bytes == 8 ? UINT64_MAX : (uint64_t{1} << (8 * damage.bytes)) - 1;
  const uint64_t old = spec::load_le(command, damage.offset, damage.bytes);
  damage.value = draw.one_of<uint64_t>({0, 1, 2, old + 1, old - 1, old + 8, old + 16, old ^ 1,
                                        old ^ (uint64_t{1} << draw.below(8 * damage.bytes)), max, max / 2 + 1,
                                        WEFT_SEMAPHORES, WEFT_SEGMENTS - 1, plan.chip->n + 1,
                                        2 * plan.chip->acc_bank_rows, plan.chip->vmem_words - 1, draw.bits()}) &
                 max;
  return damage;
}

Ending ending_of(weft_fault wanted) {
  if (wanted == WEFT_FAULT_SEMAPHORE_OVERFLOW) return Ending::kOverflow;
  if (wanted == WEFT_FAULT_WATCHDOG) return Ending::kDeadlock;
  if (wanted == WEFT_FAULT_DMA_BUS) return Ending::kBusError;
  if (wanted == WEFT_FAULT_INDEX) return Ending::kIndex;
  return wanted == WEFT_FAULT_HAZARD ? Ending::kRace : Ending::kNone;
}

void map_beyond_memory(Plan& plan, Draw& draw) {
  uint8_t segment = 1;
  while (segment < WEFT_SEGMENTS - 1 && plan.segments[segment].space != WEFT_ADDRESS_SPACE_NONE) segment++;
  plan.segments[segment] =
      beyond_memory(*plan.chip, draw.once_in(2) ? WEFT_ADDRESS_SPACE_HOST : WEFT_ADDRESS_SPACE_HBM);
  golden::copy_to_version1(plan.segments);
}

/// Each code is asked for as often as the others, as far as the program has commands that can have it.
void add_damage(Plan& plan, Draw& draw) {
  const weft_fault wanted =
      draw.one_of({WEFT_FAULT_ILLEGAL_OPCODE, WEFT_FAULT_ILLEGAL_FIELD, WEFT_FAULT_ALIGNMENT, WEFT_FAULT_RANGE,
                   WEFT_FAULT_SEGMENT, WEFT_FAULT_ACC_RANGE, WEFT_FAULT_SEMAPHORE_OVERFLOW, WEFT_FAULT_WATCHDOG,
                   WEFT_FAULT_DMA_BUS, WEFT_FAULT_HAZARD, WEFT_FAULT_INDEX});
  plan.ending = ending_of(wanted);
  if (plan.ending == Ending::kBusError || plan.ending == Ending::kIndex) map_beyond_memory(plan, draw);
  if (plan.ending != Ending::kNone && make_program(plan)) return;
  plan.ending = Ending::kNone;
  std::optional<Damage> any;
  for (unsigned attempt = 0; attempt < 2000; attempt++) {
    const Damage damage = draw_damage(plan, draw);
    const Step& step = plan.steps[damage.step];
    spec::Command command = step.command;
    spec::store_le(command, damage.offset, damage.bytes, damage.value);
    const auto fault = golden::check_command(command, step.queue, *plan.chip, plan.segments);
    if (!fault) continue;
    plan.damage = damage;
    if (!make_program(plan)) continue;  // with its semaphores it is legal after all
    any = damage;
    if (fault->code == wanted) return;
  }
  plan.damage = any;
}

}  // namespace

Plan generate_plan(const spec::Chip& chip, uint64_t seed, Legality legality) {
  Draw draw(seed);
  Plan plan;
  plan.chip = &chip;
  plan.seed = seed;
  plan.data_seed = draw.bits();
  plan.stall_percent = draw.one_of({0u, 0u, 25u, 75u});
  plan.jitter = draw.once_in(2);
  plan.prefetch = prefetch_drawn(plan.data_seed);
  plan.segments = draw_segments(chip, draw);
  const Place place{&chip, plan.segments, draw_windows(chip, draw)};
  add_loads(plan, place, draw);
  add_steps(plan, place, draw);
  if (legality == Legality::kOneIllegal) add_damage(plan, draw);
  return plan;
}

}  // namespace weft::random
