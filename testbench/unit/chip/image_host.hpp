/// A host of a chip that runs the firmware's image: boot, one queue, programs without commands. In one process with
/// the chip, so that a test can look at the processor between two steps.
#pragma once
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/crc32c.hpp"
#include "model/chip/image_processor.hpp"
#include "testbench/unit/chip/stand_in_firmware.hpp"

namespace weft::test {

class ImageHost {
 public:
  static constexpr uint64_t kBase = 0x10'0000, kBytes = 0x10'0000;  ///< of host memory, by IOVA
  static constexpr uint64_t kProgram = 0x10'0000;                   ///< device address
  static constexpr uint32_t kRing = 64;                             ///< entries of queue 1
  static constexpr uint32_t kCommandCycles = 500;

  /// `make_processor` as in ChipOptions.
  explicit ImageHost(const fw::Image* image, const char* preset = "v5e-1mxu", unsigned functions = 1,
                     chip::MakeProcessor make_processor = {}) {
    chip::ChipOptions options = chip_options(preset);
    options.firmware = image;
    options.make_processor = std::move(make_processor);
    options.functions = functions;
    options.report_firmware = [this](const std::string& report) { traps.push_back(report); };
    simulation = chip::Simulation::make(options, error);
    if (simulation == nullptr) return;
    if (function().host_memory().map(memory.fd(), 0, kBase, kBytes, chip::Access::kReadWrite) != 0) std::abort();
    simulation->run_until_idle();
  }

  chip::Function& function() { return simulation->function(); }
  chip::Manager& manager() { return simulation->chip(0).manager(); }
  uint64_t instructions() { return manager().processor()->processor().instructions(); }
  uint64_t handler_instructions() { return manager().processor()->bus().handler_instructions(); }
  uint64_t device_state() { return read_register(function(), WEFT_REG_DEVICE_STATE); }

  void boot() {
    auto& page = *memory.at<weft_parameter_page>(0);
    page.magic = WEFT_MAGIC;
    page.abi_version = WEFT_ABI_MAJOR << 16 | WEFT_ABI_MINOR;
    page.nonce = 1;
    page.admin_submission_iova = kBase + kAdminEntries;
    page.admin_completion_iova = kBase + kAdminCompletions;
    page.log_iova = kBase + kLog;
    page.fault_iova = kBase + kFaults;
    write_register(function(), WEFT_REG_PARAMETER_PAGE, kBase, 8);
    write_register(function(), WEFT_REG_BOOT_CONTROL, 1);
    simulation->run_until_idle();
  }

  /// The device was reset: rings begin anew.
  void forget() {
    tail_[0] = tail_[1] = 0;
    std::memset(memory.at<std::byte>(kAdminEntries), 0, kLog - kAdminEntries);
    std::memset(memory.at<std::byte>(kEntries), 0, kList - kEntries);
  }

  /// Submits to the admin queue or queue 1 and runs until the device sleeps. The error code of the completion.
  weft_error submit(uint32_t queue, weft_submission_entry e) {
    const uint64_t place = queue == 0 ? kAdminEntries : kEntries;
    const uint64_t answers = queue == 0 ? kAdminCompletions : kCompletions;
    const uint32_t entries = queue == 0 ? WEFT_LIMIT_ADMIN_RING_ENTRIES : kRing;
    const uint32_t slot = tail_[queue] % entries;
    e.crc32c = 0;
    e.crc32c = weft::crc32c(std::as_bytes(std::span(&e, 1)).first(offsetof(weft_submission_entry, crc32c))) ^
               tail_[queue] / entries;
    *memory.at<weft_submission_entry>(place + slot * sizeof e) = e;
    const uint64_t before = instructions();
    ring_doorbell(function(), queue, ++tail_[queue]);
    simulation->run_until_idle();
    taken = instructions() - before;
    woken = handler_instructions();
    last = *memory.at<weft_completion_entry>(answers + slot * sizeof last);
    const uint32_t head = tail_[queue];
    if (function().write(chip::Region::kDoorbells, 8 * queue + 4, std::as_bytes(std::span(&head, 1))) != 0)
      std::abort();
    simulation->run_until_idle();
    return static_cast<weft_error>(WEFT_STATUS_CODE(last.status));
  }

