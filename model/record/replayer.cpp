// The recording's stimuli, one after the other.
#include "model/record/replayer.hpp"

#include <fmt/format.h>
#include <linux/vfio.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cstring>

namespace weft::record {
namespace {

using spec::vfio_user::Command;
using spec::vfio_user::RegionAccess;

constexpr uint64_t kLinksBytes = 64 * 6;  // of ICI_LINKS
constexpr uint64_t kStepCycles = 256;     // of device time between two looks at what has happened

template <typename T>
void append(std::vector<std::byte>& bytes, const T& value) {
  const auto added = std::as_bytes(std::span(&value, 1));
  bytes.insert(bytes.end(), added.begin(), added.end());
}

/// The same map without a file: what the device reads of it comes from the recording, what it writes is compared and
/// kept nowhere.
void forget_file(server::Message& message) {
  spec::vfio_user::DmaMap body;
  if (message.payload.size() < sizeof body) return;
  std::memcpy(&body, message.payload.data(), sizeof body);
  body.offset = 0;
  std::memcpy(message.payload.data(), &body, sizeof body);
}

/// Tells how the simulator was started, or how far it has got with links while cores are at work, not what the device
/// does.
bool incomparable(const Record& r) {
  const auto holds = [&](uint64_t offset) { return r.address <= offset && r.address + r.bytes > offset; };
  return r.detail == VFIO_PCI_BAR0_REGION_INDEX &&
         (holds(WEFT_REG_TRACE_CONTROL) || holds(WEFT_REG_CAPABILITIES) ||
          (r.address < WEFT_REG_ICI_LINKS + kLinksBytes && r.address + r.bytes > WEFT_REG_ICI_LINKS));
}

/// The host reads it again and again until the device has come so far.
bool is_polled(const Record& r) {
  return r.detail == VFIO_PCI_BAR0_REGION_INDEX &&
         (r.address == WEFT_REG_DEVICE_STATE || r.address == WEFT_REG_BOOT_STAGE);
}

}  // namespace

Replayer::Replayer(chip::Simulation& simulation, const Recording& recording, Pace pace, size_t chip)
    : simulation_(simulation),
      recording_(recording),
      pace_(pace),
      chip_(chip),
      first_function_(chip * simulation.functions_of_a_chip()),
      expectation_(pace == Pace::kCycles ? expect_exactly(recording) : expect_causally(recording)) {
  simulation_.set_boundary(this, chip);
}

Replayer::~Replayer() { simulation_.set_boundary(nullptr, chip_); }

void Replayer::host_read(const chip::HostAccess& access, std::span<std::byte> data, bool ok) {
  expectation_->read(access, data, ok, cycle());
}

void Replayer::host_written(const chip::HostAccess& access, std::span<const std::byte> data, bool ok) {
  expectation_->written(access, data, ok, cycle());
}

void Replayer::interrupt(unsigned function, unsigned vector) { expectation_->interrupt(function, vector, cycle()); }

ReplayResult Replayer::run() {
  const auto& records = recording_.records();
  for (size_t i = 0; i < records.size() && !stopped(); i++) {
    const Record& record = records[i];
    switch (record.kind) {
      case RecordKind::kRun:
        go_to(i, record);
        break;
      case RecordKind::kHostRead:
      case RecordKind::kHostWrite:
      case RecordKind::kInterrupt:
      case RecordKind::kPage:
      case RecordKind::kSlice:
      case RecordKind::kMoment:
        break;
      default:
        feed(i, record);
    }
    if (record.cycle != 0) last_told_cycle_ = record.cycle;
  }
  return end();
}

ReplayResult Replayer::end(Recording::Extent extent) {
  if (!stopped() && extent == Recording::Extent::kWhole) finish();
  simulation_.set_boundary(nullptr, chip_);  // what the end of the clients sets off was not recorded
  for (auto& client : clients_) client.reset();
  return {stimuli_, cycle(), expectation_->compared(), expectation_->difference()};
}

const Record* Replayer::feed_to_moment() {
  const auto& records = recording_.records();
  while (at_ < records.size() && !stopped()) {
    const size_t number = at_++;
    switch (records[number].kind) {
      case RecordKind::kMoment:
        return &records[number];
      case RecordKind::kHostRead:
      case RecordKind::kHostWrite:
      case RecordKind::kInterrupt:
        break;
      default:
        feed(number, records[number]);
    }
  }
  return nullptr;
}

void Replayer::reach_moment() {
  const size_t number = at_ - 1;
  if (!expectation_->seen_before(number, Patience::kAll)) expectation_->miss(number);
}

void Replayer::go_to(size_t number, const Record& record) {
  if (pace_ == Pace::kCauses) return wait_for_causes(number, record);
  simulation_.run_to({record.cycle, static_cast<chip::Standstill::Kind>(record.detail)});
  if (!expectation_->seen_before(number, Patience::kAll)) expectation_->miss(number);
}

void Replayer::wait_for_causes(size_t number, const Record& record) {
  while (!stopped() && simulation_.pending() && !expectation_->seen_before(number, Patience::kAll))
    simulation_.run_for(kStepCycles);
  if (stopped()) return;
  if (!expectation_->seen_before(number, Patience::kRequired)) return expectation_->miss(number);
  if (!expectation_->seen_before(number, Patience::kAll)) expectation_->pass(number);
  const uint64_t until = cycle() + (record.cycle - std::min(record.cycle, last_told_cycle_));
  while (!stopped() && simulation_.pending() && cycle() < until)
    simulation_.run_for(std::min(kStepCycles, until - cycle()));
}

void Replayer::finish() {
  const size_t end = recording_.records().size();
  switch (recording_.ending()) {
    case Ending::kModel:  // what failed then fails again
      while (!stopped() && simulation_.pending()) simulation_.run_for(kStepCycles);
      return;
    case Ending::kInjected:
    case Ending::kComplete:
      break;
  }
  if (pace_ == Pace::kCauses) {
    while (!stopped() && simulation_.pending() && !expectation_->seen_before(end, Patience::kAll))
      simulation_.run_for(kStepCycles);
    if (!stopped() && !expectation_->seen_before(end, Patience::kRequired)) expectation_->miss(end);
  } else if (!expectation_->seen_before(end, Patience::kAll) && recording_.cut().empty()) {
    expectation_->miss(end);
  }
}

void Replayer::feed(size_t number, const Record& record) {
  stimuli_++;
  if (record.kind == RecordKind::kConnected) return connect(number, record);
  if (record.kind == RecordKind::kObserverResets)
    return simulation_.function(global(record.function)).reset_by_observer();
  auto& client = clients_[record.function];
  if (client == nullptr)
    return refused(number, record, fmt::format("a message of function {}, which has no client", record.function), 0);
  switch (record.kind) {
    case RecordKind::kLeft:
      client.reset();
      return;
    case RecordKind::kWaitEnds:
      simulation_.function(global(record.function)).registers().end_wait(static_cast<weft_wait_status>(record.detail));
      return;
    case RecordKind::kRegionRead:
    case RecordKind::kRegionWrite:
      return access_region(number, record);
    default:
      return repeat_message(number, record);
  }
}

void Replayer::connect(size_t number, const Record& record) {
  chip::Function& function = simulation_.function(global(record.function));
  while (pace_ == Pace::kCauses && !function.settled() && simulation_.pending()) simulation_.run_for(kStepCycles);
  if (!function.settled() || clients_[record.function] != nullptr)
    return refused(number, record, fmt::format("a client of function {}", record.function), EBUSY);
  clients_[record.function] = std::make_unique<server::Dispatcher>(simulation_, global(record.function));
}

void Replayer::access_region(size_t number, const Record& record) {
  const bool read = record.kind == RecordKind::kRegionRead;
  server::Message message;
  message.header.command = static_cast<uint16_t>(read ? Command::kRegionRead : Command::kRegionWrite);
  append(message.payload, RegionAccess{record.address, record.detail, record.bytes});
  if (!read) {
    const auto data = recording_.data(record);
    message.payload.insert(message.payload.end(), data.begin(), data.end());
  }
  server::Dispatcher& client = *clients_[record.function];
  server::Reply reply = client.handle(message);
  const auto as_recorded = [&] {
    return reply.payload.size() > sizeof(RegionAccess) &&
           std::ranges::equal(recording_.data(record), std::span(reply.payload).subspan(sizeof(RegionAccess)));
  };
  // With another firmware the device may need longer to come where the host saw it.
  while (pace_ == Pace::kCauses && read && is_polled(record) && !stopped() && simulation_.pending() && !as_recorded()) {
    simulation_.run_for(kStepCycles);
    reply = client.handle(message);
  }
  if (reply.error != 0)
    return refused(number, record, fmt::format("access of region {} at {:#x}", record.detail, record.address),
                   reply.error);
  if (read && pace_ == Pace::kCycles && !incomparable(record))
    compare_read(number, record, std::span(reply.payload).subspan(sizeof(RegionAccess)));
}

void Replayer::compare_read(size_t number, const Record& record, std::span<const std::byte> now) {
  expectation_->count_register();
  const auto then = recording_.data(record);
  if (std::ranges::equal(then, now)) return;
  expectation_->differ(
      {number, record.file_offset,
       fmt::format("read of region {} of function {} at {:#x}", record.detail, record.function, record.address), "",
       bytes_text(then), bytes_text(now)});
}

void Replayer::repeat_message(size_t number, const Record& record) {
  server::Message message;
  message.header.command = record.command;
  message.payload = recording_.data(record);
  if (record.command == static_cast<uint16_t>(Command::kDmaMap)) {
    forget_file(message);
  } else {
    for (unsigned i = 0; i < record.fds; i++) message.fds.emplace_back(::eventfd(0, EFD_CLOEXEC));
  }
  const server::Reply reply = clients_[record.function]->handle(message);
  if (reply.error != 0) refused(number, record, fmt::format("message of command {}", record.command), reply.error);
}

void Replayer::refused(size_t number, const Record& record, const std::string& what, int error) {
  expectation_->differ({number, record.file_offset, what, "", "taken",
                        error == 0 ? std::string("refused") : fmt::format("refused: {}", std::strerror(error))});
}

}  // namespace weft::record
