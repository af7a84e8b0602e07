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
  bool running = true, meets = true;  // the same in all ranks: time goes on; they meet again without a call
  wake_fd_ = link.wake_fd();
  update_rights();
  for (;;) {
    if (!look_at_sockets(polled, !meets)) stopping_ = true;
    if (stop_fd_ >= 0 && polled.front().revents != 0) stopping_ = true;
    waiting.clear();
    for (size_t i = 0; i < ports_.size(); i++)
      if (ports_[i].look(polled)) waiting.push_back(i);
    if (!serve(waiting)) deserted_ = true;
    (void)spare_.refill();
    const chip::RankState own = rank_state();
    if (!meets) {
      const bool called = link.called(meeting + 1);
      if (own == said && !called) continue;
      if (!called) link.call(meeting + 1);
    }
    meeting++;
    said = own;
    const chip::RankState last = all;
    all = simulation_.meet(own);
    others_ = all;
    update_rights();
    if (all.stops || all.deserted) break;
    // What a host has said to another rank before it said what brought this meeting about is there by now, but may not
    // have been looked at: before time goes on, and before a wait ends as nothing is going to happen, all look again.
    const bool begins = all.runs() && !running;
    running = all.runs();
    meets = running || (all.alarm != 0 && !all.held());
    if (running && !begins) simulation_.run_windows(all);
    if (running) continue;
    simulation_.stand_still(all);
    if (meets && all == last) end_idle_waits();
  }
  for (FunctionPort& port : ports_) port.close();
}

}  // namespace weft::server
