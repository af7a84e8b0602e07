// The weft command.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "host/tools/command.hpp"

namespace {
constexpr int kWrongUsage = 1;
}

int main(int argc, char** argv) {
  CLI::App app{
      "Weft: a TPU that anyone can run.\n"
      "Compiles networks and matrix products, runs them on the RTL of a tensor core or on its fast model."};
  app.name("weft");
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 ok; 1 wrong usage; 2 wrong input or not supported; 3 not enough memory or busy; 4 the device "
      "failed or is\n"
      "gone; 5 the executable is not valid for this chip; 6 the result differs from the golden model, or the replay "
      "from its\n"
      "recording; 7 a defect of Weft.");
  app.set_version_flag("--version", WEFT_VERSION);
  weft::tools::Action action;
  weft::tools::register_gemm(app, action);
  weft::tools::register_compile(app, action);
  weft::tools::register_run(app, action);
  weft::tools::register_disasm(app, action);
  weft::tools::register_info(app, action);
  weft::tools::register_inject(app, action);
  weft::tools::register_collective(app, action);
  weft::tools::register_smi(app, action);
  weft::tools::register_links(app, action);
  weft::tools::register_preflight(app, action);
  weft::tools::register_dump(app, action);
  weft::tools::register_reset(app, action);
  weft::tools::register_selftest(app, action);
  weft::tools::register_replay(app, action);
  // A word that is no command is worth a message of its own.
  const auto known = [&app](const std::string& name) {
    const auto all = app.get_subcommands([](CLI::App*) { return true; });
    return std::any_of(all.begin(), all.end(),
                       [&name](const CLI::App* command) { return command->get_name() == name; });
  };
  if (argc > 1 && argv[1][0] != '-' && std::strcmp(argv[1], "help") != 0 && !known(argv[1])) {
    std::string names;
    for (const CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
      names += (names.empty() ? "" : ", ") + command->get_name();
    std::fprintf(stderr, "weft: there is no command '%s'; commands: %s (weft --help)\n", argv[1], names.c_str());
    return kWrongUsage;
  }
  // weft help, weft help COMMAND
  char help[] = "--help";
  if (argc > 1 && std::strcmp(argv[1], "help") == 0) {
    if (argc > 2) argv[1] = argv[2];
    argv[argc > 2 ? 2 : 1] = help;
    argc = std::min(argc, 3);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kWrongUsage;
  }
  return action();
}
