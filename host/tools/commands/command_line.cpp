// The words of a command line to the subcommand that they name.
#include "host/tools/commands/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "host/tools/commands/command.hpp"

namespace weft::tools {
namespace {

constexpr int kWrongUsage = 1;

void register_all(CLI::App& app, Action& action) {
  register_gemm(app, action);
  register_compile(app, action);
  register_run(app, action);
  register_bench(app, action);
  register_plan(app, action);
  register_disasm(app, action);
  register_info(app, action);
  register_list(app, action);
  register_inject(app, action);
  register_collective(app, action);
  register_smi(app, action);
  register_links(app, action);
  register_preflight(app, action);
  register_dump(app, action);
  register_reset(app, action);
  register_selftest(app, action);
  register_replay(app, action);
  register_trace(app, action);
  register_build_chip(app, action);
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

}  // namespace

int run_command_line(std::vector<std::string> words) {
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
  app.set_version_flag("--version", WEFT_PROJECT_VERSION);
  Action action;
  register_all(app, action);
  const auto names = command_names(app);
  // A word that is no command is worth a message of its own.
  if (!words.empty() && !words[0].starts_with('-') && words[0] != "help" && !contains(names, words[0])) {
    std::string list;
    for (const auto& name : names) list += (list.empty() ? "" : ", ") + name;
    std::fprintf(stderr, "weft: there is no command '%s'; commands: %s (weft --help)\n", words[0].c_str(),
                 list.c_str());
    return kWrongUsage;
  }
  // weft help, weft help COMMAND
  if (!words.empty() && words[0] == "help") {
    words.erase(words.begin());
    words.resize(std::min<size_t>(words.size(), 1));
    words.emplace_back("--help");
  }
  // weft trace -o FILE COMMAND ...: the words from the command on are its own, as behind "--".
  if (!words.empty() && words[0] == "trace" && !contains(words, "--")) {
    const auto command = std::find_if(words.begin() + 1, words.end(),
                                      [&names](const std::string& word) { return contains(names, word); });
    if (command != words.end()) words.insert(command, "--");
  }
  std::ranges::reverse(words);  // as CLI11 takes them
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kWrongUsage;
  }
  return action();
}

}  // namespace weft::tools
