/// Arrays of `weft run`: which file is which, what the device gets of them, and how results are compared.
#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "host/compiler/graph.hpp"
#include "host/compiler/onnx/importer.hpp"
#include "host/runtime/session.hpp"
#include "host/tools/formats/npy.hpp"
#include "host/tools/run/run_report.hpp"

namespace weft::tools {

/// NAME=FILE to a map. INVALID_ARGUMENT: no '=', or a name twice.
[[nodiscard]] Result<std::map<std::string, std::string>> parse_pairs(const std::vector<std::string>& texts,
                                                                     const char* option);

/// The arrays of all files, by name. INVALID_ARGUMENT: a file that cannot be read.
[[nodiscard]] Result<std::map<std::string, NpyArray>> read_arrays(const std::map<std::string, std::string>& files);

/// INVALID_ARGUMENT: a file for an input, or an output, that is not among `names`.
[[nodiscard]] Status check_names(const char* kind, const std::map<std::string, std::string>& files,
                                 const std::vector<std::string>& names);

/// Shapes and values of the arrays, for a model with symbolic dimensions or shapes that values decide; `binds`:
/// NAME=SIZE of dimensions, INPUT=SIZExSIZE of inputs; `first`: any other symbolic first dimension. INVALID_ARGUMENT: no such word, or no size.
[[nodiscard]] Result<compiler::frontend::Binding> binding_of(
    const std::map<std::string, NpyArray>& arrays, const std::vector<std::string>& binds, int64_t first,
    compiler::frontend::Precision precision = compiler::frontend::Precision::kBf16);

/// INVALID_ARGUMENT: the array of an input of the model has other dimensions than the input.
[[nodiscard]] Status check_shape(const compiler::Tensor& input, const std::string& path, const NpyArray& array);

/// INVALID_ARGUMENT: input `name` has no file.
[[nodiscard]] Error missing_input(const std::string& name, const std::vector<std::string>& names);

/// The bytes that the device gets for one input; `values` keeps the fp32 values. INVALID_ARGUMENT: another shape or
/// element type than `info` tells; UNSUPPORTED: anything but bf16 rows.
[[nodiscard]] Result<std::vector<std::byte>> pack_input(const runtime::ArgumentInfo& info, const std::string& path,
                                                        const NpyArray& array, std::vector<float>& values);

/// The results of a network, f32, dense, in the order of its outputs: their bits against golden, their values against
/// fp64 (`exact` empty: not compared). Sets the comparison and the largest relative error of the report; a result that
/// is missing or has another size than its output is a failure of the comparison.
void compare(RunReport& report, const compiler::Graph& graph, const std::vector<std::vector<float>>& golden,
             const std::vector<std::vector<double>>& exact, const std::vector<std::vector<std::byte>>& results);

}  // namespace weft::tools
