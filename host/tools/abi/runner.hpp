/// What stands behind the handles of weft/model.h.
#pragma once
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "host/runtime/session.hpp"
#include "host/tools/run/model_program.hpp"
#include "weft/model.h"

/// Calls take turns by the mutex.
struct weft_runner {
  /// A product that has been compiled.
  struct Product {
    std::string key;
    std::vector<std::byte> executable;
  };

  explicit weft_runner(weft::runtime::Session of) : session(std::move(of)) {}

  std::mutex mutex;
  weft::runtime::Session session;
  std::list<Product> products;  ///< the newest first
};

/// Never changes once it is compiled; any thread.
struct weft_model {
  std::string name, preset;
  std::shared_ptr<const weft::tools::ModelProgram> program;
};

namespace weft::tools {

/// A copy that weft_text_release takes back.
[[nodiscard]] char* text_of(const std::string& text);

/// The report of launches, if somebody wants it. INVALID_ARGUMENT: it has another size.
[[nodiscard]] Status check_report(const weft_run_report* report);
void fill_report(weft_run_report* report, const struct PartsResult& result);

}  // namespace weft::tools
