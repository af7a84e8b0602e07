/// The DMA channels of the fast core: the stages of rtl/dma, last one first, so that each sees the registers of its
/// cycle.
#include "model/core/fast/dma.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "model/golden/remote.hpp"
#include "weft/spec/ici.hpp"

namespace weft::core::fast {

namespace {

/// Bytes of a remote command's largest piece: it sets out once another whole beat might not fit, though the beats of
/// short runs are shorter.
uint64_t piece_room(const spec::DmaCommand& command, uint64_t beat_bytes) {
  uint64_t bytes = std::min<uint64_t>(command.size0, spec::kIciPacketPayloadBytes);
  for (const uint64_t count : {command.size1, command.size2, command.size3})
    bytes = std::min<uint64_t>(bytes * count, spec::kIciPacketPayloadBytes);
  return std::min(bytes, spec::kIciPacketPayloadBytes - beat_bytes + std::min<uint64_t>(command.size0, beat_bytes));
}

}  // namespace

uint64_t DmaDirection::take(unsigned channel, const spec::Command& command, uint64_t cycle, uint32_t fail_beat) {
  DmaChannel& ch = channels_[channel];
  ch.fail_beat = fail_beat;
  ch.checking = command;
  ch.verdict_cycle = cycle + timing_.dma_check;
  const golden::SlicePlace place = remote_ != nullptr ? remote_->place() : golden::SlicePlace{};
  ch.verdict = golden::check_unit(command, queue_, state_.chip(), state_.segments(), place);
  ch.held++;
  resting_ = false;
  moved_ = true;
  const auto decoded = spec::decode_dma(command);
  const bool remote = !ch.verdict && golden::is_remote(decoded.header);
  ch.checking_number = remote ? remote_->begin(decoded) : 0;
  ch.segment = ch.verdict || remote ? golden::Segment{} : state_.segments()[out() ? decoded.dst_seg : decoded.src_seg];
  return ch.checking_number;
}

/// Would memory take this cycle's request?
void DmaDirection::look_at_memory(uint64_t cycle) {
  memory_ready_ = fetch_ready_ = false;
  if (fetch_ != nullptr && fetch_->requesting()) {
    const bool fetch = fetch_->chosen(request_.valid);
    const bool ready = !bus_.congested(fetch ? WEFT_ADDRESS_SPACE_HBM : request_.space, cycle);
    (fetch ? fetch_ready_ : memory_ready_) = ready;
    fetch_->port(request_.valid, ready);
  } else if (request_.valid) {
    memory_ready_ = !(request_.remote ? remote_->congested() : bus_.congested(request_.space, cycle));
    if (fetch_ != nullptr) fetch_->port(true, memory_ready_);
  }
}

void DmaDirection::look(uint64_t cycle) {
  look_at_memory(cycle);
  vmem_banks_ = 0;
  reads_ = -1;
  if (resting_) return;
  if (!out()) {
    if (write_.valid) vmem_banks_ = banks_of(write_.beat);
    return;
  }
  // A beat that was refused asks again before any other.
  std::array<bool, 2> asking{};
  for (unsigned i = 0; i < 2; i++) asking[i] = channels_[i].asks(outstanding_limit());
  const bool room = skid_.size() + (reading_.valid ? 1 : 0) < 2;
  if (room) reads_ = pick_front(asking, asked_last_);
  if (reads_ >= 0 && repeated_ >= 0 && asking[static_cast<unsigned>(repeated_)]) reads_ = repeated_;
  if (reads_ < 0) return;
  const BeatWalk& front = channels_[static_cast<unsigned>(reads_)].front;
  if (!front.fill()) vmem_banks_ = banks_of(front.beat());
}

BankSet DmaDirection::banks_of(const BeatWalk::Beat& beat) const {
  const uint32_t word = state_.chip().word_bytes;
  return vmem_.banks(beat.vmem / word, (beat.bytes + word - 1) / word);
}

bool DmaDirection::step(uint64_t cycle) {
  moved_ = progressed_ = false;
  if (resting_) {
    ready_ = 0;
    if (fetch_ready_) accept_fetch(cycle);
    return false;
  }
  std::array<uint32_t, 2> held{};
  std::array<bool, 2> able{};
  bool reports = false;
  for (unsigned i = 0; i < 2; i++) {
    DmaChannel& ch = channels_[i];
    if (ch.reports) {
      outcomes_[i] = std::exchange(ch.next, {});
      ch.reports = false;
      reports = moved_ = true;
    } else {
      outcomes_[i] = {};
    }
    held[i] = ch.held;
    able[i] = !ch.dead && ch.held < timing_.dma_held && !ch.refused(cycle);
    if (ch.held == 0) continue;
    if (ch.refused(cycle) && ch.held == 1 && !ch.dead) fail(i, *ch.verdict, spec::decode_header(*ch.checking).tag);
    // Of a poisoned command all beats before it are answered.
    if (ch.poisoned && ch.outstanding == ch.dropped && ch.back_here() && !ch.back_at(DmaChannel::Row::kSkipped))
      fail(i, {WEFT_FAULT_ECC_UNCORRECTABLE, ch.poison_address}, ch.back.command().header.tag);
    // Of an index that is no row all beats before it are done.
    const bool busy = write_.valid && write_.channel == i && !vmem_.dma_write_granted();
    if (ch.back.valid() && ch.back_at(DmaChannel::Row::kRefused) && !ch.dead && !busy)
      fail(i, ch.rows.back()->fault, ch.back.command().header.tag);
  }
  if (held[0] + held[1] != 0 || request_.valid || write_.valid || reading_.valid || !fetch_answers_.empty()) {
    for (unsigned i = 0; i < 2; i++) passing_[i] = channels_[i].passes();
    if (out()) {
      step_out(cycle);
    } else {
      step_in(cycle);
    }
    end_rows();
    load_jobs(cycle);
  }
  if (fetch_ready_) accept_fetch(cycle);
  for (unsigned i = 0; i < 2; i++) able[i] = able[i] && !channels_[i].checking;
  ready_ = able[0] && (!able[1] || held[0] <= held[1]) ? 0 : able[1] ? 1 : -1;
  resting_ = holds_nothing();
  if (resting_ && !state_.vmem_is_flat()) slots_.let_go();  // many chips: memory counts
  return reports;
}

bool DmaDirection::holds_nothing() const {
  return channels_[0].held + channels_[1].held == 0 && !channels_[0].reports && !channels_[1].reports &&
         !request_.valid && !write_.valid && !reading_.valid && skid_.empty() && fetch_answers_.empty();
}

/// The channel reports a fault in the next cycle, and takes nothing more.
void DmaDirection::fail(unsigned channel, const golden::Fault& fault, uint16_t tag) {
  DmaChannel& ch = channels_[channel];
  ch.next.fault = {true, fault, tag};
  ch.reports = ch.dead = true;
  moved_ = true;
}

int DmaDirection::pick_front(const std::array<bool, 2>& valid, unsigned last) const {
  if (valid[0] && valid[1]) return last == 0 ? 1 : 0;
  return valid[0] ? 0 : valid[1] ? 1 : -1;
}

void DmaDirection::retire(unsigned channel) {
  channels_[channel].held--;
  channels_[channel].next.done = channels_[channel].reports = true;
  moved_ = true;
}

/// The back goes on by one beat; an error kills the channel. `asked`: the beat was outstanding.
void DmaDirection::answer_taken(unsigned channel, bool error, bool asked) {
  DmaChannel& ch = channels_[channel];
  if (asked) ch.outstanding--;
  if (error) fail(channel, {WEFT_FAULT_DMA_BUS, ch.back_beat().bus}, ch.back.command().header.tag);
  ch.advance_back();
  moved_ = true;
}

void DmaDirection::write_vmem(const VmemWrite& write) {
  if (!timing_.carries_data) {
    if (!write.fill) slots_.give_back(write.slot);
  } else if (write.fill) {
    std::array<uint32_t, 64> patterns;
    patterns.fill(write.pattern);
    const auto data = std::as_bytes(std::span(patterns));
    for (uint32_t i = 0; i < write.beat.bytes; i += sizeof patterns)
      state_.write_vmem(write.beat.vmem + i, data.first(std::min<size_t>(data.size(), write.beat.bytes - i)));
  } else {
    state_.write_vmem(write.beat.vmem, {slots_.data(write.slot), write.beat.bytes});
    slots_.give_back(write.slot);
  }
  if (flips_.idle()) return;
  const uint64_t first = write.beat.vmem / kGranuleBytes;
  if (const auto flipped = flips_.written(first, first + write.beat.bytes / kGranuleBytes))
    state_.flip_vmem(flipped->place * kGranuleBytes, flipped->change);
}

/// A refused access is repeated in the next cycle.
bool DmaDirection::count_vmem(bool granted, weft_counter grants, weft_counter conflicts) {
  moved_ = true;
  counters_[granted ? grants : conflicts]++;
  progressed_ = progressed_ || granted;
  return granted;
}

void DmaDirection::accept_read(uint64_t cycle) {
  const BeatWalk::Beat& beat = request_.beat;
  const uint32_t carried = timing_.carries_data ? beat.bytes : 1;  // one shows whether the bus takes the address
  const size_t slot = slots_.take(carried);
  const bool ok = bus_.read(request_.space, beat.bus, {slots_.data(slot), carried});
  const uint64_t there = std::max(bus_.schedule_read(request_.space, beat.bytes, cycle), cycle + 1);
  answers_from_ = std::min(answers_from_, there);
  channels_[request_.channel].answers.push_back({there, sequence_++, !ok, slot});
  counters_[WEFT_COUNTER_DMA_READ_BYTES] += beat.bytes;
  counters_[WEFT_COUNTER_DMA_READ_BEATS]++;
}

void DmaDirection::accept_fetch(uint64_t cycle) {
  FetchAnswer answer;
  const bool ok =
      bus_.read(WEFT_ADDRESS_SPACE_HBM, fetch_->address(), std::as_writable_bytes(std::span(answer.command.bytes)));
  const uint64_t there = std::max(bus_.schedule_read(WEFT_ADDRESS_SPACE_HBM, WEFT_COMMAND_BYTES, cycle), cycle + 1);
  answers_from_ = std::min(answers_from_, there);
  answer.when = {there, sequence_++, !ok, 0};
  resting_ = false;
  fetch_answers_.push_back(answer);
}

void DmaDirection::step_in(uint64_t cycle) {
  // VMEM takes the beat of its register.
  if (write_.valid && count_vmem(vmem_.dma_write_granted(), WEFT_COUNTER_VMEM_GRANTS_DMA_WRITE,
                                 WEFT_COUNTER_VMEM_CONFLICTS_DMA_WRITE)) {
    write_vmem(write_);
    write_.valid = false;
    if (write_.beat.last) retire(write_.channel);
  }
  // Answers of memory and patterns of fills share the register.
  const std::array<bool, 2> asking = {channels_[0].asks(outstanding_limit()), channels_[1].asks(outstanding_limit())};
  if (offered_ < 0) offered_ = earliest_answer(cycle);
  if (offered_ == kFetchChannel) {
    fetch_->answer(fetch_answers_.front().command, fetch_answers_.front().when.error);
    fetch_answers_.pop_front();
  }
  const bool drop = offered_ >= 0 && offered_ != kFetchChannel && channels_[static_cast<size_t>(offered_)].dead;
  std::array<bool, 2> offer{};
  for (unsigned i = 0; i < 2; i++) {
    const DmaChannel& ch = channels_[i];
    offer[i] = ch.back_here() && (ch.back_fills() || offered_ == static_cast<int>(i));
  }
  const int pick = write_.valid ? -1 : pick_front(offer, wrote_last_);
  if (pick >= 0) {
    const auto i = static_cast<unsigned>(pick);
    DmaChannel& ch = channels_[i];
    const bool fill = ch.back_fills();
    const auto pattern = ch.back.fill() ? static_cast<uint32_t>(ch.back.command().src_off) : 0;
    DmaChannel::Answer answer = fill ? DmaChannel::Answer{} : ch.answers.front();
    answer.error = answer.error || (!fill && ch.back.failing());
    if (!answer.error) write_ = {true, i, ch.back_beat(), fill, pattern, answer.slot};
    if (answer.error && !fill) slots_.give_back(answer.slot);
    answer_taken(i, answer.error, !fill);
    wrote_last_ = i;
    if (!fill) {
      progressed_ = true;
      ch.answers.pop_front();
      offered_ = -1;
    }
  }
  if (offered_ == kFetchChannel) offered_ = -1;
  if (drop && offered_ >= 0) {
    auto& answers = channels_[static_cast<size_t>(offered_)].answers;
    slots_.give_back(answers.front().slot);
    answers.pop_front();
    offered_ = -1;
    moved_ = progressed_ = true;
  }
  // Memory takes the request of its register, and the fronts fill it again.
  if (request_.valid) {
    if (!memory_ready_) {
      counters_[WEFT_COUNTER_DMA_READ_STALLS]++;
    } else {
      accept_read(cycle);
      request_.valid = false;
      progressed_ = true;
    }
    moved_ = true;
  }
  const int ask = request_.valid ? -1 : pick_front(asking, asked_last_);
  if (ask >= 0) {
    const auto i = static_cast<unsigned>(ask);
    DmaChannel& ch = channels_[i];
    request_ = {.valid = true, .channel = i, .beat = ch.front_beat(), .space = ch.front.space()};
    ch.advance_front();
    ch.outstanding++;
    asked_last_ = i;
    moved_ = true;
  }
}

/// The beat joins the piece that its channel assembles; a full one, and the command's last, sets out.
void DmaDirection::accept_remote(uint64_t cycle) {
  const BeatWalk::Beat& beat = request_.beat;
  DmaChannel& ch = channels_[request_.channel];
  RemotePiece& piece = ch.piece;
  piece.number = request_.number;
  piece.command = request_.command;
  piece.runs.add(beat.bus, beat.bytes);
  piece.bytes += beat.bytes;
  if (timing_.carries_data) {
    if (piece.data.empty()) {
      piece.data = remote_->buffer();
      piece.data.reserve(piece_room(request_.command, beat_bytes()));
    }
    const size_t before = piece.data.size();
    piece.data.resize(before + beat.bytes);
    state_.read_vmem(beat.vmem, std::span(piece.data).subspan(before));
  }
  piece.last = beat.last;
  if (beat.last || piece.bytes + beat_bytes() > spec::kIciPacketPayloadBytes)
    remote_->send(std::exchange(piece, {}), cycle);
  answers_from_ = std::min(answers_from_, cycle + 1);
  ch.answers.push_back({cycle + 1, sequence_++, false, 0});
  counters_[WEFT_COUNTER_DMA_WRITE_BYTES] += beat.bytes;
  counters_[WEFT_COUNTER_DMA_WRITE_BEATS]++;
}

void DmaDirection::accept_write(uint64_t cycle) {
  if (request_.remote) return accept_remote(cycle);
  const BeatWalk::Beat& beat = request_.beat;
  bool ok;
  if (!timing_.carries_data) {
    std::byte there;
    ok = bus_.read(request_.space, beat.bus, {&there, 1});
  } else if (request_.fill) {
    std::vector<std::byte> data(beat.bytes);
    for (uint32_t i = 0; i < beat.bytes; i += sizeof request_.pattern)
      std::memcpy(data.data() + i, &request_.pattern, sizeof request_.pattern);
    ok = bus_.write(request_.space, beat.bus, data);
  } else {
    ok = bus_.write(request_.space, beat.bus, state_.view_vmem(beat.vmem, beat.bytes, beat_));
  }
  const uint64_t visible = std::max(bus_.schedule_write(request_.space, beat.bytes, cycle), cycle + 1);
  answers_from_ = std::min(answers_from_, visible);
  channels_[request_.channel].answers.push_back({visible, sequence_++, !ok, 0});
  counters_[WEFT_COUNTER_DMA_WRITE_BYTES] += beat.bytes;
  counters_[WEFT_COUNTER_DMA_WRITE_BEATS]++;
}

/// What ECC meets in the words of a beat that is read.
void DmaDirection::count_read(const BeatWalk::Beat& beat) {
  if (flips_.idle()) return;
  const uint32_t word = state_.chip().word_bytes;
  const uint64_t first = beat.vmem / kGranuleBytes, words = (beat.bytes + word - 1) / word;
  EccRead read;
  flips_.read(first, first + words * word / kGranuleBytes, 0, read);
  counters_[WEFT_COUNTER_ECC_VMEM_CORRECTED] += read.corrected;
  counters_[WEFT_COUNTER_ECC_VMEM_UNCORRECTABLE] += read.poisoned;
}

/// The beat just read is not sent: it is poisoned in a byte that it carries, or one before it of its channel was.
bool DmaDirection::dropped(const Request& read) {
  DmaChannel& ch = channels_[read.channel];
  if (!ch.poisoned && (read.fill || flips_.idle())) return false;
  if (!ch.poisoned) {
    EccRead found;
    const uint64_t first = read.beat.vmem / kGranuleBytes, end = first + read.beat.bytes / kGranuleBytes;
    flips_.read(first, end, end, found);
    if (!found.first_poison) return false;
    ch.poisoned = true;
    ch.poison_address = *found.first_poison * kGranuleBytes;
  }
  ch.dropped++;
  return true;
}

void DmaDirection::step_out(uint64_t cycle) {
  acknowledge(cycle);
  // Memory takes the write of its register.
  if (request_.valid) {
    if (!memory_ready_) {
      counters_[WEFT_COUNTER_DMA_WRITE_STALLS]++;
    } else {
      accept_write(cycle);
      request_.valid = false;
      progressed_ = true;
    }
    moved_ = true;
  }
  // The register is filled from the skid, else straight from the read.
  if (reading_.valid) {
    if (!dropped(reading_)) skid_.push_back(reading_);
    reading_.valid = false;
    moved_ = true;
  }
  if (!request_.valid && !skid_.empty()) {
    request_ = skid_.front();
    skid_.pop_front();
  }
  // A beat is read from VMEM.
  repeated_ = -1;
  if (reads_ >= 0) {
    const auto i = static_cast<unsigned>(reads_);
    DmaChannel& ch = channels_[i];
    const bool fill = ch.front.fill();
    if (!fill && (yields_ || !count_vmem(vmem_.dma_read_granted(), WEFT_COUNTER_VMEM_GRANTS_DMA_READ,
                                         WEFT_COUNTER_VMEM_CONFLICTS_DMA_READ))) {
      repeated_ = reads_;
      return;
    }
    if (!fill) count_read(ch.front.beat());
    const spec::DmaCommand& command = ch.front.command();
    reading_ = {true,
                i,
                ch.front_beat(),
                ch.front.space(),
                fill,
                static_cast<uint32_t>(command.src_off),
                golden::is_remote(command.header),
                ch.front.number(),
                command};
    ch.advance_front();
    ch.outstanding++;
    asked_last_ = i;
    moved_ = true;
  }
}

/// Backs take the next job, and checked commands become jobs.
void DmaDirection::load_jobs(uint64_t cycle) {
  for (DmaChannel& ch : channels_) {
    if (!ch.back.valid() && !ch.jobs.empty()) {
      ch.back = ch.jobs.front();
      ch.jobs.pop_front();
      moved_ = true;
    }
    if (!ch.checking || cycle < ch.verdict_cycle || ch.verdict || ch.dead) continue;
    const auto command = spec::decode_dma(*ch.checking);
    const bool skips_front = !out() && command.header.opcode == WEFT_OPCODE_FILL;
    if (!skips_front && ch.front.valid()) continue;
    const bool indexed = spec::find_opcode(command.header.opcode)->body == spec::Body::kIndexed;
    const auto rows = spec::decode_indexed(*ch.checking);
    BeatWalk walk =
        indexed ? BeatWalk(rows, ch.segment, beat_bytes()) : BeatWalk(command, out(), ch.segment, beat_bytes());
    if (indexed) ch.rows.load(rows, state_.chip());
    walk.fail(ch.fail_beat);
    walk.set_number(ch.checking_number);
    if (!skips_front) ch.front = walk;
    ch.jobs.push_back(walk);
    ch.checking.reset();
    moved_ = true;
  }
}

uint64_t DmaDirection::next_event(uint64_t cycle) const {
  if (resting_) return kNever;
  uint64_t next = kNever;
  if (!fetch_answers_.empty()) next = std::max(fetch_answers_.front().when.cycle, cycle + 1);
  for (const DmaChannel& ch : channels_) {
    if (!ch.answers.empty()) next = std::min(next, std::max(ch.answers.front().cycle, cycle + 1));
    if (ch.checking && ch.verdict_cycle > cycle) next = std::min(next, ch.verdict_cycle);
  }
  return next;
}

void DmaDirection::reset() {
  for (DmaChannel& ch : channels_) {
    RowFetch rows = ch.rows;
    rows.reset();
    ch = {};
    ch.rows = rows;
  }
  outcomes_ = {};
  resting_ = true;
  slots_.clear();
  fetch_answers_.clear();
  answers_from_ = kNever;
  request_ = {};
  reading_ = {};
  write_ = {};
  skid_.clear();
  vmem_banks_ = 0;
  reads_ = -1;
  offered_ = -1;
  repeated_ = -1;
  yields_ = false;
  asked_last_ = wrote_last_ = 1;
  ready_ = -1;
}

}  // namespace weft::core::fast
