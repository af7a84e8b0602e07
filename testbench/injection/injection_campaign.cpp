// One flip, one program, one verdict.
#include "testbench/injection/injection_campaign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bitset>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "model/golden/core_state.hpp"
#include "testbench/random/random_memory.hpp"
#include "weft/spec/names.hpp"

namespace weft::injection {
namespace {

constexpr uint64_t kWatchdogCycles = 30'000;
constexpr uint64_t kLimitCycles = 3'000'000;
constexpr uint64_t kQuietCycles = 5'000;  // after a fault: then nothing more will retire
constexpr uint64_t kGranuleBytes = 8;

/// Which commands started and which retired, by their tags.
class Progress final : public core::CoreObserver {
 public:
  void command_started(weft_unit_index, const spec::Command& command, uint64_t) override {
    started_.insert(spec::decode_header(command).tag);
  }
  void command_retired(weft_unit_index, const spec::Command& command, uint64_t cycle) override {
    retired_.insert(spec::decode_header(command).tag);
    last_cycle_ = cycle;
  }
  [[nodiscard]] bool started(const spec::Command& command) const {
    return started_.contains(spec::decode_header(command).tag);
  }
  [[nodiscard]] bool retired(const spec::Command& command) const {
    return retired_.contains(spec::decode_header(command).tag);
  }
  [[nodiscard]] uint64_t last_cycle() const { return last_cycle_; }

 private:
  std::set<uint16_t> started_, retired_;
  uint64_t last_cycle_ = 0;
};

/// Writes of one command to the flip's place.
uint64_t writes_of(const random::QueuedCommand& c, const random::Program& program, const Flip& flip) {
  const auto ranges = golden::written_ranges(c.command, *program.chip, program.segments);
  uint64_t writes = 0;
  if (!flip.acc) {
    for (const auto& r : ranges.vmem) writes += flip.address >= r.address && flip.address < r.address + r.bytes;
    return writes;
  }
  const uint64_t row = flip.address & 0xffff;
  for (const auto& r : ranges.acc)
    if (row >= r.row && row < r.row + r.rows)
      writes += golden::matmul_tiles(spec::decode_mxu(c.command), *program.chip).count;
  return writes;
}

/// Memory that remembers each value that was ever written to a byte: runs of a COPY may overlap.
class Recorder final : public golden::MemoryAccess {
 public:
  explicit Recorder(random::Contents& memory) : memory_(memory) {}
  bool read(weft_address_space space, uint64_t address, std::span<std::byte> out) override {
    return memory_.read(space, address, out);
  }
  bool write(weft_address_space space, uint64_t address, std::span<const std::byte> data) override {
    for (size_t i = 0; i < data.size(); i++) values_[{space, address + i}].set(std::to_integer<size_t>(data[i]));
    return memory_.write(space, address, data);
  }
  [[nodiscard]] bool wrote(weft_address_space space, uint64_t address, std::byte value) const {
    const auto at = values_.find({space, address});
    return at != values_.end() && at->second.test(std::to_integer<size_t>(value));
  }

 private:
  random::Contents& memory_;
  std::map<std::pair<weft_address_space, uint64_t>, std::bitset<256>> values_;
};

class Run {
 public:
  Run(const random::Program& program, const Flip& flip, core::CoreKind kind)
      : program_(program),
        flip_(flip),
        chip_(*program.chip),
        contents_(program),
        bus_(chip_, contents_, program.jitter, program.data_seed),
        core_(core::make_core(kind, chip_, bus_, {}, error_)) {}

  Observation observe() {
    if (core_ == nullptr) return {Result::kSilent, 0, error_};
    prepare();
    feed();
    Observation seen;
    seen.report = judge(seen);
    if (!seen.report.empty()) seen.result = Result::kSilent;
    return seen;
  }

 private:
  void write(uint32_t offset, uint64_t value) {
    core_->write_csr(offset, value);
    core_->advance(core_->cycle() + 1);
  }

