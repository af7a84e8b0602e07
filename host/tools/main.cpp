// The weft command.
#include <CLI/CLI.hpp>

#include "host/tools/command.hpp"

int main(int argc, char** argv) {
  CLI::App app{"Weft: a TPU that anyone can run.\n"
               "Compiles networks and matrix products, runs them on the RTL of a tensor core or on its fast model."};
  app.name("weft");
  app.require_subcommand(1);
  app.footer("Exit codes: 0 ok; 1 or 100 and above: wrong usage; 2 wrong input or not supported; 3 not enough memory or busy; 4 the device failed or is\n"
             "gone; 5 the executable is not valid for this chip; 6 the result differs from the golden model; 7 a defect of Weft.");
  app.set_version_flag("--version", WEFT_VERSION);
  weft::tools::Action action;
  weft::tools::register_gemm(app, action);
  weft::tools::register_compile(app, action);
  weft::tools::register_run(app, action);
  weft::tools::register_disasm(app, action);
  weft::tools::register_info(app, action);
  CLI11_PARSE(app, argc, argv);
  return action();
}
