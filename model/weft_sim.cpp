// weft-sim: a simulated chip, or all chips of a slice, behind vfio-user sockets, one for each PCIe function.
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
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "model/chip/simulation.hpp"
#include "model/chip/slice_network.hpp"
#include "model/core/tensor_core.hpp"
#include "model/ici/slice.hpp"
#include "model/record/recorder.hpp"
#include "model/record/replay_report.hpp"
#include "model/server/descriptor_limit.hpp"
#include "model/server/isa.hpp"
#include "model/server/listener.hpp"
#include "model/server/server.hpp"
#include "model/trace/trace_file.hpp"
#include "model/verilated/model_failure.hpp"

namespace {

using namespace weft;

constexpr int kExitUsage = 2;
constexpr int kExitCannotStart = 3;
constexpr int kExitModelFailure = 4;
constexpr int kExitDiffers = 6;
constexpr uint32_t kMaxChips = 256;

record::Recorder* active_recorder = nullptr;  // for end_with_model_failure(), which is called out of the model

struct Arguments {
  std::string chip;
  std::string slice;
  std::string core;  // empty: fast, or the recorded one
  std::vector<int> fds;
  std::string socket;
  std::string directory;
  unsigned functions = 1;
  std::string trace;
  std::string mismatch_report;
  std::string record;
  std::string replay;
  bool partial = false;
  bool json = false;
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

/// Where function `function` of chip `chip` listens.
std::string socket_path(const Arguments& arguments, unsigned chip, unsigned function) {
  if (arguments.directory.empty()) return arguments.socket;
  if (arguments.slice.empty()) return fmt::format("{}/function{}.sock", arguments.directory, function);
  return fmt::format("{}/chip{}-function{}.sock", arguments.directory, chip, function);
}

void make_directory(const std::string& path, std::string& error) {
  std::error_code failed;
  if (!path.empty()) std::filesystem::create_directories(path, failed);
  if (failed) error = fmt::format("directory '{}': {}", path, failed.message());
}

/// The sockets of all functions; empty and a message in `error` if one is not to be had.
std::vector<std::unique_ptr<server::Listener>> make_listeners(const Arguments& arguments, unsigned chips,
                                                              std::string& error) {
  std::vector<std::unique_ptr<server::Listener>> listeners;
  for (unsigned i = 0; i < chips * arguments.functions && error.empty(); i++) {
    auto listener =
        server::Listener::make(socket_path(arguments, i / arguments.functions, i % arguments.functions), error);
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
  if (active_recorder != nullptr) active_recorder->finish(record::Ending::kModel);
  std::fflush(nullptr);
  std::_Exit(kExitModelFailure);
}

/// What is simulated: one chip, or a slice with its network.
struct Simulated {
  const spec::Chip* preset = nullptr;
  std::optional<ici::Slice> slice;
  std::vector<core::CoreKind> kinds;  // of each chip
};

/// The kinds of core of all chips: one name for all, or as many as there are chips. A message in `error`.
std::vector<core::CoreKind> core_kinds(const std::string& list, size_t chips, std::string& error) {
  std::vector<core::CoreKind> kinds;
  std::stringstream names(list);
  for (std::string name; std::getline(names, name, ',');) {
    core::CoreKind kind;
    if (!core::parse_core_kind(name, kind)) {
      error = fmt::format("no core '{}'; there are: rtl, fast, lockstep", name);
      return {};
    }
    kinds.push_back(kind);
  }
  if (kinds.size() == 1) kinds.resize(chips, kinds.front());
  if (kinds.size() != chips)
    error = fmt::format("--core names {} cores for {} chips: name one for all, or one for each", kinds.size(), chips);
  return kinds;
}

Simulated find_simulated(const Arguments& arguments, std::string& error) {
  Simulated out;
  std::string chip = arguments.chip;
  if (!arguments.slice.empty()) {
    auto parsed = ici::parse_slice(arguments.slice);
    if (const auto* message = std::get_if<std::string>(&parsed)) {
      error = *message;
      return out;
    }
    out.slice = std::get<ici::Slice>(parsed);
    chip = out.slice->generation->name;
    if (out.slice->chips() > kMaxChips) {
      error = fmt::format("slice '{}' has {} chips: weft-sim simulates at most {} in one process", arguments.slice,
                          out.slice->chips(), kMaxChips);
      return out;
    }
  }
  out.preset = spec::find_chip(chip);
  if (out.preset == nullptr) error = fmt::format("no chip '{}'; there are: {}", chip, chip_names());
  if (error.empty())
    out.kinds = core_kinds(arguments.core.empty() ? "fast" : arguments.core, out.slice ? out.slice->chips() : 1, error);
  return out;
}

chip::ChipOptions chip_options(const Arguments& arguments, const Simulated& simulated, uint32_t number,
                               chip::SliceNetwork* network) {
  chip::ChipOptions options;
  options.preset = simulated.preset;
  options.kind = simulated.kinds[number];
  core::CoreOptions core_options = arguments.core_options;
  if (network != nullptr) core_options.remote = &network->port(number);
  core_options.report_hazard = [](const std::string& text) { fmt::print(stderr, "weft-sim: hazard: {}\n", text); };
  options.make_core = [kind = options.kind, preset = options.preset, core_options](core::MemoryBus& bus,
                                                                                   std::string& error) {
    return core::make_core(kind, *preset, bus, core_options, error);
  };
  if (options.kind == core::CoreKind::kLockstep) options.find_mismatch = core::find_mismatch;
  options.report_mismatch = [path = arguments.mismatch_report](const std::string& report) {
    report_mismatch(path, report);
  };
  options.functions = arguments.functions;
  return options;
}

std::unique_ptr<chip::Simulation> make_simulation(const Arguments& arguments, const Simulated& simulated,
                                                  chip::SliceNetwork* network, std::string& error) {
  std::vector<chip::ChipOptions> options;
  for (uint32_t i = 0; i < simulated.kinds.size(); i++)
    options.push_back(chip_options(arguments, simulated, i, network));
  if (!arguments.trace.empty()) {
    const auto trace = TraceFile::open(arguments.trace, error);
    if (trace == nullptr) return nullptr;
    for (auto& chip : options) chip.trace = trace;
    if (network != nullptr) network->trace_to(trace);
  }
  if (network == nullptr) return chip::Simulation::make(options.front(), error);
  return chip::Simulation::make_slice(std::move(options), *network, error);
}

int serve(const Arguments& arguments) {
  std::string error;
  const Simulated simulated = find_simulated(arguments, error);
  if (!error.empty()) return complain(kExitUsage, error);
  const unsigned chips = static_cast<unsigned>(simulated.kinds.size());
  if (!arguments.fds.empty() && arguments.fds.size() != chips)
    return complain(kExitUsage, fmt::format("{} descriptors for {} chips: one for each", arguments.fds.size(), chips));
  for (const int fd : arguments.fds)
    if (!is_stream_socket(fd)) return complain(kExitUsage, fmt::format("descriptor {} is not a stream socket", fd));
  if (!arguments.mismatch_report.empty()) ::unlink(arguments.mismatch_report.c_str());  // of an earlier run

  const server::FileDescriptor signals = catch_signals();
  verilated::set_failure_handler(end_with_model_failure);
  std::unique_ptr<chip::SliceNetwork> network;
  if (simulated.slice) {
    ici::NetworkOptions options;
    options.link_bytes_per_second = simulated.slice->generation->link_bytes_per_second;
    network = std::make_unique<chip::SliceNetwork>(*simulated.slice, *simulated.preset, options);
  }
  std::unique_ptr<record::Recorder> recorder;  // outlives what it hears
  const auto simulation = make_simulation(arguments, simulated, network.get(), error);
  if (simulation == nullptr) return complain(kExitCannotStart, error);
  server::Server server(*simulation);
  server.stop_on(signals.get());

  // The names appear when the chips are there, those of the functions last: who finds one is served.
  std::vector<std::unique_ptr<server::Listener>> listeners;
  std::unique_ptr<server::Listener> management;
  if (arguments.fds.empty()) {
    make_directory(arguments.directory, error);
    if (error.empty() && !arguments.directory.empty())
      management = server::Listener::make(arguments.directory + "/management.sock", error);
    if (error.empty()) listeners = make_listeners(arguments, chips, error);
    if (!error.empty()) return complain(kExitCannotStart, error);
  }
  if (!arguments.record.empty()) {
    const auto hazards = arguments.core_options.check_hazards ? record::HazardCheck::kOn : record::HazardCheck::kOff;
    recorder = record::Recorder::make(arguments.record, chip_options(arguments, simulated, 0, nullptr), hazards, error);
    if (recorder == nullptr) return complain(kExitCannotStart, error);
    active_recorder = recorder.get();
    recorder->attach(*simulation);
    server.set_log(recorder.get());
  }
  for (size_t i = 0; i < listeners.size(); i++) server.listen(std::move(listeners[i]), i);
  if (management != nullptr) server.manage(std::move(management));
  for (size_t i = 0; i < arguments.fds.size(); i++) server.attach(server::FileDescriptor(arguments.fds[i]), i);
  server.run();
  if (recorder != nullptr) recorder->finish(record::Ending::kComplete);
  return 0;
}

/// What --core calls it; empty: there is no such core.
std::string_view core_kind_name(core::CoreKind kind) {
  for (const std::string_view name : {"rtl", "fast", "lockstep"}) {
    core::CoreKind named{};
    if (core::parse_core_kind(name, named) && named == kind) return name;
  }
  return {};
}

/// Both clock the RTL, or both the fast core: the same cycles.
bool same_cycles(core::CoreKind a, core::CoreKind b) {
  return (a == core::CoreKind::kFast) == (b == core::CoreKind::kFast);
}

int replay(Arguments& arguments) {
  std::string error;
  const auto recording = record::Recording::load(
      arguments.replay, arguments.partial ? record::Recording::Extent::kReadable : record::Recording::Extent::kWhole,
      error);
  if (recording == nullptr) return complain(kExitUsage, error);
  const record::FileHeader& header = recording->header();
  const spec::Chip* preset = spec::find_chip(recording->preset());
  constexpr uint32_t kAbi = WEFT_ABI_MAJOR << 16 | WEFT_ABI_MINOR;
  if (preset == nullptr || preset->fingerprint != header.fingerprint)
    return complain(kExitUsage,
                    fmt::format("{}: recorded on chip '{}' with fingerprint {:#x}; this build has {}", arguments.replay,
                                recording->preset(), header.fingerprint,
                                preset == nullptr ? "no such chip" : fmt::format("{:#x}", preset->fingerprint)));
  if (header.abi != kAbi)
    return complain(kExitUsage, fmt::format("{}: recorded with ABI {}.{}; this build has {}.{}", arguments.replay,
                                            header.abi >> 16, header.abi & 0xffff, WEFT_ABI_MAJOR, WEFT_ABI_MINOR));
  const auto recorded_kind = static_cast<core::CoreKind>(header.core);
  if (core_kind_name(recorded_kind).empty())
    return complain(kExitUsage, fmt::format("{}: recorded on a core that does not exist", arguments.replay));
  core::CoreKind kind = recorded_kind;
  if (!arguments.core.empty() && !core::parse_core_kind(arguments.core, kind))
    return complain(kExitUsage, fmt::format("no core '{}'; there are: rtl, fast, lockstep", arguments.core));
  arguments.functions = header.functions;
  const Simulated simulated{preset, std::nullopt, {kind}};
  arguments.core_options.check_hazards = header.check_hazards != 0;
  verilated::set_failure_handler(end_with_model_failure);
  const auto simulation = make_simulation(arguments, simulated, nullptr, error);
  if (simulation == nullptr) return complain(kExitCannotStart, error);
  const record::ReplayContext context{arguments.replay, core_kind_name(recorded_kind), core_kind_name(kind),
                                      same_cycles(kind, recorded_kind) ? record::Pace::kCycles : record::Pace::kCauses};
  record::Replayer replayer(*simulation, *recording, context.pace);
  const record::ReplayResult result = replayer.run();
  fmt::print("{}\n", arguments.json ? record::replay_json(context, *recording, result)
                                    : record::replay_text(context, *recording, result));
  return result.difference ? kExitDiffers : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (const std::string missing = server::missing_instructions(); !missing.empty())
    return complain(kExitCannotStart, missing);
  server::raise_descriptor_limit();
  Arguments arguments;
  CLI::App app{"Simulates a Weft chip, or all chips of a slice, and serves their PCIe functions over vfio-user."};
  auto* chip = app.add_option("--chip", arguments.chip, "preset: " + chip_names());
  auto* slice = app.add_option("--slice", arguments.slice, "all chips of a slice: nano-2x2, v5e-4x4, v5p-4x4x4, ...");
  app.add_option("--core", arguments.core,
                 "tensor core: rtl, fast, or lockstep (both compared); with --slice one for all chips, or a list with "
                 "one for each, separated by commas; default: fast, or the recorded one");
  auto* fd = app.add_option("--fd", arguments.fds,
                            "serve the client at this inherited socket, and end when it leaves; with --slice one for "
                            "each chip, and the last one's leaving ends it")
                 ->check(CLI::NonNegativeNumber);
  auto* socket =
      app.add_option("--socket", arguments.socket, "serve whoever connects to this path, one client at a time");
  auto* directory =
      app.add_option("--listen", arguments.directory,
                     "serve function i to whoever connects to function<i>.sock in this directory, and observers "
                     "(weft smi, weft dump) on management.sock; with --slice, function i of chip c at "
                     "chip<c>-function<i>.sock");
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
  app.add_option("--trace", arguments.trace, "write a Chrome trace of all commands and packets to this JSON file");
  app.add_option("--mismatch-report", arguments.mismatch_report, "write a lockstep mismatch to this file as well");
  auto* record =
      app.add_option("--record", arguments.record,
                     "record everything that passes between the chip and its hosts to this file (%p: the process id)");
  auto* replay = app.add_option("--replay", arguments.replay, "replay this recording instead of serving, and compare")
                     ->excludes(record);
  app.add_flag("--partial", arguments.partial, "replay what is there of a recording that is cut off")->needs(replay);
  app.add_flag("--json", arguments.json, "print the result of the replay as JSON")->needs(replay);
  for (auto* option : {chip, slice, fd, socket, directory}) replay->excludes(option);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : kExitUsage;
  }
  if (replay->count() != 0) return ::replay(arguments);
  if (chip->count() + slice->count() != 1) return complain(kExitUsage, "one of --chip and --slice is needed");
  if (slice->count() != 0 && wave->count() + record->count() != 0)
    return complain(kExitUsage, "--wave and --record are of one chip: they do not go with --slice");
  if (slice->count() != 0 && socket->count() != 0)
    return complain(kExitUsage, "--slice has a socket for each chip: give --listen and a directory");
  if ((fd->count() != 0 ? 1 : 0) + socket->count() + directory->count() != 1)
    return complain(kExitUsage, "one of --fd, --socket, --listen and --replay is needed");
  return serve(arguments);
}
