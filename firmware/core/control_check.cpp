// Every field of a control list before it is used.
#include "firmware/core/control_check.hpp"

#include <stddef.h>

namespace weft::fw {
namespace {

using H = weft_control_header;
using B = weft_control_block;
using W = weft_control_binding;
using C = weft_control_entry;

constexpr uint64_t kGranule = WEFT_CORE_DMA_GRANULE_BYTES;
constexpr uint32_t kWordBytes = 4;
constexpr uint64_t kLargest = UINT64_C(1) << 62;

constexpr Status invalid(uint64_t offset, uint64_t value) {
  return refused(WEFT_ERROR_EXECUTABLE_INVALID, offset, value);
}

constexpr bool is_loop(const C& entry) {
  return entry.opcode == WEFT_CONTROL_OPCODE_LOOP || entry.opcode == WEFT_CONTROL_OPCODE_WHILE;
}

/// Which fields beside the opcode an entry may use: a bit each.
enum Use : uint32_t { kFlags = 1, kCondition = 2, kTarget = 4, kFirst = 8, kCount = 16 };

constexpr uint32_t uses(uint32_t opcode) {
  switch (static_cast<weft_control_opcode>(opcode)) {
    case WEFT_CONTROL_OPCODE_RUN:
      return kFlags | kFirst;
    case WEFT_CONTROL_OPCODE_BIND:
      return kFirst | kCount;
    case WEFT_CONTROL_OPCODE_LOOP:
      return kTarget | kCount;
    case WEFT_CONTROL_OPCODE_WHILE:
      return kCondition | kTarget | kFirst | kCount;
    case WEFT_CONTROL_OPCODE_IF:
      return kCondition | kTarget | kFirst;
    case WEFT_CONTROL_OPCODE_ELSE:
    case WEFT_CONTROL_OPCODE_END:
      return kTarget;
  }
  return 0;
}

/// The entry by itself. `at`: its offset in the image.
Status check_entry(const ControlShape& shape, const C& e, uint64_t at) {
  const uint32_t used = uses(e.opcode);
  if (used == 0) return invalid(at + offsetof(C, opcode), e.opcode);
  if ((e.flags & ~((used & kFlags) != 0 ? WEFT_EXECUTABLE_CONTROL_OVERLAP : 0u)) != 0)
    return invalid(at + offsetof(C, flags), e.flags);
  const bool condition =
      e.condition >= WEFT_CONTROL_CONDITION_EQUAL && e.condition <= WEFT_CONTROL_CONDITION_GREATER_EQUAL;
  if ((used & kCondition) != 0 ? !condition : e.condition != 0)
    return invalid(at + offsetof(C, condition), e.condition);
  if (e.reserved != 0) return invalid(at + offsetof(C, reserved), e.reserved);
  if ((used & kTarget) == 0 && e.target != 0) return invalid(at + offsetof(C, target), e.target);
  const uint32_t limit = (used & kFirst) == 0                  ? 1u
                         : e.opcode == WEFT_CONTROL_OPCODE_RUN ? shape.blocks
                                                               : shape.bindings;
  if (e.first >= limit) return invalid(at + offsetof(C, first), e.first);
  const bool count_good = e.opcode == WEFT_CONTROL_OPCODE_WHILE  ? true
                          : e.opcode == WEFT_CONTROL_OPCODE_LOOP ? e.count != 0
                          : e.opcode == WEFT_CONTROL_OPCODE_BIND
                              ? e.count != 0 && e.count < WEFT_SEGMENTS && e.count <= shape.bindings - uint32_t{e.first}
                              : e.count == 0;
  if (!count_good) return invalid(at + offsetof(C, count), e.count);
  if ((used & kCondition) == 0 && e.value != 0) return invalid(at + offsetof(C, value), e.value);
  return kOk;
}

/// The opener that ends with entry `index` of the list, of those that are open.
struct Nest {
  uint16_t open[WEFT_EXECUTABLE_CONTROL_NESTING];
  uint32_t depth = 0, loops = 0;
};

/// Entry `index` opens, closes, or neither.
Status nest(Nest& nest, const C* entries, uint32_t index, uint64_t at) {
  const C& e = entries[index];
  const bool closes = e.opcode == WEFT_CONTROL_OPCODE_ELSE || e.opcode == WEFT_CONTROL_OPCODE_END;
  const bool opens = is_loop(e) || e.opcode == WEFT_CONTROL_OPCODE_IF || e.opcode == WEFT_CONTROL_OPCODE_ELSE;
  if (closes) {
    if (nest.depth == 0) return invalid(at + offsetof(C, opcode), e.opcode);
    const uint32_t opener = nest.open[nest.depth - 1];
    const C& o = entries[opener];
    const uint64_t opener_at = at - (index - opener) * sizeof(C);
    if (e.opcode == WEFT_CONTROL_OPCODE_ELSE && o.opcode != WEFT_CONTROL_OPCODE_IF)
      return invalid(at + offsetof(C, opcode), e.opcode);
    if (o.target != index) return invalid(opener_at + offsetof(C, target), o.target);
    if (e.opcode == WEFT_CONTROL_OPCODE_END && e.target != opener) return invalid(at + offsetof(C, target), e.target);
    nest.depth--;
    if (is_loop(o)) nest.loops--;
  }
  if (opens) {
    if (nest.depth == WEFT_EXECUTABLE_CONTROL_NESTING) return invalid(at + offsetof(C, opcode), e.opcode);
    if (is_loop(e) && nest.loops++ == WEFT_EXECUTABLE_CONTROL_LOOPS) return invalid(at + offsetof(C, opcode), e.opcode);
    nest.open[nest.depth++] = static_cast<uint16_t>(index);
  }
  return kOk;
}

/// Adds |stride| * turns to `sum`. False: it does not fit.
bool add_span(uint64_t stride, uint32_t turns, uint64_t& sum) {
  const auto low = static_cast<uint32_t>(stride);
  const auto high = static_cast<uint32_t>(stride >> 32);  // below 2^8
  const uint64_t upper = uint64_t{high} * turns;
  if (upper >> 30 != 0) return false;
  const uint64_t span = (upper << 32) + uint64_t{low} * turns;
  if (span >= kLargest || sum + span >= kLargest) return false;
  sum += span;
  return true;
}

constexpr bool negative(uint64_t stride) { return static_cast<int64_t>(stride) < 0; }
constexpr uint64_t magnitude(uint64_t stride) { return negative(stride) ? 0 - stride : stride; }

}  // namespace

Status check_control_header(const H& h, uint32_t kernel, uint64_t bytes, ControlShape* shape) {
  const uint64_t at = shape->at;
  if (h.version != WEFT_EXECUTABLE_CONTROL_VERSION) return invalid(at + offsetof(H, version), h.version);
  if (h.kernel != kernel) return invalid(at + offsetof(H, kernel), h.kernel);
  if (h.block_count > WEFT_EXECUTABLE_CONTROL_BLOCKS) return invalid(at + offsetof(H, block_count), h.block_count);
  if (h.binding_count > WEFT_EXECUTABLE_CONTROL_BINDINGS)
    return invalid(at + offsetof(H, binding_count), h.binding_count);
  if (h.entry_count == 0 || h.entry_count > WEFT_EXECUTABLE_CONTROL_ENTRIES)
    return invalid(at + offsetof(H, entry_count), h.entry_count);
  if (h.reserved0 != 0) return invalid(at + offsetof(H, reserved0), h.reserved0);
  shape->blocks = static_cast<uint16_t>(h.block_count);
  shape->bindings = static_cast<uint16_t>(h.binding_count);
  shape->entries = static_cast<uint16_t>(h.entry_count);
  const uint32_t needed = (shape->end() + WEFT_COMMAND_BYTES - 1) / WEFT_COMMAND_BYTES * WEFT_COMMAND_BYTES;
  if (h.list_bytes != needed || needed != bytes) return invalid(at + offsetof(H, list_bytes), h.list_bytes);
  for (uint32_t i = 0; i < sizeof h.reserved / sizeof h.reserved[0]; i++) {
    if (h.reserved[i] != 0) return invalid(at + offsetof(H, reserved) + 8 * i, h.reserved[i]);
  }
  return kOk;
}

Status check_control_entries(const ControlShape& shape, const C* entries) {
  Nest open;
  for (uint32_t i = 0; i < shape.entries; i++) {
    const uint64_t at = shape.at + shape.entries_at() + i * sizeof(C);
    Status status = check_entry(shape, entries[i], at);
    if (status.ok()) status = nest(open, entries, i, at);
    if (!status.ok()) return status;
  }
  if (open.depth == 0) return kOk;
  const uint32_t opener = open.open[open.depth - 1];
  return invalid(shape.at + shape.entries_at() + opener * sizeof(C) + offsetof(C, target), entries[opener].target);
}

Status check_control_block(const ControlShape& shape, uint32_t index, const B& block, uint32_t commands) {
  const uint64_t at = shape.at + shape.blocks_at() + index * sizeof(B);
  uint32_t any = 0;
  for (uint32_t q = 0; q < WEFT_CORE_QUEUES; q++) {
    if (block.queue_first[q] > commands) return invalid(at + offsetof(B, queue_first) + 4 * q, block.queue_first[q]);
    if (block.queue_count[q] > commands - block.queue_first[q])
      return invalid(at + offsetof(B, queue_count) + 4 * q, block.queue_count[q]);
    any |= block.queue_count[q];
  }
  if (any == 0) return invalid(at + offsetof(B, queue_count), 0);
  for (uint32_t i = 0; i < sizeof block.reserved / sizeof block.reserved[0]; i++) {
    if (block.reserved[i] != 0) return invalid(at + offsetof(B, reserved) + 8 * i, block.reserved[i]);
  }
  return kOk;
}

Status check_control_binding(const ControlShape& shape, const C* entries, uint32_t index, const W& binding,
                             BindingUse use) {
  const uint64_t at = shape.at + shape.bindings_at() + index * sizeof(W);
  const bool word = use == BindingUse::kWord;
  if (word ? binding.segment != 0 : binding.segment == 0 || binding.segment >= WEFT_SEGMENTS)
    return invalid(at + offsetof(W, segment), binding.segment);
  const uint32_t access = word ? 0u
                          : binding.argument == WEFT_EXECUTABLE_CONTROL_CONSTANTS
                              ? WEFT_EXECUTABLE_CONTROL_READABLE
                              : WEFT_EXECUTABLE_CONTROL_READABLE | WEFT_EXECUTABLE_CONTROL_WRITABLE;
  if ((binding.access & ~access) != 0 || (!word && binding.access == 0))
    return invalid(at + offsetof(W, access), binding.access);
  const bool known = binding.argument < shape.arguments || binding.argument == WEFT_EXECUTABLE_CONTROL_CONSTANTS ||
                     (binding.argument == WEFT_EXECUTABLE_CONTROL_SCRATCH && shape.scratch);
  if (!known) return invalid(at + offsetof(W, argument), binding.argument);
  if (binding.reserved0 != 0) return invalid(at + offsetof(W, reserved0), binding.reserved0);
  const uint64_t uneven = (word ? kWordBytes : kGranule) - 1;  // bits that a multiple does not have
  if ((binding.offset_bytes & uneven) != 0 || binding.offset_bytes >= WEFT_EXECUTABLE_CONTROL_STRIDE_LIMIT)
    return invalid(at + offsetof(W, offset_bytes), binding.offset_bytes);
  if (word ? binding.size_bytes != kWordBytes : binding.size_bytes == 0 || binding.size_bytes % kGranule != 0)
    return invalid(at + offsetof(W, size_bytes), binding.size_bytes);
  bool ended = false;
  for (uint32_t i = 0; i < WEFT_EXECUTABLE_CONTROL_STRIDES; i++) {
    const uint64_t stride = binding.stride_bytes[i];
    const uint32_t loop = binding.stride_loop[i];
    if (loop == WEFT_EXECUTABLE_CONTROL_NO_LOOP) {
      ended = true;
      if (stride != 0) return invalid(at + offsetof(W, stride_bytes) + 8 * i, stride);
      continue;
    }
    if (ended || loop >= shape.entries || !is_loop(entries[loop]) || entries[loop].count == 0)
      return invalid(at + offsetof(W, stride_loop) + 2 * i, loop);
    if (stride == 0 || (stride & uneven) != 0 || magnitude(stride) >= WEFT_EXECUTABLE_CONTROL_STRIDE_LIMIT)
      return invalid(at + offsetof(W, stride_bytes) + 8 * i, stride);
  }
  if (binding.reserved1 != 0) return invalid(at + offsetof(W, reserved1), binding.reserved1);
  return kOk;
}

Status check_control_window(const ControlShape& shape, const C* entries, uint32_t index, const W& binding,
                            uint64_t bytes) {
  uint64_t forwards = 0, backwards = 0;
  bool fits = binding.size_bytes < kLargest;
  for (uint32_t i = 0; i < WEFT_EXECUTABLE_CONTROL_STRIDES; i++) {
    if (binding.stride_loop[i] == WEFT_EXECUTABLE_CONTROL_NO_LOOP) break;
    const uint64_t stride = binding.stride_bytes[i];
    fits = fits && add_span(magnitude(stride), entries[binding.stride_loop[i]].count - 1,
                            negative(stride) ? backwards : forwards);
  }
  fits = fits && backwards <= binding.offset_bytes;
  const uint64_t end = binding.offset_bytes + forwards + binding.size_bytes;  // each below 2^62
  if (fits && end <= bytes) return kOk;
  const uint64_t at = shape.at + shape.bindings_at() + index * sizeof(W);
  return refused(WEFT_ERROR_INVALID_ARGUMENT, at + offsetof(W, size_bytes), fits ? end : UINT64_MAX);
}

}  // namespace weft::fw
