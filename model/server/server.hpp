/// The simulator's loop: sockets and simulated time on one thread.
#pragma once
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/chip/simulation.hpp"
#include "model/server/event_signal.hpp"
#include "model/server/fair_turns.hpp"
#include "model/server/function_port.hpp"
#include "model/server/listener.hpp"
#include "model/server/management_port.hpp"
#include "model/server/memory_spare.hpp"
#include "model/server/poll_set.hpp"

namespace weft::server {

/// Serves each function to one client at a time. While something is pending on the device it alternates between a slice
/// of simulated time and a look at the sockets; else, and while a host holds time, it sleeps until a socket has
/// something, and time stands still. The clients' messages take at most as long as the slice in a turn, and each client
/// an equal part of that.
class Server {
 public:
  using Clock = std::chrono::steady_clock;

  /// `signal`: for the clients' eventfds; nullptr: they are not signalled.
  explicit Server(chip::Simulation& simulation, const std::shared_ptr<EventSignal>& signal,
                  Permissions permissions = {});

  /// Serves the client at the other end of `socket`; run() ends when the last of such clients has left.
  void attach(FileDescriptor socket, size_t function = 0) { ports_[function].attach(std::move(socket)); }
  /// Serves whoever connects, one after the other; a second client of a function at a time is answered with EBUSY.
  void listen(std::unique_ptr<Listener> listener, size_t function = 0) { ports_[function].listen(std::move(listener)); }
  /// Answers observers of all chips on this socket, those of other ranks too. nullptr: another rank has the socket.
  void manage(std::unique_ptr<Listener> listener);
  /// Hears of all messages; before attach() and run(). Not owned.
  void set_log(MessageLog* log);
  /// run() ends when `fd` becomes readable (a signalfd); not owned.
  void stop_on(int fd) { stop_fd_ = fd; }

  /// Until the attached client leaves or a stop is asked for. The clients' traces are gone from the device when it
  /// returns.
  void run();
  /// The same for the functions of a rank, which has joined the others: until the clients that were attached in all
  /// ranks have left, or a stop is asked for in one of them.
  void run_in_ranks(chip::RankLink& link);

 private:
  /// How long poll() may sleep: until a port, the management port or the log wants to act; -1: for ever.
  [[nodiscard]] int idle_ms() const;
  /// Looks at the sockets, for as long as nothing else is to be done. Of `polled` that is left what was asked for.
  /// False: it cannot.
  [[nodiscard]] bool look_at_sockets(std::vector<pollfd>& polled, bool sleeps);
  /// The ports that have something to do, after a look at the sockets, in order.
  void find_waiting(std::span<const pollfd> polled, std::vector<size_t>& waiting);
  /// The port has been served: it rests until its client sends something, or is to be looked at in each turn.
  void settle(size_t port);
  /// Serves the ports that `waiting` names. False: the attached clients have left.
  [[nodiscard]] bool serve(std::span<const size_t> waiting);
  /// Lets time go on for as long as a slice is meant to take, also where alarms cut it into pieces.
  void run_slices();
  /// After clients have come or left; `changed`: at that port alone.
  void update_rights(std::optional<size_t> changed = {});
  /// An observer's question, which one of the ranks has: the rank of its chip replies. All ranks come, after a meeting
  /// that has said `all`, and let time go on if it does.
  void reply_in_ranks(chip::RankLink& link, const chip::RankState& all);
  /// What this rank says at a meeting.
  [[nodiscard]] chip::RankState rank_state();
  /// Waits of hosts that have nothing more to say end, as nothing is going to happen.
  void end_idle_waits();

  chip::Simulation& simulation_;
  Permissions permissions_;
  std::deque<FunctionPort> ports_;  // by function; they do not move
  std::vector<int> rests_on_;       // by port: what the poll set keeps of it; -1: it does not rest
  std::vector<size_t> restless_;    // the others, in order
  std::vector<size_t> woken_;       // since the last look; they may rest again
  std::vector<size_t> served_;      // in the last turn
  FairTurns turns_;
  size_t present_ = 0;  // tenants: clients, or one that has all functions that have clients
  bool alone_ = false;  // that one
  std::optional<ManagementPort> management_;
  MemorySpare spare_;
  PollSet poll_set_;
  MessageLog* log_ = nullptr;
  int stop_fd_ = -1;
  int wake_fd_ = -1;  // readable when another rank calls
  bool stopping_ = false;
  bool deserted_ = false;   // the attached clients have left
  chip::RankState others_;  // tenants of all ranks, as of the last meeting
};

}  // namespace weft::server
