// Records in the order of what happens.
#include "model/record/recorder.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace weft::record {
namespace {

constexpr size_t kSleepFlushBytes = size_t{64} << 10;  // at least, unless it has been a while
constexpr std::chrono::milliseconds kFlushEvery{100};

std::string with_process_id(std::string path) {
  if (const size_t at = path.find("%p"); at != std::string::npos) path.replace(at, 2, std::to_string(::getpid()));
  return path;
}

/// The fixed part of a region access, if the message is a sound one.
bool region_access(uint16_t command, std::span<const std::byte> payload, spec::vfio_user::RegionAccess& body) {
  if (command != static_cast<uint16_t>(spec::vfio_user::Command::kRegionRead) &&
      command != static_cast<uint16_t>(spec::vfio_user::Command::kRegionWrite))
    return false;
  if (payload.size() < sizeof body) return false;
  std::memcpy(&body, payload.data(), sizeof body);
  return true;
}

}  // namespace

std::unique_ptr<Recorder> Recorder::make(const std::string& path, const chip::ChipOptions& options, HazardCheck hazards,
                                         std::string& error) {
  return make(with_process_id(path), options, SlicePlace{}, hazards, error);
}

std::unique_ptr<Recorder> Recorder::make(const std::string& path, const chip::ChipOptions& options,
                                         const SlicePlace& place, HazardCheck hazards, std::string& error) {
  FileHeader header{.abi = WEFT_ABI_MAJOR << 16 | WEFT_ABI_MINOR,
                    .fingerprint = options.preset->fingerprint,
                    .image = options.firmware != nullptr ? options.firmware->crc : 0,
                    .core = static_cast<uint8_t>(options.kind),
                    .functions = static_cast<uint8_t>(options.functions),
                    .check_hazards = static_cast<uint8_t>(hazards),
                    .engine = static_cast<uint8_t>(options.engine)};
  std::ranges::copy(options.preset->name.substr(0, kPresetBytes - 1), header.preset.begin());
  auto file = BlockWriter::make(path, header, error);
  if (file == nullptr) return nullptr;
  std::unique_ptr<Recorder> recorder(new Recorder(std::move(file), place.chips, !place.slice.empty()));
  if (place.slice.empty()) return recorder;
  Encoder& out = recorder->out_;
  out.byte(static_cast<uint8_t>(RecordKind::kSlice));
  out.number(place.chip);
  out.number(place.chips);
  out.number(place.slice.size());
  out.data(std::as_bytes(std::span(place.slice)));
  out.number(place.optical_fs);
  recorder->emit();
  return recorder;
}

void Recorder::attach(chip::Simulation& simulation, size_t chip) {
  simulation_ = &simulation;
  chip_ = chip;
  runs_told_ = in_slice_ ? simulation.moments() : simulation.runs();
  simulation.set_boundary(this, chip);
}

void Recorder::finish(Ending ending) {
  if (simulation_ == nullptr) return;
  if (ending == Ending::kModel) {
    end_run();  // where time stands means nothing in the middle of the core's stride
  } else {
    tell_time();
  }
  simulation_->set_boundary(nullptr, chip_);
  simulation_ = nullptr;
  file_->finish(ending);
}

uint64_t Recorder::cycles_since_last(uint64_t cycle) {
  const uint64_t passed = cycle - std::min(cycle, last_cycle_);
  last_cycle_ = std::max(cycle, last_cycle_);
  return passed;
}

void Recorder::emit() {
  if (in_message_) {
    set_off_.emplace_back(out_.bytes().begin(), out_.bytes().end());
  } else {
    file_->append(out_.bytes());
  }
  out_.clear();
}

void Recorder::tell_moment() {
  if (simulation_->moments() == runs_told_) return;
  runs_told_ = simulation_->moments();
  const chip::Moment& moment = simulation_->moment();
  out_.byte(static_cast<uint8_t>(RecordKind::kMoment));
  out_.number(moment.fs - last_fs_);
  out_.number(moment.stop);
  out_.byte(static_cast<uint8_t>(moment.kind));
  last_fs_ = moment.fs;
  emit();
}

void Recorder::tell_time() {
  end_run();
  if (simulation_ == nullptr) return;
  if (in_slice_) return tell_moment();
  if (simulation_->runs() == runs_told_) return;
  runs_told_ = simulation_->runs();
  const chip::Standstill stop = simulation_->standstill();
  out_.byte(static_cast<uint8_t>(RecordKind::kRun));
  out_.number(cycles_since_last(stop.cycle));
  out_.byte(static_cast<uint8_t>(stop.kind));
  emit();
}

void Recorder::host_read(const chip::HostAccess& access, std::span<std::byte> data, bool ok) {
  host_access(RecordKind::kHostRead, access, data, ok);
}

void Recorder::host_written(const chip::HostAccess& access, std::span<const std::byte> data, bool ok) {
  host_access(RecordKind::kHostWrite, access, data, ok);
}

void Recorder::host_access(RecordKind kind, const chip::HostAccess& access, std::span<const std::byte> data, bool ok) {
  if (data.empty()) return;
  if (access.by != chip::Accessor::kCore) {
    end_run();
    write_access(kind, access, data, ok, data.size());
    return;
  }
  const bool follows = run_ && run_->kind == kind && run_->ok == ok && run_->access.function == access.function &&
                       run_->access.iova + run_->data.size() == access.iova && run_->piece_bytes == data.size() &&
                       run_->data.size() + data.size() <= kMaxPayloadBytes;
  if (!follows) {
    end_run();
    run_.emplace(Run{kind, access, ok, data.size(), {}});
  }
  run_->data.insert(run_->data.end(), data.begin(), data.end());
}

