// The loop of a rank: its own sockets, and simulated time together with the other ranks.
#include <fmt/format.h>
#include <poll.h>

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/server/server.hpp"

namespace weft::server {

chip::RankState Server::rank_state() {
  chip::RankState state = simulation_.rank_state();
  state.stops = stopping_;
  state.deserted = deserted_;
  state.observes = management_ && management_->question();
  for (const FunctionPort& port : ports_) {
    state.asks_to_hold |= port.asks_to_hold();
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

void Server::reply_in_ranks(chip::RankLink& link, const chip::RankState& all) {
  using Bytes = chip::RankLink::Bytes;
  std::vector<Bytes> out(link.ranks()), in(link.ranks());
  const auto text_of = [](const Bytes& bytes) {
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  const auto bytes_of = [](const std::string& text) {
    const auto bytes = std::as_bytes(std::span(text));
    return Bytes(bytes.begin(), bytes.end());
  };
  std::optional<ManagementPort::Question> question = management_->question();
  const bool is_own = question.has_value();
  for (unsigned rank = 0; rank < link.ranks() && is_own; rank++)
    if (rank != link.rank()) out[rank] = bytes_of(fmt::format("{} {}", question->user, question->line));
  link.exchange(out, in);
  unsigned asking = link.rank();
  for (unsigned rank = 0; rank < link.ranks(); rank++) {
    if (rank == link.rank() || in[rank].empty()) continue;
    asking = rank;
    const std::string said = text_of(in[rank]);
    const size_t space = said.find(' ');
    question = {said.substr(space + 1), static_cast<uid_t>(std::stoul(said.substr(0, space)))};
  }
  const auto looked_at = management_->looked_at(question->line);
  if (looked_at) simulation_.begin_look(*looked_at, all);
  if (all.runs()) simulation_.run_windows(all);
  std::string reply = management_->reply_to(question->line, question->user);
  // A look at an idle chip lets a few cycles pass there: they pass in all ranks, before a host is heard again.
  if (!all.runs() && !all.held()) {
    chip::RankState now = simulation_.meet(rank_state());
    for (; now.runs(); now = simulation_.meet(rank_state())) simulation_.run_windows(now);
    simulation_.stand_still(now);
  }
  for (Bytes& bytes : out) bytes.clear();
  if (!is_own) out[asking] = bytes_of(reply);
  link.exchange(out, in);
  if (!is_own) return;
  for (unsigned rank = 0; rank < link.ranks(); rank++)
    if (rank != link.rank() && !in[rank].empty()) reply = text_of(in[rank]);
  management_->reply(std::move(reply));
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
    find_waiting(polled, waiting);
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
    simulation_.note_hosts_heard(all);
    others_ = all;
    update_rights();
    if (all.stops || all.deserted) break;
    // What a host has said to another rank before it said what brought this meeting about is there by now, but may not
    // have been looked at: before time goes on, and before a wait ends as nothing is going to happen, all look again.
    const bool begins = all.runs() && !running;
    running = all.runs();
    meets = running || all.asks_to_hold || (all.alarm != 0 && !all.held());
    if (all.observes && !begins) {
      reply_in_ranks(link, all);
      said.observes = false;
    } else if (running && !begins) {
      simulation_.run_windows(all);
    }
    if (running) continue;
    simulation_.stand_still(all);
    if (meets && all == last) end_idle_waits();
  }
  for (FunctionPort& port : ports_) port.close();
}

}  // namespace weft::server
