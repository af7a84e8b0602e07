// ioctls of a device's file, its regions and its address space.
#include "driver/transport/transport_vfio.hpp"

#include <linux/vfio.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <vector>

namespace weft::driver {
namespace {

constexpr uint64_t kConfigBytes = 256, kCommand = 0x04;
constexpr uint16_t kMemoryEnable = 0x0002;

}  // namespace

Result<std::unique_ptr<Transport>> VfioTransport::open(const std::string& address, VfioKernel& kernel) {
  const auto function = find_function(kernel, address);
  if (!function.ok()) return function.status();
  auto opened = open_function(kernel, function.value());
  if (!opened.ok()) return opened.status();
  std::unique_ptr<VfioTransport> transport(new VfioTransport(kernel, function.value().address));
  transport->function_ = std::move(opened.value());
  if (Status s = transport->prepare(); !s.ok())
    return failure(s.code(), "PCI function {}: {}", function.value().address, s.message());
  return std::unique_ptr<Transport>(std::move(transport));
}

VfioTransport::~VfioTransport() { disconnect(); }

Status VfioTransport::prepare() {
  const int device = function_.device.get();
  vfio_device_info info{};
  info.argsz = sizeof info;
  if (kernel_.ioctl(device, VFIO_DEVICE_GET_INFO, &info) != 0)
    return failure(WEFT_ERROR_DEVICE_LOST, "{}", std::strerror(errno));
  if ((info.flags & VFIO_DEVICE_FLAGS_PCI) == 0 || info.num_regions <= VFIO_PCI_CONFIG_REGION_INDEX ||
      info.num_irqs <= VFIO_PCI_MSIX_IRQ_INDEX)
    return failure(WEFT_ERROR_UNSUPPORTED, "not a PCI device: {} regions, {} interrupt kinds", info.num_regions,
                   info.num_irqs);
  constexpr std::array<std::pair<Region, uint64_t>, 4> kRegions{{{Region::kConfig, kConfigBytes},
                                                                 {Region::kRegisters, WEFT_PCI_BAR0_BYTES},
                                                                 {Region::kDoorbells, WEFT_PCI_BAR2_BYTES},
                                                                 {Region::kMsix, WEFT_PCI_BAR4_BYTES}}};
  for (const auto& [index, bytes] : kRegions) {
    auto opened = VfioRegion::open(kernel_, device, index, bytes);
    if (!opened.ok()) return opened.status();
    regions_[static_cast<size_t>(index)] = std::move(opened.value());
  }
  vfio_irq_info irq{};
  irq.argsz = sizeof irq;
  irq.index = VFIO_PCI_MSIX_IRQ_INDEX;
  if (kernel_.ioctl(device, VFIO_DEVICE_GET_IRQ_INFO, &irq) != 0)
    return failure(WEFT_ERROR_DEVICE_LOST, "its interrupts: {}", std::strerror(errno));
  if (irq.count < WEFT_PCI_MSIX_VECTORS)
    return failure(WEFT_ERROR_UNSUPPORTED, "{} MSI-X vectors, {} are needed", irq.count, WEFT_PCI_MSIX_VECTORS);
  // An access of a mapped BAR that is off is a SIGBUS.
  uint16_t command = 0;
  if (Status s = region(Region::kConfig).read(kCommand, &command, sizeof command); !s.ok()) return s;
  command |= kMemoryEnable;
  return region(Region::kConfig).write(kCommand, &command, sizeof command);
}

Status VfioTransport::check_open() const {
  if (function_.device.valid()) return {};
  return failure(WEFT_ERROR_DEVICE_LOST, "PCI function {} is closed", address_);
}

Status VfioTransport::read(Region index, uint64_t offset, void* data, uint32_t bytes) {
  const std::shared_lock lock(state_);
  if (Status s = check_open(); !s.ok()) return s;
  return region(index).read(offset, data, bytes);
}

Status VfioTransport::write(Region index, uint64_t offset, const void* data, uint32_t bytes) {
  const std::shared_lock lock(state_);
  if (Status s = check_open(); !s.ok()) return s;
  return region(index).write(offset, data, bytes);
}

Status VfioTransport::post(Region index, uint64_t offset, const void* data, uint32_t bytes) {
  return write(index, offset, data, bytes);
}

Status VfioTransport::dma_map(int fd, uint64_t fd_offset, uint64_t iova, uint64_t bytes) {
  const std::shared_lock lock(state_);
  if (Status s = check_open(); !s.ok()) return s;
  const std::lock_guard memory_lock(memory_mutex_);
  const auto place = memory_.try_emplace(iova, Memory{nullptr, bytes});
  if (!place.second)
    return failure(WEFT_ERROR_INVALID_ARGUMENT, "memory at {:#x} of the device is mapped already", iova);
  Memory& memory = place.first->second;
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(fd_offset));
  Status status;
  if (data == MAP_FAILED) {
    status = failure(WEFT_ERROR_NO_HOST_MEMORY, "host memory of {} bytes: mmap: {}", bytes, std::strerror(errno));
  } else {
    (void)::madvise(data, bytes, MADV_DONTFORK);
    status = function_.space->map(iova, data, bytes);
    if (!status.ok()) ::munmap(data, bytes);
  }
  if (status.ok())
    memory.data = data;
  else
    memory_.erase(place.first);
  return status;
}

