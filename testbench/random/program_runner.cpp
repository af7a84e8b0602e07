// Runs a program on a core and judges what it did.
#include "testbench/random/program_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <random>

#include "model/core/command/command_text.hpp"
#include "model/core/core_units.hpp"
#include "model/core/hazard/hazard_checker.hpp"
#include "testbench/random/random_memory.hpp"
#include "testbench/random/run_record.hpp"
#include "weft/spec/names.hpp"

namespace weft::random {
namespace {

constexpr uint64_t kWatchdogCycles = 30'000;  // no command of a random program takes as long
constexpr uint64_t kLimitCycles = 3'000'000;
constexpr uint64_t kQuietCycles = kWatchdogCycles;  // after a fault: then nothing more will retire
constexpr size_t kCompareBytes = 65536;

/// Which commands started and retired, by their tags, and when.
class Retired final : public core::CoreObserver {
 public:
  void command_started(weft_unit_index unit, const spec::Command& command, uint64_t cycle) override {
    units_[spec::decode_header(command).tag] = unit;
    events_.push_back({false, unit, spec::decode_header(command).tag, cycle});
  }
  void command_retired(weft_unit_index unit, const spec::Command& command, uint64_t cycle) override {
    times_[spec::decode_header(command).tag]++;
    events_.push_back({true, unit, spec::decode_header(command).tag, cycle});
    last_cycle_ = cycle;
  }
  [[nodiscard]] const std::vector<RunRecord::Event>& events() const { return events_; }
  [[nodiscard]] unsigned times(const spec::Command& command) const {
    const auto found = times_.find(spec::decode_header(command).tag);
    return found == times_.end() ? 0 : found->second;
  }
  [[nodiscard]] uint64_t last_cycle() const { return last_cycle_; }
  /// An MXU has computed it, but it stands behind a command of another MXU, `faulted`, that never retires.
  [[nodiscard]] bool given_up(const spec::Command& command, unsigned faulted) const {
    const auto unit = units_.find(spec::decode_header(command).tag);
    return unit != units_.end() && core::is_mxu(unit->second) && core::is_mxu(faulted) && unit->second != faulted &&
           times(command) == 0;
  }

 private:
  std::map<uint16_t, weft_unit_index> units_;
  std::map<uint16_t, unsigned> times_;
  std::vector<RunRecord::Event> events_;
  uint64_t last_cycle_ = 0;
};

/// A race is judged by the core that reads as faulted after one.
core::CoreOptions with_hazards(const Program& program, core::CoreOptions options) {
  options.check_hazards = program.fault && program.fault->code == WEFT_FAULT_HAZARD;
  return options;
}

/// Whether the order of accesses is judged: it depends on the commands only, not on the core.
enum class Hazards : uint8_t { kJudged, kNotJudged };

class Run {
 public:
  Run(const Program& program, core::CoreKind kind, const core::CoreOptions& options, Hazards judged = Hazards::kJudged)
      : Run(
            program,
            [kind](const spec::Chip& chip, core::MemoryBus& bus, const core::CoreOptions& chosen, std::string& error) {
              return core::make_core(kind, chip, bus, chosen, error);
            },
            options, judged) {}
  Run(const Program& program, const CoreMaker& make, const core::CoreOptions& options,
      Hazards judged = Hazards::kJudged)
      : program_(program),
        judged_(judged),
        chip_(*program.chip),
        contents_(program),
        bus_(chip_, contents_, program.jitter, program.data_seed),
        hazards_(chip_, &retired_),
        core_(make(chip_, bus_, with_hazards(program, options), error_)) {}

  Verdict judge() {
    Verdict verdict;
    if (core_ == nullptr) {
      verdict.report = error_;
      return verdict;
    }
    prepare();
    feed();
    verdict.cycles = verdict.last_cycle = core_->cycle();
    if (const auto mismatch = core::find_mismatch(*core_); mismatch.differs) verdict.last_cycle = mismatch.cycle;
    for (const auto& c : program_.commands) verdict.commands += retired_.times(c.command);
    for (const auto check : {&Run::check_lockstep, &Run::check_fault, &Run::check_retired, &Run::check_semaphores,
                             &Run::check_hazards, &Run::check_state, &Run::check_results}) {
      verdict.report = (this->*check)();
      if (!verdict.report.empty()) return verdict;
    }
    verdict.passed = true;
    return verdict;
  }

