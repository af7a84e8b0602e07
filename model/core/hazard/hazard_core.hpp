/// A core whose unordered accesses are faults.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "model/core/hazard/hazard_checker.hpp"
#include "model/core/tensor_core.hpp"

namespace weft::core {

/// Another core with a HazardChecker as its observer. Each time the core has drained, or after kWindowCommands
/// commands, what ran is judged; the first hazard reads as the fault HAZARD of the later command (FAULT_ADDRESS: the
/// first byte or row where the two meet) until the next core reset, unless the core itself has faulted. The core's
/// cycles and results are not changed. A pair is missed if a drained core, or the window's end after the first has
/// retired, lies between its two commands in this run. One owner, one thread.
class HazardCore final : public TensorCore, private CoreObserver {
 public:
  static constexpr size_t kWindowCommands = 256;  // judging takes the square of it
  static constexpr size_t kReports = 10;

  /// `report` (may be empty) is called for each of the first kReports hazards, with both commands and the range; once
  /// the core has drained or is reset, a last time with the number of all, if there were more. Then it counts anew.
  HazardCore(const spec::Chip& chip, std::unique_ptr<TensorCore> core, std::function<void(const std::string&)> report);

  [[nodiscard]] const TensorCore& core() const { return *core_; }

  [[nodiscard]] uint64_t read_csr(uint32_t offset) override;
  void write_csr(uint32_t offset, uint64_t value) override;
  [[nodiscard]] bool push(unsigned queue, const spec::Command& command) override { return core_->push(queue, command); }
  [[nodiscard]] bool busy() const override { return core_->busy(); }
  [[nodiscard]] bool interrupt() const override { return hazard_ || core_->interrupt(); }
  [[nodiscard]] uint64_t cycle() const override { return core_->cycle(); }
  uint64_t advance(uint64_t until) override;
  uint64_t advance_while_busy(uint64_t until) override;
  [[nodiscard]] bool peek_vmem(uint64_t byte_address, std::span<std::byte> out) const override {
    return core_->peek_vmem(byte_address, out);
  }
  [[nodiscard]] bool peek_acc(uint32_t row, std::span<std::byte> out) const override {
    return core_->peek_acc(row, out);
  }
  void set_observer(CoreObserver* observer) override { observer_ = observer; }

 private:
  void command_started(weft_unit_index unit, const spec::Command& command, uint64_t cycle) override;
  void command_retired(weft_unit_index unit, const spec::Command& command, uint64_t cycle) override;
  void judge(std::vector<Hazard> hazards);
  void end_reports();
  void judge_when_idle();

  std::unique_ptr<TensorCore> core_;
  std::function<void(const std::string&)> report_;
  CoreObserver* observer_ = nullptr;
  HazardChecker checker_;
  golden::SegmentTable segments_{};
  std::array<uint64_t, WEFT_SEMAPHORES> tokens_{};  // of each semaphore, as posts and waits have left it
  std::optional<Hazard> hazard_;
  size_t found_ = 0;  // hazards since the core last drained
  uint64_t hazard_cycle_ = 0;
};

}  // namespace weft::core
