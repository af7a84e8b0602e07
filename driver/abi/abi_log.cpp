// C ABI: the log of this process.
#include <cstdlib>

#include "driver/abi/abi.hpp"
#include "driver/log/log.hpp"

using namespace weft::driver;
using namespace weft::driver::abi;

weft_status weft_set_log(const char* levels, weft_log_callback callback, void* user) {
  return guard([&]() -> Status {
    const char* text = levels != nullptr ? levels : std::getenv("WEFT_LOG");
    std::string complaint;
    const LogLevels wanted = parse_log_levels(text != nullptr ? text : "", complaint);
    if (!complaint.empty()) return Status(WEFT_ERROR_INVALID_ARGUMENT, complaint);
    if (callback == nullptr) {
      set_log(wanted, {});
      return {};
    }
    set_log(wanted, [callback, user](const std::string& device, const LogLine& line) {
      weft_log_line out = WEFT_INIT(weft_log_line);
      out.cycle = line.cycle;
      out.cycle_known = line.cycle_known ? 1 : 0;
      out.level = static_cast<uint32_t>(line.level);
      out.device = device.c_str();
      out.module = log_module_name(line.module).data();
      out.text = line.text.c_str();
      callback(&out, user);
    });
    return {};
  });
}
