// The mock's firmware side: GET_LOG, ASYNC_EVENT.
#include <algorithm>
#include <cstring>

#include "driver/mock/transport_mock.hpp"

namespace weft::driver {

using E = weft_submission_entry;

MockTransport::Outcome MockTransport::get_log(const E& entry) {
  const uint64_t bytes = sizeof error_log_ + sizeof error_entries_;
  if (entry.size < bytes) return {WEFT_ERROR_INVALID_ARGUMENT, offsetof(E, size), entry.size, 0};
  std::byte* place = host(entry.arg0, bytes);
  if (place == nullptr) return {WEFT_ERROR_DMA_FAULT, entry.arg0, bytes, 0};
  error_log_.cycle = cycle_;
  error_log_.completed = progress_;
  error_log_.log_records = log_records_;
  error_log_.fault_records = static_cast<uint32_t>(fault_records_);
  std::memcpy(place, &error_log_, sizeof error_log_);
  std::memcpy(place + sizeof error_log_, error_entries_.data(), sizeof error_entries_);
  return {};
}

void MockTransport::listen(const E& entry) {
  if (listeners_.size() == WEFT_LIMIT_ASYNC_EVENTS) {
    end(0, entry, {WEFT_ERROR_QUEUE_FULL, offsetof(E, opcode), listeners_.size(), 0});
  } else if (!news_.empty()) {
    end(0, entry, news_.front());
    news_.pop_front();
  } else {
    listeners_.push_back(entry);
  }
}

void MockTransport::stop_listening(uint16_t command_id, bool all) {
  const auto cancelled = [&](const E& listener) {
    const bool wanted = all || listener.command_id == command_id;
    if (wanted) end(0, listener, {WEFT_ERROR_CANCELLED, 0, 0, 0});
    return wanted;
  };
  std::erase_if(listeners_, cancelled);
}

void MockTransport::tell(weft_async_event event, uint32_t queue, uint32_t error) {
  error_log_.events++;
  const uint64_t what =
      static_cast<uint64_t>(event) | static_cast<uint64_t>(queue) << 16 | static_cast<uint64_t>(error) << 32;
  news_.push_back({WEFT_ERROR_OK, 0, 0, what});
  if (listeners_.empty()) return;
  end(0, listeners_.front(), news_.front());
  listeners_.pop_front();
  news_.pop_front();
}

}  // namespace weft::driver
