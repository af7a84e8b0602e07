/// What the devices of one launch do together: launches of all of them, and collectives of values that are on the host.
#pragma once
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "host/compiler/reference/exchange.hpp"
#include "host/compiler/result.hpp"
#include "host/runtime/slice_programs.hpp"
#include "host/tools/run/run_parts.hpp"

namespace weft::tools {

/// Of one launch. The devices' threads call exchange(); the last one of those that take part does the work for all.
class LaunchExchange : public compiler::reference::Exchange {
 public:
  /// `chips`, `queues`: of each device of the launch, in its order. `programs`: null, if there is one device.
  LaunchExchange(runtime::SlicePrograms* programs, std::vector<uint32_t> chips, std::vector<weft_queue*> queues);

  [[nodiscard]] compiler::ir::TensorPtr exchange(const compiler::ir::Op& op, int64_t id,
                                                 const compiler::ir::TensorPtr& value) override;
  /// Launches the sequence when all devices have come to it. What it took is not among windows().
  [[nodiscard]] Result<std::vector<std::byte>> launch(const SequenceProgram& sequence, int64_t id,
                                                      std::vector<std::byte> input, LaunchWindow& window);
  /// The device's program has ended: devices that wait for it at a collective give up.
  void end(int64_t id);
  /// What the collectives took. When all devices have ended.
  [[nodiscard]] const std::vector<runtime::ChipWindow>& windows() const { return windows_; }

 private:
  using Values = std::map<int64_t, compiler::ir::TensorPtr>;
  /// What a device brings to a launch, and gets of it.
  struct Launched {
    std::vector<std::byte> bytes;
    runtime::ChipWindow window;
  };
  using Launches = std::map<int64_t, Launched>;
  /// Where devices meet.
  template <typename Given>
  struct Place {
    Given given, results;
    std::optional<Error> error;
    bool done = false;
    size_t left = 0;
  };
  template <typename Given>
  using Places = std::map<std::pair<compiler::ir::Dims, uint64_t>, Place<Given>>;
  /// Brings what the device has, and takes its result: the last member's thread performs. Gives up by ir::Refusal.
  template <typename Given, typename Perform>
  [[nodiscard]] typename Given::mapped_type meet(Places<Given>& places, const compiler::ir::Dims& members, int64_t id,
                                                 typename Given::mapped_type own, Perform perform);
  [[nodiscard]] Launches perform(const SequenceProgram& sequence, const Launches& given);
  [[nodiscard]] compiler::ir::Dims all_devices() const;
  /// What each device gets. Gives up by ir::Refusal.
  [[nodiscard]] Values perform(const compiler::ir::Op& op, const compiler::ir::Dims& members, const Values& given);
  struct Sent;
  /// Bytes from each device to each, as the collective says; none: the links do not have such groups.
  [[nodiscard]] bool send(compiler::Collective collective, const std::vector<compiler::ir::Dims>& groups, Sent& sent);

  runtime::SlicePrograms* programs_;
  const std::vector<uint32_t> chips_;
  const std::vector<weft_queue*> queues_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<compiler::ir::Dims, int64_t>, uint64_t> turns_;
  Places<Values> places_;
  Places<Launches> launches_;
  std::set<int64_t> ended_;
  std::vector<runtime::ChipWindow> windows_;
};

/// The launches of one device's program.
class DeviceLauncher : public SequenceLauncher {
 public:
  DeviceLauncher(LaunchExchange& exchange, int64_t id) : exchange_(exchange), id_(id) {}
  [[nodiscard]] Result<std::vector<std::byte>> launch(const SequenceProgram& sequence, std::vector<std::byte> input,
                                                      LaunchWindow& window) override {
    return exchange_.launch(sequence, id_, std::move(input), window);
  }

 private:
  LaunchExchange& exchange_;
  const int64_t id_;
};

}  // namespace weft::tools
