// Observers: lines in, lines out, one request at a time.
#include "model/server/management_port.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "model/server/management_links.hpp"

namespace weft::server {

void ManagementPort::poll_for(std::vector<pollfd>& polled) const {
  const bool rests = resting();
  if (!rests) polled.push_back({listener_->fd(), POLLIN, 0});
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

void ManagementPort::serve() {
  if (!resting()) accept();
  std::erase_if(observers_, [this](Observer& observer) {
    return !flush(observer) || (!observer.has_output() && !resting() && !receive(observer));
  });
  if (resting()) return;
  const auto asks = std::ranges::find_if(observers_, [](const Observer& o) { return o.has_line() && !o.has_output(); });
  if (asks == observers_.end()) return;
  answer(*asks);
  next_ = Clock::now() + kPeriod;
  std::rotate(asks, asks + 1, observers_.end());
}

void ManagementPort::accept() {
  for (;;) {
    FileDescriptor socket = listener_->accept();
    if (!socket.valid()) return;
    if (observers_.size() == kMaxObservers)
      observers_.erase(std::ranges::min_element(observers_, {}, &Observer::heard));
    observers_.push_back({.socket = std::move(socket), .input = {}, .output = {}, .heard = ++requests_});
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

void ManagementPort::answer(Observer& observer) {
  const size_t end = observer.input.find('\n');
  observer.heard = ++requests_;
  observer.output = reply_to(std::string_view(observer.input).substr(0, end));
  observer.input.erase(0, end + 1);
  (void)flush(observer);  // gone: the next look tells
}

std::string ManagementPort::reply_to(std::string_view line) {
  std::string error;
  const auto request = parse_management_request(line, simulation_.chips(), simulation_.functions_of_a_chip(), error);
  if (!request) return error_reply("INVALID_ARGUMENT", error);
  const std::vector<FunctionOwner> owners = owners_();
  const size_t index = function_index(simulation_, *request);
  const FunctionOwner& owner = owners[index];
  switch (request->kind) {
    case ManagementRequest::Kind::kState:
      return state_reply(simulation_, *request, owners);
    case ManagementRequest::Kind::kFunction:
      return function_reply(simulation_, *request, owner);
    case ManagementRequest::Kind::kLinks:
      return links_reply(simulation_);
    case ManagementRequest::Kind::kInject:
      return inject_reply(simulation_, *request);
    case ManagementRequest::Kind::kReset:
      break;
  }
  if (owner.pid != 0 && !request->force)
    return error_reply("BUSY", "function " + std::to_string(request->function) + " belongs to process " +
                                   std::to_string(owner.pid) + " (" + owner.process + ")");
  const std::string reply = reset_reply(simulation_, *request, owner);
  chip::Function& function = simulation_.function(index);
  function.reset();
  function.registers().raise(0);  // so that an owner that waits looks, and finds another generation
  return reply;
}

}  // namespace weft::server
