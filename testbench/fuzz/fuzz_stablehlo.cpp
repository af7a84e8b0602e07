// StableHLO programs: any bytes give a module or an error; a module keeps the rules of modules, and goes through the
// passes or is refused.
#include "host/compiler/passes/pass.hpp"
#include "host/compiler/stablehlo/importer.hpp"
#include "testbench/fuzz/fuzz_target.hpp"

using namespace weft;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto module = compiler::stablehlo::import_program(std::as_bytes(std::span(data, size)));
  if (!module.ok()) {
    fuzz::require(!module.error().message.empty(), "an error has a message");
    fuzz::require(module.error().code != WEFT_ERROR_INTERNAL, "a program is taken or refused by a rule");
    return 0;
  }
  fuzz::require(compiler::ir::verify(module.value()).ok(), "a module that was imported keeps the rules of modules");
  const auto layout = compiler::stablehlo::layout_of(std::as_bytes(std::span(data, size)), module.value(), 4);
  fuzz::require(layout.ok() || layout.error().code != WEFT_ERROR_INTERNAL, "shardings are taken or refused by a rule");
  const auto simplified = compiler::passes::run_all(std::move(module.value()));
  fuzz::require(simplified.ok() || !simplified.error().message.empty(), "a refusal has a message");
  return 0;
}
