/// The collectives of one launch on several devices: values meet, and go over the links of the slice.
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
#include "host/runtime/slice_collectives.hpp"

namespace weft::pjrt {

/// Of one launch. The devices' threads call exchange(); the last one of those that take part does the work for all.
class LaunchExchange : public compiler::reference::Exchange {
 public:
  /// `chips`, `queues`: of each device of the launch, in its order. `collectives`: null, if there is one device.
  LaunchExchange(runtime::SliceCollectives* collectives, std::vector<uint32_t> chips, std::vector<weft_queue*> queues);

  [[nodiscard]] compiler::ir::TensorPtr exchange(const compiler::ir::Op& op, int64_t id,
                                                 const compiler::ir::TensorPtr& value) override;
  /// The device's program has ended: devices that wait for it at a collective give up.
  void end(int64_t id);
  /// What the collectives took. When all devices have ended.
  [[nodiscard]] const std::vector<runtime::CollectiveWindow>& windows() const { return windows_; }

 private:
  using Values = std::map<int64_t, compiler::ir::TensorPtr>;
  struct Place {
    Values given, results;
    std::optional<weft::Error> error;
    bool done = false;
    size_t left = 0;
  };
  /// What each device gets. Gives up by ir::Refusal.
  [[nodiscard]] Values perform(const compiler::ir::Op& op, const compiler::ir::Dims& members, const Values& given);
  struct Sent;
  /// Bytes from each device to each, as the collective says; none: the links do not have such groups.
  [[nodiscard]] bool send(compiler::Collective collective, const std::vector<compiler::ir::Dims>& groups, Sent& sent);

  runtime::SliceCollectives* collectives_;
  const std::vector<uint32_t> chips_;
  const std::vector<weft_queue*> queues_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<compiler::ir::Dims, int64_t>, uint64_t> turns_;
  std::map<std::pair<compiler::ir::Dims, uint64_t>, Place> places_;
  std::set<int64_t> ended_;
  std::vector<runtime::CollectiveWindow> windows_;
};

}  // namespace weft::pjrt
