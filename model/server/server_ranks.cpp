// The loop of a rank: its own sockets, and simulated time together with the other ranks.
#include <poll.h>

#include <vector>

#include "model/server/server.hpp"

namespace weft::server {

chip::RankState Server::rank_state() {
  chip::RankState state = simulation_.rank_state();
  state.stops = stopping_;
  state.deserted = deserted_;
  for (const FunctionPort& port : ports_) {
    const auto peer = port.peer();
    if (!peer) continue;
    const bool same = state.tenants == 1 && state.tenant == static_cast<uint32_t>(peer->pid) &&
                      state.tenant_user == static_cast<uint32_t>(peer->uid) && peer->pid != 0;
    if (state.tenants == 0 || same) {
      state.tenants = 1;
      state.tenant = static_cast<uint32_t>(peer->pid);
      state.tenant_user = static_cast<uint32_t>(peer->uid);
    } else {
      state.tenants = 2;
    }
  }
  return state;
}

void Server::run_in_ranks(chip::RankLink& link) {
  std::vector<pollfd> polled;
  std::vector<size_t> waiting;
  chip::RankState said, all;
  uint64_t meeting = 0;
  bool running = true;  // the same in all ranks
  wake_fd_ = link.wake_fd();
  update_rights();
  for (;;) {
    const bool sleeps = !running && simulation_.next_alarm() == 0;
    if (!look_at_sockets(polled, sleeps)) stopping_ = true;
    if (stop_fd_ >= 0 && polled.front().revents != 0) stopping_ = true;
    waiting.clear();
    for (size_t i = 0; i < ports_.size(); i++)
      if (ports_[i].look(polled)) waiting.push_back(i);
    if (!serve(waiting)) deserted_ = true;
    (void)spare_.refill();
    const chip::RankState own = rank_state();
    if (!running) {
      const bool called = link.called(meeting + 1);
      if (own == said && !called) {
        if (!all.held()) end_idle_waits();
        continue;
      }
      if (!called) link.call(meeting + 1);
    }
    meeting++;
    said = own;
    all = simulation_.meet(own);
    others_ = all;
    update_rights();
    if (all.stops || all.deserted) break;
    const bool begins = all.runs() && !running;
    running = all.runs();
    if (!running) simulation_.stand_still(all);
    // What a host had said before it let time go on, to another rank, is there by now but may not have been looked at.
    if (running && !begins) simulation_.run_windows(all);
  }
  for (FunctionPort& port : ports_) port.close();
}

}  // namespace weft::server
