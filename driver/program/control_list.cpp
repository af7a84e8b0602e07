// Checks of a control list, outermost first: header, entries, blocks, bindings.
#include "driver/program/control_list.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "driver/program/executable_loader.hpp"
#include "driver/program/section_reading.hpp"
#include "weft/spec/names.hpp"

namespace weft::driver {
namespace {

using Bytes = std::span<const std::byte>;
using H = weft_control_header;
using B = weft_control_block;
using W = weft_control_binding;
using C = weft_control_entry;
using Wide = __int128;

template <typename... Args>
Status invalid(uint64_t offset, fmt::format_string<Args...> reason, Args&&... args) {
  return failure(WEFT_ERROR_EXECUTABLE_INVALID, "section control, offset {}: {}", offset,
                 fmt::format(reason, std::forward<Args>(args)...));
}

constexpr uint64_t align(uint64_t value) {
  return (value + WEFT_EXECUTABLE_SECTION_ALIGNMENT - 1) / WEFT_EXECUTABLE_SECTION_ALIGNMENT *
         WEFT_EXECUTABLE_SECTION_ALIGNMENT;
}

bool is_loop(const C& e) { return e.opcode == WEFT_CONTROL_OPCODE_LOOP || e.opcode == WEFT_CONTROL_OPCODE_WHILE; }
bool has_word(const C& e) { return e.opcode == WEFT_CONTROL_OPCODE_WHILE || e.opcode == WEFT_CONTROL_OPCODE_IF; }

/// One list while it is read, with the places of its tables in the section.
struct Reader {
  const ExecutableKernel& kernel;
  const ControlLimits& limits;
  const ControlList& list;

  uint64_t blocks_at() const { return list.offset + sizeof(H); }
  uint64_t bindings_at() const { return blocks_at() + list.blocks.size() * sizeof(B); }
  uint64_t entries_at() const { return bindings_at() + list.bindings.size() * sizeof(W); }
  uint64_t entry_at(size_t i) const { return entries_at() + i * sizeof(C); }