  /// What the run showed, for a comparison with that of another core. After judge().
  RunRecord record() {
    RunRecord record;
    record.events = retired_.events();
    record.end_cycle = core_->cycle();
    for (const uint32_t offset :
         {WEFT_CSR_STATUS, WEFT_CSR_INTERRUPT, WEFT_CSR_FIRST_ACCEPT_CYCLE, WEFT_CSR_LAST_RETIRE_CYCLE,
          WEFT_CSR_FAULT_CODE, WEFT_CSR_FAULT_ADDRESS, WEFT_CSR_FAULT_CYCLE, WEFT_CSR_FAULT_COUNT})
      record.registers.push_back(core_->read_csr(offset));
    write(WEFT_CSR_COUNTER_SNAPSHOT, 1);
    for (uint32_t i = 0; i < WEFT_COUNTERS; i++)
      record.counters.push_back(core_->read_csr(WEFT_CSR_COUNTER + i * WEFT_CSR_COUNTER_STRIDE));
    record.vmem.resize(chip_.vmem_bytes);
    (void)core_->peek_vmem(0, record.vmem);
    const size_t row_bytes = chip_.n * sizeof(uint32_t);
    record.acc.resize(golden::acc_rows(chip_) * row_bytes);
    for (uint32_t r = 0; r < golden::acc_rows(chip_); r++)
      (void)core_->peek_acc(r, std::span(record.acc).subspan(r * row_bytes, row_bytes));
    for (const auto space : {WEFT_ADDRESS_SPACE_HBM, WEFT_ADDRESS_SPACE_HOST}) {
      const auto bytes = contents_.bytes(space);
      record.memory.insert(record.memory.end(), bytes.begin(), bytes.end());
    }
    return record;
  }

 private:
  void write(uint32_t offset, uint64_t value) {
    core_->write_csr(offset, value);
    core_->advance(core_->cycle() + 1);
  }

  void prepare() {
    for (uint32_t s = 0; s < WEFT_SEGMENTS; s++) {
      const golden::Segment& segment = program_.segments[s];
      if (segment.space == WEFT_ADDRESS_SPACE_NONE) continue;
      const uint32_t at = s * WEFT_CSR_SEGMENT_BASE_STRIDE;
      write(WEFT_CSR_SEGMENT_BASE + at, segment.base);
      write(WEFT_CSR_SEGMENT_LIMIT + at, segment.limit);
      write(WEFT_CSR_SEGMENT_ATTRIBUTES + at,
            uint64_t{segment.space} | (segment.readable ? 4u : 0u) | (segment.writable ? 8u : 0u));
    }
    write(WEFT_CSR_WATCHDOG_LIMIT, kWatchdogCycles);
    hazards_.set_segments(program_.segments);
    if (judged_ == Hazards::kJudged)
      core_->set_observer(&hazards_);
    else
      core_->set_observer(&retired_);
  }

  /// The fetch that a queue was given last.
  struct LastFetch {
    uint64_t version = 0, count = 0;
  };

  /// The queue fetches its next commands, all that are left or some, with either version of the segments, which are the
  /// same here; behind another fetch that is under way with the other version. Returns how many; 0: it does not now.
  size_t fetch_some(unsigned q, size_t next, size_t left, LastFetch& last, std::mt19937_64& random) {
    const uint64_t under_way = core_->read_csr(WEFT_CSR_PREFETCH_COUNT + q * WEFT_CSR_PREFETCH_COUNT_STRIDE);
    if (under_way > last.count) return 0;
    const uint64_t version = under_way != 0 ? last.version ^ 1 : random() % 2;
    const size_t count = random() % 2 != 0 ? left : 1 + random() % left;
    write(WEFT_CSR_PREFETCH_BASE + q * WEFT_CSR_PREFETCH_BASE_STRIDE, command_address(q, next) | version);
    write(WEFT_CSR_PREFETCH_COUNT + q * WEFT_CSR_PREFETCH_COUNT_STRIDE, version << 32 | count);
    core_->advance(core_->cycle() + 1);  // a read shows the count in the second cycle after its write
    last = {version, count};
    return count;
  }

  /// Each cycle each queue is offered its next command, except in random pauses. With prefetch seven of eight offers
  /// start a fetch.
  void feed() {
    std::array<std::vector<spec::Command>, WEFT_CORE_QUEUES> queues;
    for (const auto& c : program_.commands) queues[c.queue].push_back(c.command);
    std::array<size_t, WEFT_CORE_QUEUES> next{};
    std::array<LastFetch, WEFT_CORE_QUEUES> fetched{};
    std::mt19937_64 random(program_.data_seed);
    for (const uint64_t end = core_->cycle() + kLimitCycles; core_->cycle() < end; core_->advance(core_->cycle() + 1)) {
      bool left = false;
      for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++) {
        const bool pause = random() % 100 < program_.stall_percent;
        const size_t rest = queues[q].size() - next[q];
        if (!pause && rest != 0 && program_.prefetch && random() % 8 != 0)
          next[q] += fetch_some(q, next[q], rest, fetched[q], random);
        else if (!pause && rest != 0 && core_->push(q, queues[q][next[q]]))
          next[q]++;
        left = left || next[q] < queues[q].size();
      }
      if (!left && !core_->busy()) return;
      if (core_->interrupt() && core_->read_csr(WEFT_CSR_FAULT_CODE) != 0) {
        const uint64_t since = std::max(retired_.last_cycle(), core_->read_csr(WEFT_CSR_FAULT_CYCLE));
        if (!core_->busy() || core_->cycle() > since + kQuietCycles) return;
      }
    }
  }

