/// Arrays of `weft run`: which file is which, what the device gets of them, and how results are compared.
#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "host/runtime/session.hpp"
#include "host/tools/npy.hpp"
#include "host/tools/run_report.hpp"

namespace weft::tools {

/// NAME=FILE to a map. INVALID_ARGUMENT: no '=', or a name twice.
[[nodiscard]] Result<std::map<std::string, std::string>> parse_pairs(const std::vector<std::string>& texts,
                                                                     const char* option);

/// The arrays of all files, by name. INVALID_ARGUMENT: a file that cannot be read, or an array without elements.
[[nodiscard]] Result<std::map<std::string, NpyArray>> read_arrays(const std::map<std::string, std::string>& files);

/// INVALID_ARGUMENT: a file for an input, or an output, that is not among `names`.
[[nodiscard]] Status check_names(const char* kind, const std::map<std::string, std::string>& files,
                                 const std::vector<std::string>& names);

/// INVALID_ARGUMENT: input `name` has no file.
[[nodiscard]] Error missing_input(const std::string& name, const std::vector<std::string>& names);

/// The bytes that the device gets for one input; `values` keeps the fp32 values. INVALID_ARGUMENT: another shape or
/// element type than `info` tells; UNSUPPORTED: anything but bf16 rows.
[[nodiscard]] Result<std::vector<std::byte>> pack_input(const runtime::ArgumentInfo& info, const std::string& path,
                                                        const NpyArray& array, std::vector<float>& values);

/// Bits against golden, values against fp64; `got`: f32 elements. Adds to what the report has.
void compare(RunReport& report, const std::vector<float>& golden, const std::vector<double>& exact,
             const std::vector<std::byte>& got, uint64_t columns);

}  // namespace weft::tools
