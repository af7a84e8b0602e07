// News of links pass from chip to chip, a hop at a time. A chip that learns of a change has new tables and a new
// generation, and drops what follows older ones.
#include <algorithm>

#include "model/ici/network.hpp"

namespace weft::ici {

const FaultTables& Network::tables(uint32_t chip) {
  auto& books = chips_[chip];
  if (!books.tables) books.tables = tables_.tables(books.view);
  return *books.tables;
}

/// `heard_by`: the end by which the news came.
void Network::learn(uint32_t chip, const LinkNews& news, uint32_t heard_by) {
  if (!chips_[chip].view.learn(news)) return;
  chips_[chip].tables.reset();
  // Told before anything is sent by the new tables: so a neighbour knows all that a packet's sender knew.
  for (unsigned port = 0; port < kPorts; port++)
    if (const auto end = chip * kPorts + port; end != heard_by) send_news(end, news);
  drop_old_packets(chip);
  turn_flows(chip, news.link);
}

void Network::send_news(uint32_t end, const LinkNews& news) {
  const auto& link = links_[end];
  if (!link.alive || link.retraining) return;  // the far end is told all when the link comes up
  if (free_news_.empty()) {
    free_news_.push_back(static_cast<uint32_t>(news_.size()));
    news_.emplace_back();
  }
  const auto index = free_news_.back();
  free_news_.pop_back();
  news_[index] = {news, link.session};
  events_.add(now_ + hop_time(link), kNews, back(end), index);
}

void Network::hear_news(uint32_t end, uint32_t index) {
  const auto [news, session] = news_[index];
  free_news_.push_back(index);
  if (links_[end].alive && links_[end].session == session) learn(end / kPorts, news, end);
}

/// Packets in the channels of the tables are of this chip's generation, and that has ended.
void Network::drop_old_packets(uint32_t chip) {
  const auto old = [](const Waiting& waiting) { return !waiting.sets_out && waiting.channel >= fault_channel_of(0); };
  for (unsigned port = 0; port < kPorts; port++) links_[chip * kPorts + port].arbiter.remove_if(old);
  if (options_.router.ingress) links_[ingress_of(chip)].arbiter.remove_if(old);
  for (unsigned input = 0; input < kPorts; input++)
    for (unsigned traffic_class = 0; traffic_class < kClasses; traffic_class++) {
      auto& queue = queues_[queue_index(chip, input, fault_channel_of(traffic_class))];
      queue.waiting = 0;
      while (queue.head != kNone) {
        const auto packet = queue.head;
        queue.head = packets_[packet].next;
        discard(packet);
      }
    }
}

}  // namespace weft::ici
