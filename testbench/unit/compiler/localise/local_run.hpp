/// Runs a localised program, a thread for each device, which exchange values in memory.
#pragma once
#include <catch2/catch.hpp>
#include <condition_variable>
#include <map>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "host/compiler/ir/builder.hpp"
#include "host/compiler/ir/devices.hpp"
#include "host/compiler/localise/localise.hpp"
#include "host/compiler/passes/pass.hpp"
#include "host/compiler/reference/evaluate.hpp"
#include "host/compiler/reference/exchange.hpp"

namespace weft::compiler::localise {

/// All devices come to each exchange, in one order.
class InMemory : public reference::Exchange {
 public:
  explicit InMemory(size_t devices) : devices_(devices) {}
  ir::TensorPtr exchange(const ir::Op& op, int64_t id, const ir::TensorPtr& value) override {
    std::unique_lock lock(mutex_);
    auto& values = given_[turns_[id]++];
    values[id] = value;
    changed_.notify_all();
    changed_.wait(lock, [&] { return values.size() == devices_; });
    std::vector<ir::TensorPtr> of_group;
    const ir::Dims members = reference::members_of(op, id);
    size_t own = 0;
    for (const int64_t member : members) {
      if (member == id) own = of_group.size();
      of_group.push_back(values.at(member));
    }
    return reference::result_of(op, of_group, own);
  }

 private:
  const size_t devices_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int64_t, size_t> turns_;
  std::map<size_t, std::map<int64_t, ir::TensorPtr>> given_;
};

/// A mesh of axes, the last one fastest, and the tiling of a tensor by axes for each of its dimensions.
struct TestMesh {
  ir::Dims sizes;
  [[nodiscard]] size_t devices() const {
    size_t count = 1;
    for (const int64_t size : sizes) count *= static_cast<size_t>(size);
    return count;
  }
  [[nodiscard]] ir::Tiling tiling(const std::vector<std::vector<size_t>>& axes) const {
    ir::Tiling tiling = ir::replicated(axes.size(), devices());
    for (size_t d = 0; d < axes.size(); d++)
      for (const size_t axis : axes[d]) {
        tiling.tiles[d] *= sizes[axis];
        for (size_t device = 0; device < devices(); device++) {
          size_t below = 1;
          for (size_t a = axis + 1; a < sizes.size(); a++) below *= static_cast<size_t>(sizes[a]);
          tiling.place[device][d] =
              tiling.place[device][d] * sizes[axis] + static_cast<int64_t>(device / below) % sizes[axis];
        }
      }
    return tiling;
  }
};

/// The outputs, joined from what the devices have.
inline std::vector<ir::TensorPtr> run_local(const LocalProgram& program, const std::vector<ir::TensorPtr>& inputs,
                                            const std::vector<ir::Tiling>& lying,
                                            const std::vector<ir::Tiling>& outputs, size_t devices) {
  InMemory exchange(devices);
  std::vector<std::vector<ir::TensorPtr>> results(devices);
  std::vector<std::string> errors(devices);
  std::vector<std::thread> threads;
  for (size_t device = 0; device < devices; device++)
    threads.emplace_back([&, device] {
      const reference::OnDevice scope(exchange, static_cast<int64_t>(device));
      std::vector<ir::TensorPtr> own;
      for (size_t i = 0; i < inputs.size(); i++) own.push_back(ir::tile_of(inputs[i], lying[i], device));
      for (const auto& extra : program.extras)
        own.push_back(ir::tile_of(extra.constant ? extra.constant : own[*extra.input], extra.tiling, device));
      auto result = reference::evaluate(program.module, own);
      if (result.ok())
        results[device] = std::move(result.value());
      else
        errors[device] = result.error().message;
    });
  for (auto& thread : threads) thread.join();
  for (const auto& error : errors)
    if (!error.empty()) FAIL(error);
  std::vector<ir::TensorPtr> whole;
  for (size_t i = 0; i < outputs.size(); i++) {
    std::vector<ir::TensorPtr> tiles;
    for (const auto& of_device : results) tiles.push_back(of_device[i]);
    whole.push_back(ir::joined(tiles, outputs[i]));
    for (size_t device = 0; device < devices; device++)  // copies are equal
      CHECK(tiles[device]->data == ir::tile_of(whole.back(), outputs[i], device)->data);
  }
  return whole;
}

inline size_t collectives_in(const ir::Module& module) {
  size_t count = 0;
  for (const auto& op : module.ops()) count += op.kind == ir::OpKind::kCollective ? 1 : 0;
  return count;
}

}  // namespace weft::compiler::localise
