// The coverage runtime of Verilated models, instead of Verilator's verilated_cov.cpp.
//
// Verilator's own keeps pointers into the models and reads them when it writes, so models have to outlive the file, and
// a test makes hundreds of them. This one adds a model's counters to those of the process when the model is destroyed,
// and writes one file a process at exit: <folder>/<program>-<pid>-<start>.dat in Verilator's format and .ports beside
// it (testbench/coverage/README.md). The folder is the environment's WEFT_COVERAGE_DIR; without it nothing is written.
#include "collector.hpp"

#include <unistd.h>
#include <verilated.h>
#include <verilated_cov.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace weft::coverage {
namespace {

/// Which bits of a port moved. `both`: rose and fell in the same instance.
struct PortBits {
  unsigned width = 0;
  std::vector<uint32_t> rose, fell, both;
};

struct Counter {
  const uint32_t* value;
  uint32_t point;
};

struct Model {
  const char* begin;
  const char* end;
  FinalBlocks final_blocks;
  std::vector<Counter> counters;
};

/// One a process, never destroyed. Models may be made by several threads; a model itself is its thread's.
class Collector {
 public:
  static Collector& instance() {
    static auto* const collector = new Collector;
    return *collector;
  }

  void begin(void* symbols, size_t bytes, FinalBlocks final_blocks) {
    const std::lock_guard lock(mutex_);
    const auto* at = static_cast<const char*>(symbols);
    models_[at] = {at, at + bytes, final_blocks, {}};
  }

  void end(void* symbols) {
    const std::lock_guard lock(mutex_);
    const auto model = models_.find(static_cast<const char*>(symbols));
    if (model == models_.end()) return;
    retire(model->second);
    models_.erase(model);
  }

  void insert(const uint32_t* value, const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto [point, is_new] = points_.try_emplace(key, static_cast<uint32_t>(hits_.size()));
    if (is_new) hits_.push_back(0);
    // A counter outside of every model is Verilator's dummy for a point that is registered a second time.
    auto model = models_.upper_bound(reinterpret_cast<const char*>(value));
    if (model == models_.begin()) return;
    --model;
    if (reinterpret_cast<const char*>(value) < model->second.end)
      model->second.counters.push_back({value, point->second});
  }

  void port(const char* module, const char* name, unsigned width, unsigned low, uint32_t rose, uint32_t fell) {
    const std::lock_guard lock(port_mutex_);
    PortBits& bits = ports_[std::string(module) + " " + name];
    const size_t words = (width + 31) / 32;
    if (bits.width < width) {
      bits.width = width;
      for (auto* vector : {&bits.rose, &bits.fell, &bits.both}) vector->resize(words, 0);
    }
    bits.rose[low / 32] |= rose;
    bits.fell[low / 32] |= fell;
    bits.both[low / 32] |= rose & fell;
  }

  /// Writes the files once; models that still live are read, and stay.
  void write() {
    const char* folder = std::getenv("WEFT_COVERAGE_DIR");
    if (folder == nullptr || written_.exchange(true)) return;
    for (auto& [at, model] : models_) retire(model);
    if (points_.empty() && ports_.empty()) return;
    const auto start = std::chrono::steady_clock::now().time_since_epoch().count();
    const std::string stem = std::string(folder) + "/" + program_invocation_short_name + "-" +
                             std::to_string(getpid()) + "-" + std::to_string(start);
    write_points(stem + ".dat");
    write_ports(stem + ".ports");
  }

 private:
  Collector() {
    std::atexit([] { instance().write(); });
    // A failed assertion of the RTL ends in abort(): what it reached still counts. The process is about to die, in the
    // thread that evaluated the model, so the handler may use the heap.
    std::signal(SIGABRT, [](int) { instance().write(); });
  }

  void retire(Model& model) {
    for (const Counter& counter : model.counters) hits_[counter.point] += *counter.value;
    model.counters.clear();
    if (model.final_blocks != nullptr) model.final_blocks(const_cast<char*>(model.begin));
    model.final_blocks = nullptr;
  }

