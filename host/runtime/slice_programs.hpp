/// Programs of the chips of an open slice that are launched together, each loaded once and run as often as wanted.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "host/compiler/result.hpp"
#include "host/runtime/driver_handles.hpp"
#include "weft/weft.h"

namespace weft::runtime {

/// What a chip's program took, in device cycles.
struct ChipWindow {
  uint32_t chip = 0;
  uint64_t begin = 0, end = 0;
};

/// Any thread; one launch at a time. The slice outlives it.
class SlicePrograms {
 public:
  /// By number of the chip; empty: it has nothing to do.
  using Executables = std::vector<std::vector<std::byte>>;

  explicit SlicePrograms(weft_slice* slice);
  ~SlicePrograms();

  [[nodiscard]] weft_slice* slice() const { return slice_; }

  /// Programs with an input and an output, or one of them. `key` names them: `make` is asked where they are not loaded.
  /// `inputs` and `queues` by number of the chip; those of chips that have nothing to do are not looked at. An input that
  /// is shorter than its argument is filled up with zeros. The outputs by chip. All chips begin in one cycle. Errors of
  /// `make` and of the driver.
  [[nodiscard]] Result<std::vector<std::vector<std::byte>>> run(const std::string& key,
                                                                const std::function<Result<Executables>()>& make,
                                                                const std::vector<std::vector<std::byte>>& inputs,
                                                                const std::vector<weft_queue*>& queues,
                                                                std::vector<ChipWindow>& windows);

 private:
  struct Part;
  struct Loaded;
  [[nodiscard]] Result<Loaded*> loaded(const std::string& key, const std::function<Result<Executables>()>& make);
  [[nodiscard]] Result<std::unique_ptr<Loaded>> load(const Executables& executables);

  weft_slice* slice_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Loaded>> loaded_;
};

}  // namespace weft::runtime
