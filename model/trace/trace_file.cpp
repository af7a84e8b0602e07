// One line of JSON an event.
#include "model/trace/trace_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace weft {

std::shared_ptr<TraceFile> TraceFile::open(const std::string& path, std::string& error) {
  std::FILE* file = std::fopen(path.c_str(), "we");
  if (file == nullptr) {
    error = fmt::format("trace file '{}': {}", path, std::strerror(errno));
    return nullptr;
  }
  std::fputs("[\n", file);
  return std::shared_ptr<TraceFile>(new TraceFile(file));
}

TraceFile::~TraceFile() {
  std::fputs("\n]\n", file_);
  std::fclose(file_);
}

void TraceFile::event(const std::string& json) {
  if (!first_) std::fputs(",\n", file_);
  first_ = false;
  std::fputs(json.c_str(), file_);
}

void TraceFile::name_process(uint32_t process, std::string_view name) {
  event(fmt::format(R"({{"ph":"M","pid":{0},"name":"process_name","args":{{"name":"{1}"}}}},)"
                    "\n"
                    R"({{"ph":"M","pid":{0},"name":"process_sort_index","args":{{"sort_index":{0}}}}})",
                    process, name));
}

void TraceFile::name_track(uint32_t process, uint32_t track, std::string_view name) {
  event(fmt::format(R"({{"ph":"M","pid":{0},"tid":{1},"name":"thread_name","args":{{"name":"{2}"}}}},)"
                    "\n"
                    R"({{"ph":"M","pid":{0},"tid":{1},"name":"thread_sort_index","args":{{"sort_index":{1}}}}})",
                    process, track, name));
}

}  // namespace weft
