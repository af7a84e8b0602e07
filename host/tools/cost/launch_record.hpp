/// What a process launches, noted while somebody asks for it, as data: weft.profile of the Python package.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "host/compiler/result.hpp"
#include "host/tools/run/model_program.hpp"
#include "host/tools/run/run_parts.hpp"
#include "weft/spec/chips.hpp"

namespace weft::tools {

/// All calls of one program on chips of one preset.
struct RecordedProgram {
  std::string name;
  const spec::Chip* chip = nullptr;
  std::shared_ptr<const ModelProgram> model;  ///< null: a product
  uint64_t calls = 0, macs = 0;
  double host_seconds = 0;
  std::vector<LaunchWindow> launches;
};

/// Any thread.
class LaunchRecord {
 public:
  /// A call that is under way while somebody notes calls: end() waits for it.
  class Call {
   public:
    explicit Call(LaunchRecord& record) : record_(record) {}
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    /// What it ran.
    void add(std::string_view name, const spec::Chip& chip, const std::shared_ptr<const ModelProgram>& model,
             const PartsResult& result);

   private:
    LaunchRecord& record_;
  };

  [[nodiscard]] static LaunchRecord& of_process();

  /// INVALID_STATE: it notes already.
  [[nodiscard]] Status begin();
  /// Waits for the calls that have begun since begin(). Programs in the order in which their first call ended.
  /// INVALID_STATE: begin() has not been called.
  [[nodiscard]] Result<std::vector<RecordedProgram>> end();
  /// When a call begins, in the thread that makes it. Null: nobody asks.
  [[nodiscard]] std::unique_ptr<Call> call();

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool noting_ = false, ending_ = false;
  size_t under_way_ = 0;
  std::vector<RecordedProgram> programs_;
};

/// One object: weft_profile_end of weft/model.h.
enum class Layers : uint8_t { kNo, kYes };
[[nodiscard]] std::string record_json(const std::vector<RecordedProgram>& programs, Layers layers);

}  // namespace weft::tools
