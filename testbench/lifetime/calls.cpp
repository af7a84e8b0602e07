#include "testbench/lifetime/calls.hpp"

#include <numeric>

namespace weft::lifetime {

std::string Statuses::text() const {
  std::string text;
  for (uint32_t code = 0; code <= WEFT_ERROR_INTERNAL; code++) {
    const auto status = static_cast<weft_status>(code);
    if (has(status)) text += std::string(text.empty() ? "" : ", ") + weft_status_name(status);
  }
  return text;
}

uint64_t Counts::of(Call call) const {
  const auto& row = counts_[static_cast<size_t>(call)];
  return std::accumulate(row.begin(), row.end(), uint64_t{0});
}

uint64_t Counts::ends() const { return std::accumulate(ends_.begin(), ends_.end(), uint64_t{0}); }

uint64_t Counts::all() const {
  uint64_t all = 0;
  for (size_t call = 0; call < kCalls; call++) all += of(static_cast<Call>(call));
  return all;
}

}  // namespace weft::lifetime
