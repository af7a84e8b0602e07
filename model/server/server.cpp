// poll() and slices of simulated time, by turns.
#include "model/server/server.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>
#include <vector>

namespace weft::server {

Server::Server(chip::Simulation& simulation, const std::shared_ptr<EventSignal>& signal, Permissions permissions)
    : simulation_(simulation), permissions_(permissions), turns_(simulation.functions()) {
  const auto shares = std::make_shared<chip::HostMemoryShares>(simulation.functions());
  for (size_t i = 0; i < simulation.functions(); i++) {
    simulation.function(i).host_memory().share(shares, i);
    FunctionPort& port = ports_.emplace_back(simulation, i);
    port.set_signal(signal);
    port.set_permissions(permissions_);
    restless_.push_back(i);
  }
  rests_on_.resize(ports_.size(), -1);
}

void Server::manage(std::unique_ptr<Listener> listener) {
  management_.emplace(simulation_, std::move(listener), permissions_, [this] {
    std::vector<FunctionOwner> owners;
    for (const FunctionPort& port : ports_) owners.push_back(port.owner());
    return owners;
  });
}

void Server::set_log(MessageLog* log) {
  log_ = log;
  for (FunctionPort& port : ports_) port.set_log(log);
}

int Server::idle_ms() const {
  const auto now = Clock::now();
  auto due = Clock::time_point::max();
  for (const size_t i : restless_) due = std::min(due, ports_[i].due());
  int ms = -1;
  if (due <= now) {
    ms = 0;
  } else if (due != Clock::time_point::max()) {
    ms = static_cast<int>(std::min<int64_t>(std::chrono::ceil<std::chrono::milliseconds>(due - now).count(), INT_MAX));
  }
  const auto earlier = [](int a, int b) { return a < 0 || b < 0 ? std::max(a, b) : std::min(a, b); };
  if (management_) ms = earlier(ms, management_->timeout_ms());
  return log_ != nullptr ? earlier(ms, log_->wake_ms()) : ms;
}

void Server::update_rights(std::optional<size_t> changed) {
  std::vector<std::optional<Peer>> clients;
  for (const FunctionPort& port : ports_) clients.push_back(port.peer());
  const bool one = is_one_tenant(clients, simulation_.functions_of_a_chip()) && others_.tenants < 2;
  const auto count = std::ranges::count_if(clients, [](const auto& c) { return c.has_value(); });
  const size_t tenants = one ? 1 : static_cast<size_t>(count);
  const bool same = std::exchange(alone_, one) == one && std::exchange(present_, tenants) == tenants;
  const size_t first = changed && same ? *changed : 0, end = changed && same ? *changed + 1 : ports_.size();
  for (size_t i = first; i < end; i++)
    if (clients[i]) ports_[i].set_rights(rights_of(*clients[i], alone_, permissions_), present_);
}

bool Server::serve(std::span<const size_t> waiting) {
  // The work of the device is that tenant's own, so it owes no time to anybody: on a busy machine a message may take
  // long, which a client of a thousand chips would pay for a thousand times over.
  const bool contended = !alone_ && simulation_.pending() && !simulation_.held();
  turns_.begin(waiting, present_, contended, Clock::now());
  bool left = false;
  served_.clear();
  for (const size_t i : waiting) {
    const auto time = turns_.time_for(i);
    if (time <= Clock::duration::zero()) continue;
    served_.push_back(i);
    const auto begin = Clock::now();
    left |= !ports_[i].serve(begin + time);
    turns_.spend(i, Clock::now() - begin);
    if (ports_[i].take_change()) update_rights(i);  // before another client's message
    settle(i);
  }
  return !left || std::ranges::any_of(ports_, [](const FunctionPort& port) { return port.attached(); });
}

void Server::run_slices() {
  const auto end = Clock::now() + chip::Simulation::kSliceTarget;
  do {
    simulation_.run_slice();
  } while (simulation_.pending() && !simulation_.held() && Clock::now() < end);
}

void Server::settle(size_t port) {
  const int fd = ports_[port].rests_on();
  int& kept = rests_on_[port];
  if (fd == kept) return;
  if (kept >= 0) poll_set_.drop(kept);
  const auto place = std::ranges::lower_bound(restless_, port);
  if (fd < 0) {
    restless_.insert(place, port);
  } else {
    poll_set_.keep(fd, port);
    woken_.push_back(port);
    if (kept < 0) restless_.erase(place);
  }
  kept = fd;
}

void Server::find_waiting(std::span<const pollfd> polled, std::vector<size_t>& waiting) {
  for (const size_t i : woken_)
    if (rests_on_[i] >= 0) ports_[i].rest();
  woken_.assign(poll_set_.ready().begin(), poll_set_.ready().end());
  for (const size_t i : woken_) ports_[i].wake();
  waiting = woken_;
  for (const size_t i : restless_)
    if (ports_[i].look(polled)) waiting.push_back(i);
  std::ranges::sort(waiting);
}

bool Server::look_at_sockets(std::vector<pollfd>& polled, bool sleeps) {
  // Ports that take connections, and those whose client has left, may have closed a descriptor when they were served.
  for (const size_t i : served_)
    if (!ports_[i].attached() && !polled.empty()) poll_set_.renew(ports_[i].polled_of(polled));
  polled.clear();
  if (stop_fd_ >= 0) polled.push_back({stop_fd_, POLLIN, 0});
  if (wake_fd_ >= 0) polled.push_back({wake_fd_, POLLIN, 0});
  for (const size_t i : restless_) ports_[i].poll_for(polled);
  const size_t ports_end = polled.size();
  if (management_) management_->poll_for(polled);
  poll_set_.renew(std::span(polled).subspan(ports_end));
  return poll_set_.wait(polled, sleeps ? idle_ms() : 0) >= 0 || errno == EINTR;
}

void Server::run() {
  std::vector<pollfd> polled;
  std::vector<size_t> waiting;
  bool stopping = false;
  update_rights();
  while (!stopping) {
    const bool busy = simulation_.pending() || simulation_.next_alarm() != 0;
    const bool runs = busy && !simulation_.held();
    if (!runs && log_ != nullptr) log_->sleeps();
    if (!look_at_sockets(polled, !runs)) return;
    if (stop_fd_ >= 0 && polled.front().revents != 0) stopping = true;
    find_waiting(polled, waiting);
    if (!serve(waiting)) stopping = true;
    if (spare_.refill() && management_) management_->serve();
    if (simulation_.held()) continue;
    if (simulation_.pending()) {
      run_slices();
    } else if (simulation_.next_alarm() != 0) {
      end_idle_waits();
    }
  }
  for (FunctionPort& port : ports_) port.close();
}

void Server::end_idle_waits() {
  for (const size_t i : simulation_.waiting())
    if (ports_[i].quiet()) simulation_.end_idle_wait(i);
}

}  // namespace weft::server
