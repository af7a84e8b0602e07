// weft replay: a recorded run once more, without the program that drove it. weft-sim does it; this finds and starts it.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "driver/transport/sim_process.hpp"
#include "host/tools/commands/command.hpp"
#include "host/tools/commands/failure.hpp"

extern char** environ;

namespace weft::tools {
namespace {

struct ReplayOptions {
  std::string file;
  std::string core;
  std::string wave;
  std::string wave_from;
  std::string wave_to;
  std::string trace;
  bool partial = false;
  bool json = false;
};

int replay(const ReplayOptions& options) {
  const auto program = driver::find_simulator();
  if (!program.ok()) return fail(Error{WEFT_ERROR_INVALID_STATE, program.status().message()});
  std::vector<std::string> arguments{program.value(), "--replay", options.file};
  const auto add = [&](const char* option, const std::string& value) {
    if (value.empty()) return;
    arguments.emplace_back(option);
    arguments.push_back(value);
  };
  add("--core", options.core);
  add("--wave", options.wave);
  add("--wave-from", options.wave_from);
  add("--wave-to", options.wave_to);
  add("--trace", options.trace);
  if (options.partial) arguments.emplace_back("--partial");
  if (options.json) arguments.emplace_back("--json");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  if (const int error = ::posix_spawn(&pid, argv[0], nullptr, nullptr, argv.data(), environ); error != 0)
    return fail(
        Error{WEFT_ERROR_INVALID_STATE, fmt::format("{} does not start: {}", program.value(), std::strerror(error))});
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return fail(Error{WEFT_ERROR_INTERNAL, "the simulator is not this process's child"});
  if (WIFEXITED(status)) return WEXITSTATUS(status);  // they mean the same there
  return fail(Error{WEFT_ERROR_DEVICE_LOST, fmt::format("the simulator was ended by signal {} ({})", WTERMSIG(status),
                                                        strsignal(WTERMSIG(status)))});
}

}  // namespace

void register_replay(CLI::App& app, Action& action) {
  auto options = std::make_shared<ReplayOptions>();
  auto* command = app.add_subcommand("replay",
                                     "run a recording (WEFT_RECORD=<file>) again without its program, and compare bit "
                                     "for bit; exit code 6: it differs");
  command->add_option("file", options->file, "the recording: a file, or a slice's folder")->required();
  command->add_option("--core", options->core, "rtl, fast or lockstep; default: the recorded one");
  auto* wave = command->add_option("--wave", options->wave, "write waves of the RTL to this FST file");
  command->add_option("--wave-from", options->wave_from, "first device cycle in the waves")->needs(wave);
  command->add_option("--wave-to", options->wave_to, "last device cycle in the waves")->needs(wave);
  command->add_option("--trace", options->trace, "write a Chrome trace (opens in Perfetto) to this JSON file");
  command->add_flag("--partial", options->partial, "replay what is there of a recording that is cut off or damaged");
  command->add_flag("--json", options->json, "print JSON");
  command->callback([options, &action] { action = [options] { return replay(*options); }; });
}

}  // namespace weft::tools
