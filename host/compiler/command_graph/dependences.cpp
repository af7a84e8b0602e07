// A shadow of memory keeps, for each word, who wrote it last and who has read it since.
#include "host/compiler/command_graph/dependences.hpp"

#include <algorithm>
#include <array>
#include <map>

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

class Shadow {
 public:
  Shadow(const CommandGraph& graph, const BufferBases& bases, QueueOrder queues)
      : graph_(graph), bases_(bases), queues_(queues) {
    for (const auto& command : graph.commands())
      if (const auto* dma = std::get_if<spec::DmaCommand>(&command.body)) written_.at(dma->dst_seg) = true;
  }

  std::vector<uint32_t> visit(uint32_t command) {
    found_.clear();
    const GraphCommand& c = graph_.commands()[command];
    for_each_access(graph_.chip(), c, [&](const Access& access) { touch(command, access, Pass::kFind); });
    // Only now: a command that writes what it reads must find the readers before it.
    for_each_access(graph_.chip(), c, [&](const Access& access) { touch(command, access, Pass::kNoteReads); });
    std::ranges::sort(found_);
    found_.erase(std::ranges::unique(found_).begin(), found_.end());
    std::erase(found_, command);
    return found_;
  }

 private:
  enum class Pass : uint8_t { kFind, kNoteReads };

  void touch(uint32_t command, const Access& access, Pass pass) {
    if (pass == Pass::kNoteReads && access.writes) return;
    uint64_t first = access.first;
    std::vector<Cell>* cells = nullptr;
    if (access.buffer == kNoBuffer) {
      if (!written_[access.segment]) return;  // only read: constants and inputs
      cells = &segments_[access.segment];
    } else {
      first += bases_[index_of(access.buffer)];
      cells = graph_.buffers()[index_of(access.buffer)].space == BufferSpace::kAcc ? &acc_ : &vmem_;
    }
    if (cells->size() < first + access.count) cells->resize(std::max(first + access.count, cells->size() * 2));
    for (uint64_t i = first; i < first + access.count; i++) {
      if (access.writes)
        write(command, (*cells)[i]);
      else if (pass == Pass::kFind)
        note((*cells)[i].writer);
      else
        read(command, (*cells)[i]);
    }
  }

  void note(uint32_t command) {
    if (command != kNone && (found_.empty() || found_.back() != command)) found_.push_back(command);
  }

  void read(uint32_t command, Cell& cell) {
    if (cell.writer == command) return;
    const auto queue = graph_.commands()[command].queue;
    if (queues_ == QueueOrder::kGiven && queue == WEFT_QUEUE_MXU) {
      cell.mxu_reader = command;
    } else if (queues_ == QueueOrder::kGiven && queue == WEFT_QUEUE_VPU) {
      cell.vpu_reader = command;
    } else if (cell.other_readers == kNone || readers_[cell.other_readers].command != command) {
      readers_.push_back({command, cell.other_readers});
      cell.other_readers = static_cast<uint32_t>(readers_.size() - 1);
    }
  }

  void write(uint32_t command, Cell& cell) {
    note(cell.writer);
    note(cell.mxu_reader);
    note(cell.vpu_reader);
    for (uint32_t r = cell.other_readers; r != kNone; r = readers_[r].next) note(readers_[r].command);
    cell = {.writer = command};
  }

  const CommandGraph& graph_;
  const BufferBases& bases_;
  const QueueOrder queues_;
  std::array<bool, WEFT_SEGMENTS> written_{};
  std::vector<Cell> vmem_, acc_;
  std::map<uint8_t, std::vector<Cell>> segments_;
  std::vector<Reader> readers_;
  std::vector<uint32_t> found_;
};

}  // namespace

BufferBases separate_bases(const CommandGraph& graph) {
  BufferBases bases;
  uint64_t next[2] = {0, 0};
  for (const Buffer& buffer : graph.buffers()) {
    uint64_t& end = next[static_cast<size_t>(buffer.space)];
    bases.push_back(end);
    end += buffer.size;
  }
  return bases;
}

std::vector<std::vector<uint32_t>> dependences(const CommandGraph& graph, const std::vector<uint32_t>& order,
                                               const BufferBases& bases, QueueOrder queues) {
  Shadow shadow(graph, bases, queues);
  std::vector<std::vector<uint32_t>> result(graph.commands().size());
  for (const uint32_t command : order) result[command] = shadow.visit(command);
  return result;
}

}  // namespace weft::compiler::command_graph
