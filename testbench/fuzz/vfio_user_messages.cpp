// Messages in the layout of the specification.
#include "testbench/fuzz/vfio_user_messages.hpp"

#include <linux/pci_regs.h>
#include <linux/vfio.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>

#include "testbench/fuzz/host_rings.hpp"
#include "weft/spec/spec.h"

namespace weft::fuzz {
namespace {

namespace vfio_user = spec::vfio_user;

constexpr uint64_t kPage = 0, kLog = 0x3000, kFaults = 0x6000;
constexpr uint64_t kHbm = WEFT_LIMIT_ADDRESS_FLAG_HBM | 1u << 20;
constexpr uint32_t kEventfdTrigger = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER;

template <typename T>
void put(std::span<std::byte> memory, uint64_t at, const T& value) {
  std::memcpy(&memory[at], &value, sizeof value);
}

weft_submission_entry operation(uint8_t opcode, uint64_t arg0 = 0, uint64_t arg1 = 0, uint64_t size = 0) {
  weft_submission_entry entry{};
  entry.opcode = opcode;
  entry.arg0 = arg0;
  entry.arg1 = arg1;
  entry.size = size;
  return entry;
}

std::vector<uint8_t> version_payload(std::string_view json) {
  std::vector<uint8_t> text(json.begin(), json.end());
  text.push_back(0);
  return payload_of(vfio_user::Version{vfio_user::kMajor, vfio_user::kMinor}, text);
}

std::vector<uint8_t> bytes_of(uint64_t value, size_t count) {
  std::vector<uint8_t> bytes(count);
  std::memcpy(bytes.data(), &value, count);
  return bytes;
}

/// Collects messages with ids in order.
class Writer {
 public:
  Step& add(vfio_user::Command command, std::vector<uint8_t> payload, uint32_t flags = 0) {
    session.push_back(message(id_++, command, std::move(payload), flags));
    return session.back();
  }
  void read(uint32_t region, uint64_t offset, uint32_t count) {
    add(vfio_user::Command::kRegionRead, payload_of(vfio_user::RegionAccess{offset, region, count}));
  }
  void write(uint32_t region, uint64_t offset, uint64_t value, uint32_t count, uint32_t flags = 0) {
    add(vfio_user::Command::kRegionWrite,
        payload_of(vfio_user::RegionAccess{offset, region, count}, bytes_of(value, count)), flags);
  }
  void submit(uint8_t queue, std::span<const weft_submission_entry> entries) {
    act(Action::kSubmit);
    session.back().bytes = submission_of(queue, entries);
  }
  void act(Action action) {
    session.emplace_back();
    session.back().action = action;
  }

  Session session;