  void prepare() {
    for (uint32_t s = 0; s < program_.segments.size(); s++) {
      const golden::Segment& segment = program_.segments[s];
      if (segment.space == WEFT_ADDRESS_SPACE_NONE) continue;
      const uint32_t at = s * WEFT_CSR_SEGMENT_BASE_STRIDE;
      write(WEFT_CSR_SEGMENT_BASE + at, segment.base);
      write(WEFT_CSR_SEGMENT_LIMIT + at, segment.limit);
      write(WEFT_CSR_SEGMENT_ATTRIBUTES + at,
            uint64_t{segment.space} | (segment.readable ? 4u : 0u) | (segment.writable ? 8u : 0u));
    }
    write(WEFT_CSR_WATCHDOG_LIMIT, kWatchdogCycles);
    write(WEFT_CSR_INJECT_ADDRESS, flip_.address);
    write(WEFT_CSR_INJECT_DATA, flip_.data);
    write(WEFT_CSR_INJECT_CHECK, flip_.check);
    write(WEFT_CSR_INJECT_PLACE, uint64_t{flip_.write} << 16);
    write(WEFT_CSR_INJECT_ARM, kind());
    core_->set_observer(&progress_);
  }
  [[nodiscard]] weft_inject_kind kind() const {
    return flip_.acc ? WEFT_INJECT_KIND_ACC_FLIP : WEFT_INJECT_KIND_VMEM_FLIP;
  }

  void feed() {
    std::array<std::vector<spec::Command>, WEFT_CORE_QUEUES> queues;
    for (const auto& c : program_.commands) queues[c.queue].push_back(c.command);
    std::array<size_t, WEFT_CORE_QUEUES> next{};
    for (const uint64_t end = core_->cycle() + kLimitCycles; core_->cycle() < end; core_->advance(core_->cycle() + 1)) {
      bool left = false;
      for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++) {
        if (next[q] < queues[q].size() && core_->push(q, queues[q][next[q]])) next[q]++;
        left = left || next[q] < queues[q].size();
      }
      if (!left && !core_->busy()) return;
      if (core_->interrupt() && core_->read_csr(WEFT_CSR_FAULT_CODE) != 0) {
        const uint64_t since = std::max(progress_.last_cycle(), core_->read_csr(WEFT_CSR_FAULT_CYCLE));
        if (!core_->busy() || core_->cycle() > since + kQuietCycles) return;
      }
    }
  }

  /// Empty, and seen.result is set; or what is wrong.
  std::string judge(Observation& seen) {
    if (const auto mismatch = core::find_mismatch(*core_); mismatch.differs) return mismatch.report;
    write(WEFT_CSR_COUNTER_SNAPSHOT, 1);
    const auto counter = [&](unsigned index) {
      return core_->read_csr(WEFT_CSR_COUNTER + index * WEFT_CSR_COUNTER_STRIDE);
    };
    const uint64_t corrected = counter(WEFT_COUNTER_ECC_VMEM_CORRECTED) + counter(WEFT_COUNTER_ECC_ACC_CORRECTED);
    const uint64_t poisoned =
        counter(WEFT_COUNTER_ECC_VMEM_UNCORRECTABLE) + counter(WEFT_COUNTER_ECC_ACC_UNCORRECTABLE);
    const uint64_t status = core_->read_csr(WEFT_CSR_INJECT_STATUS);
    const uint64_t fault = core_->read_csr(WEFT_CSR_FAULT_CODE);
    const bool acted = (status >> (16 + kind()) & 1) != 0;
    uint64_t writes = 0;
    for (const auto& c : program_.commands) writes += writes_of(c, program_, flip_);
    seen.fault_unit = fault >> 8 & 0xff;
    const unsigned code = fault & 0xff;
    if (code != 0 && code != WEFT_FAULT_ECC_UNCORRECTABLE) return fmt::format("ends in {}", spec::fault_name(code));
    if (code == 0)
      for (const auto& c : program_.commands)
        if (!progress_.retired(c.command)) return "a command did not retire, and no fault says why";
    seen.result = code != 0              ? Result::kDetected
                  : !acted               ? Result::kNotReached
                  : corrected != 0       ? Result::kCorrected
                  : poisoned != 0        ? Result::kNotUsed
                  : writes > flip_.write ? Result::kOverwritten
                                         : Result::kNotRead;
    return compare();
  }

