// A pool of lists of one size.
#include "driver/queue/large_lists.hpp"

#include "weft/spec/spec.h"

namespace weft::driver {
namespace {

constexpr uint64_t kBytes = sizeof(weft_launch_list) +
                            (WEFT_EXECUTABLE_CONTROL_ARGUMENTS + 1) * sizeof(weft_launch_argument) +
                            sizeof(weft_launch_profile);

}  // namespace

Status LargeLists::acquire(size_t count, std::vector<List>& out) {
  out.reserve(count);
  while (out.size() < count) {
    {
      const std::lock_guard lock(mutex_);
      if (!spare_.empty()) {
        out.push_back(std::move(spare_.back()));
        spare_.pop_back();
        continue;
      }
      spare_.reserve(++made_);
    }
    auto memory = HostMemory::create(transport_, space_, kBytes);
    if (!memory.ok()) return memory.status();
    out.push_back(std::move(memory.value()));
  }
  return {};
}

void LargeLists::give_back(List list) noexcept {
  if (list == nullptr) return;
  const std::lock_guard lock(mutex_);
  if (spare_.size() < spare_.capacity()) spare_.push_back(std::move(list));
}

}  // namespace weft::driver
