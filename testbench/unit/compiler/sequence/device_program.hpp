/// A program of each of four devices of nano-2x2, two sums in it, for tests of sequences.
#pragma once
#include <catch2/catch.hpp>
#include <string>

#include "host/compiler/ir/text.hpp"
#include "host/compiler/sequence/sequence.hpp"

namespace weft::compiler {

inline const DeviceSlice kFourChips{{{2, 2, 1}, {}, 0}, {0, 1, 2, 3}};

/// x w and x v, each summed over pairs of devices, then the product of both sums; `between` computes %7 and %8 of the sums
/// %5 and %6.
inline ir::Module sums_of_pairs(const std::string& between) {
  const std::string dot = "{lhs_batch = [], lhs_contract = [1], rhs_batch = [], rhs_contract = [0]} : f32[16, 16]\n";
  const std::string sum =
      "{combine = \"add\", group_size = 2, groups = [0, 1, 2, 3], kind = \"all_reduce\", together = 1} : f32[16, 16]\n";
  const auto parameter = [](const std::string& name) {
    return "parameter() {dims = [16, 16], element = f32, name = \"" + name + "\"} : f32[16, 16]\n";
  };
  auto module = ir::parse("%0 = " + parameter("x") + "%1 = " + parameter("w") + "%2 = " + parameter("v") +
                          "%3 = dot_general(%0, %1) " + dot + "%4 = dot_general(%0, %2) " + dot +
                          "%5 = collective(%3) " + sum + "%6 = collective(%4) " + sum + between +
                          "%9 = dot_general(%7, %8) " + dot + "return \"y\" = %9\nreturn \"s\" = %6\n");
  if (!module.ok()) FAIL(module.error().message);
  return std::move(module.value());
}

inline const std::string kOnDevice = "%7 = abs(%5) : f32[16, 16]\n%8 = negate(%6) : f32[16, 16]\n";
inline const std::string kOnHost = "%7 = sine(%5) : f32[16, 16]\n%8 = negate(%6) : f32[16, 16]\n";

}  // namespace weft::compiler