  /// What golden holds after the commands that retired, and then after each that started and did not: bytes that are
  /// written are of one of these.
  struct Expected {
    std::vector<std::vector<std::byte>> vmem, hbm, host;
  };
  void note(Expected& expected, const golden::CoreState& state, const random::Contents& memory) {
    expected.vmem.emplace_back(state.vmem().begin(), state.vmem().end());
    expected.hbm.push_back(memory.bytes(WEFT_ADDRESS_SPACE_HBM));
    expected.host.push_back(memory.bytes(WEFT_ADDRESS_SPACE_HOST));
  }

  /// All memories with golden's.
  std::string compare() {
    golden::CoreState golden(chip_);
    random::Contents memory(program_);
    golden.segments() = program_.segments;
    for (const auto& c : program_.commands)
      if (progress_.retired(c.command)) (void)golden.execute(c.command, c.queue, memory);
    std::string wrong = compare_acc(golden);
    Expected expected;
    Recorder recorder(memory);
    note(expected, golden, memory);
    for (const auto& c : program_.commands) {
      if (progress_.retired(c.command) || !progress_.started(c.command)) continue;
      // Rows of the VPU that overwrite each other: what is there is of one of them.
      if (c.queue == WEFT_QUEUE_VPU) {
        auto part = spec::decode_vpu(c.command);
        const uint16_t rows = part.d_stride < golden::words_per_row(part.dst_dtype) ? part.rows : 1;
        for (part.rows = 1; part.rows < rows; part.rows++) {
          (void)golden.execute(spec::encode(part), c.queue, memory);
          note(expected, golden, memory);
        }
      }
      (void)golden.execute(c.command, c.queue, recorder);
      note(expected, golden, memory);
    }
    std::vector<std::byte> vmem(chip_.vmem_bytes);
    if (!core_->peek_vmem(0, vmem)) return "VMEM cannot be read";
    if (!flip_.acc && bits() == 2) {  // what is poisoned means nothing
      const auto at = static_cast<ptrdiff_t>(flip_.address);
      std::copy_n(expected.vmem[0].begin() + at, kGranuleBytes, vmem.begin() + at);
    }
    if (wrong.empty()) wrong = compare_bytes(vmem, expected.vmem, WEFT_ADDRESS_SPACE_VMEM, recorder);
    if (wrong.empty()) wrong = compare_memory(WEFT_ADDRESS_SPACE_HBM, expected.hbm, recorder);
    if (wrong.empty()) wrong = compare_memory(WEFT_ADDRESS_SPACE_HOST, expected.host, recorder);
    return wrong;
  }

  /// ACC, but for rows of products that did not retire: they hold sums of some of their tiles.
  std::string compare_acc(const golden::CoreState& golden) {
    std::vector<bool> open(golden.acc_rows());
    for (const auto& c : program_.commands) {
      if (progress_.retired(c.command) || !progress_.started(c.command)) continue;
      for (const auto& r : golden::written_ranges(c.command, chip_, program_.segments).acc)
        std::fill_n(open.begin() + r.row, r.rows, true);
    }
    std::vector<uint32_t> lanes(chip_.n);
    for (uint32_t row = 0; row < golden.acc_rows(); row++) {
      if (open[row]) continue;
      if (!core_->peek_acc(row, std::as_writable_bytes(std::span(lanes)))) return "ACC cannot be read";
      for (uint32_t lane = 0; lane < chip_.n; lane++) {
        const uint32_t should = golden.acc_row(row)[lane];
        const bool poisoned = flip_.acc && bits() == 2 && flip_.address == (row | uint64_t{lane} << 16);
        if (lanes[lane] != should && !poisoned)
          return fmt::format("ACC row {}, lane {} is 0x{:08x} ({}), golden has 0x{:08x} ({})", row, lane, lanes[lane],
                             lanes[lane], should, should);
      }
    }
    return {};
  }
  [[nodiscard]] int bits() const { return std::popcount(flip_.data) + std::popcount(flip_.check); }

