/// Where a lockstep core describes the first difference, and how that reaches the user.
#pragma once
#include <string>

#include "host/compiler/result.hpp"
#include "host/runtime/session.hpp"

namespace weft::tools {

/// Owns a temporary file if the target is a lockstep core; removed by the destructor.
class MismatchReport {
 public:
  explicit MismatchReport(const runtime::Target& target);
  ~MismatchReport();
  MismatchReport(const MismatchReport&) = delete;
  MismatchReport& operator=(const MismatchReport&) = delete;

  /// The target with mismatch_report filled in.
  [[nodiscard]] const runtime::Target& target() const { return target_; }

  /// The error; with the core's report behind it, and as GOLDEN_MISMATCH, if there is a report.
  [[nodiscard]] Error explain(const Error& error) const;

 private:
  runtime::Target target_;
};

}  // namespace weft::tools
