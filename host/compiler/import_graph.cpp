// ONNX -> L1 -> passes -> Graph.
#include "host/compiler/import_graph.hpp"

#include "host/compiler/partition/device_graph.hpp"
#include "host/compiler/passes/pass.hpp"

namespace weft::compiler {

Result<frontend::Imported> import_simplified(std::span<const std::byte> file, const std::string& folder,
                                             const frontend::Binding& binding) {
  auto imported = frontend::import_model(file, folder, binding);
  if (!imported.ok()) return imported;
  auto module = passes::run_all(std::move(imported.value().module));
  if (!module.ok()) return module.error();
  return frontend::Imported{std::move(module.value()), std::move(imported.value().decided_by)};
}

Result<Graph> import_graph(std::span<const std::byte> file, const std::string& folder,
                           const frontend::Binding& binding) {
  const auto imported = import_simplified(file, folder, binding);
  if (!imported.ok()) return imported.error();
  return whole_device_graph(imported.value().module);
}

}  // namespace weft::compiler