  // A file is complete or absent: it gets its name when it is closed.
  template <typename Body>
  static void write_file(const std::string& path, Body body) {
    const std::string partial = path + ".partial";
    std::FILE* file = std::fopen(partial.c_str(), "w");
    if (file == nullptr) {
      std::fprintf(stderr, "coverage: cannot write %s: %s\n", partial.c_str(), std::strerror(errno));
      return;
    }
    body(file);
    const bool whole = std::ferror(file) == 0;
    if (std::fclose(file) != 0 || !whole || std::rename(partial.c_str(), path.c_str()) != 0)
      std::fprintf(stderr, "coverage: cannot complete %s\n", path.c_str());
  }

  void write_points(const std::string& path) const {
    write_file(path, [this](std::FILE* file) {
      std::fputs("# SystemC::Coverage-3\n", file);
      for (const auto& [key, point] : points_)
        std::fprintf(file, "C '%s' %llu\n", key.c_str(), static_cast<unsigned long long>(hits_[point]));
    });
  }

  void write_ports(const std::string& path) const {
    const auto hex = [](std::FILE* file, const std::vector<uint32_t>& words) {
      std::fputc(' ', file);
      for (auto word = words.rbegin(); word != words.rend(); ++word) std::fprintf(file, "%08x", *word);
    };
    write_file(path, [this, &hex](std::FILE* file) {
      std::fputs("# weft port toggles 1: module port width rose fell both\n", file);
      for (const auto& [name, bits] : ports_) {
        std::fprintf(file, "%s %u", name.c_str(), bits.width);
        hex(file, bits.rose);
        hex(file, bits.fell);
        hex(file, bits.both);
        std::fputc('\n', file);
      }
    });
  }

  std::mutex mutex_;
  std::mutex port_mutex_;  // final blocks report while mutex_ is held
  std::map<const char*, Model> models_;
  std::unordered_map<std::string, uint32_t> points_;
  std::vector<uint64_t> hits_;
  std::map<std::string, PortBits> ports_;
  std::atomic<bool> written_ = false;
};

thread_local const uint32_t* g_counter = nullptr;

/// A point's key in Verilator's format: \x01 name \x02 value for each of its properties.
std::string key_of(const char* file, int line, int column, const char* page, const char* comment, const char* lines) {
  std::string key;
  const auto add = [&key](const char* name, const std::string& value) {
    key += '\001';
    key += name;
    key += '\002';
    key += value;
  };
  add("f", file);
  add("l", std::to_string(line));
  add("n", std::to_string(column));
  add("page", page);
  add("o", comment);
  if (lines[0] != '\0') add("S", lines);
  return key;
}

/// The object behind a VerilatedContext's coveragep(); has no state of its own.
class Context final : public VerilatedCovContext {};

}  // namespace

void model_begins(void* symbols, size_t bytes, FinalBlocks final_blocks) {
  Collector::instance().begin(symbols, bytes, final_blocks);
}
void add_point(uint32_t* counter, const char* file, int line, int column, const char* page, const char* comment,
               const char* lines) {
  *counter = 0;
  Collector::instance().insert(counter, key_of(file, line, column, page, comment, lines));
}
void model_ends(void* symbols) { Collector::instance().end(symbols); }

}  // namespace weft::coverage

void weft_coverage_port(const char* module, const char* port, unsigned width, unsigned low, unsigned rose,
                        unsigned fell) {
  weft::coverage::Collector::instance().port(module, port, width, low, rose, fell);
}

// ------------------------------------------------------------------ Verilator's interface (verilated_cov.h)
void VerilatedCovContext::_inserti(uint32_t* itemp) VL_MT_SAFE { weft::coverage::g_counter = itemp; }
void VerilatedCovContext::_insertf(const char*, int) VL_MT_SAFE {}

// The one form that 5.006 generates: hier, filename, line, column, hier, page, comment, lines.
void VerilatedCovContext::_insertp(const char*, const char*, const char*, const char* filename, const char*, int line,
                                   const char*, int column, const char*, const std::string&, const char*,
                                   const char* page, const char*, const char* comment, const char* lines_key,
                                   const char* lines) VL_MT_SAFE {
  weft::coverage::Collector::instance().insert(
      weft::coverage::g_counter,
      weft::coverage::key_of(filename, line, column, page, comment, lines_key[0] != '\0' ? lines : ""));
}

VerilatedCovContext* VerilatedContext::coveragep() VL_MT_SAFE {
  static weft::coverage::Context context;
  return &context;
}
