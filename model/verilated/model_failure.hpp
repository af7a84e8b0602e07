/// What becomes of a Verilated model whose assertion fails: a message with the assertion's name, the instance and the
/// cycle, handed to a handler, instead of abort().
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>

namespace weft::verilated {

/// An assertion, $error, $stop or $fatal of a model. Thrown out of eval(); the model is of no use after it.
class ModelFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Called with the message; must not return. The default one throws ModelFailure. A program whose stack has frames of
/// others between eval() and its own (SystemC) installs one that ends the process. nullptr: the default one. Not
/// thread-safe: set once, early.
using FailureHandler = void (*)(const std::string& message);
void set_failure_handler(FailureHandler handler);

/// The message of Verilator's text for a failed assertion: "assertion Name_A failed in TOP.a.b in cycle 12
/// (file:line)". Text of another form comes back as it is. The runtime gives the context's time as cycle: who clocks a
/// model keeps it.
[[nodiscard]] std::string failure_message(const std::string& verilator_text, uint64_t cycle);

}  // namespace weft::verilated