  weft_error create_queue() {
    weft_submission_entry e{};
    e.opcode = WEFT_ADMIN_OPCODE_CREATE_QUEUE;
    e.arg0 = kBase + kEntries;
    e.arg1 = kBase + kCompletions;
    e.size = kRing | uint64_t{kRing} << 16 | uint64_t{1} << 32 | uint64_t{WEFT_QUEUE_PRIORITY_NORMAL} << 48;
    return submit(0, e);
  }

  /// A program whose kernels take `arguments[i]` arguments; `commands` of each on the sync queue. `launch` runs them.
  weft_error load(const std::vector<uint32_t>& arguments, uint32_t commands = 0) {
    weft_program_header header{};
    header.magic = WEFT_MAGIC;
    header.isa_version = WEFT_ISA_VERSION;
    header.chip_fingerprint = simulation->chip(0).preset().fingerprint;
    header.kernel_count = static_cast<uint32_t>(arguments.size());
    header.commands_offset = sizeof header + arguments.size() * sizeof(weft_program_kernel);
    header.commands_bytes = commands * WEFT_COMMAND_BYTES;
    header.constants_offset = header.commands_offset + header.commands_bytes;
    header.image_bytes = header.constants_offset;
    std::vector<std::byte> image(header.image_bytes);
    std::memcpy(image.data(), &header, sizeof header);
    for (size_t i = 0; i < arguments.size(); i++) {
      weft_program_kernel kernel{};
      kernel.queue_count[WEFT_QUEUE_SYNC] = commands;
      kernel.argument_count = arguments[i];
      kernel.argument_readable = (1u << arguments[i]) - 1;
      std::memcpy(&image[sizeof header + i * sizeof kernel], &kernel, sizeof kernel);
    }
    for (uint32_t i = 0; i < commands; i++) {
      const spec::Command command = command_of(kCommandCycles);
      std::memcpy(&image[header.commands_offset + i * WEFT_COMMAND_BYTES], command.bytes.data(), WEFT_COMMAND_BYTES);
    }
    if (!simulation->chip(0).bus().hbm().write(kProgram, image)) std::abort();
    arguments_ = arguments;
    weft_submission_entry e{};
    e.opcode = WEFT_ADMIN_OPCODE_LOAD_PROGRAM;
    e.arg0 = kProgram;
    e.size = image.size();
    const weft_error status = submit(0, e);
    program_ = last.start_cycle;
    return status;
  }

  weft_error launch(uint32_t kernel) {
    const uint32_t count = arguments_.at(kernel);
    auto& list = *memory.at<weft_launch_list>(kList);
    list = {};
    list.count = count;
    for (uint32_t i = 0; i < count; i++)
      *memory.at<weft_launch_argument>(kList + sizeof list + i * sizeof(weft_launch_argument)) = {
          kProgram + 0x1'0000 * (i + 1), 4096, WEFT_ADDRESS_SPACE_HBM, 0};
    list.crc32c = weft::crc32c(std::span(memory.data() + kList, sizeof list + count * sizeof(weft_launch_argument)));
    weft_submission_entry e{};
    e.opcode = WEFT_QUEUE_OPCODE_LAUNCH;
    e.flags = WEFT_SUBMISSION_FLAG_INTERRUPT;
    e.arg0 = program_;
    e.arg1 = kBase + kList;
    e.size = kernel;
    return submit(1, e);
  }

  weft_error fill() {
    weft_submission_entry e{};
    e.opcode = WEFT_QUEUE_OPCODE_FILL;
    e.arg1 = WEFT_LIMIT_ADDRESS_FLAG_HBM | kProgram;
    e.size = 4096;
    return submit(1, e);
  }

  SharedMemory memory{kBytes};
  std::string error;
  std::vector<std::string> traps;
  // Of the last submit():
  weft_completion_entry last{};
  uint64_t taken = 0;  ///< instructions from the doorbell to the firmware's sleep
  uint64_t woken = 0;  ///< instructions from the last wake-up to its handler
  std::unique_ptr<chip::Simulation> simulation;

 private:
  // Offsets in `memory`.
  static constexpr uint64_t kAdminEntries = 0x1000, kAdminCompletions = 0x2000, kLog = 0x4000, kFaults = 0x1'0000;
  static constexpr uint64_t kEntries = 0x4'0000, kCompletions = 0x5'0000, kList = 0x6'0000;
  uint32_t tail_[2] = {};
  uint64_t program_ = 0;
  std::vector<uint32_t> arguments_;
};

}  // namespace weft::test