 private:
  uint16_t id_ = 0;
};

/// Work of queue 1: as many entries as leave room in its rings.
std::array<weft_submission_entry, 12> entries_of_a_turn() {
  std::array<weft_submission_entry, 12> entries;
  entries.fill(operation(WEFT_QUEUE_OPCODE_NOP));
  entries[1] = operation(WEFT_QUEUE_OPCODE_FILL, 0x5a, kHbm, 256);
  entries[2] = operation(WEFT_QUEUE_OPCODE_FENCE);
  entries[3] = operation(WEFT_QUEUE_OPCODE_COPY, kHbm, kHostMemoryBytes - 4096, 256);
  entries[4] = operation(WEFT_QUEUE_OPCODE_SIGNAL);
  entries[4].signal_id = 1;
  entries[4].signal_value = 1;
  entries[5] = operation(WEFT_QUEUE_OPCODE_WAIT);
  entries[5].wait_id = 1;
  entries[5].wait_value = 1;
  return entries;
}

}  // namespace

void fill_host_memory(std::span<std::byte> memory) {
  std::fill(memory.begin(), memory.end(), std::byte{0});
  weft_parameter_page page{};
  page.magic = WEFT_MAGIC;
  page.abi_version = WEFT_ABI_MAJOR << 16 | WEFT_ABI_MINOR;
  page.nonce = 1;
  page.admin_submission_iova = kAdminSubmission;
  page.admin_completion_iova = kAdminCompletion;
  page.log_iova = kLog;
  page.fault_iova = kFaults;
  put(memory, kPage, page);
  const uint64_t sizes = kRingEntries | uint64_t{kRingEntries} << 16 | uint64_t{1} << 32;
  put_sealed(memory, kAdminSubmission, 0, operation(WEFT_ADMIN_OPCODE_CREATE_QUEUE, kSubmission, kCompletion, sizes));
  put_sealed(memory, kAdminSubmission, 1, operation(WEFT_ADMIN_OPCODE_DUMP_STATE, kHostMemoryBytes - 4096));
  put_sealed(memory, kAdminSubmission, 2, operation(WEFT_ADMIN_OPCODE_LOAD_PROGRAM, 1u << 20, 0, 4096));
  put_sealed(memory, kSubmission, 0, operation(WEFT_QUEUE_OPCODE_NOP));
  put_sealed(memory, kSubmission, 1, operation(WEFT_QUEUE_OPCODE_FILL, 0x5a, kHbm, 4096));
  put_sealed(memory, kSubmission, 2, operation(WEFT_QUEUE_OPCODE_COPY, kPage, kHbm, 4096));
  put_sealed(memory, kSubmission, 3, operation(WEFT_QUEUE_OPCODE_FENCE));
}

Session client_messages() {
  Writer out;
  out.add(vfio_user::Command::kVersion, version_payload(R"({"capabilities":{"max_msg_fds":32}})"));
  out.add(vfio_user::Command::kDeviceGetInfo,
          payload_of(vfio_user::DeviceInfo{sizeof(vfio_user::DeviceInfo), 0, 0, 0}));
  for (const uint32_t region : {VFIO_PCI_BAR0_REGION_INDEX, VFIO_PCI_CONFIG_REGION_INDEX})
    out.add(vfio_user::Command::kDeviceGetRegionInfo,
            payload_of(vfio_user::RegionInfo{sizeof(vfio_user::RegionInfo), 0, region, 0, 0, 0}));
  out.add(vfio_user::Command::kDeviceGetIrqInfo,
          payload_of(vfio_user::IrqInfo{sizeof(vfio_user::IrqInfo), 0, VFIO_PCI_MSIX_IRQ_INDEX, 0}));
  Step& map =
      out.add(vfio_user::Command::kDmaMap,
              payload_of(vfio_user::DmaMap{sizeof(vfio_user::DmaMap), vfio_user::kDmaReadable | vfio_user::kDmaWritable,
                                           0, 0, kHostMemoryBytes}));
  map.descriptors = Descriptors::kMemory;
  Step& irqs =
      out.add(vfio_user::Command::kDeviceSetIrqs,
              payload_of(vfio_user::IrqSet{sizeof(vfio_user::IrqSet), kEventfdTrigger, VFIO_PCI_MSIX_IRQ_INDEX, 0, 2}));
  irqs.descriptors = Descriptors::kEventfd;
  irqs.descriptor_count = 2;
  out.act(Action::kReceive);
  constexpr uint32_t kConfig = VFIO_PCI_CONFIG_REGION_INDEX;
  out.read(kConfig, PCI_VENDOR_ID, 4);
  out.write(kConfig, PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 2);
  out.read(kConfig, PCI_CAPABILITY_LIST, 1);
  out.write(kConfig, PCI_BASE_ADDRESS_0, UINT32_MAX, 4);
  out.write(VFIO_PCI_BAR4_REGION_INDEX, PCI_MSIX_ENTRY_VECTOR_CTRL, 0, 4);
  constexpr uint32_t kRegisters = VFIO_PCI_BAR0_REGION_INDEX, kDoorbells = VFIO_PCI_BAR2_REGION_INDEX;
  out.write(kRegisters, WEFT_REG_PARAMETER_PAGE, kPage, 8);
  out.write(kRegisters, WEFT_REG_BOOT_CONTROL, 1, 4);
  out.act(Action::kPause);
  out.read(kRegisters, WEFT_REG_DEVICE_STATE, 4);
  out.write(kDoorbells, 0, 3, 4, vfio_user::kFlagNoReply);
  out.write(kRegisters, WEFT_REG_WAIT_ALARM, UINT64_MAX, 8);
  out.act(Action::kPause);
  out.write(kDoorbells, 8, 4, 4, vfio_user::kFlagNoReply);
  out.act(Action::kPause);
  // On into the rings' third lap.
  const std::array<weft_submission_entry, 12> work = entries_of_a_turn();
  for (int turn = 0; turn < 3; turn++) {
    out.submit(1, work);
    out.act(Action::kPause);
  }
  out.submit(0, {&work[0], 1});  // refused: no admin command
  out.act(Action::kPause);
  out.read(kRegisters, 0, 256);
  out.add(vfio_user::Command::kDeviceSetIrqs,
          payload_of(vfio_user::IrqSet{sizeof(vfio_user::IrqSet), VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_TRIGGER,
                                       VFIO_PCI_MSIX_IRQ_INDEX, 0, 1}));
  out.add(vfio_user::Command::kDmaUnmap,
          payload_of(vfio_user::DmaUnmap{sizeof(vfio_user::DmaUnmap), 0, 0, kHostMemoryBytes}));
  out.add(vfio_user::Command::kDeviceReset, {});
  out.act(Action::kReceive);
  out.act(Action::kHalfClose);
  return out.session;
}

Session server_replies() {
  Writer out;
  out.add(vfio_user::Command::kVersion,
          version_payload(R"({"capabilities":{"max_msg_fds":32,"max_data_xfer_size":1048576}})"),
          vfio_user::kTypeReply);
  out.add(
      vfio_user::Command::kDeviceGetInfo,
      payload_of(vfio_user::DeviceInfo{sizeof(vfio_user::DeviceInfo), VFIO_DEVICE_FLAGS_RESET | VFIO_DEVICE_FLAGS_PCI,
                                       VFIO_PCI_NUM_REGIONS, VFIO_PCI_NUM_IRQS}),
      vfio_user::kTypeReply);
  for (const uint32_t region : {VFIO_PCI_BAR0_REGION_INDEX, VFIO_PCI_BAR2_REGION_INDEX, VFIO_PCI_BAR4_REGION_INDEX,
                                VFIO_PCI_CONFIG_REGION_INDEX})
    out.add(vfio_user::Command::kDeviceGetRegionInfo,
            payload_of(vfio_user::RegionInfo{sizeof(vfio_user::RegionInfo), 3, region, 0, WEFT_PCI_BAR0_BYTES, 0}),
            vfio_user::kTypeReply);
  out.add(vfio_user::Command::kDeviceGetIrqInfo,
          payload_of(vfio_user::IrqInfo{sizeof(vfio_user::IrqInfo), 1, VFIO_PCI_MSIX_IRQ_INDEX, WEFT_PCI_MSIX_VECTORS}),
          vfio_user::kTypeReply);
  // prepare_pci(): identity, command read and written, two steps through the list, the table, control read and written.
  constexpr uint32_t kConfig = VFIO_PCI_CONFIG_REGION_INDEX;
  const auto was_read = [&](uint64_t offset, uint64_t value, uint32_t count) {
    out.add(vfio_user::Command::kRegionRead,
            payload_of(vfio_user::RegionAccess{offset, kConfig, count}, bytes_of(value, count)), vfio_user::kTypeReply);
  };
  const auto was_written = [&](uint32_t region, uint64_t offset, uint32_t count) {
    out.add(vfio_user::Command::kRegionWrite, payload_of(vfio_user::RegionAccess{offset, region, count}),
            vfio_user::kTypeReply);
  };
  constexpr uint64_t kMsix = 0x40;
  was_read(PCI_VENDOR_ID, WEFT_PCI_DEVICE_ID << 16 | WEFT_PCI_VENDOR_ID, 4);
  was_read(PCI_COMMAND, 0, 2);
  was_written(kConfig, PCI_COMMAND, 2);
  was_read(PCI_CAPABILITY_LIST, kMsix, 1);
  was_read(kMsix, PCI_CAP_ID_MSIX, 1);
  for (uint32_t vector = 0; vector < WEFT_PCI_MSIX_VECTORS; vector++)
    was_written(VFIO_PCI_BAR4_REGION_INDEX, vector * PCI_MSIX_ENTRY_SIZE + PCI_MSIX_ENTRY_VECTOR_CTRL, 4);
  was_read(kMsix + PCI_MSIX_FLAGS, WEFT_PCI_MSIX_VECTORS - 1, 2);
  was_written(kConfig, kMsix + PCI_MSIX_FLAGS, 2);
  // What the target asks afterwards.
  out.add(vfio_user::Command::kRegionRead,
          payload_of(vfio_user::RegionAccess{WEFT_REG_MAGIC, VFIO_PCI_BAR0_REGION_INDEX, 4}, bytes_of(WEFT_MAGIC, 4)),
          vfio_user::kTypeReply);
  was_written(VFIO_PCI_BAR0_REGION_INDEX, WEFT_REG_INTERRUPT_MASK, 4);
  out.add(vfio_user::Command::kDmaMap, {}, vfio_user::kTypeReply);
  out.add(vfio_user::Command::kDmaUnmap, payload_of(vfio_user::DmaUnmap{sizeof(vfio_user::DmaUnmap), 0, 0, 4096}),
          vfio_user::kTypeReply);
  out.add(vfio_user::Command::kDeviceSetIrqs, {}, vfio_user::kTypeReply);
  out.add(vfio_user::Command::kDeviceReset, {}, vfio_user::kTypeReply);
  return out.session;
}

}  // namespace weft::fuzz
