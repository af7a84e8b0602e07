// Hang reports of a device: asking the firmware, collecting, writing, and the verdict that follows.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "driver/device/device.hpp"
#include "driver/device/program.hpp"
#include "driver/hang/rerun_line.hpp"
#include "driver/report/fault_state.hpp"
#include "driver/report/report_file.hpp"
#include "driver/transport/registers.hpp"
#include "weft/spec/names.hpp"

namespace weft::driver {
namespace {

/// Device cycles that the firmware gets for its answer to DUMP_STATE; beside a launch it needs about 40 000.
constexpr uint64_t kAnswerCycles = 500000;
constexpr uint32_t kAnswerGuardMs = 5000;
constexpr std::string_view kNoReport = "off";  // of an event whose report was made and could not be kept
constexpr std::string_view kHeapExhausted = "the heap is exhausted";
constexpr size_t kLogLines = 16;
constexpr size_t kFaultLines = 8;

std::string current_folder() {
  std::string folder(4096, '\0');
  return ::getcwd(folder.data(), folder.size()) != nullptr ? folder.substr(0, folder.find('\0')) : std::string();
}

std::string_view core_name(uint32_t capabilities) {
  constexpr std::string_view kNames[] = {"unknown", "rtl", "fast", "lockstep"};
  const uint32_t kind = capabilities >> 16 & 0xf;
  return kind < std::size(kNames) ? kNames[kind] : kNames[0];
}

/// A status with the report's place.
Status with_report(const Status& status, weft_error code, const std::string& prefix, const std::string& path) {
  Detail detail = status.detail();
  detail.message = prefix + detail.message;
  detail.report_path = path;
  return Status(code, std::move(detail));
}

void lose_report(DeviceLog& log, weft_error code, std::string_view reason) noexcept {
  log.line(LogModule::kDriverReport, LogLevel::kError, {}, "{}: its hang report is lost, {} of this process so far: {}",
           spec::error_name(code), count_lost_report(), reason);
}

/// Writes it; where it stands, or nothing if there was no memory or no place for it.
std::string keep_report(DeviceLog& log, const HangReport& report, const std::string& path) noexcept {
  try {
    const auto written = write_report(path, report_text(report), report_json(report));
    if (written.ok()) {
      log.line(LogModule::kDriverReport, LogLevel::kWarning, report.after.cycle, "{}: hang report {}",
               spec::error_name(report.code), written.value());
      return written.value();
    }
    lose_report(log, report.code, written.status().message());
  } catch (const std::bad_alloc&) {
    lose_report(log, report.code, kHeapExhausted);
  }
  return {};
}

}  // namespace

Result<StatePage> Device::ask_state(bool* answered) {
  if (answered != nullptr) *answered = false;
  std::unique_lock admin(admin_mutex_, std::defer_lock);
  constexpr int kTries = 50;
  for (int i = 0; i < kTries && !admin.try_lock(); i++) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (!admin.owns_lock()) return Status(WEFT_ERROR_BUSY, "another admin command is under way");
  if (Status s = check(); !s.ok()) return s;
  std::shared_ptr<Queue> queue;
  std::shared_ptr<Control> control;
  {
    const std::shared_lock lock(queues_mutex_);
    queue = queues_[0];
    control = control_;
  }
  if (queue == nullptr) return Status(WEFT_ERROR_INVALID_STATE, "the device has no admin queue");
  std::byte* place = control->memory->data() + ControlMemory::kStateOffset;
  std::fill_n(place, WEFT_LIMIT_STATE_PAGE_BYTES, std::byte{0});
  Command command;
  command.opcode = WEFT_ADMIN_OPCODE_DUMP_STATE;
  command.arg0 = control->memory->iova() + ControlMemory::kStateOffset;
  command.size = WEFT_LIMIT_STATE_PAGE_BYTES;
  const auto event = std::make_shared<Event>(0, 0, command.opcode);
  event->hold({control});
  if (Status s = submit(*queue, Submission{event, command}); !s.ok()) return s;
  if (Status s = waits_.wait(*event, WaitLimits{kAnswerCycles, kAnswerGuardMs, 0}); !s.ok()) return s;
  if (answered != nullptr) *answered = true;
  if (!event->ending().status.ok()) return event->ending().status;
  return decode_state_page({place, WEFT_LIMIT_STATE_PAGE_BYTES});
}

std::vector<std::byte> Device::last_state_page() const {
  const std::shared_lock lock(queues_mutex_);
  if (control_ == nullptr) return {};
  const std::byte* place = control_->memory->data() + ControlMemory::kStateOffset;
  return {place, place + WEFT_LIMIT_STATE_PAGE_BYTES};
}

void Device::know_program(std::list<std::weak_ptr<const Program>> program) noexcept {
  const std::lock_guard lock(programs_mutex_);
  std::erase_if(programs_, [](const auto& known) { return known.expired(); });
  programs_.splice(programs_.end(), program);
}

std::shared_ptr<const Program> Device::find_program(uint64_t id) {
  const std::lock_guard lock(programs_mutex_);
  for (const auto& known : programs_) {
    const auto program = known.lock();
    if (program != nullptr && program->id() == id && program->generation() == generation()) return program;
  }
  return nullptr;
}

/// The core as the last record of this command left it.
std::optional<StatePage> Device::recorded_state(const Detail& about) {
  std::shared_ptr<Control> control;
  {
    const std::shared_lock lock(queues_mutex_);
    control = control_;
  }
  if (control == nullptr || about.command_id == 0) return std::nullopt;
  const auto record = control->faults.find(static_cast<uint16_t>(about.queue), static_cast<uint16_t>(about.command_id));
  if (!record || std::all_of(std::begin(record->queue_total), std::end(record->queue_total),
                             [](uint32_t total) { return total == 0; }))
    return std::nullopt;
  const auto program = find_program(record->program_id);
  StatePage page = state_of_record(*record, program != nullptr ? program->text() : ProgramText{});
  for (weft_state_engine& engine : page.engines) engine.tag = about.tag;
  return page;
}

void Device::see_queues(HangReport& report) {
  const std::shared_lock lock(queues_mutex_);
  for (const auto& queue : queues_) {
    if (queue == nullptr) continue;
    const auto s = queue->snapshot();
    report.queues.push_back({queue->id(), std::string(spec::queue_state_name(queue->state())), queue->entries(), s.head,
                             s.tail, s.in_flight});
    queue->outstanding(report.outstanding);
  }
  if (control_ == nullptr) return;
  for (const auto& record : control_->faults.last(kFaultLines))
    report.faults.push_back(fmt::format("record {}: {} on queue {}, command {:#x}: {}", record.record_number,
                                        spec::error_name(record.error), record.queue_id, record.command_id,
                                        describe_record(record)));
  report.log = last_log(control_->memory->data() + ControlMemory::kLogOffset, kLogLines);
}

HangReport Device::collect_report(const Status& why, Ask ask, const std::string& wave_file) {
  HangReport report;
  report.code = why.code();
  if (!why.ok()) {
    report.why = why.message();
    report.queue = why.detail().queue;
    report.command_id = why.detail().command_id;
    report.tag = why.detail().tag;
  }
  report.device = name_;
  report.recording = recording_;
  report.chip = chip_.name;
  report.core = core_name(identity_.capabilities);
  if (const auto registers = read_registers(*transport_); registers.ok()) report.before = registers.value();
  bool answered = false;
  bool silent = false;
  if (ask == Ask::kYes) {
    auto page = ask_state(&answered);
    silent = page.status().code() == WEFT_ERROR_TIMEOUT_WAIT;
    if (page.ok()) {
      report.page_source = fmt::format("as the firmware told it in cycle {}", page.value().header.cycle);
      report.page = std::move(page.value());
    } else {
      report.page_source = "the firmware did not tell it: " + page.status().message();
    }
  }
  if (!report.page && !why.ok()) {
    report.page = recorded_state(why.detail());
    if (report.page) {
      report.page_source =
          fmt::format("of the core, as the command's fault record holds it (cycle {})", report.page->header.cycle);
    }
  }
  if (report.page_source.empty()) report.page_source = "not known: nobody could be asked, and there is no fault record";
  if (const auto registers = read_registers(*transport_); registers.ok()) report.after = registers.value();
  const bool failed = report.after.device_state == WEFT_DEVICE_STATE_FAILED;
  if (answered || silent || failed) report.health = diagnose(report.before, report.after, answered);
  see_queues(report);
  if (report.page) report.graph = make_wait_graph(*report.page, report.outstanding);
  const uint64_t moment = why.ok() || why.detail().cycle == 0 ? report.after.cycle : why.detail().cycle;
  report.rerun = rerun_line(own_command_line(), current_folder(), report.core, wave_file, moment);
  return report;
}

Status Device::reported(const Status& why, Ask ask, FirmwareHealth* health) try {
  const std::string path = next_report_path();
  if (path.empty() && ask == Ask::kNo) return why;
  const HangReport report = collect_report(why, ask, (path.empty() ? "hang" : path) + ".fst");
  if (health != nullptr) *health = report.health;
  const std::string diagnosis = report.health == FirmwareHealth::kAnswers || report.health == FirmwareHealth::kNotAsked
                                    ? std::string()
                                    : "the firmware " + health_text(report.health, report.before, report.after) + "; ";
  if (path.empty()) return with_report(why, why.code(), diagnosis, path);
  return with_report(why, why.code(), diagnosis, keep_report(log_, report, path));
} catch (const std::bad_alloc&) {
  if (ask == Ask::kYes) throw;  // the caller may ask again, and must know what the firmware says
  lose_report(log_, why.code(), kHeapExhausted);
  return why;
}

bool Device::firmware_answers() {
  bool answered = false;
  (void)ask_state(&answered).ok();
  return answered;
}

Status Device::report_timeout(const Event& event, const Status& why, const WaitLimits& limits) {
  // A command has one report; a wait without a deadline goes on to ask whether the firmware still lives.
  if (const std::string path = event.report(); !path.empty() && (limits.deadline_cycles != 0 || firmware_answers()))
    return with_report(why, why.code(), "", path == kNoReport ? std::string() : path);
  FirmwareHealth health = FirmwareHealth::kNotAsked;
  const Status status = reported(why, Ask::kYes, &health);
  if (event.done()) return {};  // asking has let it end
  if (health == FirmwareHealth::kLoops || health == FirmwareHealth::kDead ||
      health == FirmwareHealth::kBeatsWithoutProgress) {
    fail_device(with_report(status, WEFT_ERROR_DEVICE_HUNG, "", status.detail().report_path));
    return {};
  }
  if (health == FirmwareHealth::kPanicked) {
    check_failed();
    if (event.done()) return {};
  }
  const std::string& path = status.detail().report_path;
  event.set_report(path.empty() ? std::string(kNoReport) : path);
  return status;
}

void Device::fail_device(const Status& why) {
  set_state(State::kFailed, why);
  cut_off();
  fail_all(why);
}

void Device::check_failed() {
  const uint32_t known = generation_;
  if (!check().ok()) return;
  const auto generation = read32(*transport_, WEFT_REG_RESET_GENERATION);
  if (generation.ok() && generation.value() != kAllOnes && generation.value() != known) {
    if (!check().ok() || generation_ != known) return;  // a reset of this process, under way or over by now
    fail_device(
        failure(WEFT_ERROR_ABORTED_BY_RESET,
                "somebody else has reset the device (generation {}, this process knows {}); weft_reset makes it "
                "usable again",
                generation.value(), known));
    return;
  }
  const auto state = read32(*transport_, WEFT_REG_DEVICE_STATE);
  if (!state.ok() || state.value() != WEFT_DEVICE_STATE_FAILED) return;
  drain();  // a panic has its fault record
  if (!check().ok()) return;
  const Status hung(WEFT_ERROR_DEVICE_HUNG, "the device has failed");
  fail_device(reported(hung, Ask::kNo, nullptr));
}

}  // namespace weft::driver
