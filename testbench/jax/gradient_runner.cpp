// The gradients of a program of JAX by the pass of the compiler, computed by its reference.
//
// usage: gradient_runner PROGRAM INPUTS GRADIENTS
//
// PROGRAM is a portable StableHLO artifact whose first result is one float, INPUTS the bytes of its arguments, one behind the
// other. GRADIENTS gets those of the result's gradients by all arguments of floats.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "host/compiler/passes/gradients.hpp"
#include "host/compiler/passes/pass.hpp"
#include "host/compiler/reference/evaluate.hpp"
#include "host/compiler/stablehlo/importer.hpp"

namespace {

using namespace weft;
using namespace weft::compiler;

std::string bytes_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Status run(const char* program, const char* inputs_file, const char* gradients_file) {
  const std::string code = bytes_of(program), data = bytes_of(inputs_file);
  auto module = stablehlo::import_program(std::as_bytes(std::span(code)));
  if (module.ok()) module = passes::run_all(std::move(module.value()));
  if (!module.ok()) return module.error();
  const size_t outputs = module.value().outputs.size();
  passes::GradientRequest request;
  std::vector<ir::TensorPtr> inputs;
  size_t at = 0;
  for (size_t i = 0; i < module.value().inputs.size(); i++) {
    const auto& type = module.value().type(module.value().inputs[i]);
    if (ir::is_float(type.element)) request.inputs.push_back(i);
    auto tensor = std::make_shared<ir::Tensor>(type);
    if (data.size() - at < type.bytes()) return Error{WEFT_ERROR_INVALID_ARGUMENT, "INPUTS is too short"};
    std::copy_n(reinterpret_cast<const std::byte*>(data.data()) + at, type.bytes(), tensor->data.begin());
    at += type.bytes();
    inputs.push_back(std::move(tensor));
  }
  if (at != data.size()) return Error{WEFT_ERROR_INVALID_ARGUMENT, "INPUTS is too long"};
  auto with = passes::with_gradients(module.value(), request);
  if (with.ok()) with = passes::run_all(std::move(with.value()));
  if (!with.ok()) return with.error();
  const auto results = reference::evaluate(with.value(), inputs);
  if (!results.ok()) return results.error();
  std::ofstream file(gradients_file, std::ios::binary);
  for (size_t i = outputs; i < results.value().size(); i++) {
    const auto& bytes = results.value()[i]->data;
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  return Ok{};
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) {
    std::fputs("usage: gradient_runner PROGRAM INPUTS GRADIENTS\n", stderr);
    return 1;
  }
  const Status status = run(arguments[1], arguments[2], arguments[3]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status.ok() ? 0 : 2;
}