  /// A command is refused or hangs: a hazard alone leaves none out.
  [[nodiscard]] bool refuses() const { return program_.fault && program_.fault->code != WEFT_FAULT_HAZARD; }

  [[nodiscard]] std::string check_lockstep() { return core::find_mismatch(*core_).report; }

  [[nodiscard]] std::string check_fault() {
    const uint64_t seen = core_->read_csr(WEFT_CSR_FAULT_CODE);
    const uint64_t address = core_->read_csr(WEFT_CSR_FAULT_ADDRESS);
    const auto text = [](unsigned code, uint64_t at, unsigned queue, unsigned tag) {
      if (code == 0) return std::string("no fault");
      return fmt::format("{} address {:#x} queue {} tag {}", spec::fault_name(code), at, spec::queue_name(queue), tag);
    };
    const std::string is = text(seen & 0xff, address, seen >> 16 & 0xff, seen >> 32 & 0xffff);
    const auto& f = program_.fault;
    const std::string should = f ? text(f->code, f->address, f->queue, f->tag) : text(0, 0, 0, 0);
    if (is != should) return fmt::format("fault: is {}, should be {}", is, should);
    if (f && core_->read_csr(WEFT_CSR_FAULT_COUNT) != 1)
      return fmt::format("{} faults are counted for one", core_->read_csr(WEFT_CSR_FAULT_COUNT));
    return {};
  }

  [[nodiscard]] std::string check_retired() {
    for (const auto& c : program_.commands) {
      const unsigned times = retired_.times(c.command);
      if (times > 1 || (times == 0 && !refuses()))
        return fmt::format("retired {} times: {}", times, core::command_text(c.command));
      if (times != 0 && refuses() && spec::decode_header(c.command).tag == program_.fault->tag)
        return fmt::format("refused, and retired: {}", core::command_text(c.command));
    }
    return {};
  }

  [[nodiscard]] std::string check_semaphores() {
    if (refuses()) return {};
    for (uint32_t s = 0; s < WEFT_SEMAPHORES; s++)
      if (const uint64_t value = core_->read_csr(WEFT_CSR_SEMAPHORE + s * WEFT_CSR_SEMAPHORE_STRIDE); value != 0)
        return fmt::format("semaphore {} is left at {}", s, value);
    return {};
  }

  [[nodiscard]] std::string check_hazards() {
    if (judged_ == Hazards::kNotJudged) return {};
    const auto hazards = hazards_.finish();
    const bool expected = program_.fault && program_.fault->code == WEFT_FAULT_HAZARD;
    if (hazards.empty()) return expected ? "no hazard is reported" : "";
    return expected ? std::string() : hazards.front().text;
  }

