/// `weft run --slice` of networks that are not dense ones.
#pragma once
#include <map>
#include <string>

#include "host/compiler/onnx/importer.hpp"
#include "host/compiler/sharded/sharding.hpp"
#include "host/tools/commands/run_slice.hpp"
#include "host/tools/formats/npy.hpp"

namespace weft::tools {

/// The model in `file` on arrays by name, on the chips of the slice. The exit code of the program.
[[nodiscard]] int run_sharded(const SliceRun& run, const std::vector<std::byte>& file,
                              const compiler::Sharding& sharding, const compiler::frontend::Binding& binding,
                              const std::map<std::string, NpyArray>& arrays,
                              const std::map<std::string, std::string>& input_files,
                              const std::map<std::string, std::string>& output_files);

}  // namespace weft::tools
