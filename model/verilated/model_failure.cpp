// Verilator's runtime calls vl_stop() and vl_fatal() after it has printed what failed; both are defined here.
#include "model/verilated/model_failure.hpp"

#include <verilated.h>

#include <cstdarg>
#include <cstdio>
#include <regex>

#include "model/verilated/runtime_hooks.hpp"

namespace weft::verilated {
namespace {

void throw_failure(const std::string& message) { throw ModelFailure(message); }

FailureHandler failure_handler = throw_failure;
thread_local std::string last_error;  // what the runtime printed last that names an error

}  // namespace

void set_failure_handler(FailureHandler handler) { failure_handler = handler == nullptr ? throw_failure : handler; }

std::string failure_message(const std::string& verilator_text, uint64_t cycle) {
  static const std::regex kAssertion(
      R"(^\[[^\]]*\] %Error: (\S+?): Assertion failed in (\S+)\.([^\s.]+): ([\s\S]*?)\s*$)");
  std::smatch match;
  if (!std::regex_match(verilator_text, match, kAssertion)) return verilator_text;
  std::string message = "assertion " + match[3].str() + " failed in " + match[2].str() + " in cycle " +
                        std::to_string(cycle) + " (" + match[1].str() + ")";
  if (match[4].str() != "'assert' failed.") message += ": " + match[4].str();
  return message;
}

[[noreturn]] void fail(const char* filename, int line) {
  std::string message = failure_message(last_error, Verilated::threadContextp()->time());
  if (message.empty()) message = std::string("the model stopped at ") + filename + ":" + std::to_string(line);
  last_error.clear();
  failure_handler(message);
  std::terminate();  // a handler does not return
}

}  // namespace weft::verilated

int weft_model_printf(const char* format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  std::string text(static_cast<size_t>(std::vsnprintf(nullptr, 0, format, arguments)), '\0');
  std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  va_end(arguments);
  if (text.find("%Error") != std::string::npos || text.find("%Fatal") != std::string::npos)
    weft::verilated::last_error = text;
  else
    std::fputs(text.c_str(), stdout);
  return static_cast<int>(text.size());
}

void vl_stop(const char* filename, int linenum, const char* /*hier*/) VL_MT_UNSAFE {
  weft::verilated::fail(filename, linenum);
}

void vl_fatal(const char* filename, int linenum, const char* /*hier*/, const char* msg) VL_MT_UNSAFE {
  if (weft::verilated::last_error.empty() && msg != nullptr)
    weft::verilated::last_error = std::string(msg) + " (" + filename + ":" + std::to_string(linenum) + ")";
  weft::verilated::fail(filename, linenum);
}
