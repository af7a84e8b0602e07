// poll() and slices of simulated time, by turns.
#include "model/server/server.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace weft::server {

Server::Server(chip::Simulation& simulation) : simulation_(simulation) {
  for (size_t i = 0; i < simulation.functions(); i++) ports_.emplace_back(simulation, i);
}

void Server::manage(std::unique_ptr<Listener> listener) {
  management_.emplace(simulation_, std::move(listener), [this] {
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
  const int management_ms = management_ ? management_->timeout_ms() : -1;
  const int log_ms = log_ != nullptr ? log_->wake_ms() : -1;
  if (management_ms < 0 || log_ms < 0) return std::max(management_ms, log_ms);
  return std::min(management_ms, log_ms);
}

void Server::run() {
  std::vector<pollfd> polled;
  bool stopping = false;
  while (!stopping) {
    const bool busy = simulation_.pending() || simulation_.next_alarm() != 0;
    polled.clear();
    if (stop_fd_ >= 0) polled.push_back({stop_fd_, POLLIN, 0});
    for (const FunctionPort& port : ports_) port.poll_for(polled);
    if (management_) management_->poll_for(polled);
    const bool runs = busy && !simulation_.held();
    if (!runs && log_ != nullptr) log_->sleeps();
    const int ready = ::poll(polled.data(), polled.size(), runs ? 0 : idle_ms());
    if (ready < 0 && errno != EINTR) return;
    if (ready > 0) {
      if (stop_fd_ >= 0 && polled.front().revents != 0) stopping = true;
      bool left = false, served = false;
      for (FunctionPort& port : ports_) {
        left |= !port.serve();
        served |= port.attached();
      }
      stopping |= left && !served;
    }
    if (management_) management_->serve();
    if (simulation_.held()) continue;
    if (simulation_.pending()) {
      simulation_.run_slice();
    } else if (ready == 0) {
      simulation_.end_idle_wait();
    }
  }
  for (FunctionPort& port : ports_) port.close();
}

}  // namespace weft::server
