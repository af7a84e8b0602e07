// Seeds for what the host reads: files, reports, messages.
#include <cstring>
#include <string_view>

#include "host/runtime/fault_schedule.hpp"
#include "host/tools/formats/npy.hpp"
#include "testbench/fuzz/seeds.hpp"
#include "testbench/fuzz/vfio_user_messages.hpp"
#include "testbench/unit/driver/test_executable.hpp"

namespace weft::fuzz {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes bytes_of(std::span<const std::byte> data) {
  const auto* first = reinterpret_cast<const uint8_t*>(data.data());
  return {first, first + data.size()};
}
Bytes bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

/// A page whose tables hold one record of each kind.
Bytes state_page() {
  constexpr size_t kSizes[] = {sizeof(weft_state_queue), sizeof(weft_state_engine), sizeof(weft_state_core_queue),
                               sizeof(weft_state_semaphores), sizeof(weft_state_timeline)};
  weft_state_header header{};
  header.magic = WEFT_LIMIT_STATE_MAGIC;
  header.version = WEFT_LIMIT_STATE_VERSION;
  header.sections = std::size(kSizes);
  size_t at = sizeof header;
  for (size_t i = 0; i < std::size(kSizes); i++) {
    header.section_offset[i] = static_cast<uint32_t>(at);
    header.section_count[i] = 1;
    header.section_record_bytes[i] = static_cast<uint16_t>(kSizes[i]);
    at += kSizes[i];
  }
  header.bytes = static_cast<uint32_t>(at);
  weft_state_queue queue{};
  queue.queue = 1;
  queue.state = WEFT_QUEUE_STATE_ACTIVE;
  queue.wait = WEFT_QUEUE_WAIT_RUNNING;
  queue.opcode = WEFT_QUEUE_OPCODE_LAUNCH;
  Bytes bytes;
  append(bytes, header);
  append(bytes, queue);
  append(bytes, weft_state_engine{});
  append(bytes, weft_state_core_queue{});
  append(bytes, weft_state_semaphores{});
  append(bytes, weft_state_timeline{});
  return bytes;
}

}  // namespace

Seeds executable_seeds() {
  const spec::Chip& chip = driver::test::nano();
  driver::test::Bytes kernel;
  driver::test::append(kernel, driver::test::kernel_record("a", 0));
  return {{"whole", bytes_of(driver::test::make_executable(chip))},
          {"listed", bytes_of(driver::test::make_listed(chip, driver::test::test_list()))},
          {"smallest", bytes_of(driver::test::make_file(
                           chip, {{WEFT_SECTION_KIND_KERNELS, kernel}, {WEFT_SECTION_KIND_COMMANDS, {}}}))},
          {"other_chip", bytes_of(driver::test::make_executable(*spec::find_chip("small"), 0))}};
}

Seeds state_page_seeds() {
  weft_fault_record record{};
  record.record_number = 1;
  record.error = WEFT_ERROR_BAD_DESCRIPTOR;
  weft_completion_entry completion{};
  completion.status = 1;
  Bytes bytes;
  append(bytes, record);
  append(bytes, completion);
  append(bytes, weft_log_record{});
  append(bytes, uint16_t{1});
  append(bytes, uint16_t{1});
  const Bytes page = state_page();
  bytes.insert(bytes.end(), page.begin(), page.end());
  return {{"page", bytes}};
}

Seeds fault_schedule_seeds() {
  runtime::FaultSchedule ring, core;
  for (const uint32_t kind : {WEFT_INJECTED_FAULT_COMPLETION_FLIP, WEFT_INJECTED_FAULT_INTERRUPT_SPURIOUS,
                              WEFT_INJECTED_FAULT_BOOT_STOP, WEFT_INJECTED_FAULT_COPY_STALL}) {
    weft_fault_injection fault = WEFT_INIT(weft_fault_injection);
    fault.kind = static_cast<weft_injected_fault>(kind);
    fault.nth = 3;
    fault.count = UINT32_MAX;
    fault.value[0] = 17;
    ring.push_back(fault);
  }
  for (const uint32_t kind : {WEFT_INJECTED_FAULT_CORE_RAISE, WEFT_INJECTED_FAULT_CORE_BUS_ERROR,
                              WEFT_INJECTED_FAULT_CORE_VMEM_FLIP, WEFT_INJECTED_FAULT_CORE_LOST_POST}) {
    weft_fault_injection fault = WEFT_INIT(weft_fault_injection);
    fault.kind = static_cast<weft_injected_fault>(kind);
    fault.nth = fault.count = 1;
    fault.value[1] = uint64_t{1} << 63;
    fault.value[2] = uint64_t{1} << 32 | 2 << 16 | WEFT_FAULT_RANGE << 8 | WEFT_QUEUE_MXU;
    core.push_back(fault);
  }
  return {{"rings", bytes_of(runtime::write_fault_schedule(ring))},
          {"core", bytes_of(runtime::write_fault_schedule(core))}};
}

Seeds npy_seeds() {
  using tools::NpyType;
  const auto array = [](NpyType type, std::vector<uint64_t> shape) {
    tools::NpyArray a{type, std::move(shape), {}};
    a.data.resize(a.count() * tools::element_bytes(type), std::byte{0x3f});
    return bytes_of(tools::format_npy(a));
  };
  return {{"matrix", array(NpyType::kF32, {2, 3})},
          {"row", array(NpyType::kI8, {5})},
          {"scalar", array(NpyType::kI32, {})},
          {"empty", array(NpyType::kF32, {0, 4})}};
}

Seeds server_seeds() {
  const Session whole = client_messages();
  Seeds seeds{{"conversation", write_session(whole)}};
  Session pieces = whole;
  for (Step& step : pieces) {
    if (step.action == Action::kSend) step.action = Action::kSendHalves;
  }
  seeds["halves"] = write_session(pieces);
  Session left(whole.begin(), whole.begin() + 16);
  left.push_back({Action::kClose, Descriptors::kNone, 1, {}});
  seeds["left"] = write_session(left);
  return seeds;
}

Seeds client_seeds() {
  const Session whole = server_replies();
  Seeds seeds{{"replies", write_session(whole)}};
  seeds["gone"] = write_session(Session(whole.begin(), whole.begin() + 9));
  Session trickling = whole;
  trickling[2].action = Action::kSendHalves;
  seeds["trickling"] = write_session(trickling);
  Session refusing = whole;
  for (size_t i = 10; i < refusing.size(); i++) {
    spec::vfio_user::Header header;
    std::memcpy(&header, refusing[i].bytes.data(), sizeof header);
    header.flags |= spec::vfio_user::kFlagError;
    header.error = 22;
    header.size = sizeof header;
    refusing[i].bytes = payload_of(header);
  }
  seeds["refusing"] = write_session(refusing);
  return seeds;
}

}  // namespace weft::fuzz
