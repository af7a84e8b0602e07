// weft-sim: one simulated chip behind vfio-user sockets, one for each of its PCIe functions.
#include <fmt/format.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "model/chip/simulation.hpp"
#include "model/core/tensor_core.hpp"
#include "model/server/isa.hpp"
#include "model/server/listener.hpp"
#include "model/server/server.hpp"
#include "model/verilated/model_failure.hpp"

namespace {

using namespace weft;

constexpr int kExitUsage = 2;
constexpr int kExitCannotStart = 3;
constexpr int kExitModelFailure = 4;

struct Arguments {
  std::string chip;
  std::string core = "fast";
  int fd = -1;
  std::string socket;
  std::string directory;
  unsigned functions = 1;
  std::string trace;
  std::string mismatch_report;
  core::CoreOptions core_options;
};

int complain(int code, const std::string& what) {
  fmt::print(stderr, "weft-sim: {}\n", what);
  return code;
}

std::string chip_names() {
  std::string names;
  for (const spec::Chip& chip : spec::kChips) names += fmt::format("{}{}", names.empty() ? "" : ", ", chip.name);
  return names;
}

/// Tells a lockstep mismatch to the terminal and, if asked, to a file, which exists only if there is one to tell.
void report_mismatch(const std::string& path, const std::string& report) {
  fmt::print(stderr, "weft-sim: the RTL and the golden model differ\n{}\n", report);
  if (path.empty()) return;
  std::FILE* file = std::fopen(path.c_str(), "we");
  if (file == nullptr) {
    fmt::print(stderr, "weft-sim: the mismatch report '{}' does not open\n", path);
    return;
  }
  fmt::print(file, "{}\n", report);
  std::fclose(file);
}

/// SIGINT and SIGTERM end the loop instead of the process, so that the socket's path is removed and files are complete.
server::FileDescriptor catch_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return server::FileDescriptor(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

/// The sockets of all functions; empty and a message in `error` if one is not to be had.
std::vector<std::unique_ptr<server::Listener>> make_listeners(const Arguments& arguments, std::string& error) {
  std::vector<std::unique_ptr<server::Listener>> listeners;
  std::error_code failed;
  if (!arguments.directory.empty()) std::filesystem::create_directories(arguments.directory, failed);
  if (failed) error = fmt::format("directory '{}': {}", arguments.directory, failed.message());
  for (unsigned i = 0; i < arguments.functions && error.empty(); i++) {
    auto listener = server::Listener::make(
        arguments.directory.empty() ? arguments.socket : fmt::format("{}/function{}.sock", arguments.directory, i),
        error);
    if (listener != nullptr) listeners.push_back(std::move(listener));
  }
  if (!error.empty()) listeners.clear();
  return listeners;
}

bool is_stream_socket(int fd) {
  int type = 0;
  socklen_t bytes = sizeof type;
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && type == SOCK_STREAM;
}

/// An assertion of the RTL failed. The frames below are SystemC's, so nothing is unwound.
void end_with_model_failure(const std::string& message) {
  complain(kExitModelFailure, "the RTL failed: " + message);
  std::fflush(nullptr);
  std::_Exit(kExitModelFailure);
}

int run(Arguments arguments) {
  const spec::Chip* preset = spec::find_chip(arguments.chip);
  if (preset == nullptr)
    return complain(kExitUsage, fmt::format("no chip '{}'; there are: {}", arguments.chip, chip_names()));
  chip::ChipOptions options;
  options.preset = preset;
  if (!core::parse_core_kind(arguments.core, options.kind)) {
    return complain(kExitUsage, fmt::format("no core '{}'; there are: rtl, fast, lockstep", arguments.core));
  }
  arguments.core_options.report_hazard = [](const std::string& text) {
    fmt::print(stderr, "weft-sim: hazard: {}\n", text);
  };
  options.make_core = [&](core::MemoryBus& bus, std::string& error) {
    return core::make_core(options.kind, *preset, bus, arguments.core_options, error);
  };
  if (options.kind == core::CoreKind::kLockstep) options.find_mismatch = core::find_mismatch;
  if (!arguments.mismatch_report.empty()) ::unlink(arguments.mismatch_report.c_str());  // of an earlier run
  options.report_mismatch = [&](const std::string& report) { report_mismatch(arguments.mismatch_report, report); };
  options.trace_path = arguments.trace;
  options.functions = arguments.functions;

  // The paths are taken before the chip is made: a server that is there already is told at once.
  std::string error;
  std::vector<std::unique_ptr<server::Listener>> listeners;
  if (arguments.fd < 0) {
    listeners = make_listeners(arguments, error);
    if (listeners.empty()) return complain(kExitCannotStart, error);
  } else if (!is_stream_socket(arguments.fd)) {
    return complain(kExitUsage, fmt::format("descriptor {} is not a stream socket", arguments.fd));
  }
  const server::FileDescriptor signals = catch_signals();
  verilated::set_failure_handler(end_with_model_failure);
  const auto simulation = chip::Simulation::make(options, error);
  if (simulation == nullptr) return complain(kExitCannotStart, error);
  server::Server server(*simulation);
  server.stop_on(signals.get());
  for (size_t i = 0; i < listeners.size(); i++) server.listen(std::move(listeners[i]), i);
  if (arguments.fd >= 0) server.attach(server::FileDescriptor(arguments.fd));
  server.run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (const std::string missing = server::missing_instructions(); !missing.empty())
    return complain(kExitCannotStart, missing);
  Arguments arguments;
  CLI::App app{"Simulates one Weft chip and serves its PCIe functions over vfio-user."};
  app.add_option("--chip", arguments.chip, "preset: " + chip_names())->required();
  app.add_option("--core", arguments.core, "tensor core: rtl, fast, or lockstep (both compared)")
      ->capture_default_str();
  auto* fd = app.add_option("--fd", arguments.fd, "serve the client at this inherited socket, and end when it leaves")
                 ->check(CLI::NonNegativeNumber);
  auto* socket =
      app.add_option("--socket", arguments.socket, "serve whoever connects to this path, one client at a time");
  auto* directory = app.add_option("--listen", arguments.directory,
                                   "serve function i to whoever connects to function<i>.sock in this directory");
  app.add_option("--functions", arguments.functions,
                 "PCIe functions of the chip: one process each, equal shares of HBM")
      ->check(CLI::Range(1u, unsigned{WEFT_LIMIT_FUNCTIONS}))
      ->needs(directory)
      ->capture_default_str();
  auto* wave = app.add_option("--wave", arguments.core_options.wave_path,
                              "write the core's waves to this FST file (rtl, lockstep)");
  app.add_option("--wave-from", arguments.core_options.wave_from_cycle, "first cycle of the waves")->needs(wave);
  app.add_option("--wave-to", arguments.core_options.wave_to_cycle, "last cycle of the waves")->needs(wave);
  app.add_flag("--check-hazards", arguments.core_options.check_hazards,
               "commands that touch the same place and that nothing orders fail with the fault HAZARD")
      ->envname("WEFT_CHECK_HAZARDS");
  app.add_option("--trace", arguments.trace, "write a Chrome trace of all commands to this JSON file");
  app.add_option("--mismatch-report", arguments.mismatch_report, "write a lockstep mismatch to this file as well");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : kExitUsage;
  }
  if (fd->count() + socket->count() + directory->count() != 1)
    return complain(kExitUsage, "one of --fd, --socket and --listen is needed");
  return run(arguments);
}
