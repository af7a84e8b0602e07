// Results are stored when all of a value has been computed; row chunks that go to memory need not wait for each other.
#include <algorithm>
#include <map>
#include <numeric>

#include "host/compiler/command_graph/command_graph.hpp"

namespace weft::compiler::command_graph {
namespace {

/// One side of a DMA in memory: all bytes from its first to its last.
struct Extent {
  uint8_t segment = 0;
  int64_t first = 0, end = 0;
};

Extent extent_of(const spec::DmaCommand& c, bool stores) {
  Extent extent{stores ? c.dst_seg : c.src_seg, static_cast<int64_t>(stores ? c.dst_off : c.src_off), 0};
  extent.end = extent.first + c.size0;
  const auto span = [&](int64_t stride, int64_t count) {
    const int64_t far = stride * (count - 1);
    (far < 0 ? extent.first : extent.end) += far;
  };
  span(stores ? c.dst_stride1 : c.src_stride1, c.size1);
  span(stores ? c.dst_stride2 : c.src_stride2, c.size2);
  span(stores ? c.dst_stride3 : c.src_stride3, c.size3);
  return extent;
}

/// Of a table, all its rows.
Extent extent_of(const spec::IndexedCommand& c, bool stores) {
  const auto first = static_cast<int64_t>(stores ? c.dst_off : c.src_off);
  const int64_t far = int64_t{stores ? c.dst_stride : c.src_stride} * (int64_t{c.table_rows} - 1);
  return {stores ? c.dst_seg : c.src_seg, first + std::min<int64_t>(far, 0),
          first + std::max<int64_t>(far, 0) + c.row_bytes};
}

struct Move {
  uint32_t place = 0;  ///< the command behind which it may stand, or itself
  uint32_t index = 0;
  Extent extent;
};

}  // namespace

void CommandGraph::store_early() {
  std::vector<uint32_t> key(commands_.size()), written(buffers_.size());
  std::map<uint8_t, std::vector<Move>> moves;  ///< by segment
  for (uint32_t i = 0; i < commands_.size(); i++) {
    const GraphCommand& c = commands_[i];
    key[i] = i;
    if (c.d != kNoBuffer) written[index_of(c.d)] = i;
    const bool stores = c.queue == WEFT_QUEUE_DMA_OUT;
    if (const auto* rows = std::get_if<spec::IndexedCommand>(&c.body)) {
      const Extent extent = extent_of(*rows, stores);
      moves[extent.segment].push_back({i, i, extent});
      continue;
    }
    const auto* dma = std::get_if<spec::DmaCommand>(&c.body);
    if (dma == nullptr) continue;
    const Extent extent = extent_of(*dma, stores);
    auto& others = moves[extent.segment];
    if (stores) {
      key[i] = written[index_of(c.a)];
      // Not before what reads or writes the same bytes.
      for (auto other = others.rbegin(); other != others.rend() && other->index > key[i]; other++)
        if (other->extent.first < extent.end && extent.first < other->extent.end)
          key[i] = std::max(key[i], other->place);
    }
    others.push_back({key[i], i, extent});
  }
  std::vector<uint32_t> order(commands_.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, {}, [&](uint32_t i) { return key[i]; });
  std::vector<GraphCommand> commands;
  for (const uint32_t i : order) commands.push_back(commands_[i]);
  commands_ = std::move(commands);
}

}  // namespace weft::compiler::command_graph
