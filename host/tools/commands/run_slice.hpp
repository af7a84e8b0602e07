/// `weft run --slice`: a model on all chips of a slice.
#pragma once
#include <string>
#include <vector>

#include "host/tools/commands/slice_options.hpp"

namespace weft::tools {

struct SliceRun {
  std::string model;
  std::vector<std::string> inputs, outputs;  ///< NAME=FILE.npy
  SliceOptions slice;
  std::string core;
  std::string manager;  ///< native, rv32, ibex; empty: as the simulator likes
  std::string trace;    ///< Chrome trace of all chips and links; empty: none
  bool verify = false, json = false;
};

/// The exit code of the program.
[[nodiscard]] int run_on_slice(const SliceRun& run);

}  // namespace weft::tools
