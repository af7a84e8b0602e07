// Utilisation, and the tables.
#include "host/tools/live/smi_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "host/tools/formats/text_table.hpp"

namespace weft::tools {
namespace {

using Out = std::string;

template <typename... Args>
void line(Out& out, fmt::format_string<Args...> text, Args&&... args) {
  out += fmt::format(text, std::forward<Args>(args)...);
  out += '\n';
}

uint64_t grown(uint64_t before, uint64_t after) { return after - std::min(before, after); }

std::string share_text(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string command_text(const std::optional<EngineCommand>& command, bool busy, std::string_view idle) {
  if (!command) return busy ? "busy" : std::string(idle);
  return fmt::format("{} {:#x} (tag {}) of function {}, queue {}", command->opcode, command->command, command->tag,
                     command->function, command->queue);
}

std::string firmware_text(const ChipSnapshot& chip) {
  if (chip.halted) return fmt::format("halted by its watchdog at waypoint {}", chip.waypoint);
  if (chip.panicked) return fmt::format("panicked; last waypoint {}", chip.waypoint);
  return fmt::format("{}, waypoint {}", chip.asleep ? "asleep" : "awake", chip.waypoint);
}

/// Whose cycles the firmware takes.
std::string manager_text(const ChipSnapshot& chip) {
  if (!chip.processor) return "native, its cycles are charged";
  const ProcessorSnapshot& p = *chip.processor;
  return fmt::format("image {:08x} on {} at {}", p.image, p.kind, p.backtrace.empty() ? "?" : p.backtrace.front());
}

std::string place_text(const ChipSnapshot& chip) {
  return chip.chips == 1 ? chip.folder : fmt::format("{}, chip {} of {}", chip.folder, chip.number, chip.chips);
}

void chip_lines(Out& out, const ChipSnapshot& chip, const std::optional<Utilisation>& use) {
  line(out, "{}: {}, {} core, {:.3g} GHz, HBM {}, weft-sim {}, device cycle {}", place_text(chip), chip.preset,
       chip.core, static_cast<double>(chip.clock_hz) / 1e9, bytes_text(chip.hbm_bytes), chip.pid, chip.cycle);
  line(out, "  firmware     {}; {}", firmware_text(chip), manager_text(chip));
  line(out, "  core         {}{}", command_text(chip.core_command, chip.core_busy, "idle"),
       chip.core_faulted ? ", stopped by a fault" : "");
  line(out, "  copy engine  {}{}", command_text(chip.copy_command, chip.copy_busy, "idle"),
       chip.copy_lost ? ", lost: a piece did not end in time" : "");
  if (!use) {
    line(out, "  utilisation  - (the chip is idle: its time stands still)");
    return;
  }
  line(out, "  utilisation  MXU {} ({} of peak), VPU {}, DMA in {}, DMA out {}, copy {}, firmware {}",
       share_text(use->mxu), share_text(use->macs_of_peak), share_text(use->vpu), share_text(use->dma_in),
       share_text(use->dma_out), share_text(use->copy), share_text(use->firmware));
  line(out, "  memory       HBM {} read, {} written ({} of its bandwidth); host {} read, {} written",
       rate_text(use->hbm_read_rate), rate_text(use->hbm_write_rate), share_text(use->hbm),
       rate_text(use->host_read_rate), rate_text(use->host_write_rate));
  line(out, "               over {} device cycles ({:.3g} ms of device time)", use->cycles, use->seconds * 1e3);
}

const FunctionSnapshot* function_of(const ChipSnapshot& chip, uint32_t index) {
  const auto found = std::ranges::find(chip.functions, index, &FunctionSnapshot::function);
  return found != chip.functions.end() ? &*found : nullptr;
}

uint64_t new_commands(const ChipSnapshot& before, const FunctionSnapshot& function) {
  const FunctionSnapshot* then = function_of(before, function.function);
  return then != nullptr ? grown(then->progress, function.progress) : 0;
}

void function_lines(Out& out, const ChipSnapshot& before, const ChipSnapshot& after) {
  TextTable table({{"function", TextTable::Align::kRight},
                   {"state", TextTable::Align::kLeft},
                   {"resets", TextTable::Align::kRight},
                   {"owner", TextTable::Align::kLeft},
                   {"HBM used", TextTable::Align::kRight},
                   {"share", TextTable::Align::kRight},
                   {"largest free", TextTable::Align::kRight},
                   {"programs", TextTable::Align::kRight},
                   {"heartbeat", TextTable::Align::kRight},
                   {"completed", TextTable::Align::kRight},
                   {"new", TextTable::Align::kRight},
                   {"first error", TextTable::Align::kLeft}});
  const auto optional_bytes = [](const std::optional<uint64_t>& bytes) { return bytes ? bytes_text(*bytes) : "-"; };
  for (const FunctionSnapshot& f : after.functions) {
    const bool error = !f.first_error.empty() && f.first_error != "OK";
    table.add({std::to_string(f.function), f.state, std::to_string(f.reset_generation),
               f.owner_pid == 0 ? "-" : fmt::format("{} {}", f.owner_pid, f.owner_process),
               optional_bytes(f.hbm_used_bytes), bytes_text(f.hbm_bytes - std::min(f.hbm_bytes, f.hbm_reserved_bytes)),
               optional_bytes(f.hbm_largest_free_bytes), std::to_string(f.programs), std::to_string(f.heartbeat),
               std::to_string(f.progress), fmt::format("+{}", new_commands(before, f)),
               error ? fmt::format("{} ({} pending)", f.first_error, f.pending_errors) : "-"});
  }
  out += "\n" + table.text("  ");
}

void queue_lines(Out& out, const ChipSnapshot& chip) {
  TextTable table({{"function", TextTable::Align::kRight},
                   {"queue", TextTable::Align::kRight},
                   {"priority", TextTable::Align::kLeft},
                   {"state", TextTable::Align::kLeft},
                   {"entries", TextTable::Align::kRight},
                   {"head", TextTable::Align::kRight},
                   {"tail", TextTable::Align::kRight},
                   {"in ring", TextTable::Align::kRight},
                   {"fetched", TextTable::Align::kRight},
                   {"completed", TextTable::Align::kRight}});
  for (const FunctionSnapshot& f : chip.functions) {
    for (const QueueSnapshot& q : f.queues) {
      table.add({std::to_string(f.function), q.id == 0 ? "admin" : std::to_string(q.id), q.priority, q.state,
                 std::to_string(q.entries), std::to_string(q.head), std::to_string(q.tail),
                 std::to_string(q.tail - q.head), std::to_string(q.fetched), std::to_string(q.completion_tail)});
    }
  }
  if (table.rows() != 0) out += "\n" + table.text("  ");
}

void error_lines(Out& out, const ChipSnapshot& chip) {
  TextTable table({{"function", TextTable::Align::kRight},
                   {"last of each error", TextTable::Align::kLeft},
                   {"count", TextTable::Align::kRight},
                   {"queue", TextTable::Align::kRight},
                   {"command", TextTable::Align::kRight},
                   {"cycle", TextTable::Align::kRight},
                   {"core fault", TextTable::Align::kLeft}});
  for (const FunctionSnapshot& f : chip.functions) {
    for (const LastError& e : f.last_errors) {
      table.add({std::to_string(f.function), e.error, std::to_string(e.count), std::to_string(e.queue),
                 e.command != 0 ? fmt::format("{:#x}", e.command) : "-", std::to_string(e.cycle),
                 e.fault.empty() ? "-" : e.fault});
    }
  }
  if (table.rows() != 0) out += "\n" + table.text("  ");
}

}  // namespace

std::string rate_text(double bytes_per_second) {
  constexpr std::array<std::string_view, 5> kUnits{"B/s", "KB/s", "MB/s", "GB/s", "TB/s"};
  size_t unit = 0;
  while (bytes_per_second >= 999.5 && unit + 1 < kUnits.size()) {
    bytes_per_second /= 1000;
    unit++;
  }
  return fmt::format("{:.3g} {}", bytes_per_second, kUnits[unit]);
}

std::string bytes_text(uint64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  auto value = static_cast<double>(bytes);
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1024;
    unit++;
  }
  return fmt::format("{:.3g} {}", value, kUnits[unit]);
}

std::optional<Utilisation> utilisation(const ChipSnapshot& before, const ChipSnapshot& after) {
  constexpr uint64_t kFewestCycles = 64;
  const uint64_t counted = grown(before.counters_cycle, after.counters_cycle);
  const uint64_t cycles = grown(before.cycle, after.cycle);
  if (before.pid != after.pid || before.number != after.number || counted < kFewestCycles || cycles < kFewestCycles ||
      after.clock_hz == 0 || before.counters.size() != WEFT_COUNTERS || after.counters.size() != WEFT_COUNTERS)
    return std::nullopt;
  const auto counter = [&](weft_counter index) {
    return static_cast<double>(grown(before.counters[index], after.counters[index])) / static_cast<double>(counted);
  };
  const auto of_cycles = [&](uint64_t from, uint64_t to) {
    return static_cast<double>(grown(from, to)) / static_cast<double>(cycles);
  };
  const auto clock = static_cast<double>(after.clock_hz);
  Utilisation use;
  use.cycles = cycles;
  use.seconds = static_cast<double>(cycles) / clock;
  use.mxu = counter(WEFT_COUNTER_MXU_BUSY) / static_cast<double>(std::max<uint64_t>(after.num_mxu, 1));
  use.vpu = counter(WEFT_COUNTER_VPU_BUSY);
  use.dma_in = counter(WEFT_COUNTER_QUEUE_DMA_IN_BUSY);
  use.dma_out = counter(WEFT_COUNTER_QUEUE_DMA_OUT_BUSY);
  use.sync = counter(WEFT_COUNTER_QUEUE_SYNC_BUSY);
  if (after.peak_macs_per_cycle != 0)
    use.macs_of_peak = counter(WEFT_COUNTER_MXU_MACS) / static_cast<double>(after.peak_macs_per_cycle);
  use.copy = of_cycles(before.copy_busy_cycles, after.copy_busy_cycles);
  use.firmware = of_cycles(before.awake_cycles, after.awake_cycles);
  use.hbm_read_rate = of_cycles(before.hbm_read_bytes, after.hbm_read_bytes) * clock;
  use.hbm_write_rate = of_cycles(before.hbm_written_bytes, after.hbm_written_bytes) * clock;
  use.host_read_rate = of_cycles(before.host_read_bytes, after.host_read_bytes) * clock;
  use.host_write_rate = of_cycles(before.host_written_bytes, after.host_written_bytes) * clock;
  if (after.hbm_bytes_per_second != 0)
    use.hbm = (use.hbm_read_rate + use.hbm_write_rate) / static_cast<double>(after.hbm_bytes_per_second);
  return use;
}

std::string smi_text(const ChipSnapshot& before, const ChipSnapshot& after) {
  Out out;
  chip_lines(out, after, utilisation(before, after));
  function_lines(out, before, after);
  queue_lines(out, after);
  error_lines(out, after);
  return out;
}

}  // namespace weft::tools