  Status check_entry(size_t i) const;
  Status check_nesting() const;
  Status check_block(size_t i) const;
  Status check_binding(size_t i) const;
  Status check_window(size_t i) const;
  Status check_uses(size_t i) const;
};

Status Reader::check_entry(size_t i) const {
  const C& e = list.entries[i];
  const uint64_t at = entry_at(i);
  const std::string_view name = spec::control_opcode_name(e.opcode);
  if (name.empty()) return invalid(at, "entry {} has opcode {}, which is none", i, e.opcode);
  const bool run = e.opcode == WEFT_CONTROL_OPCODE_RUN, bind = e.opcode == WEFT_CONTROL_OPCODE_BIND;
  if ((e.flags & ~(run ? WEFT_EXECUTABLE_CONTROL_OVERLAP : 0u)) != 0)
    return invalid(at + offsetof(C, flags), "entry {} ({}): flags {:#x}", i, name, e.flags);
  if (has_word(e) == spec::control_condition_name(e.condition).empty())
    return invalid(at + offsetof(C, condition), "entry {} ({}): condition {}", i, name, e.condition);
  if (e.reserved != 0) return invalid(at + offsetof(C, reserved), "entry {} ({}): reserved bytes are not 0", i, name);
  if ((run || bind) && e.target != 0)
    return invalid(at + offsetof(C, target), "entry {} ({}): target {}", i, name, e.target);
  const uint64_t limit = run ? list.blocks.size() : bind || has_word(e) ? list.bindings.size() : 1;
  if (e.first >= limit) {
    return invalid(at + offsetof(C, first), "entry {} ({}): {} {}, there are {}", i, name, run ? "block" : "binding",
                   e.first, limit);
  }
  if (bind && (e.count == 0 || e.count >= WEFT_SEGMENTS || e.count > list.bindings.size() - e.first)) {
    return invalid(at + offsetof(C, count), "entry {} (bind): {} bindings from {}, there are {}", i, e.count, e.first,
                   list.bindings.size());
  }
  if (e.opcode == WEFT_CONTROL_OPCODE_LOOP && e.count == 0)
    return invalid(at + offsetof(C, count), "entry {} (loop): 0 turns", i);
  if (!bind && !is_loop(e) && e.count != 0)
    return invalid(at + offsetof(C, count), "entry {} ({}): count {}", i, name, e.count);
  if (!has_word(e) && e.value != 0)
    return invalid(at + offsetof(C, value), "entry {} ({}): value {}", i, name, e.value);
  return {};
}

Status Reader::check_nesting() const {
  std::vector<size_t> open;
  size_t loops = 0;
  for (size_t i = 0; i < list.entries.size(); i++) {
    const C& e = list.entries[i];
    const bool otherwise = e.opcode == WEFT_CONTROL_OPCODE_ELSE;
    if (otherwise || e.opcode == WEFT_CONTROL_OPCODE_END) {
      const std::string_view name = spec::control_opcode_name(e.opcode);
      if (open.empty() || (otherwise && list.entries[open.back()].opcode != WEFT_CONTROL_OPCODE_IF))
        return invalid(entry_at(i), "entry {} ({}) ends nothing", i, name);
      const size_t opener = open.back();
      if (list.entries[opener].target != i) {
        return invalid(entry_at(opener) + offsetof(C, target), "entry {} names {} as its end, which is {}", opener,
                       list.entries[opener].target, i);
      }
      if (!otherwise && e.target != opener) {
        return invalid(entry_at(i) + offsetof(C, target), "entry {} (end) names {} as its opener, which is {}", i,
                       e.target, opener);
      }
      open.pop_back();
      if (is_loop(list.entries[opener])) loops--;
    }
    if (!is_loop(e) && !otherwise && e.opcode != WEFT_CONTROL_OPCODE_IF) continue;
    if (open.size() == WEFT_EXECUTABLE_CONTROL_NESTING)
      return invalid(entry_at(i), "entry {}: more than {} openers within each other", i,
                     WEFT_EXECUTABLE_CONTROL_NESTING);
    if (is_loop(e) && loops++ == WEFT_EXECUTABLE_CONTROL_LOOPS)
      return invalid(entry_at(i), "entry {}: more than {} loops within each other", i, WEFT_EXECUTABLE_CONTROL_LOOPS);
    open.push_back(i);
  }
  if (open.empty()) return {};
  return invalid(entry_at(open.back()) + offsetof(C, target), "entry {} has no end", open.back());
}

Status Reader::check_block(size_t i) const {
  const B& b = list.blocks[i];
  const uint64_t at = blocks_at() + i * sizeof(B);
  for (uint32_t q = 0; q < WEFT_CORE_QUEUES; q++) {
    if (b.queue_first[q] > limits.commands || b.queue_count[q] > limits.commands - b.queue_first[q]) {
      return invalid(at + offsetof(B, queue_first) + 4 * q, "block {}, queue {}: {} commands from {}, there are {}", i,
                     spec::queue_name(q), b.queue_count[q], b.queue_first[q], limits.commands);
    }
  }
  if (all_zero(b.queue_count)) return invalid(at + offsetof(B, queue_count), "block {} has no commands", i);
  if (!all_zero(b.reserved)) return invalid(at + offsetof(B, reserved), "block {}: reserved bytes are not 0", i);
  return {};
}

Status Reader::check_binding(size_t i) const {
  const W& w = list.bindings[i];
  const uint64_t at = bindings_at() + i * sizeof(W);
  const bool word = w.segment == 0, constants = w.argument == WEFT_EXECUTABLE_CONTROL_CONSTANTS;
  if (w.segment >= WEFT_SEGMENTS) return invalid(at + offsetof(W, segment), "binding {}: segment {}", i, w.segment);
  const bool scratch = w.argument == WEFT_EXECUTABLE_CONTROL_SCRATCH;
  if (!constants && !(scratch && kernel.scratch_bytes != 0) && w.argument >= kernel.arguments.size()) {
    return invalid(at + offsetof(W, argument), "binding {}: argument {:#x}, kernel '{}' has {}", i, w.argument,
                   kernel.name, kernel.arguments.size());
  }
  const bool read_only =
      word || constants || (!scratch && kernel.arguments[w.argument].direction == WEFT_ARGUMENT_DIRECTION_INPUT);
  const uint32_t possible = word        ? 0
                            : read_only ? WEFT_EXECUTABLE_CONTROL_READABLE
                                        : WEFT_EXECUTABLE_CONTROL_READABLE | WEFT_EXECUTABLE_CONTROL_WRITABLE;
  if ((w.access & ~possible) != 0 || (!word && w.access == 0))
    return invalid(at + offsetof(W, access), "binding {}: access {:#x} of what may have {:#x}", i, w.access, possible);
  const uint64_t grain = word ? sizeof(uint32_t) : WEFT_CORE_DMA_GRANULE_BYTES;
  if (w.offset_bytes % grain != 0 || w.offset_bytes >= WEFT_EXECUTABLE_CONTROL_STRIDE_LIMIT)
    return invalid(at + offsetof(W, offset_bytes), "binding {}: offset {}", i, w.offset_bytes);
  if (w.size_bytes == 0 || w.size_bytes % grain != 0 || (word && w.size_bytes != grain))
    return invalid(at + offsetof(W, size_bytes), "binding {}: {} bytes", i, w.size_bytes);
  bool ended = false;
  for (uint32_t s = 0; s < WEFT_EXECUTABLE_CONTROL_STRIDES; s++) {
    const auto stride = static_cast<int64_t>(w.stride_bytes[s]);
    const uint32_t loop = w.stride_loop[s];
    const bool none = loop == WEFT_EXECUTABLE_CONTROL_NO_LOOP;
    if (!none &&
        (ended || loop >= list.entries.size() || !is_loop(list.entries[loop]) || list.entries[loop].count == 0)) {
      return invalid(at + offsetof(W, stride_loop) + 2 * s,
                     "binding {}: entry {} is no loop with a limit of turns, or stands behind an empty stride", i,
                     loop);
    }
    constexpr auto kLimit = static_cast<int64_t>(WEFT_EXECUTABLE_CONTROL_STRIDE_LIMIT);
    if (none ? stride != 0
             : stride == 0 || stride % static_cast<int64_t>(grain) != 0 || stride >= kLimit || stride <= -kLimit)
      return invalid(at + offsetof(W, stride_bytes) + 8 * s, "binding {}: a stride of {} bytes", i, stride);
    ended |= none;
  }
  if (w.reserved0 != 0) return invalid(at + offsetof(W, reserved0), "binding {}: reserved bytes are not 0", i);
  if (w.reserved1 != 0) return invalid(at + offsetof(W, reserved1), "binding {}: reserved bytes are not 0", i);
  return {};
}

Status Reader::check_window(size_t i) const {
  const W& w = list.bindings[i];
  Wide first = static_cast<Wide>(w.offset_bytes), last = first;
  for (uint32_t s = 0; s < WEFT_EXECUTABLE_CONTROL_STRIDES && w.stride_loop[s] != WEFT_EXECUTABLE_CONTROL_NO_LOOP;
       s++) {
    const Wide span = static_cast<Wide>(static_cast<int64_t>(w.stride_bytes[s])) *
                      (static_cast<Wide>(list.entries[w.stride_loop[s]].count) - 1);
    (span < 0 ? first : last) += span;
  }
  const bool constants = w.argument == WEFT_EXECUTABLE_CONTROL_CONSTANTS;
  const bool scratch = w.argument == WEFT_EXECUTABLE_CONTROL_SCRATCH;
  const uint64_t room = constants ? limits.constants_bytes
                        : scratch ? kernel.scratch_bytes
                                  : kernel.arguments[w.argument].size_bytes;
  if (first >= 0 && last + static_cast<Wide>(w.size_bytes) <= static_cast<Wide>(room)) return {};
  const std::string what = constants ? "the constants"
                           : scratch ? "the scratch memory"
                                     : fmt::format("argument '{}'", kernel.arguments[w.argument].name);
  return invalid(bindings_at() + i * sizeof(W) + offsetof(W, size_bytes),
                 "binding {}: {} bytes at {}, with its strides, leave the {} bytes of {}", i, w.size_bytes,
                 w.offset_bytes, room, what);
}

/// What an entry names is of the kind that it needs.
Status Reader::check_uses(size_t i) const {
  const C& e = list.entries[i];
  const uint32_t count = has_word(e) ? 1 : e.opcode == WEFT_CONTROL_OPCODE_BIND ? e.count : 0;
  for (uint32_t n = 0; n < count; n++) {
    if ((list.bindings[e.first + n].segment == 0) == has_word(e)) continue;
    return invalid(entry_at(i) + offsetof(C, first), "entry {} ({}): binding {} is {}", i,
                   spec::control_opcode_name(e.opcode), e.first + n,
                   has_word(e) ? "of a segment" : "the word of a condition");
  }
  return {};
}

template <typename T>
void read_table(Bytes section, uint64_t at, uint32_t count, std::vector<T>& table) {
  table.resize(count);
  for (uint32_t i = 0; i < count; i++) table[i] = read_at<T>(section, at + i * sizeof(T));
}

}  // namespace

Result<std::vector<std::pair<uint32_t, ControlList>>> find_control_lists(Bytes section, uint64_t kernels) {
  std::vector<std::pair<uint32_t, ControlList>> lists;
  for (uint64_t at = 0; at < section.size();) {
    if (section.size() - at < sizeof(H)) return invalid(at, "the section ends inside a header");
    const H h = read_at<H>(section, at);
    if (h.version != WEFT_EXECUTABLE_CONTROL_VERSION) {
      return invalid(at + offsetof(H, version), "version {} of control lists, this driver reads {}", h.version,
                     WEFT_EXECUTABLE_CONTROL_VERSION);
    }
    if (h.kernel >= kernels || (!lists.empty() && h.kernel <= lists.back().first))
      return invalid(at + offsetof(H, kernel), "a list of kernel {}: there are {}, each has one list, in their order",
                     h.kernel, kernels);
    if (h.list_bytes < sizeof(H) || h.list_bytes % WEFT_EXECUTABLE_SECTION_ALIGNMENT != 0 ||
        h.list_bytes > section.size() - at) {
      return invalid(at + offsetof(H, list_bytes), "a list of {} bytes, of which the section has {}", h.list_bytes,
                     section.size() - at);
    }
    ControlList list;
    list.offset = at;
    list.bytes = h.list_bytes;
    lists.emplace_back(h.kernel, std::move(list));
    at += h.list_bytes;
  }
  return lists;
}

Status read_control_list(Bytes section, const ExecutableKernel& kernel, const ControlLimits& limits,
                         ControlList& list) {
  const H h = read_at<H>(section, list.offset);
  const auto check_count = [&](const char* what, size_t field, uint32_t count, uint32_t least,
                               uint32_t most) -> Status {
    if (count >= least && count <= most) return {};
    return invalid(list.offset + field, "{} {}, {} to {} are possible", count, what, least, most);
  };
  for (const Status& status :
       {check_count("blocks", offsetof(H, block_count), h.block_count, 0, WEFT_EXECUTABLE_CONTROL_BLOCKS),
        check_count("bindings", offsetof(H, binding_count), h.binding_count, 0, WEFT_EXECUTABLE_CONTROL_BINDINGS),
        check_count("entries", offsetof(H, entry_count), h.entry_count, 1, WEFT_EXECUTABLE_CONTROL_ENTRIES)}) {
    if (!status.ok()) return status;
  }
  if (h.reserved0 != 0 || !all_zero(h.reserved))
    return invalid(list.offset + offsetof(H, reserved), "the header's reserved bytes are not 0");
  const uint64_t end = sizeof h + h.block_count * sizeof(B) + h.binding_count * sizeof(W) + h.entry_count * sizeof(C);
  if (h.list_bytes != align(end)) {
    return invalid(list.offset + offsetof(H, list_bytes), "the list has {} bytes, its tables take {}", h.list_bytes,
                   align(end));
  }
  for (uint64_t i = end; i < h.list_bytes; i++) {
    if (section[list.offset + i] != std::byte{0}) return invalid(list.offset + i, "padding is not 0");
  }
  const bool own =
      std::any_of(kernel.queue_count.begin(), kernel.queue_count.end(), [](uint32_t n) { return n != 0; }) ||
      std::any_of(kernel.queue_first.begin(), kernel.queue_first.end(), [](uint32_t n) { return n != 0; });
  if (own) return invalid(list.offset, "kernel '{}' has commands beside those of its blocks", kernel.name);
  Reader reader{kernel, limits, list};
  read_table(section, reader.blocks_at(), h.block_count, list.blocks);
  read_table(section, reader.bindings_at(), h.binding_count, list.bindings);
  read_table(section, reader.entries_at(), h.entry_count, list.entries);
  Status status;
  for (size_t i = 0; i < list.entries.size() && status.ok(); i++) status = reader.check_entry(i);
  if (status.ok()) status = reader.check_nesting();
  for (size_t i = 0; i < list.blocks.size() && status.ok(); i++) status = reader.check_block(i);
  for (size_t i = 0; i < list.bindings.size() && status.ok(); i++) {
    status = reader.check_binding(i);
    if (status.ok()) status = reader.check_window(i);
  }
  for (size_t i = 0; i < list.entries.size() && status.ok(); i++) status = reader.check_uses(i);
  return status;
}

std::string control_place_text(uint32_t entry, uint32_t block, std::span<const uint32_t> turns) {
  std::string text = fmt::format("entry {} of the control list", entry - 1);
  if (block != UINT16_MAX) text += fmt::format(", block {}", block);
  size_t shown = turns.size();
  while (shown > 1 && turns[shown - 1] == 0) shown--;
  text += ", turn ";
  for (size_t i = 0; i < shown; i++) text += fmt::format("{}{}", i == 0 ? "" : ".", turns[i]);
  return text;
}

}  // namespace weft::driver
