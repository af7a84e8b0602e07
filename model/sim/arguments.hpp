/// The command line of weft-sim.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/core/tensor_core.hpp"
#include "model/server/rights.hpp"
#include "model/sim/image_file.hpp"

namespace weft::sim {

/// What a user asks for; what is not asked for is empty.
struct Arguments {
  std::string chip;
  std::string slice;
  std::string core;  // empty: fast, or the recorded one
  std::string array = "fast";
  std::string manager;  // empty: the recorded one
  std::string manager_log;
  std::shared_ptr<const ImageFile> image;  // nullptr: the one that is built in
  std::vector<int> fds;
  std::string socket;
  std::string directory;
  unsigned functions = 1;
  unsigned processes = 1;  // that simulate the slice
  bool mpi = false;        // mpirun has started them
  double optical_us = 0;   // latency of links between cubes; 0: that of others
  std::string meter;       // file for how they have spent their time
  std::string said;        // options that were given, one a line
  server::Permissions permissions;
  std::string trace;
  std::string mismatch_report;
  std::string record;
  std::string replay;
  bool partial = false;
  bool json = false;
  core::CoreOptions core_options;
};

/// Reads the command line. None: help was asked for or it cannot be; what there is to say has been said, and
/// `exit_code` is the process's.
[[nodiscard]] std::optional<Arguments> parse_arguments(int argc, char** argv, int& exit_code);

}  // namespace weft::sim
