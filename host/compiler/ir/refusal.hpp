/// How the layers below an entry point of the compiler give up: an exception, which the entry point turns into an
/// Error.
#pragma once
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <exception>
#include <new>
#include <utility>

#include "host/compiler/result.hpp"

namespace weft::compiler::ir {

/// Never leaves the compiler: guarded() is at each entry point.
struct Refusal {
  Error error;
};

/// What the caller gave breaks a rule.
template <typename... Arguments>
[[noreturn]] void invalid(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  throw Refusal{{WEFT_ERROR_INVALID_ARGUMENT, fmt::format(text, std::forward<Arguments>(arguments)...)}};
}

/// It is allowed, and not built.
template <typename... Arguments>
[[noreturn]] void unsupported(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  throw Refusal{{WEFT_ERROR_UNSUPPORTED, fmt::format(text, std::forward<Arguments>(arguments)...)}};
}

/// The result of `f`, or the error with which it gave up.
template <typename F>
auto guarded(F&& f) -> Result<decltype(f())> {
  try {
    return f();
  } catch (Refusal& refusal) {
    return std::move(refusal.error);
  } catch (const std::bad_alloc&) {
    return Error{WEFT_ERROR_UNSUPPORTED, "the model needs more memory than the host has"};
  } catch (const std::exception& error) {
    return Error{WEFT_ERROR_INTERNAL, fmt::format("the model: the compiler has a defect: {}", error.what())};
  }
}

}  // namespace weft::compiler::ir