  [[nodiscard]] std::string compare_memory(weft_address_space space,
                                           const std::vector<std::vector<std::byte>>& expected,
                                           const Recorder& recorder) const {
    return compare_bytes(contents_.bytes(space), expected, space, recorder);
  }
  [[nodiscard]] static std::string compare_bytes(std::span<const std::byte> is,
                                                 const std::vector<std::vector<std::byte>>& expected,
                                                 weft_address_space space, const Recorder& recorder) {
    if (expected.empty() || std::ranges::any_of(expected, [&](const auto& bytes) { return bytes.size() != is.size(); }))
      return fmt::format("{} has {} bytes, golden another number: they cannot be compared",
                         spec::address_space_name(space), is.size());
    for (size_t i = 0; i < is.size(); i++) {
      if (std::ranges::any_of(expected, [&](const auto& bytes) { return bytes[i] == is[i]; })) continue;
      if (recorder.wrote(space, i, is[i])) continue;
      const auto should = std::to_integer<unsigned>(expected[0][i]), value = std::to_integer<unsigned>(is[i]);
      return fmt::format("{} byte {:#x} is 0x{:02x} ({}), golden has 0x{:02x} ({})", spec::address_space_name(space), i,
                         value, value, should, should);
    }
    return {};
  }

  const random::Program& program_;
  const Flip& flip_;
  const spec::Chip& chip_;
  random::Contents contents_;
  random::RandomBus bus_;
  Progress progress_;
  std::string error_;
  std::unique_ptr<core::TensorCore> core_;
};

}  // namespace

Flip choose_flip(const random::Program& program, unsigned bits, uint64_t seed) {
  std::mt19937_64 random(seed);
  Flip flip;
  flip.acc = random() % 3 == 0;
  std::vector<golden::WrittenRanges> written;
  for (const auto& c : program.commands) {
    auto ranges = golden::written_ranges(c.command, *program.chip, program.segments);
    if (flip.acc ? !ranges.acc.empty() : !ranges.vmem.empty()) written.push_back(std::move(ranges));
  }
  if (written.empty() && flip.acc) return choose_flip(program, bits, seed + 0x9e3779b97f4a7c15);
  const unsigned data_bits = flip.acc ? 32 : 64, check_bits = flip.acc ? 7 : 8;
  if (written.empty()) {
    flip.address = random() % program.chip->vmem_bytes / kGranuleBytes * kGranuleBytes;
  } else if (flip.acc) {
    const auto& ranges = written[random() % written.size()].acc;
    const auto& r = ranges[random() % ranges.size()];
    flip.address = (r.row + random() % r.rows) | (random() % program.chip->n) << 16;
  } else {
    const auto& ranges = written[random() % written.size()].vmem;
    const auto& r = ranges[random() % ranges.size()];
    flip.address = (r.address + random() % r.bytes) / kGranuleBytes * kGranuleBytes;
  }
  uint64_t writes = 0;
  for (const auto& c : program.commands) writes += writes_of(c, program, flip);
  flip.write = static_cast<uint32_t>(random() % (std::min<uint64_t>(writes, 1000) + 1));
  while (static_cast<unsigned>(std::popcount(flip.data) + std::popcount(flip.check)) < bits) {
    const uint64_t bit = random() % (data_bits + check_bits);
    (bit < data_bits ? flip.data : flip.check) |= uint64_t{1} << (bit < data_bits ? bit : bit - data_bits);
  }
  return flip;
}

Observation observe(const random::Program& program, const Flip& flip, core::CoreKind kind) {
  return Run(program, flip, kind).observe();
}

}  // namespace weft::injection
