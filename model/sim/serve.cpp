// Sockets, signals, and the loop between them and the chips.
#include "model/sim/serve.hpp"

#include <fmt/format.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/record/slice_recorder.hpp"
#include "model/server/listener.hpp"
#include "model/server/server.hpp"
#include "model/server/socket_folder.hpp"
#include "model/sim/ending.hpp"
#include "model/sim/rank_trace.hpp"
#include "model/sim/simulated.hpp"

namespace weft::sim {
namespace {

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

/// The sockets of all functions of chips `first` to `end` - 1; empty and a message in `error` if one is not to be had.
std::vector<std::unique_ptr<server::Listener>> make_listeners(const Arguments& arguments, unsigned first, unsigned end,
                                                              std::string& error) {
  std::vector<std::unique_ptr<server::Listener>> listeners;
  for (unsigned i = first * arguments.functions; i < end * arguments.functions && error.empty(); i++) {
    auto listener = server::Listener::make(socket_path(arguments, i / arguments.functions, i % arguments.functions),
                                           error, arguments.permissions.group);
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

/// Of a chip, or of the chips of a slice that are simulated here.
struct Recorders {
  std::unique_ptr<record::Recorder> chip;
  std::unique_ptr<record::SliceRecorder> slice;
  server::MessageLog* log = nullptr;
  std::function<void(record::Ending)> finish;
};

/// False: a message is in `error`.
[[nodiscard]] bool start_recording(const Arguments& arguments, const Simulated& simulated, const chip::RankShare& share,
                                   chip::Simulation& simulation, Recorders& out, std::string& error) {
  const auto hazards = arguments.core_options.check_hazards ? record::HazardCheck::kOn : record::HazardCheck::kOff;
  const auto start = [&](auto& recorder) {
    if (recorder == nullptr) return false;
    recorder->attach(simulation);
    out.log = recorder.get();
    out.finish = [all = recorder.get()](record::Ending ending) { all->finish(ending); };
    end_on_model_failure(out.finish);
    return true;
  };
  if (!simulated.slice) {
    out.chip = record::Recorder::make(arguments.record, chip_options(arguments, simulated, 0, nullptr), hazards, error);
    return start(out.chip);
  }
  const auto chips = static_cast<uint32_t>(simulated.kinds.size());
  std::vector<chip::ChipOptions> options;
  for (uint32_t i = share.first(chips); i < share.end(chips); i++)
    options.push_back(chip_options(arguments, simulated, i, nullptr));
  const record::SlicePlace first{simulated.slice->name(), share.first(chips), chips,
                                 static_cast<uint64_t>(simulated.optical.latency)};
  out.slice = record::SliceRecorder::make(arguments.record, first, options, hazards, error);
  return start(out.slice);
}

[[nodiscard]] bool write_meter(const std::string& path, const chip::RankMeter& meter) {
  std::ofstream file(path);
  file << fmt::format("{{\"windows\": {}, \"work_ns\": {}, \"longest_ns\": {}, \"wall_ns\": {}}}\n", meter.windows,
                      meter.work_ns, meter.longest_ns, meter.wall_ns);
  return file.good();
}

}  // namespace

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
  if (arguments.mpi) return serve_in_mpi(arguments, simulated);
  return arguments.processes > 1 ? serve_in_ranks(arguments, simulated) : serve_chips(arguments, simulated, nullptr);
}

int serve_chips(const Arguments& arguments, const Simulated& simulated, chip::RankLink* link) {
  std::string error;
  const auto chips = static_cast<uint32_t>(simulated.kinds.size());
  chip::RankShare share;
  if (link != nullptr) share = {link->rank(), link->ranks()};
  const uint32_t first = share.first(chips), end = share.end(chips);
  const server::FileDescriptor signals = catch_signals();
  end_on_model_failure(nullptr);
  const auto network = make_network(simulated, share);
  Recorders recorders;  // outlive what they hear
  const auto trace = open_trace(arguments, share, error);
  if (!error.empty()) return complain(kExitUsage, error);
  const auto simulation = make_simulation(arguments, simulated, network.get(), trace, error);
  if (simulation == nullptr) return complain(kExitUsage, error);
  std::shared_ptr<server::EventSignal> signal = server::EventSignal::make(error);
  if (signal == nullptr) return complain(kExitCannotStart, error);
  server::Server server(*simulation, std::move(signal), arguments.permissions);
  server.stop_on(signals.get());
  if (link != nullptr) simulation->join(*link);

  // The names appear when the chips are there, those of the functions last: who finds one is served.
  std::vector<std::unique_ptr<server::Listener>> listeners;
  std::unique_ptr<server::Listener> management;
  if (arguments.fds.empty()) {
    const auto group = arguments.permissions.group;
    const bool ready = arguments.directory.empty() || server::prepare_socket_folder(arguments.directory, group, error);
    if (ready && !arguments.directory.empty() && first == 0)
      management = server::Listener::make(arguments.directory + "/management.sock", error, group);
    for (unsigned turn = 0; turn < share.ranks && error.empty(); turn++) {  // one rank after the other
      if (turn == share.rank) listeners = make_listeners(arguments, first, end, error);
      if (link != nullptr && error.empty()) link->wait_for_all();
    }
    if (!error.empty()) return complain(kExitCannotStart, error);
  }
  if (!arguments.record.empty() && !start_recording(arguments, simulated, share, *simulation, recorders, error))
    return complain(kExitCannotStart, error);
  if (recorders.log != nullptr) server.set_log(recorders.log);
  for (size_t i = 0; i < listeners.size(); i++) server.listen(std::move(listeners[i]), i);
  if (!arguments.directory.empty()) server.manage(std::move(management));
  for (uint32_t i = 0; i < arguments.fds.size(); i++) {
    server::FileDescriptor fd(arguments.fds[i]);  // those of other ranks are closed here
    if (i >= first && i < end) server.attach(std::move(fd), i - first);
  }
  if (link != nullptr)
    server.run_in_ranks(*link);
  else
    server.run();
  if (recorders.finish) recorders.finish(record::Ending::kComplete);
  if (link != nullptr && trace != nullptr && !gather_trace(*link, *trace, error))
    return complain(kExitCannotStart, error);
  if (link != nullptr && link->rank() == 0 && !arguments.meter.empty() &&
      !write_meter(arguments.meter, simulation->rank_meter()))
    return complain(kExitCannotStart, fmt::format("--meter: the file '{}' cannot be written", arguments.meter));
  return 0;
}

}  // namespace weft::sim
