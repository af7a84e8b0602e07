// The host of firmware tests.
#include "host_side.hpp"

#include <cstring>

#include "firmware/admin/admin.hpp"
#include "firmware/boot.hpp"
#include "firmware/main_loop.hpp"
#include "firmware/queue/ring.hpp"

namespace mock {
namespace {

template <typename T>
T& at(uint64_t iova, uint32_t function) {
  return *reinterpret_cast<T*>(machine().find(WEFT_ADDRESS_SPACE_HOST, iova, sizeof(T), function));
}

}  // namespace

weft_parameter_page& Host::page() const { return at<weft_parameter_page>(kPage, function); }

Host::Host(uint32_t number) : function(number) {
  page() = weft_parameter_page{};
  page().magic = WEFT_MAGIC;
  page().abi_version = WEFT_ABI_MAJOR << 16 | WEFT_ABI_MINOR;
  page().nonce = 0xfeed;
  page().admin_submission_iova = kAdminSubmission;
  page().admin_completion_iova = kAdminCompletion;
  page().log_iova = kLog;
  page().fault_iova = kFaults;
  rings[0] = HostRing{
      0, kAdminSubmission, kAdminCompletion, WEFT_LIMIT_ADMIN_RING_ENTRIES, WEFT_LIMIT_ADMIN_RING_ENTRIES, 0, 0};
  request_boot();
}

void Host::request_boot() const {
  machine().side(function).parameter_page = kPage;
  machine().side(function).boot_pending = true;
  machine().event = true;
}

void seal(weft_submission_entry& e) { e.crc32c = crc32c(&e, offsetof(weft_submission_entry, crc32c)); }

weft_submission_entry entry(uint8_t opcode, uint16_t id) {
  weft_submission_entry e{};
  e.opcode = opcode;
  e.command_id = id;
  e.tag = 0x1000u + id;
  seal(e);
  return e;
}

void Host::put_raw(uint32_t queue, const weft_submission_entry& e) {
  HostRing& r = rings[queue];
  at<weft_submission_entry>(r.submission + (r.tail & (r.entries - 1)) * sizeof e, function) = e;
  r.tail++;
}

void Host::put(uint32_t queue, weft_submission_entry e) {
  seal(e);
  e.crc32c ^= weft::fw::ring::lap(rings[queue].tail, weft::fw::ring::order(rings[queue].entries));
  put_raw(queue, e);
}

void Host::ring(uint32_t queue) { machine().ring(queue, rings[queue].tail, function); }

void Host::create(uint32_t queue, uint32_t entries, uint32_t completion_entries) {
  rings[queue] = HostRing{
      queue, kRings + (queue - 1) * 0x20000, kRings + (queue - 1) * 0x20000 + 0x10000, entries, completion_entries, 0,
      0};
  std::memset(&at<uint8_t>(rings[queue].completion, function), 0, completion_entries * sizeof(weft_completion_entry));
  machine().side(function).completion_doorbell[queue] = 0;
  weft_submission_entry e = entry(WEFT_ADMIN_OPCODE_CREATE_QUEUE);
  e.arg0 = rings[queue].submission;
  e.arg1 = rings[queue].completion;
  e.size = entries | uint64_t{completion_entries} << 16 | uint64_t{queue} << 32;
  submit(0, e);
}

void Host::create_guest(uint32_t queue, uint32_t entries, uint32_t ring) {
  rings[queue] = HostRing{queue, kRings + (queue - 1) * 0x20000, 0, entries, 0, 0, 0};
  weft_submission_entry e = entry(WEFT_ADMIN_OPCODE_CREATE_QUEUE);
  e.arg0 = rings[queue].submission;
  e.size = entries | uint64_t{queue} << 32 | uint64_t{ring} << 56;
  submit(0, e);
}

std::vector<weft_completion_entry> Host::drain(uint32_t queue) {
  HostRing& r = rings[queue];
  std::vector<weft_completion_entry> out;
  for (;;) {
    const auto& c = at<weft_completion_entry>(
        r.completion + (r.completion_head & (r.completion_entries - 1)) * sizeof(weft_completion_entry), function);
    const uint32_t phase = (r.completion_head & r.completion_entries) == 0 ? 1 : 0;
    if (WEFT_STATUS_PHASE(c.status) != phase) break;
    out.push_back(c);
    r.completion_head++;
  }
  machine().side(function).completion_doorbell[queue] = r.completion_head;
  machine().event = true;
  return out;
}

weft_fault_record Host::fault(uint64_t number) const {
  return at<weft_fault_record>(kFaults + (number - 1) % WEFT_LIMIT_FAULT_ENTRIES * sizeof(weft_fault_record), function);
}

std::vector<uint8_t> make_image(const std::array<uint32_t, WEFT_CORE_QUEUES>& counts, uint32_t arguments,
                                uint64_t scratch, uint64_t constants) {
  weft_program_kernel kernel{};
  uint32_t total = 0;
  for (uint32_t q = 0; q < WEFT_CORE_QUEUES; q++) {
    kernel.queue_first[q] = total;
    kernel.queue_count[q] = counts[q];
    total += counts[q];
  }
  kernel.argument_count = arguments;
  kernel.argument_readable = (1u << arguments) - 1;
  kernel.argument_writable = arguments != 0 ? 1u << (arguments - 1) : 0;
  kernel.scratch_bytes = scratch;
  weft_program_header header{};
  header.magic = WEFT_MAGIC;
  header.isa_version = WEFT_ISA_VERSION;
  header.chip_fingerprint = kFingerprint;
  header.kernel_count = 1;
  header.commands_offset = sizeof header + sizeof kernel;
  header.commands_bytes = uint64_t{total} * WEFT_COMMAND_BYTES;
  header.constants_offset = header.commands_offset + header.commands_bytes;
  header.constants_bytes = constants;
  header.image_bytes = (header.constants_offset + constants + 63) / 64 * 64;
  std::vector<uint8_t> image(header.image_bytes);
  std::memcpy(image.data(), &header, sizeof header);
  std::memcpy(image.data() + sizeof header, &kernel, sizeof kernel);
  for (uint32_t q = 0; q < WEFT_CORE_QUEUES; q++) {
    for (uint32_t i = 0; i < counts[q]; i++) {
      uint8_t* c = image.data() + header.commands_offset + uint64_t{kernel.queue_first[q] + i} * WEFT_COMMAND_BYTES;
      c[0] = WEFT_OPCODE_SIGNAL;
      c[2] = static_cast<uint8_t>(i);
      c[3] = static_cast<uint8_t>(i >> 8);
      c[4] = c[5] = c[7] = WEFT_NO_SEMAPHORE;
      c[6] = static_cast<uint8_t>(q);  // posts semaphore q
      c[20] = static_cast<uint8_t>(q);
    }
  }
  return image;
}

void place_image(const std::vector<uint8_t>& image, uint64_t base) {
  std::memcpy(machine().hbm.data() + base + kImage, image.data(), image.size());
}

weft_submission_entry load_entry(uint64_t bytes) {
  weft_submission_entry e = entry(WEFT_ADMIN_OPCODE_LOAD_PROGRAM);
  e.arg0 = kImage;
  e.size = bytes;
  seal(e);
  return e;
}

uint64_t make_list(uint32_t index, uint32_t count, uint32_t function) {
  const uint64_t iova = kLists + index * 4096;
  at<weft_launch_list>(iova, function) = weft_launch_list{.count = count, .crc32c = 0, .reserved = 0};
  for (uint32_t i = 0; i < count; i++) {
    argument(index, i, function) = weft_launch_argument{
        .address = kData + i * 256, .size_bytes = 256, .space = WEFT_ADDRESS_SPACE_HBM, .reserved = 0};
  }
  seal_list(index, function);
  return iova;
}

void seal_list(uint32_t index, uint32_t function) {
  const uint64_t iova = kLists + index * 4096;
  auto& header = at<weft_launch_list>(iova, function);
  header.crc32c = 0;
  header.crc32c = crc32c(&header, sizeof header + header.count * sizeof(weft_launch_argument));
}

void open_pair(weft::fw::Function& function, uint32_t id, uint64_t submission_iova, uint32_t entries,
               uint64_t completion_iova, uint32_t completion_entries) {
  weft::fw::open_completion_ring(function, id, completion_iova, completion_entries);
  weft::fw::open_queue(function, id, submission_iova, entries, id);
}

weft_launch_argument& argument(uint32_t index, uint32_t number, uint32_t function) {
  return at<weft_launch_argument>(
      kLists + index * 4096 + sizeof(weft_launch_list) + number * sizeof(weft_launch_argument), function);
}

weft_submission_entry launch_entry(uint64_t program, uint64_t list, uint16_t id, uint32_t kernel) {
  weft_submission_entry e = entry(WEFT_QUEUE_OPCODE_LAUNCH, id);
  e.arg0 = program;
  e.arg1 = list;
  e.size = kernel;
  seal(e);
  return e;
}

weft::fw::State& make_state() {
  static weft::fw::State state;
  std::memset(static_cast<void*>(&state), 0, sizeof state);
  weft::fw::prepare_functions(state);
  return state;
}

void run_firmware() { weft::fw::main_loop(); }

Host boot() {
  reset();
  return Host();
}

}  // namespace mock
