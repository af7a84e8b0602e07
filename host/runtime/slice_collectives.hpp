/// Collectives between chips of an open slice, each made once and run as often as wanted.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "host/compiler/collective.hpp"
#include "host/compiler/result.hpp"
#include "host/runtime/driver_handles.hpp"
#include "weft/weft.h"

namespace weft::runtime {

/// What a collective took, in device cycles, chip by chip that took part.
struct CollectiveWindow {
  uint32_t chip = 0;
  uint64_t begin = 0, end = 0;
};

/// Any thread; one collective at a time. The slice outlives it.
class SliceCollectives {
 public:
  explicit SliceCollectives(weft_slice* slice);
  ~SliceCollectives();

  /// `inputs` and `queues` by number of the chip; those of chips that take no part are not looked at. An input has the
  /// bytes that the collective says. The outputs by chip, of as many bytes as the argument has: behind the data they are
  /// undefined. All chips begin in one cycle. Errors of compile_collective and of the driver.
  [[nodiscard]] Result<std::vector<std::vector<std::byte>>> run(const compiler::Collective& collective,
                                                                const std::vector<std::vector<std::byte>>& inputs,
                                                                const std::vector<weft_queue*>& queues,
                                                                std::vector<CollectiveWindow>& windows);

 private:
  struct Part;
  struct Made;
  [[nodiscard]] Result<Made*> made(const compiler::Collective& collective);

  weft_slice* slice_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Made>> made_;
};

}  // namespace weft::runtime
