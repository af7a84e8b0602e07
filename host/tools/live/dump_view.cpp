// Tables of a function's rings, records and log.
#include "host/tools/live/dump_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "driver/hang/hang_report.hpp"
#include "driver/report/fault_log.hpp"
#include "driver/report/log_text.hpp"
#include "host/tools/formats/text_table.hpp"
#include "host/tools/live/ring_entries.hpp"
#include "weft/spec/names.hpp"

namespace weft::tools {
namespace {

using Out = std::string;
using Align = TextTable::Align;

void head_lines(Out& out, const FunctionDump& dump) {
  const FunctionSnapshot& f = dump.function;
  const std::string chip = dump.chips == 1 ? "" : fmt::format("chip {} of ", dump.chip);
  out += fmt::format("function {} of {}{} ({}, {} core): {}, owner {}, {} resets, cycle {}\n", f.function, chip,
                     dump.folder, dump.preset, dump.core, f.state,
                     f.owner_pid == 0 ? "nobody" : fmt::format("{} {}", f.owner_pid, f.owner_process),
                     f.reset_generation, dump.cycle);
  out += fmt::format("heartbeat {}, {} commands completed, first error {}, {} pending\n", f.heartbeat, f.progress,
                     f.first_error == "OK" ? "none" : f.first_error, f.pending_errors);
}

/// Where the manager's processor stands, if it runs the firmware's image.
void processor_lines(Out& out, const FunctionDump& dump) {
  if (!dump.processor) return;
  constexpr size_t kColumns = 8;
  constexpr const char* kNames[] = {"zero", "ra", "sp", "gp", "tp",  "t0",  "t1", "t2", "s0", "s1", "a0",
                                    "a1",   "a2", "a3", "a4", "a5",  "a6",  "a7", "s2", "s3", "s4", "s5",
                                    "s6",   "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6"};
  const ProcessorSnapshot& p = *dump.processor;
  out += fmt::format("\nmanager: image {:08x} on {}, {} instructions in {} cycles\n", p.image, p.kind, p.instructions,
                     p.cycles);
  for (size_t i = 0; i < p.backtrace.size(); i++) out += fmt::format("  {}{}\n", i == 0 ? "at " : "", p.backtrace[i]);
  const size_t shown = std::min(p.registers.size(), std::size(kNames));
  for (size_t i = 0; i < shown; i++)
    out += fmt::format("  {:<4} {:08x}{}", kNames[i], p.registers[i],
                       i % kColumns == kColumns - 1 || i + 1 == shown ? "\n" : "");
}

/// Queues, engines, and who waits for whom.
void state_lines(Out& out, const FunctionDump& dump) {
  auto page = driver::decode_state_page(dump.state_page);
  if (!page.ok()) {
    out += fmt::format("\nno state: {}\n", page.status().message());
    return;
  }
  driver::HangReport report;
  report.page = std::move(page.value());
  report.graph = driver::make_wait_graph(*report.page, {});
  out += driver::state_text(report);
}

const QueueSnapshot* queue_of(const FunctionDump& dump, uint32_t id) {
  for (const QueueSnapshot& queue : dump.function.queues) {
    if (queue.id == id) return &queue;
  }
  return nullptr;
}

/// Where an entry stands: behind the ring's head it has been fetched.
std::string place_text(const QueueSnapshot* queue, uint32_t index) {
  if (queue == nullptr) return "";
  return static_cast<int32_t>(index - queue->head) >= 0 ? "in ring"
         : queue->head - index <= queue->fetched        ? "fetched"
                                                        : "done";
}

void submission_lines(Out& out, const FunctionDump& dump, const RingDump& ring) {
  TextTable table({{"index", Align::kRight},
                   {"place", Align::kLeft},
                   {"opcode", Align::kLeft},
                   {"command", Align::kRight},
                   {"tag", Align::kRight},
                   {"flags", Align::kLeft},
                   {"CRC", Align::kLeft},
                   {"arguments", Align::kLeft}});
  const QueueSnapshot* queue = queue_of(dump, ring.id);
  uint32_t index = ring.first_submission;
  for (const auto& entry : ring.submissions) {
    if (!entry) {
      table.add({std::to_string(index), place_text(queue, index), "not mapped"});
    } else {
      table.add({std::to_string(index), place_text(queue, index), opcode_text(entry->opcode),
                 fmt::format("{:#x}", entry->command_id), std::to_string(entry->tag), flags_text(entry->flags),
                 crc_matches(*entry, index, ring.entries) ? "ok" : "WRONG", arguments_text(*entry)});
    }
    index++;
  }
  out += fmt::format("\nqueue {}: last {} submissions\n", ring.id, table.rows());
  if (table.rows() != 0) out += table.text("  ");
}

void completion_lines(Out& out, const RingDump& ring) {
  TextTable table({{"index", Align::kRight},
                   {"command", Align::kRight},
                   {"tag", Align::kRight},
                   {"status", Align::kLeft},
                   {"phase", Align::kRight},
                   {"queue", Align::kRight},
                   {"head", Align::kRight},
                   {"start", Align::kRight},
                   {"end", Align::kRight},
                   {"cycles", Align::kRight}});
  uint32_t index = ring.first_completion;
  for (const auto& entry : ring.completions) {
    if (!entry) {
      table.add({std::to_string(index), "not mapped"});
    } else {
      const CompletionStatus status = completion_status(*entry);
      const bool timed = entry->end_cycle >= entry->start_cycle && entry->start_cycle > WEFT_LIMIT_RING_ENTRIES_MAX;
      table.add({std::to_string(index), fmt::format("{:#x}", entry->command_id), std::to_string(entry->tag),
                 error_text(status.code) + (status.retryable ? ", retryable" : ""), std::to_string(status.phase),
                 std::to_string(entry->queue_id), std::to_string(entry->queue_head), std::to_string(entry->start_cycle),
                 std::to_string(entry->end_cycle),
                 timed ? std::to_string(entry->end_cycle - entry->start_cycle) : "-"});
    }
    index++;
  }
  out += fmt::format("\nqueue {}: last {} completions\n", ring.id, table.rows());
  if (table.rows() != 0) out += table.text("  ");
}

void fault_lines(Out& out, const FunctionDump& dump) {
  out += fmt::format("\nlast {} fault records\n", dump.faults.size());
  for (const weft_fault_record& record : dump.faults)
    out += fmt::format("  record {}: {} on queue {}, command {:#x}: {}\n", record.record_number,
                       error_text(record.error), record.queue_id, record.command_id, driver::describe_record(record));
}

std::string log_lines(const FunctionDump& dump, std::string_view indent) {
  std::string out;
  for (const weft_log_record& record : dump.log) out += fmt::format("{}{}\n", indent, driver::log_text(record));
  return out;
}

}  // namespace

std::string dump_text(const FunctionDump& dump, const DumpSelection& selection) {
  if (selection.log_only) return log_lines(dump, "");
  Out out;
  head_lines(out, dump);
  processor_lines(out, dump);
  state_lines(out, dump);
  for (const RingDump& ring : dump.rings) {
    if (selection.queue && *selection.queue != ring.id) continue;
    submission_lines(out, dump, ring);
    completion_lines(out, ring);
  }
  fault_lines(out, dump);
  out += fmt::format("\nlast {} records of the firmware's log\n{}", dump.log.size(), log_lines(dump, "  "));
  return out;
}

}  // namespace weft::tools
