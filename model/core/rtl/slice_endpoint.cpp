// The interconnect's end beside a Verilated core.
#include "model/core/rtl/slice_endpoint.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "model/core/command/segment_writes.hpp"
#include "model/core/remote/remote_receiver.hpp"
#include "model/core/rtl/rtl_core.hpp"
#include "model/golden/remote.hpp"
#include "weft/spec/ici.hpp"

namespace weft::core {

SliceEndpoint::SliceEndpoint(RtlCore& core, MemoryBus& bus, RemotePort& port) : core_(core), bus_(bus), port_(port) {
  port_.attach(this);
}

SliceEndpoint::~SliceEndpoint() { port_.attach(nullptr); }

// ---------------------------------------------------------------- what the core asks for

void SliceEndpoint::open(unsigned channel, const spec::Command& command) {
  const auto copy = spec::decode_dma(command);
  const uint64_t number = port_.begin(copy);
  channels_[channel].sending.push_back({number, copy});
  on_their_way_.emplace(number, OnItsWay{channel, copy.header.tag});
}

/// The beat joins the piece that its channel assembles; a full one, and the command's last, sets out.
void SliceEndpoint::beat(unsigned channel, uint64_t offset, std::span<const std::byte> data, bool last,
                         uint64_t cycle) {
  Channel& ch = channels_[channel];
  RemotePiece& piece = ch.piece;
  piece.number = ch.sending.front().number;
  piece.command = ch.sending.front().command;
  const auto bytes = static_cast<uint32_t>(data.size());
  piece.runs.add(offset, bytes);
  piece.bytes += bytes;
  piece.data.insert(piece.data.end(), data.begin(), data.end());
  piece.last = last;
  const size_t largest = size_t{core_.chip().dma_words} * core_.chip().word_bytes;
  if (last || piece.data.size() + largest > spec::kIciPacketPayloadBytes) port_.send(std::exchange(piece, {}), cycle);
  if (last) ch.sending.pop_front();
}

void SliceEndpoint::begin_barrier(const spec::Command& command, uint64_t cycle) {
  const auto barrier = spec::decode_barrier(command);
  if (!golden::barrier_legal(barrier, place())) {
    barrier_end_ = BarrierEnd{golden::ici_fault(WEFT_ICI_CAUSE_BARRIER_GROUP, barrier.base, 0)};
    return;
  }
  port_.enter_barrier(barrier, cycle);
}

// ---------------------------------------------------------------- what the ports show

const SliceEndpoint::Acknowledgement* SliceEndpoint::acknowledgement() const {
  return acknowledgements_.empty() ? nullptr : &acknowledgements_.front();
}

/// A cycle before a wait may see it: the counter takes it at the edge.
const SliceEndpoint::Post* SliceEndpoint::post(uint64_t cycle) const {
  return posts_.empty() || posts_.front().cycle > cycle + 1 ? nullptr : &posts_.front();
}

void SliceEndpoint::reset() {
  channels_ = {};
  on_their_way_.clear();
  acknowledgements_.clear();
  posts_.clear();
  barrier_end_.reset();
  port_.core_reset();
}

// ---------------------------------------------------------------- what other chips do

std::optional<golden::Fault> SliceEndpoint::receive(const RemotePiece& piece, uint64_t& visible) {
  const uint32_t here = place().chip;
  if (core_.in_reset()) return golden::ici_fault(WEFT_ICI_CAUSE_RECEIVER_RESET, here, 0);
  golden::SegmentTable segments;  // the entry that counts, as the core holds it
  for (const uint32_t field : {WEFT_CSR_SEGMENT_BASE, WEFT_CSR_SEGMENT_LIMIT, WEFT_CSR_SEGMENT_ATTRIBUTES}) {
    const uint32_t offset = field + piece.command.dst_seg * uint32_t{WEFT_CSR_SEGMENT_BASE_STRIDE};
    write_segment(segments, offset, core_.read_csr(offset));
  }
  std::vector<std::byte> there;
  const auto combine_vmem = [&](uint64_t first, std::span<const std::byte> data) {
    there.resize(data.size());
    (void)core_.peek_vmem(first, there);
    golden::combine(piece.command.header.flags, there, data);
    core_.write_received(first, there);
  };
  return receive_piece(piece, {core_.chip(), segments, here, bus_, core_.cycle(), combine_vmem}, visible);
}

void SliceEndpoint::receive_post(uint8_t semaphore, uint16_t count, uint64_t cycle) {
  // What is shown stays until it is taken.
  const auto first = posts_.begin() + (post(core_.cycle()) != nullptr ? 1 : 0);
  const auto later = std::find_if(first, posts_.end(), [&](const Post& p) { return p.cycle > cycle; });
  posts_.insert(later, {cycle, semaphore, count});
}

void SliceEndpoint::acknowledge(uint64_t number, const std::optional<golden::Fault>& fault) {
  const auto sent = on_their_way_.find(number);
  if (sent == on_their_way_.end()) return;
  acknowledgements_.push_back({fault, sent->second.channel, sent->second.tag});
  on_their_way_.erase(sent);
}

void SliceEndpoint::end_barrier(const std::optional<golden::Fault>& fault) { barrier_end_ = BarrierEnd{fault}; }

}  // namespace weft::core
