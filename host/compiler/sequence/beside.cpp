// Semaphores, VMEM and scratch memory of the collective move behind the program's; then five queues are merged.
//
// No run hangs: in one order of all commands of all chips, by time and then the program's first, each queue is in order
// and each command comes behind what it waits for. A collective's times are those of all chips together, and what its
// barrier waits for begins no later.
#include "host/compiler/sequence/beside.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "host/compiler/executable/program_builder.hpp"

namespace weft::compiler {
namespace {

constexpr uint8_t kVmem = 0, kScratch = 2;

/// Semaphores that the program does not use: of the collective those that no other chip posts, and its beginning.
struct Numbers {
  std::array<uint8_t, WEFT_SEMAPHORES> of{};  ///< the collective's own numbers -> new ones
  uint8_t beginning = 0;
};

std::optional<Numbers> numbers_of(uint64_t program, uint64_t collective) {
  Numbers numbers;
  uint8_t next = 0;
  const auto take = [&] {
    while (next < WEFT_REMOTE_SEMAPHORE_FIRST && (program >> next & 1) != 0) next++;
    return next++;
  };
  for (uint8_t s = 0; s < WEFT_SEMAPHORES; s++)
    numbers.of[s] = s >= WEFT_REMOTE_SEMAPHORE_FIRST || (collective >> s & 1) == 0 ? s : take();
  numbers.beginning = take();
  if (numbers.beginning >= WEFT_REMOTE_SEMAPHORE_FIRST) return std::nullopt;
  return numbers;
}

/// A command of the program's units.
struct Place {
  size_t queue, index;
};

/// The last one that begins by then and can post one semaphore more. None: the collective begins at once.
std::optional<Place> beginning_at(const Kernel& program, const Beginnings& of_program, uint64_t delay) {
  std::optional<Place> best;
  if (delay == 0) return best;
  for (const size_t q : {size_t{WEFT_QUEUE_VPU}, size_t{WEFT_QUEUE_MXU}}) {
    const auto& begun = of_program[q];
    auto i = static_cast<size_t>(std::ranges::upper_bound(begun, delay) - begun.begin());
    for (; i > 0; i--) {
      const auto h = spec::decode_header(program.queues[q][i - 1]);
      if (h.post_sem0 == WEFT_NO_SEMAPHORE || h.post_sem1 == WEFT_NO_SEMAPHORE) break;
    }
    if (i > 0 && (!best || begun[i - 1] > of_program[best->queue][best->index])) best = Place{q, i - 1};
  }
  return best;
}

spec::Command moved(const spec::Chip& chip, size_t queue, const spec::Command& command, const Numbers& numbers,
                    const CollectivePlace& place, uint16_t tag, bool waits) {
  auto header = spec::decode_header(command);
  for (uint8_t* const s : {&header.wait_sem0, &header.wait_sem1, &header.post_sem0, &header.post_sem1})
    if (*s != WEFT_NO_SEMAPHORE) *s = numbers.of[*s];
  if (waits && header.opcode == WEFT_OPCODE_BARRIER) ProgramBuilder::wait(header, numbers.beginning, 1);
  header.tag = static_cast<uint16_t>(header.tag + tag);
  spec::Command to = command;
  if (queue == WEFT_QUEUE_DMA_IN || queue == WEFT_QUEUE_DMA_OUT) {
    auto dma = spec::decode_dma(command);
    const auto shift = [&](uint8_t segment) {
      return segment == kVmem ? place.vmem_bytes : segment == kScratch ? place.scratch_bytes : 0;
    };
    dma.src_off += shift(dma.src_seg);
    dma.dst_off += shift(dma.dst_seg);
    to = spec::encode(dma);
  } else if (queue == WEFT_QUEUE_VPU) {
    auto vpu = spec::decode_vpu(command);
    const auto words = static_cast<uint32_t>(place.vmem_bytes / chip.word_bytes);
    vpu.a_addr += words, vpu.b_addr += words, vpu.d_addr += words;
    to = spec::encode(vpu);
  }
  spec::encode_into(to, header);
  return to;
}

bool waits_for_all(const Kernel& kernel) {
  return std::ranges::any_of(kernel.queues, [](const auto& queue) {
    return std::ranges::any_of(
        queue, [](const spec::Command& c) { return spec::decode_header(c).opcode == WEFT_OPCODE_FENCE; });
  });
}

}  // namespace

bool can_be_beside(const spec::Chip& chip, const Kernel& program, const Kernel& collective,
                   const CollectivePlace& place) {
  const bool vmem =
      program.vmem_bytes <= place.vmem_bytes && place.vmem_bytes + collective.vmem_bytes <= chip.vmem_bytes;
  return vmem && numbers_of(program.semaphores, collective.semaphores) && !waits_for_all(program) &&
         !waits_for_all(collective);
}

Kernel beside(const spec::Chip& chip, const Kernel& program, const Beginnings& of_program, const Kernel& collective,
              const Beginnings& of_collective, const Hiding& hidden, const CollectivePlace& place) {
  const auto beginning = beginning_at(program, of_program, hidden.delay);
  const auto numbers = numbers_of(program.semaphores, collective.semaphores);
  Kernel both = program;
  const auto tag = static_cast<uint16_t>(program.tags.empty() ? 0 : program.tags.rbegin()->first + 1);
  for (const auto& [number, text] : collective.tags) both.tags.emplace(static_cast<uint16_t>(number + tag), text);
  for (size_t q = 0; q < WEFT_CORE_QUEUES; q++) {
    auto& queue = both.queues[q];
    queue.clear();
    const auto &first = program.queues[q], &second = collective.queues[q];
    for (size_t i = 0, j = 0; i < first.size() || j < second.size();) {
      const auto time = [&] {
        return static_cast<double>(hidden.delay) + hidden.stretch * static_cast<double>(of_collective[q][j]);
      };
      const bool own = j == second.size() || (i < first.size() && static_cast<double>(of_program[q][i]) <= time());
      queue.push_back(own ? first[i++] : moved(chip, q, second[j++], *numbers, place, tag, beginning.has_value()));
      if (own && beginning && beginning->queue == q && beginning->index + 1 == i) {
        auto header = spec::decode_header(queue.back());
        ProgramBuilder::post(header, numbers->beginning, 1);
        spec::encode_into(queue.back(), header);
      }
    }
  }
  both.vmem_bytes = place.vmem_bytes + collective.vmem_bytes;
  both.scratch_bytes = std::max(program.scratch_bytes, place.scratch_bytes + collective.scratch_bytes);
  for (uint8_t s = 0; s < WEFT_SEMAPHORES; s++)
    if ((collective.semaphores >> s & 1) != 0) both.semaphores |= 1ull << numbers->of[s];
  if (beginning) both.semaphores |= 1ull << numbers->beginning;
  both.cycle_estimate = std::max(program.cycle_estimate, collective.cycle_estimate);
  return both;
}

}  // namespace weft::compiler
