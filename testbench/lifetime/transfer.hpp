/// A copy from host memory to HBM and back, whose bytes must be those that went in.
#pragma once
#include "testbench/lifetime/caller.hpp"

namespace weft::lifetime {

/// Goes on by one step each time its thread draws it, so that anything happens in between.
struct Caller::Transfer {
  std::shared_ptr<Device> device;
  std::shared_ptr<Queue> queue;                 ///< pinned by each step for itself
  std::shared_ptr<Buffer> source, hbm, target;  ///< of this transfer alone
  std::shared_ptr<Event> in, out;
  uint32_t pattern = 0;
  uint32_t reset_mark = 0;
  bool last = false;  ///< no more is submitted
  bool over = false;
};

}  // namespace weft::lifetime
