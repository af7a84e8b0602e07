// One line of JSON an event.
#include "model/trace/trace_file.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <span>
#include <tuple>

namespace weft {
namespace {

constexpr std::string_view kBegin = "[\n", kBetween = ",\n", kEnd = "\n]\n";

/// A file's bytes, while it lasts. `data` is nullptr if they cannot be read, errno.
struct Mapped {
  Mapped(std::FILE* file, uint64_t size) : bytes(size) {
    if (std::fflush(file) != 0) return;
    void* const at = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, ::fileno(file), 0);
    if (at != MAP_FAILED) data = static_cast<const char*>(at);
  }
  ~Mapped() {
    if (data != nullptr) ::munmap(const_cast<char*>(data), bytes);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;

  const char* data = nullptr;
  const uint64_t bytes;
};

}  // namespace

std::shared_ptr<TraceFile> TraceFile::open(const std::string& path, std::string& error) {
  std::FILE* file = std::fopen(path.c_str(), "w+e");
  if (file == nullptr) {
    error = fmt::format("trace file '{}': {}", path, std::strerror(errno));
    return nullptr;
  }
  std::fwrite(kBegin.data(), 1, kBegin.size(), file);
  auto out = std::shared_ptr<TraceFile>(new TraceFile(file, path));
  out->bytes_ = kBegin.size();
  return out;
}

TraceFile::~TraceFile() { finish(); }

void TraceFile::finish() {
  if (file_ == nullptr) return;
  std::fwrite(kEnd.data(), 1, kEnd.size(), file_);
  put_in_order();
  std::fclose(file_);
  file_ = nullptr;
}

void TraceFile::event(const TracePlace& place, std::string_view json) {
  if (file_ == nullptr) return;
  if (!entries_.empty()) {
    std::fwrite(kBetween.data(), 1, kBetween.size(), file_);
    bytes_ += kBetween.size();
  }
  std::fwrite(json.data(), 1, json.size(), file_);
  entries_.push_back({place, bytes_, json.size()});
  bytes_ += json.size();
}

void TraceFile::name_process(uint32_t process, std::string_view name) {
  event({TracePlace::kFirst, 0, process, 0},
        fmt::format(R"({{"ph":"M","pid":{0},"name":"process_name","args":{{"name":"{1}"}}}},)"
                    "\n"
                    R"({{"ph":"M","pid":{0},"name":"process_sort_index","args":{{"sort_index":{0}}}}})",
                    process, name));
}

void TraceFile::name_track(uint32_t process, uint32_t track, std::string_view name) {
  event({TracePlace::kFirst, 0, process, track},
        fmt::format(R"({{"ph":"M","pid":{0},"tid":{1},"name":"thread_name","args":{{"name":"{2}"}}}},)"
                    "\n"
                    R"({{"ph":"M","pid":{0},"tid":{1},"name":"thread_sort_index","args":{{"sort_index":{1}}}}})",
                    process, track, name));
}

bool TraceFile::for_each(size_t first, size_t count, const Visit& visit) const {
  if (first >= entries_.size()) return true;
  const Mapped file(file_, bytes_);
  if (file.data == nullptr) return false;
  for (const auto& entry : std::span(entries_).subspan(first, std::min(count, entries_.size() - first)))
    visit(entry.place, {file.data + entry.offset, entry.bytes});
  return true;
}

void TraceFile::remove() {
  std::fclose(file_);
  file_ = nullptr;
  entries_.clear();
  ::unlink(path_.c_str());
}

/// Into a file beside it that takes its place when it is whole.
void TraceFile::put_in_order() {
  struct stat status {};
  if (::fstat(::fileno(file_), &status) != 0 || !S_ISREG(status.st_mode)) return;
  const Mapped unsorted(file_, bytes_);
  char* const target = ::realpath(path_.c_str(), nullptr);
  if (unsorted.data == nullptr || target == nullptr) return std::free(target);
  const auto text = [&](const Entry& entry) { return std::string_view(unsorted.data + entry.offset, entry.bytes); };
  const auto key = [](const TracePlace& place) {
    return std::tuple(place.at, place.step, place.process, place.track, place.length);
  };
  std::ranges::sort(entries_, [&](const Entry& a, const Entry& b) {
    return key(a.place) != key(b.place) ? key(a.place) < key(b.place) : text(a) < text(b);
  });
  const auto path = fmt::format("{}.sorted.{}", target, ::getpid());
  if (std::FILE* sorted = std::fopen(path.c_str(), "we"); sorted != nullptr) {
    std::fwrite(kBegin.data(), 1, kBegin.size(), sorted);
    for (size_t i = 0; i < entries_.size(); i++) {
      if (i != 0) std::fwrite(kBetween.data(), 1, kBetween.size(), sorted);
      std::fwrite(text(entries_[i]).data(), 1, entries_[i].bytes, sorted);
    }
    std::fwrite(kEnd.data(), 1, kEnd.size(), sorted);
    const bool whole = std::ferror(sorted) == 0;
    if (std::fclose(sorted) != 0 || !whole || std::rename(path.c_str(), target) != 0) ::unlink(path.c_str());
  }
  std::free(target);
}

}  // namespace weft
