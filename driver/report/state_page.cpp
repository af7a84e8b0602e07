// Bounds first, then copies: nothing of a page is believed.
#include "driver/report/state_page.hpp"

#include <cstring>

namespace weft::driver {
namespace {

enum Section : uint32_t { kQueues, kEngines, kCoreQueues, kSemaphores, kTimelines, kSections };

constexpr uint32_t kMaxRecords = 1024;  // of a table

template <typename... Args>
Status refuse(size_t at, fmt::format_string<Args...> why, Args&&... args) {
  return failure(WEFT_ERROR_INVALID_ARGUMENT, "state page, byte {}: {}", at,
                 fmt::format(why, std::forward<Args>(args)...));
}

template <typename T>
Status read_section(std::span<const std::byte> page, const weft_state_header& header, Section section,
                    std::vector<T>& out) {
  const uint64_t offset = header.section_offset[section];
  const uint64_t count = header.section_count[section];
  const uint64_t stride = header.section_record_bytes[section];
  const size_t at = offsetof(weft_state_header, section_offset) + section * sizeof(uint32_t);
  if (count == 0) return {};
  if (count > kMaxRecords) return refuse(at, "table {} has {} records, {} are possible", +section, count, kMaxRecords);
  if (stride < sizeof(T))
    return refuse(at, "a record of table {} has {} bytes, at least {} are needed", +section, stride, sizeof(T));
  if (offset < sizeof header || offset > page.size() || count * stride > page.size() - offset) {
    return refuse(at, "table {} of {} records of {} bytes at {} leaves the page of {} bytes", +section, count, stride,
                  offset, page.size());
  }
  out.resize(count);
  for (size_t i = 0; i < count; i++) std::memcpy(&out[i], page.data() + offset + i * stride, sizeof(T));
  return {};
}

}  // namespace

const weft_state_engine* StatePage::engine(weft_engine which) const {
  for (const weft_state_engine& record : engines) {
    if (record.engine == which) return &record;
  }
  return nullptr;
}

Result<StatePage> decode_state_page(std::span<const std::byte> bytes) {
  StatePage page;
  weft_state_header& header = page.header;
  if (bytes.size() < sizeof header) return refuse(bytes.size(), "it ends within its header of {} bytes", sizeof header);
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != WEFT_LIMIT_STATE_MAGIC)
    return refuse(0, "the magic is {:#010x}, not {:#010x}", header.magic, WEFT_LIMIT_STATE_MAGIC);
  if (header.version != WEFT_LIMIT_STATE_VERSION) {
    return refuse(offsetof(weft_state_header, version), "version {}, this reader knows {}", header.version,
                  WEFT_LIMIT_STATE_VERSION);
  }
  if (header.sections < kSections)
    return refuse(offsetof(weft_state_header, sections), "{} tables, {} are needed", header.sections, +kSections);
  if (header.bytes < sizeof header || header.bytes > bytes.size()) {
    return refuse(offsetof(weft_state_header, bytes), "it says that it has {} bytes, there are {}", header.bytes,
                  bytes.size());
  }
  const auto whole = bytes.first(header.bytes);
  std::vector<weft_state_semaphores> semaphores;
  for (const Status& status :
       {read_section(whole, header, kQueues, page.queues), read_section(whole, header, kEngines, page.engines),
        read_section(whole, header, kCoreQueues, page.core_queues),
        read_section(whole, header, kSemaphores, semaphores),
        read_section(whole, header, kTimelines, page.timelines)}) {
    if (!status.ok()) return status;
  }
  for (const weft_state_core_queue& queue : page.core_queues) {
    if (queue.queue >= WEFT_CORE_QUEUES)
      return refuse(header.section_offset[kCoreQueues], "core queue {}, there are {}", queue.queue, WEFT_CORE_QUEUES);
  }
  if (!semaphores.empty())
    std::copy(std::begin(semaphores[0].value), std::end(semaphores[0].value), page.semaphores.begin());
  return page;
}

}  // namespace weft::driver
