// A shadow of memory keeps, for each word, who wrote it last and who has read it since.
#include "host/compiler/command_graph/dependences.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "host/compiler/command_graph/accesses.hpp"

namespace weft::compiler::command_graph {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

/// Of a word, row or granule. Where the order of a queue that retires in order is given, its last reader stands for
/// all.
struct Cell {
  uint32_t writer = kNone, mxu_reader = kNone, vpu_reader = kNone, other_readers = kNone;
};
struct Reader {
  uint32_t command, next;
};

/// Cells, and the readers that they have lists of.
struct Memory {
  std::vector<Cell> cells;
  std::vector<Reader> readers;
};

class Shadow {
 public:
  /// `bases`: where the buffers lie; null: each by itself.
  Shadow(const CommandGraph& graph, const BufferBases* bases)
      : graph_(graph),
        bases_(bases),
        separate_(bases == nullptr ? graph.buffers().size() : 0),
        noted_(graph.commands().size()) {
    for (const auto& command : graph.commands()) {
      if (const auto* arrival = std::get_if<Arrival>(&command.body))
        for (const Landing& landing : arrival->landings)
          if (landing.buffer == kNoBuffer) written_.at(landing.segment) = true;
      if (const auto* dma = std::get_if<spec::DmaCommand>(&command.body); dma != nullptr && !is_remote(*dma))
        written_.at(dma->dst_seg) = true;
      if (const auto* rows = std::get_if<spec::IndexedCommand>(&command.body)) written_.at(rows->dst_seg) = true;
    }
  }

  /// No command to come touches the buffer.
  void forget(BufferId buffer) { separate_[index_of(buffer)] = {}; }

  std::vector<uint32_t> visit(uint32_t command) {
    for (const uint32_t found : found_) noted_[found] = 0;
    found_.clear();
    const GraphCommand& c = graph_.commands()[command];
    for_each_access(graph_.chip(), c, [&](const Access& access) { touch(command, access, Pass::kFind); });
    // Only now: a command that writes what it reads must find the readers before it.
    for_each_access(graph_.chip(), c, [&](const Access& access) { touch(command, access, Pass::kNoteReads); });
    auto result = found_;
    const auto& fences = graph_.fences();
    const auto fence = std::ranges::lower_bound(fences, command);
    const uint32_t from = fence == fences.begin() ? 0 : *std::prev(fence);
    if (fence != fences.end() && *fence == command)
      for (uint32_t before = from; before < command; before++) result.push_back(before);
    else if (fence != fences.begin())
      result.push_back(from);
    const auto add = [&](const auto& told) {
      if (const auto at = told.find(command); at != told.end())
        result.insert(result.end(), at->second.begin(), at->second.end());
    };
    add(graph_.needs());
    if (bases_ == nullptr) add(graph_.follows());
    std::ranges::sort(result);
    result.erase(std::ranges::unique(result).begin(), result.end());
    std::erase(result, command);
    return result;
  }

 private:
  enum class Pass : uint8_t { kFind, kNoteReads };

  void touch(uint32_t command, const Access& access, Pass pass) {
    if (pass == Pass::kNoteReads && access.writes) return;
    uint64_t first = access.first;
    Memory* memory = nullptr;
    if (access.buffer == kNoBuffer) {
      if (!written_[access.segment]) return;  // only read: constants and inputs
      memory = &segments_[access.segment];
    } else if (bases_ == nullptr) {
      memory = &separate_[index_of(access.buffer)];
    } else {
      first += (*bases_)[index_of(access.buffer)];
      memory = graph_.buffers()[index_of(access.buffer)].space == BufferSpace::kAcc ? &acc_ : &vmem_;
    }
    auto& cells = memory->cells;
    if (cells.size() < first + access.count) cells.resize(std::max(first + access.count, cells.size() * 2));
    for (uint64_t i = first; i < first + access.count; i++) {
      if (access.writes)
        write(command, cells[i], memory->readers);
      else if (pass == Pass::kFind)
        note(cells[i].writer);
      else
        read(command, cells[i], memory->readers);
    }
  }

  void note(uint32_t command) {
    if (command != kNone && std::exchange(noted_[command], uint8_t{1}) == 0) found_.push_back(command);
  }

  void read(uint32_t command, Cell& cell, std::vector<Reader>& readers) const {
    if (cell.writer == command) return;
    const auto queue = graph_.commands()[command].queue;
    if (bases_ != nullptr && queue == WEFT_QUEUE_MXU) {
      cell.mxu_reader = command;
    } else if (bases_ != nullptr && queue == WEFT_QUEUE_VPU) {
      cell.vpu_reader = command;
    } else if (cell.other_readers == kNone || readers[cell.other_readers].command != command) {
      readers.push_back({command, cell.other_readers});
      cell.other_readers = static_cast<uint32_t>(readers.size() - 1);
    }
  }

  void write(uint32_t command, Cell& cell, const std::vector<Reader>& readers) {
    note(cell.writer);
    note(cell.mxu_reader);
    note(cell.vpu_reader);
    for (uint32_t r = cell.other_readers; r != kNone; r = readers[r].next) note(readers[r].command);
    cell = {.writer = command};
  }

  const CommandGraph& graph_;
  const BufferBases* const bases_;
  std::array<bool, WEFT_SEGMENTS> written_{};
  std::vector<Memory> separate_;  ///< by buffer
  Memory vmem_, acc_;
  std::map<uint8_t, Memory> segments_;
  std::vector<uint32_t> found_;
  std::vector<uint8_t> noted_;  ///< by command: it is among them
};

}  // namespace

std::vector<std::vector<uint32_t>> dependences(const CommandGraph& graph, const std::vector<uint32_t>& order) {
  std::vector<uint32_t> last_user(graph.buffers().size(), kNone);
  const auto for_each_buffer = [&](uint32_t command, auto visit) {
    const GraphCommand& c = graph.commands()[command];
    for (const BufferId buffer : {c.a, c.b, c.d, c.kept})
      if (buffer != kNoBuffer) visit(buffer);
  };
  for (const uint32_t command : order)
    for_each_buffer(command, [&](BufferId buffer) { last_user[index_of(buffer)] = command; });
  Shadow shadow(graph, nullptr);
  std::vector<std::vector<uint32_t>> result(graph.commands().size());
  for (const uint32_t command : order) {
    result[command] = shadow.visit(command);
    for_each_buffer(command, [&](BufferId buffer) {
      if (last_user[index_of(buffer)] == command) shadow.forget(buffer);
    });
  }
  return result;
}

std::vector<std::vector<uint32_t>> placed_dependences(const CommandGraph& graph, const std::vector<uint32_t>& order,
                                                      const BufferBases& bases) {
  Shadow shadow(graph, &bases);
  std::vector<std::vector<uint32_t>> result(graph.commands().size());
  for (const uint32_t command : order) result[command] = shadow.visit(command);
  return result;
}

}  // namespace weft::compiler::command_graph
