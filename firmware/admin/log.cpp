// Log records: one DMA write each, so launches log at debug level only.
#include "firmware/admin/log.hpp"

#include "firmware/admin/function.hpp"
#include "firmware/hal.hpp"

namespace weft::fw {

void log_event(Function& function, LogLevel level, weft_log_event event, uint64_t arg0, uint64_t arg1) {
  Log& log = function.log;
  if (level > log.level) return;
  if (log.off) log.lost++;
  if (log.iova == 0) return;
  weft_log_record record{};
  record.cycle = hal::now();
  record.event = static_cast<uint16_t>(event);
  record.level = static_cast<uint16_t>(level);
  record.sequence = log.sequence + 1;
  record.arg0 = arg0;
  record.arg1 = arg1;
  const uint64_t slot = log.sequence & (WEFT_LIMIT_LOG_ENTRIES - 1);
  if (hal::dma_write(host_at(function.index, log.iova + slot * sizeof record), &record, sizeof record)) {
    log.sequence++;
    return;
  }
  log.iova = 0;
  log.off = true;
  log.lost++;
  raise_async_event(function, WEFT_ASYNC_EVENT_LOG_OFF, kAdminQueue, WEFT_ERROR_DMA_FAULT);
}

static_assert((WEFT_LIMIT_LOG_ENTRIES & (WEFT_LIMIT_LOG_ENTRIES - 1)) == 0);

}  // namespace weft::fw