void Recorder::end_run() {
  if (!run_) return;
  const Run run = std::move(*run_);
  run_.reset();
  write_access(run.kind, run.access, run.data, run.ok, run.piece_bytes);
}

void Recorder::write_access(RecordKind kind, const chip::HostAccess& access, std::span<const std::byte> data, bool ok,
                            size_t piece_bytes) {
  const uint64_t cycle =
      access.by == chip::Accessor::kCore ? last_cycle_ : simulation_->standstill().cycle;  // the core runs ahead
  uint64_t address = access.iova;
  do {
    const auto part = data.first(std::min(data.size(), kMaxPayloadBytes));
    data = data.subspan(part.size());
    // Pages that are new are defined first.
    std::vector<uint32_t> known;
    for (uint64_t at = 0; at < part.size();) {
      const size_t bytes = std::min<size_t>(kPageBytes - (address + at) % kPageBytes, part.size() - at);
      uint32_t number = PageStore::kNone;
      if (bytes == kPageBytes) {
        const auto found = pages_.number_of(part.subspan(at, bytes));
        number = found.number;
        if (found.fresh) {
          out_.byte(static_cast<uint8_t>(RecordKind::kPage));
          out_.data(part.subspan(at, bytes));
          emit();
        }
      }
      known.push_back(number);
      at += bytes;
    }
    out_.byte(static_cast<uint8_t>(kind));
    out_.byte(static_cast<uint8_t>(access.function));
    out_.byte(static_cast<uint8_t>(access.by));
    out_.byte((ok ? kFlagOk : 0) | (data.empty() ? 0 : kFlagContinued));
    out_.number(address);
    out_.number(part.size());
    out_.number(piece_bytes);
    out_.number(cycles_since_last(cycle));
    size_t at = 0;
    for (const uint32_t number : known) {
      const size_t bytes = std::min<size_t>(kPageBytes - (address + at) % kPageBytes, part.size() - at);
      out_.number(number == PageStore::kNone ? 0 : uint64_t{number} + 1);
      if (number == PageStore::kNone) out_.data(part.subspan(at, bytes));
      at += bytes;
    }
    emit();
    address += part.size();
  } while (!data.empty());
}

void Recorder::interrupt(unsigned function, unsigned vector) {
  end_run();
  out_.byte(static_cast<uint8_t>(RecordKind::kInterrupt));
  out_.byte(static_cast<uint8_t>(function));
  out_.byte(static_cast<uint8_t>(vector));
  out_.number(cycles_since_last(simulation_->standstill().cycle));
  emit();
}

void Recorder::wait_ends(unsigned function, weft_wait_status status) {
  tell_time();
  out_.byte(static_cast<uint8_t>(RecordKind::kWaitEnds));
  out_.byte(static_cast<uint8_t>(function));
  out_.byte(static_cast<uint8_t>(status));
  emit();
}

void Recorder::observer_resets(unsigned function) {
  tell_time();
  out_.byte(static_cast<uint8_t>(RecordKind::kObserverResets));
  out_.byte(static_cast<uint8_t>(function));
  emit();
}

bool Recorder::simulator_exits() {
  if (in_message_) answered(0, {});  // the doorbell that does it
  finish(Ending::kInjected);
  if (exits_) exits_();
  return true;
}

void Recorder::connected(size_t function) {
  tell_time();
  out_.byte(static_cast<uint8_t>(RecordKind::kConnected));
  out_.byte(static_cast<uint8_t>(function));
  emit();
}

void Recorder::left(size_t function) {
  tell_time();
  out_.byte(static_cast<uint8_t>(RecordKind::kLeft));
  out_.byte(static_cast<uint8_t>(function));
  emit();
}

void Recorder::message(size_t function, const server::Message& message) {
  tell_time();
  in_message_ = true;
  message_function_ = function;
  message_command_ = message.header.command;
  message_fds_ = message.fds.size();
  message_payload_ = message.payload;
}

void Recorder::answered(int error, std::span<const std::byte> reply) {
  end_run();
  in_message_ = false;
  spec::vfio_user::RegionAccess body;
  if (error != 0) {
    // It has changed nothing.
  } else if (region_access(message_command_, message_payload_, body)) {
    const bool read = message_command_ == static_cast<uint16_t>(spec::vfio_user::Command::kRegionRead);
    const auto data = (read ? reply : std::span<const std::byte>(message_payload_)).subspan(sizeof body);
    out_.byte(static_cast<uint8_t>(read ? RecordKind::kRegionRead : RecordKind::kRegionWrite));
    out_.byte(static_cast<uint8_t>(message_function_));
    out_.byte(static_cast<uint8_t>(body.region));
    out_.number(body.offset);
    out_.number(data.size());
    out_.data(data);
    emit();
  } else {
    out_.byte(static_cast<uint8_t>(RecordKind::kMessage));
    out_.byte(static_cast<uint8_t>(message_function_));
    out_.number(message_command_);
    out_.number(message_fds_);
    out_.number(message_payload_.size());
    out_.data(message_payload_);
    emit();
  }
  for (const auto& record : set_off_) file_->append(record);
  set_off_.clear();
}

void Recorder::sleeps() {
  const bool due = file_->collected_bytes() >= kSleepFlushBytes ||
                   std::chrono::steady_clock::now() - file_->last_flush() >= kFlushEvery;
  if (!due) return;
  end_run();
  file_->flush();
}

int Recorder::wake_ms() const { return file_->collected_bytes() == 0 ? -1 : static_cast<int>(kFlushEvery.count()); }

}  // namespace weft::record