Status VfioTransport::dma_unmap(uint64_t iova, uint64_t bytes) {
  const std::shared_lock lock(state_);
  if (Status s = check_open(); !s.ok()) return s;
  const std::lock_guard memory_lock(memory_mutex_);
  const auto found = memory_.find(iova);
  if (found == memory_.end() || found->second.bytes != bytes)
    return failure(WEFT_ERROR_INVALID_ARGUMENT, "{} bytes at {:#x} of the device are not a range that was mapped",
                   bytes, iova);
  if (Status s = function_.space->unmap(iova, bytes); !s.ok()) return s;
  ::munmap(found->second.data, bytes);
  memory_.erase(found);
  return {};
}

Status VfioTransport::set_irqs(std::span<const int> eventfds) {
  const std::shared_lock lock(state_);
  if (Status s = check_open(); !s.ok()) return s;
  std::vector<std::byte> message(sizeof(vfio_irq_set) + eventfds.size_bytes());
  vfio_irq_set set{};
  set.argsz = static_cast<uint32_t>(message.size());
  set.flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER;
  set.index = VFIO_PCI_MSIX_IRQ_INDEX;
  set.count = static_cast<uint32_t>(eventfds.size());
  std::memcpy(message.data(), &set, sizeof set);
  std::memcpy(message.data() + sizeof set, eventfds.data(), eventfds.size_bytes());
  if (kernel_.ioctl(function_.device.get(), VFIO_DEVICE_SET_IRQS, message.data()) == 0) return {};
  return failure(WEFT_ERROR_DEVICE_LOST, "PCI function {}: {} MSI-X vectors: {}", address_, eventfds.size(),
                 std::strerror(errno));
}

Status VfioTransport::reset() {
  const std::shared_lock lock(state_);
  if (Status s = check_open(); !s.ok()) return s;
  if (kernel_.ioctl(function_.device.get(), VFIO_DEVICE_RESET, nullptr) == 0) return {};
  return failure(WEFT_ERROR_DEVICE_LOST, "PCI function {}: its reset: {}", address_, std::strerror(errno));
}

void VfioTransport::disconnect() {
  const std::lock_guard lock(state_);
  if (!function_.device.valid()) return;
  for (VfioRegion& open : regions_) open = VfioRegion();
  // The kernel stops the function's bus mastering and resets it with the last descriptor; then its maps may go.
  function_.device.reset();
  for (const auto& [iova, memory] : memory_)
    best_effort([&, at = iova] { (void)function_.space->unmap(at, memory.bytes).ok(); });
  function_.space.reset();
  for (const auto& [iova, memory] : memory_) ::munmap(memory.data, memory.bytes);
  memory_.clear();
}

}  // namespace weft::driver
