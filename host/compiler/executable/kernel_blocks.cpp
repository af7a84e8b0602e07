// What several kernels have in one: constants one behind the other, and tags that do not meet.
#include "host/compiler/executable/kernel_blocks.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "weft/spec/commands.hpp"

namespace weft::compiler {
namespace {

constexpr uint32_t kConstantsSegment = 1;

}  // namespace

KernelBlocks::Added KernelBlocks::add(Kernel kernel) {
  Added added;
  if (!kernel.constants.empty()) {
    const uint64_t bytes = block_aligned(kernel.constants.size()), offset = offset_of(kernel.constants);
    added.windows.push_back(
        {kConstantsSegment,
         {.argument = WEFT_EXECUTABLE_CONTROL_CONSTANTS, .offset_bytes = offset, .size_bytes = bytes}});
  }
  retag(kernel);
  kernel_.vmem_bytes = std::max(kernel_.vmem_bytes, kernel.vmem_bytes);
  kernel_.scratch_bytes = std::max(kernel_.scratch_bytes, kernel.scratch_bytes);
  kernel_.semaphores |= kernel.semaphores;
  added.block = list_.add_block(std::move(kernel.queues));
  return added;
}

Result<Kernel> KernelBlocks::finish() {
  auto control = list_.finish();
  if (!control.ok()) return control.error();
  kernel_.control = std::move(control.value());
  return std::move(kernel_);
}

/// Equal constants are there once.
uint64_t KernelBlocks::offset_of(std::vector<std::byte>& constants) {
  constants.resize(block_aligned(constants.size()));
  const auto has = [&](const Constants& known) {
    return known.bytes == constants.size() &&
           std::memcmp(&kernel_.constants[known.offset], constants.data(), known.bytes) == 0;
  };
  if (const auto known = std::ranges::find_if(constants_, has); known != constants_.end()) return known->offset;
  constants_.push_back({kernel_.constants.size(), constants.size()});
  kernel_.constants.insert(kernel_.constants.end(), constants.begin(), constants.end());
  return constants_.back().offset;
}

/// Tags of one kernel are not those of another.
void KernelBlocks::retag(Kernel& kernel) {
  const auto first = static_cast<uint16_t>(kernel_.tags.empty() ? 0 : kernel_.tags.rbegin()->first + 1);
  for (auto& queue : kernel.queues)
    for (auto& command : queue) {
      auto header = spec::decode_header(command);
      header.tag = static_cast<uint16_t>(header.tag + first);
      spec::encode_into(command, header);
    }
  for (const auto& [tag, text] : kernel.tags) kernel_.tags.emplace(static_cast<uint16_t>(tag + first), text);
}

}  // namespace weft::compiler
