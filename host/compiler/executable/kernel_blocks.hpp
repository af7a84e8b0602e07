/// Kernels as blocks of one kernel with a control list.
#pragma once
#include <cstdint>
#include <vector>

#include "host/compiler/executable/control_list.hpp"
#include "host/compiler/executable/executable_writer.hpp"

namespace weft::compiler {

/// Beginnings of regions of memory in a kernel with a list.
[[nodiscard]] constexpr uint64_t block_aligned(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

/// Collects the commands, constants and tags of kernels. One owner.
class KernelBlocks {
 public:
  struct Added {
    uint16_t block = 0;
    std::vector<SegmentWindow> windows;  ///< that the block needs of the constants
  };
  /// A kernel without a list of its own. Scratch memory of all of them is the same, from its beginning; work and
  /// arguments are the caller's to count.
  [[nodiscard]] Added add(Kernel kernel);

  [[nodiscard]] Kernel& kernel() { return kernel_; }
  [[nodiscard]] ControlListBuilder& list() { return list_; }
  /// With the list. Errors of ControlListBuilder::finish.
  [[nodiscard]] Result<Kernel> finish();

 private:
  struct Constants {
    uint64_t offset, bytes;
  };
  void retag(Kernel& kernel);
  [[nodiscard]] uint64_t offset_of(std::vector<std::byte>& constants);

  Kernel kernel_;
  ControlListBuilder list_;
  std::vector<Constants> constants_;
};

}  // namespace weft::compiler
