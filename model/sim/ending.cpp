// The handler of model failures is called out of the model, so what it needs is kept here.
#include "model/sim/ending.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "model/verilated/model_failure.hpp"

namespace weft::sim {
namespace {

std::function<void(record::Ending)> finish_recording;

/// An assertion of the RTL failed. The frames below are SystemC's, so nothing is unwound.
void end_with_model_failure(const std::string& message) {
  complain(kExitModelFailure, "the RTL failed: " + message);
  if (finish_recording) finish_recording(record::Ending::kModel);
  std::fflush(nullptr);
  std::_Exit(kExitModelFailure);
}

}  // namespace

int complain(int code, const std::string& what) {
  fmt::print(stderr, "weft-sim: {}\n", what);
  return code;
}

void end_on_model_failure(std::function<void(record::Ending)> finish) {
  finish_recording = std::move(finish);
  verilated::set_failure_handler(end_with_model_failure);
}

}  // namespace weft::sim