  [[nodiscard]] std::string check_state() {
    golden::CoreState golden(chip_);
    golden.segments() = program_.segments;
    Contents memory(program_);
    const auto faulted = static_cast<unsigned>(core_->read_csr(WEFT_CSR_FAULT_CODE) >> 8 & 0xff);
    const bool fault = (core_->read_csr(WEFT_CSR_FAULT_CODE) & 0xff) != 0;
    for (const auto& c : program_.commands) {
      if (retired_.times(c.command) == 0 && !(fault && retired_.given_up(c.command, faulted))) continue;
      if (const auto fault = golden.execute(c.command, c.queue, memory))
        return fmt::format("golden refuses with {} what has retired: {}", spec::fault_name(fault->code),
                           core::command_text(c.command));
    }
    std::string wrong = compare_vmem(golden);
    if (wrong.empty()) wrong = compare_acc(golden);
    for (const auto space : {WEFT_ADDRESS_SPACE_HBM, WEFT_ADDRESS_SPACE_HOST})
      if (wrong.empty())
        wrong = compare(contents_.bytes(space), memory.bytes(space), 0, spec::address_space_name(space));
    return wrong;
  }
  /// What the program's maker has reckoned, who had no commands.
  [[nodiscard]] std::string check_results() {
    for (const HbmBytes& piece : program_.results) {
      std::vector<std::byte> is(piece.bytes.size());
      if (!contents_.read(WEFT_ADDRESS_SPACE_HBM, piece.address, is)) return "a result lies outside of HBM";
      const auto at = std::ranges::mismatch(is, piece.bytes).in1 - is.begin();
      if (at != std::ssize(is))
        return fmt::format("HBM byte {:#x} is 0x{:02x}, and 0x{:02x} is expected of the results",
                           piece.address + static_cast<uint64_t>(at), std::to_integer<unsigned>(is[at]),
                           std::to_integer<unsigned>(piece.bytes[at]));
    }
    return {};
  }
  [[nodiscard]] static std::string compare(std::span<const std::byte> core, std::span<const std::byte> golden,
                                           uint64_t first, std::string_view where) {
    if (core.size() != golden.size())
      return fmt::format("at the end {} has {} bytes, golden {}: they cannot be compared", where, core.size(),
                         golden.size());
    const auto [is, should] = std::ranges::mismatch(core, golden);
    if (is == core.end()) return {};
    return fmt::format("at the end {} byte {:#x} is 0x{:02x} ({}), golden has 0x{:02x} ({})", where,
                       first + static_cast<uint64_t>(is - core.begin()), std::to_integer<unsigned>(*is),
                       std::to_integer<unsigned>(*is), std::to_integer<unsigned>(*should),
                       std::to_integer<unsigned>(*should));
  }
  [[nodiscard]] std::string compare_vmem(const golden::CoreState& golden) const {
    std::vector<std::byte> piece(kCompareBytes);
    for (uint64_t at = 0; at < chip_.vmem_bytes; at += piece.size()) {
      piece.resize(std::min<uint64_t>(kCompareBytes, chip_.vmem_bytes - at));
      if (!core_->peek_vmem(at, piece)) return fmt::format("VMEM byte {:#x} cannot be read", at);
      if (auto wrong = compare(piece, golden.vmem().subspan(at, piece.size()), at, "VMEM"); !wrong.empty())
        return wrong;
    }
    return {};
  }
  [[nodiscard]] std::string compare_acc(const golden::CoreState& golden) const {
    std::vector<std::byte> row(chip_.n * sizeof(uint32_t));
    for (uint32_t r = 0; r < golden.acc_rows(); r++) {
      if (!core_->peek_acc(r, row)) return fmt::format("ACC row {} cannot be read", r);
      if (auto wrong = compare(row, std::as_bytes(golden.acc_row(r)), 0, fmt::format("ACC row {}", r)); !wrong.empty())
        return wrong;
    }
    return {};
  }

  const Program& program_;
  const Hazards judged_;
  const spec::Chip& chip_;
  Contents contents_;
  RandomBus bus_;
  Retired retired_;
  core::HazardChecker hazards_;
  std::string error_;
  std::unique_ptr<core::TensorCore> core_;
};

}  // namespace

std::string missing_core(const spec::Chip& chip, core::CoreKind kind, core::ArrayForm array) {
  Program nothing;
  nothing.chip = &chip;
  Contents contents(nothing);
  RandomBus bus(chip, contents, false, 0);
  core::CoreOptions options;
  options.array = array;
  std::string error;
  (void)core::make_core(kind, chip, bus, options, error);
  return error;
}

Verdict run_program(const Program& program, core::CoreKind kind, const core::CoreOptions& options) {
  return Run(program, kind, options).judge();
}

Verdict run_program(const Program& program, const CoreMaker& make, const core::CoreOptions& options) {
  Run run(program, make, options);
  const Verdict verdict = run.judge();
  if (verdict.passed) (void)run.record();
  return verdict;
}

Verdict compare(const Program& program, Comparison comparison, const core::CoreOptions& options) {
  const bool arrays = comparison == Comparison::kArrays;
  core::CoreOptions plain, structural = options;
  structural.array = core::ArrayForm::kStructural;
  Run one(program, core::CoreKind::kRtl, arrays ? structural : options);
  Verdict verdict = one.judge();
  const std::string_view one_name = arrays ? "the structural array" : "the RTL";
  if (!verdict.passed) {
    verdict.report = fmt::format("{}: {}", one_name, verdict.report);
    return verdict;
  }
  Run other(program, arrays ? core::CoreKind::kRtl : core::CoreKind::kFast, plain, Hazards::kNotJudged);
  const Verdict of_other = other.judge();
  const std::string_view other_name = arrays ? "the fast array" : "the fast core";
  if (!of_other.passed) {
    verdict.passed = false;
    verdict.report = fmt::format("{}: {}", other_name, of_other.report);
    return verdict;
  }
  RunRecord of_one = one.record(), record = other.record();
  of_one.core = one_name;
  record.core = other_name;
  verdict.report = first_difference(of_one, record);
  verdict.passed = verdict.report.empty();
  return verdict;
}

}  // namespace weft::random
