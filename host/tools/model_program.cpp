// ONNX -> Graph -> Program -> Kernel -> bytes.
#include "host/tools/model_program.hpp"

#include <fmt/format.h>

#include <cstring>

#include "host/compiler/compile.hpp"
#include "host/compiler/lower.hpp"
#include "host/compiler/onnx_import.hpp"

namespace weft::tools {

Result<ModelProgram> compile_model(const std::string& path, const std::vector<std::byte>& file, const spec::Chip& chip,
                                   const compiler::BatchSizes& batch) {
  const auto at = [&path](const Error& error) { return Error{error.code, fmt::format("{}: {}", path, error.message)}; };
  auto graph = compiler::import_onnx(file, batch);
  if (!graph.ok()) return at(graph.error());
  const auto program = compiler::lower(chip, graph.value());
  if (!program.ok()) return at(program.error());
  const auto kernel = compiler::compile(chip, program.value());
  if (!kernel.ok()) return at(kernel.error());
  auto executable = compiler::write_executable(chip, kernel.value());
  if (!executable.ok()) return at(executable.error());
  return ModelProgram{std::move(graph.value()), std::move(executable.value()), kernel.value().macs,
                      kernel.value().cycle_estimate};
}

bool is_executable(const std::vector<std::byte>& file) {
  uint64_t magic = 0;
  if (file.size() >= sizeof magic) std::memcpy(&magic, file.data(), sizeof magic);
  return magic == WEFT_EXECUTABLE_MAGIC;
}

}  // namespace weft::tools
