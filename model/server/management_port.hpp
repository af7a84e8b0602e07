/// The management socket: observers of all chips, beside the functions' owners.
#pragma once
#include <poll.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/chip/simulation.hpp"
#include "model/server/listener.hpp"
#include "model/server/management_reply.hpp"
#include "model/server/rights.hpp"

namespace weft::server {

/// Answers requests (management_request.hpp) of several observers, one line each. Nothing that an observer does or
/// leaves undone delays an owner: no call blocks; one request is served in kPeriod, and none before nine times the time
/// that the last one took; an observer that does not read its reply is not read; one that comes when all places are
/// taken gets that of the observer that has been silent for longest. An observer is known by its user (rights.hpp).
/// Owner: the server; not thread-safe.
class ManagementPort {
 public:
  static constexpr size_t kMaxObservers = 8;
  static constexpr std::chrono::milliseconds kPeriod{5};
  /// Of the server's time, requests take at most one part in so many.
  static constexpr int kPartOfTime = 10;

  /// What an observer asks, and its user.
  struct Question {
    std::string line;
    uid_t user = 0;
  };

  /// `owners`: who is served on each function; called with each request. `listener`: nullptr: of a rank that has no
  /// observers, and replies for its chips only.
  ManagementPort(chip::Simulation& simulation, std::unique_ptr<Listener> listener, const Permissions& permissions,
                 std::function<std::vector<FunctionOwner>()> owners)
      : simulation_(simulation),
        listener_(std::move(listener)),
        permissions_(permissions),
        owners_(std::move(owners)) {}

  /// Adds what is to be polled.
  void poll_for(std::vector<pollfd>& polled) const;
  /// How long poll() may sleep on account of observers: -1 for ever.
  [[nodiscard]] int timeout_ms() const;
  /// Takes what the sockets have, and answers one request at most.
  void serve();

  // With several ranks, in place of serve(): each replies for its chips
  /// Takes what the sockets have. The question that reply() is to answer, until it has.
  [[nodiscard]] const std::optional<Question>& question();
  void reply(std::string text);
  /// One of this rank's chips, from its first one, that a state is asked of.
  [[nodiscard]] std::optional<size_t> looked_at(std::string_view line) const;
  /// Empty: another rank's.
  [[nodiscard]] std::string reply_to(std::string_view line, uid_t user);

 private:
  using Clock = std::chrono::steady_clock;

  struct Observer {
    FileDescriptor socket;
    uid_t user = 0;
    std::string input;
    std::string output;
    size_t sent = 0;
    bool last_words = false;  ///< ends when its output is sent
    uint64_t heard = 0;       ///< when it last asked, in order of requests
    [[nodiscard]] bool has_output() const { return sent < output.size(); }
    [[nodiscard]] bool has_line() const { return !last_words && input.find('\n') != std::string::npos; }
  };

  void accept();
  /// False: the observer has gone.
  [[nodiscard]] bool flush(Observer& observer);
  [[nodiscard]] bool receive(Observer& observer);
  void serve_sockets();
  [[nodiscard]] std::deque<Observer>::iterator next_asking();
  void answer(Observer& observer);
  [[nodiscard]] std::string replace(const ManagementRequest& request, uid_t user);
  [[nodiscard]] std::string reset(const ManagementRequest& request, uid_t user, const FunctionOwner& owner);
  [[nodiscard]] bool resting() const { return Clock::now() < next_; }

  chip::Simulation& simulation_;
  std::unique_ptr<Listener> listener_;
  Permissions permissions_;
  std::function<std::vector<FunctionOwner>()> owners_;
  std::deque<Observer> observers_;  // the next to be answered first
  Clock::time_point next_{};        // before it no request is served
  uint64_t requests_ = 0;
  std::optional<Question> question_;  // with several ranks
  uint64_t question_of_ = 0;          // its observer, by `heard`
};

}  // namespace weft::server
