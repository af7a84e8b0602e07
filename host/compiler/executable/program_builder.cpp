// Collects commands; keeps count of what a kernel uses.
#include "host/compiler/executable/program_builder.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace weft::compiler {

void ProgramBuilder::wait(spec::CommandHeader& header, unsigned semaphore, uint64_t count) {
  if (count == 0) return;
  assert(count <= 0xffff && (header.wait_sem0 == WEFT_NO_SEMAPHORE || header.wait_sem1 == WEFT_NO_SEMAPHORE));
  const bool first = header.wait_sem0 == WEFT_NO_SEMAPHORE;
  (first ? header.wait_sem0 : header.wait_sem1) = static_cast<uint8_t>(semaphore);
  (first ? header.wait_count0 : header.wait_count1) = static_cast<uint16_t>(count);
}

void ProgramBuilder::post(spec::CommandHeader& header, unsigned semaphore, uint64_t count) {
  if (count == 0) return;
  assert(count <= 0xffff && (header.post_sem0 == WEFT_NO_SEMAPHORE || header.post_sem1 == WEFT_NO_SEMAPHORE));
  const bool first = header.post_sem0 == WEFT_NO_SEMAPHORE;
  (first ? header.post_sem0 : header.post_sem1) = static_cast<uint8_t>(semaphore);
  (first ? header.post_count0 : header.post_count1) = static_cast<uint16_t>(count);
}

void ProgramBuilder::push(weft_queue_index queue, const spec::Command& command) {
  const auto header = spec::decode_header(command);
  for (const uint8_t semaphore : {header.wait_sem0, header.wait_sem1, header.post_sem0, header.post_sem1})
    if (semaphore != WEFT_NO_SEMAPHORE) semaphores_ |= 1ull << semaphore;
  queues_[queue].push_back(command);
}

void ProgramBuilder::post_behind_last(weft_queue_index queue, unsigned semaphore) {
  auto header = spec::decode_header(queues_[queue].back());
  post(header, semaphore, 1);
  spec::encode_into(queues_[queue].back(), header);
  semaphores_ |= 1ull << semaphore;
}

uint16_t ProgramBuilder::tag(const std::string& text) {
  const auto known = tag_of_.find(text);
  if (known != tag_of_.end()) return known->second;
  const auto value = static_cast<uint16_t>(tag_of_.size());
  tag_of_.emplace(text, value);
  tags_.emplace(value, text);
  return value;
}

Kernel ProgramBuilder::kernel(std::string name) const {
  Kernel kernel;
  kernel.name = std::move(name);
  kernel.queues = queues_;
  kernel.tags = tags_;
  kernel.vmem_bytes = vmem_words_ * chip_.word_bytes;
  kernel.semaphores = semaphores_;
  kernel.cycle_estimate = cycle_estimate();
  kernel.macs = macs_;
  return kernel;
}

uint64_t ProgramBuilder::cycle_estimate() const {
  const uint64_t mxu_cycles = macs_ / chip_.peak_macs_per_cycle;
  const auto hbm_cycles =
      static_cast<uint64_t>(static_cast<unsigned __int128>(hbm_bytes_) * chip_.clock_hz / chip_.hbm_bytes_per_second);
  return std::max(mxu_cycles, hbm_cycles);
}

}  // namespace weft::compiler
