// A three-stage pipeline of chunks, woken at the cycle of its next step.
#include "model/chip/copy_engine.hpp"

#include <algorithm>
#include <cstring>

namespace weft::chip {
namespace {

bool is_memory(weft_address_space space) { return space == WEFT_ADDRESS_SPACE_HBM || space == WEFT_ADDRESS_SPACE_HOST; }

}  // namespace

CopyEngine::CopyEngine(sc_core::sc_module_name name, const TimeBase& time, ChipBus& bus, std::function<void()> finished)
    : sc_module(name), time_(time), bus_(bus), finished_(std::move(finished)), buffer_(kChunkBytes) {
  SC_HAS_PROCESS(CopyEngine);
  SC_METHOD(run);
  sensitive << wake_;
  dont_initialize();
}

bool CopyEngine::start(Location source, Location destination, uint64_t bytes) {
  const bool source_valid = source.space == WEFT_ADDRESS_SPACE_NONE || is_memory(source.space);
  if (running_ || bytes == 0 || !source_valid || !is_memory(destination.space)) return false;
  running_ = true;
  start_cycle_ = now();
  result_ = kNone;
  source_ = source;
  destination_ = destination;
  bytes_ = bytes;
  requested_ = booked_ = moved_ = 0;
  read_path_free_cycle_ = write_path_free_cycle_ = 0;
  if (fill()) {
    const auto pattern = static_cast<uint32_t>(source.address);
    for (size_t i = 0; i < buffer_.size(); i += sizeof pattern) std::memcpy(&buffer_[i], &pattern, sizeof pattern);
  }
  wake_.notify(sc_core::SC_ZERO_TIME);
  return true;
}

uint32_t CopyEngine::take_result() {
  const uint32_t result = result_;
  result_ = kNone;
  return result;
}

uint64_t CopyEngine::busy_cycles() const { return busy_cycles_ + (running_ ? now() - start_cycle_ : 0); }

void CopyEngine::reset() {
  busy_cycles_ = busy_cycles();
  running_ = false;
  result_ = kNone;
  arrivals_.clear();
  visible_.clear();
  wake_.cancel();
}

void CopyEngine::run() {
  const uint64_t cycle = now();
  if (!running_) return;
  move_data(cycle);
  if (!running_) return;
  request_reads(cycle);
  book_writes(cycle);
  wake_.notify(sc_core::sc_time::from_value(time_.edge_fs(std::max(next_cycle(), cycle + 1))) -
               sc_core::sc_time_stamp());
}

void CopyEngine::request_reads(uint64_t cycle) {
  while (requested_ < bytes_ && arrivals_.size() + visible_.size() < kMaxChunksInFlight &&
         cycle >= read_path_free_cycle_) {
    const uint64_t bytes = chunk_bytes(requested_);
    requested_ += bytes;
    if (fill()) {
      arrivals_.push_back(cycle);
      continue;
    }
    const uint64_t arrival = bus_.schedule_read(source_.space, bytes, cycle);
    arrivals_.push_back(arrival);
    read_path_free_cycle_ = arrival - bus_.read_latency_cycles(source_.space);
  }
}

void CopyEngine::book_writes(uint64_t cycle) {
  while (!arrivals_.empty() && cycle >= arrivals_.front() && cycle >= write_path_free_cycle_) {
    arrivals_.pop_front();
    const uint64_t bytes = chunk_bytes(booked_);
    booked_ += bytes;
    visible_.push_back(bus_.schedule_write(destination_.space, bytes, cycle));
    write_path_free_cycle_ = visible_.back() - bus_.write_latency_cycles(destination_.space);
  }
}

void CopyEngine::move_data(uint64_t cycle) {
  while (!visible_.empty() && cycle >= visible_.front()) {
    visible_.pop_front();
    const uint64_t bytes = chunk_bytes(moved_);
    if (!move_chunk(moved_, bytes)) return finish(kBusError);
    moved_ += bytes;
    total_bytes_ += bytes;
  }
  if (moved_ == bytes_) finish(kDone);
}

bool CopyEngine::move_chunk(uint64_t offset, uint64_t bytes) {
  const Location from{source_.space, source_.function, source_.address + offset};
  const Location to{destination_.space, destination_.function, destination_.address + offset};
  if (from.address + bytes < bytes && !fill()) return false;
  if (to.address + bytes < bytes) return false;
  const std::span<std::byte> data = std::span(buffer_).first(bytes);
  if (fill() && source_.address == 0 && to.space == WEFT_ADDRESS_SPACE_HBM) return bus_.hbm().clear(to.address, bytes);
  if (!fill() && !bus_.read(from, data, Accessor::kCopy)) return false;
  return bus_.write(to, data, Accessor::kCopy);
}

uint64_t CopyEngine::next_cycle() const {
  uint64_t next = kNever;
  if (!visible_.empty()) next = std::min(next, visible_.front());
  if (!arrivals_.empty()) next = std::min(next, std::max(arrivals_.front(), write_path_free_cycle_));
  if (requested_ < bytes_ && arrivals_.size() + visible_.size() < kMaxChunksInFlight)
    next = std::min(next, read_path_free_cycle_);
  return next;
}

void CopyEngine::finish(Result result) {
  busy_cycles_ = busy_cycles();
  running_ = false;
  result_ = result;
  arrivals_.clear();
  visible_.clear();
  finished_();
}

}  // namespace weft::chip
