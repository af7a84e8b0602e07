// weft-sim: a simulated chip, or all chips of a slice, behind vfio-user sockets, one for each PCIe function.
#include "model/server/descriptor_limit.hpp"
#include "model/server/isa.hpp"
#include "model/sim/arguments.hpp"
#include "model/sim/ending.hpp"
#include "model/sim/replay.hpp"
#include "model/sim/serve.hpp"

int main(int argc, char** argv) {
  if (const std::string missing = weft::server::missing_instructions(); !missing.empty())
    return weft::sim::complain(weft::sim::kExitCannotStart, missing);
  weft::server::raise_descriptor_limit();
  int exit_code = 0;
  const auto arguments = weft::sim::parse_arguments(argc, argv, exit_code);
  if (!arguments) return exit_code;
  return arguments->replay.empty() ? weft::sim::serve(*arguments) : weft::sim::replay(*arguments);
}
