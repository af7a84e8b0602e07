// The transport over Linux VFIO: from an address to a device, and back.
#include "driver/transport/transport_vfio.hpp"

#include <fcntl.h>

#include "testbench/unit/driver/transport/fake_kernel.hpp"

using namespace weft::driver;
using namespace weft::driver::test;
using Catch::Contains;

namespace {

constexpr uint64_t kIova = uint64_t{1} << 32;

std::unique_ptr<Transport> open_it(FakeKernel& kernel) {
  auto opened = VfioTransport::open(kAddress, kernel);
  REQUIRE(opened.ok());
  return std::move(opened.value());
}

}  // namespace

TEST_CASE("memory access is on before the first access of a register") {
  const MachineFolder folder;
  FakeKernel kernel(folder);
  kernel.put<uint16_t>(7, 4, 0x0400);
  const auto transport = open_it(kernel);
  CHECK(kernel.get<uint16_t>(7, 4) == 0x0402);
  kernel.put<uint32_t>(0, 0x38, 0x78787878);
  uint32_t value = 0;
  REQUIRE(transport->read(Region::kRegisters, 0x38, &value, 4).ok());
  CHECK(value == 0x78787878);
  REQUIRE(transport->post(Region::kDoorbells, 8, &value, 4).ok());
  CHECK(kernel.get<uint32_t>(2, 8) == 0x78787878);
}

TEST_CASE("memory is mapped by its address in this process, and the device writes what the program reads") {
  const MachineFolder folder;
  FakeKernel kernel(folder);
  const auto transport = open_it(kernel);
  const FileDescriptor memory(::memfd_create("memory", MFD_CLOEXEC));
  REQUIRE(::ftruncate(memory.get(), 3 * 4096) == 0);
  REQUIRE(transport->dma_map(memory.get(), 4096, kIova, 8192).ok());
  REQUIRE(kernel.maps.count(kIova) == 1);
  CHECK(kernel.maps[kIova].bytes == 8192);
  const_cast<char*>(kernel.maps[kIova].data)[5] = 'x';
  char byte = 0;
  REQUIRE(::pread(memory.get(), &byte, 1, 4096 + 5) == 1);
  CHECK(byte == 'x');
  CHECK(transport->dma_map(memory.get(), 0, kIova, 4096).code() == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK(transport->dma_unmap(kIova, 4096).code() == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK(transport->dma_unmap(kIova + 4096, 4096).code() == WEFT_ERROR_INVALID_ARGUMENT);
  REQUIRE(transport->dma_unmap(kIova, 8192).ok());
  CHECK(kernel.maps.empty());
  kernel.failing = {{VFIO_IOMMU_MAP_DMA, ENOMEM}};
  CHECK(transport->dma_map(memory.get(), 0, kIova, 4096).code() == WEFT_ERROR_NO_HOST_MEMORY);
  kernel.failing.clear();
  REQUIRE(transport->dma_map(memory.get(), 0, kIova, 4096).ok());  // the refused one has left nothing
}

TEST_CASE("all vectors go in one request") {
  const MachineFolder folder;
  FakeKernel kernel(folder);
  const auto transport = open_it(kernel);
  std::array<int, WEFT_PCI_MSIX_VECTORS> fds{};
  for (size_t i = 0; i < fds.size(); i++) fds[i] = static_cast<int>(100 + i);
  REQUIRE(transport->set_irqs(fds).ok());
  vfio_irq_set set{};
  REQUIRE(kernel.irqs.size() == sizeof set + sizeof fds);
  std::memcpy(&set, kernel.irqs.data(), sizeof set);
  CHECK(set.flags == (VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER));
  CHECK((set.index == VFIO_PCI_MSIX_IRQ_INDEX && set.start == 0 && set.count == fds.size()));
  CHECK(std::memcmp(kernel.irqs.data() + sizeof set, fds.data(), sizeof fds) == 0);
  kernel.failing = {{VFIO_DEVICE_SET_IRQS, EINVAL}};
  CHECK_THAT(transport->set_irqs(fds).message(), Contains("17 MSI-X vectors"));
}

TEST_CASE("after the end no call reaches the device, and no memory is mapped any more") {
  const MachineFolder folder;
  FakeKernel kernel(folder);
  const auto transport = open_it(kernel);
  const FileDescriptor memory(::memfd_create("memory", MFD_CLOEXEC));
  REQUIRE(::ftruncate(memory.get(), 4096) == 0);
  REQUIRE(transport->dma_map(memory.get(), 0, kIova, 4096).ok());
  REQUIRE(transport->reset().ok());
  CHECK(kernel.count[VFIO_DEVICE_RESET] == 1);
  transport->disconnect();
  CHECK(kernel.maps.empty());
  uint32_t value = 5;
  const auto before = kernel.count;
  CHECK(transport->write(Region::kRegisters, 0, &value, 4).code() == WEFT_ERROR_DEVICE_LOST);
  CHECK(transport->read(Region::kRegisters, 0, &value, 4).code() == WEFT_ERROR_DEVICE_LOST);
  CHECK(transport->dma_map(memory.get(), 0, kIova, 4096).code() == WEFT_ERROR_DEVICE_LOST);
  CHECK(transport->dma_unmap(kIova, 4096).code() == WEFT_ERROR_DEVICE_LOST);
  CHECK(transport->set_irqs({}).code() == WEFT_ERROR_DEVICE_LOST);
  CHECK(transport->reset().code() == WEFT_ERROR_DEVICE_LOST);
  CHECK(kernel.count == before);
  CHECK(kernel.get<uint32_t>(0, 0) == 0);
}

TEST_CASE("a function that is none of ours, or has too little, is refused with its address") {
  const MachineFolder folder;
  FakeKernel kernel(folder);
  kernel.vectors = 4;
  const auto few = VfioTransport::open(kAddress, kernel);
  CHECK(few.status().code() == WEFT_ERROR_UNSUPPORTED);
  CHECK_THAT(few.status().message(), Contains("0000:00:05.0: 4 MSI-X vectors, 17 are needed"));
  kernel.vectors = WEFT_PCI_MSIX_VECTORS;
  kernel.regions = 1;
  CHECK(VfioTransport::open(kAddress, kernel).status().code() == WEFT_ERROR_UNSUPPORTED);
  kernel.regions = VFIO_PCI_NUM_REGIONS;
  kernel.region_bytes[2] = 0;
  CHECK(VfioTransport::open(kAddress, kernel).status().code() == WEFT_ERROR_UNSUPPORTED);
  CHECK(VfioTransport::open("0000:00:06.0", kernel).status().code() == WEFT_ERROR_DEVICE_LOST);
}
