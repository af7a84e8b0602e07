// Parts of matrices on their way between chips, row chunk by row chunk, from VMEM to VMEM. What comes from others has a
// place that all chips agree on: landings lie at the beginning of VMEM, in the order in which the program has them, and
// keep their words to its end, so that no sender has to wait for room.
//
// No run hangs: sends and arrivals of all chips stand in one order, that of landings and row chunks, and a chip's
// queues keep it. Of the arrivals that chips wait for, the first one in this order waits for sends that wait for
// earlier arrivals alone.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/round_up.hpp"
#include "host/compiler/command_graph/accesses.hpp"
#include "host/compiler/command_graph/unit_times.hpp"
#include "host/compiler/tiles/chunk_copies.hpp"
#include "host/compiler/tiles/tile_builder.hpp"

namespace weft::compiler::tiles {
namespace {

constexpr uint64_t kPieces = 4;      // of a matrix that is sent, at least, if it has as many blocks
constexpr uint64_t kMostPieces = 8;  // of long ones

}  // namespace

void TileBuilder::enter_slice(const spec::BarrierCommand& barrier, bool lands_in_memory) {
  auto command = barrier;
  command.header.opcode = WEFT_OPCODE_BARRIER;
  command.header.tag = program_.tag("barrier");
  barrier_ = graph_.barrier(command);
  lands_in_memory_ = lands_in_memory;
  box_ = barrier;
}

Matrix TileBuilder::landing(uint64_t columns, weft_vpu_dtype dtype, const std::vector<Span>& chunks) {
  Matrix matrix = new_matrix(columns, dtype, chunks);
  for (const BufferId buffer : matrix.chunks) {
    landings_[buffer] = landing_words_;
    graph_.fix(buffer, landing_words_);
    landing_words_ += round_up(uint64_t{graph_.buffers()[index_of(buffer)].size}, 2 * uint64_t{chip_.vpu_sublanes});
  }
  return matrix;
}

PartOfLanding TileBuilder::part_of_landing(uint64_t rows, uint64_t columns, weft_vpu_dtype dtype, size_t ranks,
                                           unsigned rank) {
  return {landing(ranks * columns, dtype, chunks_of(rows)), rank * blocks(columns)};
}

/// `count` blocks of columns of a row chunk, to where they lie at another chip. Beside each other, or all rows of one
/// behind the other, they are one command.
uint64_t TileBuilder::send(const ColumnBlocks& from, const ColumnBlocks& to, uint64_t chunk, uint64_t count,
                           const Receiver& receiver) {
  const Matrix &a = *from.matrix, &d = *to.matrix;
  const uint64_t rows = a.row_chunks[chunk].count, words = row_words(a.dtype), word = chip_.word_bytes;
  const auto beside = [&](const Matrix& m) { return m.block_words == words; };
  const auto behind = [&](const Matrix& m) { return m.row_words == words; };
  spec::DmaCommand c;
  c.header.opcode = WEFT_OPCODE_COPY;
  address(c, receiver);
  c.src_off = from.first * a.block_words * word;
  c.dst_off = (landings_.at(d.chunks[chunk]) + to.first * d.block_words) * word;
  c.size0 = static_cast<uint32_t>(words * word), c.size1 = static_cast<uint16_t>(rows);
  c.src_stride1 = static_cast<int32_t>(a.row_words * word), c.dst_stride1 = static_cast<int32_t>(d.row_words * word);
  if (beside(a) && beside(d)) {
    c.size0 = static_cast<uint32_t>(count * words * word);
  } else {
    c.size2 = static_cast<uint16_t>(count);
    c.src_stride2 = static_cast<int32_t>(a.block_words * word);
    c.dst_stride2 = static_cast<int32_t>(d.block_words * word);
    if (behind(a) && behind(d)) c.size0 *= c.size1, c.size1 = 1;
  }
  note_send(c, a.chunks[chunk], receiver);
  return 1;
}

/// The same to where its first block lies in the other chip's memory.
uint64_t TileBuilder::send(const ColumnBlocks& from, const TensorPlace& to, uint64_t chunk, uint64_t count,
                           const Receiver& receiver) {
  const Matrix& a = *from.matrix;
  auto commands = stores_of(a, chunk, to, {from.first, count}, 0);
  for (auto& command : commands) {
    address(command, receiver);
    note_send(command, a.chunks[chunk], receiver);
  }
  return commands.size();
}

void TileBuilder::address(spec::DmaCommand& command, const Receiver& receiver) {
  command.header.tag = program_.tag(fmt::format("send to chip {}", receiver.chip));
  command.header.flags = WEFT_COMMAND_FLAG_REMOTE;
  command.remote_chip = receiver.chip;
  command.header.post_sem1 = receiver.semaphore, command.header.post_count1 = 1;
}

void TileBuilder::note_send(const spec::DmaCommand& send, BufferId a, const Receiver& receiver) {
  const uint32_t command = graph_.send(send, a, link_cycles(command_graph::bytes_of(send), *receiver.group));
  if (barrier_) graph_.need(*barrier_, command);
  if (sent_) graph_.follow(*sent_, command);
  sent_ = command;
}

/// A command waits for two semaphores at most, so several senders take a chain of them.
void TileBuilder::arrive(const ChipGroup& group, uint64_t posts, std::vector<command_graph::Landing> landings,
                         uint16_t tag) {
  std::vector<uint8_t> senders;
  for (unsigned rank = 0; rank < group.chips.size(); rank++)
    if (rank != group.rank) senders.push_back(group.semaphores[rank]);
  for (size_t i = 0; i < senders.size(); i += 2) {
    command_graph::Arrival arrival;
    arrival.header.tag = tag;
    for (size_t s = i; s < std::min(i + 2, senders.size()); s++)
      ProgramBuilder::wait(arrival.header, senders[s], posts);
    if (i + 2 >= senders.size()) arrival.landings = std::move(landings);
    const uint32_t command = graph_.arrive(std::move(arrival));
    if (arrived_) graph_.follow(*arrived_, command);
    if (sent_) graph_.follow(*sent_, command);
    arrived_ = command;
  }
}

command_graph::Landing TileBuilder::landing_of(const ColumnBlocks& at, uint64_t chunk, uint64_t block) const {
  const Matrix& m = *at.matrix;
  return {m.chunks[chunk], (at.first + block) * m.block_words, row_words(m.dtype), m.row_chunks[chunk].count,
          m.row_words};
}

command_graph::Landing TileBuilder::landing_of(const TensorPlace& at, const Span& rows, uint64_t bytes) const {
  constexpr uint64_t kGranule = command_graph::kGranuleBytes;
  return {command_graph::kNoBuffer,          (at.offset_bytes + rows.first * at.pitch_bytes) / kGranule,
          (bytes + kGranule - 1) / kGranule, rows.count,
          at.pitch_bytes / kGranule,         at.segment};
}

uint64_t TileBuilder::link_cycles(uint64_t bytes, const ChipGroup& group) const {
  const double rate = graph_.links().bytes_per_cycle;
  return rate == 0 ? 0 : static_cast<uint64_t>(static_cast<double>(bytes) * link_share(group) / rate);
}

/// Of few row chunks each leaves in several pieces, so that the first one is on its way soon; more than kPieces if each takes
/// as long as a hop. `count`: blocks of columns.
std::vector<Span> TileBuilder::pieces_of(const std::vector<Span>& chunks, uint64_t count, weft_vpu_dtype dtype,
                                         const ChipGroup& group) const {
  const uint64_t bytes = chunks.front().count * count * row_words(dtype) * chip_.word_bytes;
  const uint64_t hops = link_cycles(bytes, group) / std::max<uint64_t>(1, graph_.links().hop_cycles);
  const uint64_t more = std::min(kMostPieces / chunks.size(), hops);
  const uint64_t parts = std::clamp<uint64_t>(std::max(kPieces / chunks.size(), more), 1, count);
  std::vector<Span> pieces;
  for (uint64_t i = 0; i < parts; i++)
    pieces.push_back({count * i / parts, count * (i + 1) / parts - count * i / parts});
  return pieces;
}

/// Links between two chips of the box; rings are taken for lines.
unsigned TileBuilder::hops(uint16_t from, uint16_t to) const {
  unsigned hops = 0;
  for (const auto& [count, stride] : {std::pair{box_.count0, box_.stride0}, std::pair{box_.count1, box_.stride1},
                                      std::pair{box_.count2, box_.stride2}}) {
    if (count < 2) continue;
    const auto at = [count = count, stride = stride](uint16_t chip) {
      return static_cast<unsigned>(chip / stride % count);
    };
    hops += std::max(at(from), at(to)) - std::min(at(from), at(to));
  }
  return hops;
}

/// The other ranks, those that are farthest away first: what comes last over the busiest link has one hop to go.
std::vector<unsigned> TileBuilder::receivers_of(const ChipGroup& group) const {
  std::vector<unsigned> ranks;
  for (unsigned i = 1; i < group.ranks(); i++) ranks.push_back((group.rank + i) % group.ranks());
  std::ranges::stable_sort(ranks, std::ranges::greater{},
                           [&](unsigned rank) { return hops(group.chips[group.rank], group.chips[rank]); });
  return ranks;
}

/// Where all send the same to each other: what the busiest link carries, by what each sends. Rings are taken for lines.
double TileBuilder::link_share(const ChipGroup& group) const {
  uint64_t busiest = 0;
  for (const auto& [count, stride] : {std::pair{box_.count0, box_.stride0}, std::pair{box_.count1, box_.stride1},
                                      std::pair{box_.count2, box_.stride2}}) {
    if (count < 2) continue;
    std::set<uint16_t> places;
    for (const uint16_t chip : group.chips) places.insert(static_cast<uint16_t>(chip / stride % count));
    const uint64_t along = places.size();
    busiest = std::max(busiest, along / 2 * ((along + 1) / 2) * (group.ranks() / along));
  }
  return static_cast<double>(busiest) / (group.ranks() - 1);
}

std::vector<uint64_t> TileBuilder::order_of_sends(uint64_t rows, uint64_t columns, weft_vpu_dtype dtype,
                                                  const ChipGroup& group) const {
  const uint64_t own = blocks(columns / group.ranks());
  std::vector<uint64_t> order;
  for (const Span& piece : pieces_of(chunks_of(rows), own, dtype, group))
    for (const unsigned peer : receivers_of(group))
      for (uint64_t block = 0; block < piece.count; block++) order.push_back(peer * own + piece.first + block);
  for (uint64_t block = 0; block < own; block++) order.push_back(group.rank * own + block);
  return order;
}

void TileBuilder::vector_block(weft_vpu_op op, const ColumnBlocks& a, const ColumnBlocks* b, const ColumnBlocks& d,
                               uint64_t chunk, uint64_t block, uint16_t tag) {
  const auto word = [&](const ColumnBlocks& at) {
    return static_cast<uint32_t>((at.first + block) * at.matrix->block_words);
  };
  spec::VpuCommand c;
  c.header.opcode = WEFT_OPCODE_ELEMENTWISE;
  c.header.tag = tag;
  c.op = static_cast<uint8_t>(op);
  c.src_dtype = c.dst_dtype = static_cast<uint8_t>(a.matrix->dtype);
  c.rows = static_cast<uint16_t>(a.matrix->row_chunks[chunk].count);
  c.cols = static_cast<uint16_t>(lanes(d.matrix->columns, d.first + block));
  c.a_addr = word(a), c.a_stride = static_cast<uint32_t>(a.matrix->row_words);
  if (b != nullptr) {
    c.b_mode = WEFT_VPU_B_MODE_TENSOR;
    c.b_addr = word(*b), c.b_stride = static_cast<uint32_t>(b->matrix->row_words);
  }
  c.d_addr = word(d), c.d_stride = static_cast<uint32_t>(d.matrix->row_words);
  graph_.vector(c, a.matrix->chunks[chunk], b == nullptr ? command_graph::kNoBuffer : b->matrix->chunks[chunk],
                d.matrix->chunks[chunk]);
}

Matrix TileBuilder::gather(Matrix& x, const ChipGroup& group, const TensorPlace& place, const std::string& name) {
  const uint64_t own = blocks(x.columns), ranks = group.chips.size(), element = vpu_element_bytes(x.dtype);
  const bool there = landings_.contains(x.chunks.front());
  Matrix y = x;
  if (lands_in_memory_)
    y = from_memory(x.rows, ranks * x.columns, x.dtype, place);
  else if (there)
    y.columns = ranks * x.columns, y.first_block = 0;
  else
    y = landing(ranks * x.columns, x.dtype, x.row_chunks);
  const ColumnBlocks mine{&y, group.rank * own};
  const auto place_of = [&](uint64_t rank, uint64_t block) {
    TensorPlace at = place;
    at.offset_bytes += (rank * x.columns + block * chip_.n) * element;
    return at;
  };
  for (uint64_t chunk = 0; chunk < x.chunks.size(); chunk++) {
    const uint16_t tag = program_.tag(fmt::format("{} rows {}..", name, x.row_chunks[chunk].first));
    for (const Span& piece : pieces_of(x.row_chunks, own, x.dtype, group)) {
      const uint64_t bytes =
          (std::min((piece.first + piece.count) * chip_.n, x.columns) - piece.first * chip_.n) * element;
      if (lands_in_memory_ || !there) need(x, chunk, piece);
      for (uint64_t i = 0; !lands_in_memory_ && !there && i < piece.count; i++)
        vector_block(WEFT_VPU_OP_NONE, {&x, 0}, nullptr, mine, chunk, piece.first + i, tag);
      std::vector<command_graph::Landing> landings;
      uint64_t posts = 0;
      for (const unsigned peer : receivers_of(group)) {
        const Receiver receiver{group.chips[peer], group.semaphores[group.rank], &group};
        if (lands_in_memory_) {
          posts = send({&x, piece.first}, place_of(group.rank, piece.first), chunk, piece.count, receiver);
          landings.push_back(landing_of(place_of(peer, piece.first), x.row_chunks[chunk], bytes));
          continue;
        }
        const ColumnBlocks from{&y, mine.first + piece.first};
        posts = send(from, from, chunk, piece.count, receiver);
        for (uint64_t i = 0; i < piece.count; i++)
          landings.push_back(landing_of({&y, peer * own}, chunk, piece.first + i));
      }
      if (lands_in_memory_) store_blocks(x, chunk, place_of(group.rank, 0), piece, tag);
      arrive(group, posts, std::move(landings), tag);
    }
  }
  return y;
}

Matrix TileBuilder::sums(Matrix& x, const ChipGroup& group, Exchange what, const TensorPlace& place,
                         const std::string& name) {
  const unsigned ranks = group.ranks(), parts_of_x = what == Exchange::kOwnSums ? ranks : 1;
  const uint64_t columns = x.columns / parts_of_x, own = blocks(columns);
  const auto first_of = [&](unsigned rank) { return what == Exchange::kOwnSums ? rank * own : 0; };
  // What comes from a rank lies by how far it is behind this one: all chips have the same places.
  const auto slot = [&](unsigned sender, unsigned owner) { return (sender + ranks - owner) % ranks - 1; };
  const auto place_of = [&](uint64_t at, uint64_t block) {
    TensorPlace to = place;
    to.offset_bytes += at * x.rows * place.pitch_bytes + block * chip_.n * vpu_element_bytes(x.dtype);
    return to;
  };
  std::vector<Matrix> landings;
  for (unsigned i = 0; i + 1 < ranks; i++)
    landings.push_back(lands_in_memory_ ? from_memory(x.rows, columns, x.dtype, place_of(i, 0))
                                        : landing(columns, x.dtype, x.row_chunks));
  Matrix y = new_matrix(columns, x.dtype, x.row_chunks);
  std::vector<ColumnBlocks> parts;
  for (unsigned rank = 0; rank < ranks; rank++)
    parts.push_back(rank == group.rank ? ColumnBlocks{&x, first_of(rank)}
                                       : ColumnBlocks{&landings[slot(rank, group.rank)], 0});
  for (uint64_t chunk = 0; chunk < x.chunks.size(); chunk++) {
    const uint16_t tag = program_.tag(fmt::format("{} rows {}..", name, x.row_chunks[chunk].first));
    need(x, chunk, {0, parts_of_x * own});
    for (const Span& piece : pieces_of(x.row_chunks, own, x.dtype, group)) {
      const uint64_t end = std::min((piece.first + piece.count) * chip_.n, columns);
      const uint64_t bytes = (end - piece.first * chip_.n) * vpu_element_bytes(x.dtype);
      std::vector<command_graph::Landing> arriving;
      uint64_t posts = 0;
      for (const unsigned peer : receivers_of(group)) {
        const unsigned there = slot(group.rank, peer), here = slot(peer, group.rank);
        const Receiver receiver{group.chips[peer], group.semaphores[group.rank], &group};
        const ColumnBlocks from{&x, first_of(peer) + piece.first};
        posts = lands_in_memory_ ? send(from, place_of(there, piece.first), chunk, piece.count, receiver)
                                 : send(from, {&landings[there], piece.first}, chunk, piece.count, receiver);
        if (lands_in_memory_) arriving.push_back(landing_of(place_of(here, piece.first), x.row_chunks[chunk], bytes));
        for (uint64_t block = 0; !lands_in_memory_ && block < piece.count; block++)
          arriving.push_back(landing_of({&landings[here], piece.first}, chunk, block));
      }
      arrive(group, posts, std::move(arriving), tag);
      for (Matrix& part : landings) need(part, chunk, piece);
      for (uint64_t block = piece.first; block < piece.first + piece.count; block++) {
        vector_block(WEFT_VPU_OP_ADD, parts[0], &parts[1], {&y, 0}, chunk, block, tag);
        for (unsigned rank = 2; rank < ranks; rank++)
          vector_block(WEFT_VPU_OP_ADD, {&y, 0}, &parts[rank], {&y, 0}, chunk, block, tag);
      }
    }
  }
  return y;
}

}  // namespace weft::compiler::tiles
