// C ABI: state dumps, and where hang reports go.
#include <algorithm>
#include <cstring>

#include "driver/abi/abi.hpp"
#include "driver/report/report_file.hpp"

using namespace weft::driver;
using namespace weft::driver::abi;

namespace {

/// Hands text out with its zero, cut to the caller's room; `size` is what the whole needs.
Status give_text(const std::string& text, void* buffer, size_t capacity, size_t* size) {
  *size = text.size() + 1;
  if (capacity == 0) return {};
  const size_t length = std::min(text.size(), capacity - 1);
  std::memcpy(buffer, text.data(), length);
  static_cast<char*>(buffer)[length] = 0;
  return {};
}

Status check_format(uint32_t format) {
  if (format >= WEFT_STATE_FORMAT_TEXT && format <= WEFT_STATE_FORMAT_PAGE) return {};
  return failure(WEFT_ERROR_INVALID_ARGUMENT, "format {}: text, JSON and page are possible", format);
}

std::string print(const HangReport& report, weft_state_format format) {
  return format == WEFT_STATE_FORMAT_JSON ? report_json(report) : report_text(report);
}

Status give_page(Device& device, void* buffer, size_t capacity, size_t* size) {
  const auto page = device.ask_state();
  if (!page.ok()) return page.status();
  const auto bytes = device.last_state_page();
  *size = std::min<size_t>(page.value().header.bytes, bytes.size());
  if (capacity != 0) std::memcpy(buffer, bytes.data(), std::min(*size, capacity));
  return {};
}

}  // namespace

weft_status weft_set_report_folder(const char* folder) {
  return guard([&]() -> Status {
    set_report_folder(folder != nullptr ? folder : "");
    return {};
  });
}

weft_status weft_state_dump(weft_device* device, weft_state_format format, void* buffer, size_t capacity,
                            size_t* size) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(device);
    WEFT_REQUIRE(size);
    if (capacity != 0) WEFT_REQUIRE(buffer);
    if (Status s = check_format(number_of(format)); !s.ok()) return s;
    Device& d = *device->device;
    if (const auto state = d.state(); !state.ok()) return state.status();
    if (d.state().value() == WEFT_DEVICE_STATE_ABSENT) return d.check();
    if (format == WEFT_STATE_FORMAT_PAGE) return give_page(d, buffer, capacity, size);
    return give_text(print(d.collect_report({}, Device::Ask::kYes, "hang.fst"), format), buffer, capacity, size);
  });
}

weft_status weft_state_decode(const void* page, size_t page_bytes, weft_state_format format, void* buffer,
                              size_t capacity, size_t* size) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(page);
    WEFT_REQUIRE(size);
    if (capacity != 0) WEFT_REQUIRE(buffer);
    if (Status s = check_format(number_of(format)); !s.ok()) return s;
    auto decoded = decode_state_page({static_cast<const std::byte*>(page), page_bytes});
    if (!decoded.ok()) return decoded.status();
    HangReport report;
    report.why = "a state page was given";
    report.page_source = fmt::format("of cycle {}", decoded.value().header.cycle);
    report.before.heartbeat = report.after.heartbeat = decoded.value().header.heartbeat;
    report.before.progress = report.after.progress = decoded.value().header.progress;
    report.after.cycle = decoded.value().header.cycle;
    report.page = std::move(decoded.value());
    report.graph = make_wait_graph(*report.page, {});
    if (format != WEFT_STATE_FORMAT_PAGE) return give_text(print(report, format), buffer, capacity, size);
    *size = report.page->header.bytes;
    if (capacity != 0) std::memcpy(buffer, page, std::min(*size, capacity));
    return {};
  });
}
