// Observers: lines in, lines out, one request at a time.
#include "model/server/management_port.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>

#include "model/server/management_links.hpp"

namespace weft::server {

void ManagementPort::poll_for(std::vector<pollfd>& polled) const {
  const bool rests = resting();
  if (!rests && listener_ != nullptr && !listener_->resting()) polled.push_back({listener_->fd(), POLLIN, 0});
  for (const Observer& observer : observers_) {
    // While the port rests, a hang-up that is polled for would wake the loop again and again.
    const short events = observer.has_output() ? POLLOUT : POLLIN;
    if (!rests || observer.has_output()) polled.push_back({observer.socket.get(), events, 0});
  }
}

int ManagementPort::timeout_ms() const {
  const bool lines = std::ranges::any_of(observers_, [](const Observer& o) { return o.has_line() && !o.has_output(); });
  if (!resting()) return lines ? 0 : -1;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(next_ - Clock::now());
  return static_cast<int>(left.count()) + 1;
}

void ManagementPort::serve_sockets() {
  if (!resting() && listener_ != nullptr) accept();
  std::erase_if(observers_, [this](Observer& observer) {
    try {
      return !flush(observer) || (!observer.has_output() && !resting() && !receive(observer));
    } catch (const std::bad_alloc&) {
      return true;
    }
  });
}

std::deque<ManagementPort::Observer>::iterator ManagementPort::next_asking() {
  return std::ranges::find_if(observers_, [](const Observer& o) { return o.has_line() && !o.has_output(); });
}

void ManagementPort::serve() {
  serve_sockets();
  if (resting()) return;
  const auto asks = next_asking();
  if (asks == observers_.end()) return;
  const auto begin = Clock::now();
  bool answered = true;
  try {
    answer(*asks);
  } catch (const std::bad_alloc&) {
    answered = false;
  }
  const auto end = Clock::now();
  next_ = end + std::max<Clock::duration>(kPeriod, (kPartOfTime - 1) * (end - begin));
  if (!answered) {
    observers_.erase(asks);
  } else {
    std::rotate(asks, asks + 1, observers_.end());
  }
}

void ManagementPort::accept() {
  for (unsigned i = 0; i < chip::tenant_limits::kAcceptsOfTurn; i++) {
    Connection connection(listener_->accept());
    if (connection.fd() < 0) return;
    const uid_t user = connection.peer().uid;
    if (!may_connect(permissions_, user)) continue;
    if (observers_.size() == kMaxObservers)
      observers_.erase(std::ranges::min_element(observers_, {}, &Observer::heard));
    try {
      observers_.push_back(
          {.socket = connection.take_socket(), .user = user, .input = {}, .output = {}, .heard = ++requests_});
    } catch (const std::bad_alloc&) {
      return;
    }
  }
}

bool ManagementPort::flush(Observer& observer) {
  while (observer.has_output()) {
    const ssize_t sent = ::send(observer.socket.get(), &observer.output[observer.sent],
                                observer.output.size() - observer.sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    observer.sent += static_cast<size_t>(sent);
  }
  observer.output.clear();
  observer.sent = 0;
  return !observer.last_words;
}

bool ManagementPort::receive(Observer& observer) {
  if (observer.has_line()) return true;
  std::array<char, kMaxManagementRequestBytes> bytes;
  const ssize_t got = ::recv(observer.socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  if (got == 0) return false;
  observer.input.append(bytes.data(), static_cast<size_t>(got));
  const size_t line = std::min(observer.input.find('\n'), observer.input.size());
  if (line > kMaxManagementRequestBytes) {
    observer.output = error_reply("INVALID_ARGUMENT", "a request has 4096 bytes at most");
    observer.last_words = true;
  }
  return true;
}

const std::optional<ManagementPort::Question>& ManagementPort::question() {
  if (question_) return question_;
  serve_sockets();
  const auto asks = resting() ? observers_.end() : next_asking();
  if (asks == observers_.end()) return question_;
  const size_t end = asks->input.find('\n');
  asks->heard = question_of_ = ++requests_;
  question_ = Question{asks->input.substr(0, end), asks->user};
  asks->input.erase(0, end + 1);
  return question_;
}

void ManagementPort::reply(std::string text) {
  question_.reset();
  next_ = Clock::now() + kPeriod;
  const auto asked = std::ranges::find(observers_, question_of_, &Observer::heard);
  if (asked == observers_.end()) return;
  asked->output = std::move(text);
  (void)flush(*asked);  // gone: the next look tells
  std::rotate(asked, asked + 1, observers_.end());
}

std::optional<size_t> ManagementPort::looked_at(std::string_view line) const {
  std::string error;
  const auto request =
      parse_management_request(line, simulation_.slice_chips(), simulation_.functions_of_a_chip(), error);
  if (!request || request->kind != ManagementRequest::Kind::kState) return std::nullopt;
  const size_t chip = request->chip - simulation_.first_chip();
  return request->chip < simulation_.first_chip() || chip >= simulation_.chips() ? std::nullopt : std::optional(chip);
}

void ManagementPort::answer(Observer& observer) {
  const size_t end = observer.input.find('\n');
  observer.heard = ++requests_;
  observer.output = reply_to(std::string_view(observer.input).substr(0, end), observer.user);
  observer.input.erase(0, end + 1);
  (void)flush(observer);  // gone: the next look tells
}

std::string ManagementPort::reply_to(std::string_view line, uid_t user) {
  std::string error;
  auto request = parse_management_request(line, simulation_.slice_chips(), simulation_.functions_of_a_chip(), error);
  const uint32_t first = simulation_.first_chip();
  if (request && request->kind == ManagementRequest::Kind::kReplace) return replace(*request, user);
  const uint32_t asked = request && request->kind != ManagementRequest::Kind::kLinks ? request->chip : 0;
  if (asked < first || asked - first >= simulation_.chips()) return {};
  if (!request) return error_reply("INVALID_ARGUMENT", error);
  request->chip = asked - first;
  const std::vector<FunctionOwner> owners = owners_();
  const FunctionOwner& owner = owners[function_index(simulation_, *request)];
  switch (request->kind) {
    case ManagementRequest::Kind::kState:
      return state_reply(simulation_, *request, owners);
    case ManagementRequest::Kind::kFunction:
      return function_reply(simulation_, *request, owner);
    case ManagementRequest::Kind::kLinks:
      return links_reply(simulation_);
    case ManagementRequest::Kind::kReplace:
      break;  // of no single chip
    case ManagementRequest::Kind::kInject:
      if (!may_inject(permissions_, user))
        return error_reply("UNSUPPORTED", fmt::format("faults are injected by the user of the simulator ({}), not by "
                                                      "user {}; weft-sim --allow-inject takes them from any observer",
                                                      ::geteuid(), user));
      return inject_reply(simulation_, *request);
    case ManagementRequest::Kind::kReset:
      return reset(*request, user, owner);
  }
  return {};
}

/// All ranks act, and that of chip 0 replies.
std::string ManagementPort::replace(const ManagementRequest& request, uid_t user) {
  const std::string reply =
      may_inject(permissions_, user)
          ? replace_reply(simulation_, request)
          : error_reply("UNSUPPORTED", fmt::format("cubes are replaced by the user of the simulator ({}), not by user "
                                                   "{}; weft-sim --allow-inject takes it from any observer",
                                                   ::geteuid(), user));
  return simulation_.first_chip() == 0 ? reply : std::string();
}

std::string ManagementPort::reset(const ManagementRequest& request, uid_t user, const FunctionOwner& owner) {
  const auto busy = [&](const std::string& why) {
    return error_reply("BUSY", fmt::format("function {} belongs to process {} ({}){}", request.function, owner.pid,
                                           owner.process, why));
  };
  if (owner.owned && !request.force) return busy("");
  if (!may_reset(permissions_, user, owner.owned ? std::optional(owner.uid) : std::nullopt))
    return busy(
        fmt::format(" of user {}, not of user {}; weft-sim --allow-reset lets any observer reset it", owner.uid, user));
  const std::string reply = reset_reply(simulation_, request, owner);
  const size_t function = function_index(simulation_, request);
  if (chip::Boundary* boundary = simulation_.boundary(function))
    boundary->observer_resets(simulation_.function_in_chip(function));
  simulation_.function(function).reset_by_observer();
  return reply;
}

}  // namespace weft::server
