// Opening by group and by iommufd, maps, and each refusal of the kernel.
#include "driver/transport/vfio_address_space.hpp"

#include "testbench/unit/driver/transport/fake_kernel.hpp"

using namespace weft::driver;
using namespace weft::driver::test;
using Catch::Contains;

namespace {

Result<VfioFunction> open_it(FakeKernel& kernel) {
  const auto found = find_function(kernel, kAddress);
  REQUIRE(found.ok());
  return open_function(kernel, found.value());
}

}  // namespace

TEST_CASE("a function opens by container and group, and its maps come and go") {
  const MachineFolder folder;
  FakeKernel kernel(folder);
  auto opened = open_it(kernel);
  REQUIRE(opened.ok());
  CHECK(kernel.opened == std::vector<std::string>{"/dev/vfio/vfio", "/dev/vfio/7"});
  CHECK(kernel.named == kAddress);
  CHECK(opened.value().device.valid());
  CHECK((kernel.count[VFIO_GROUP_SET_CONTAINER] == 1 && kernel.count[VFIO_SET_IOMMU] == 1));
  std::array<char, 4096> page{};
  REQUIRE(opened.value().space->map(0x100000000, page.data(), page.size()).ok());
  REQUIRE(kernel.maps.size() == 1);
  CHECK((kernel.maps[0x100000000].data == page.data() && kernel.maps[0x100000000].bytes == page.size()));
  REQUIRE(opened.value().space->unmap(0x100000000, page.size()).ok());
  CHECK(kernel.maps.empty());
  const Status twice = opened.value().space->unmap(0x100000000, page.size());
  CHECK(twice.code() == WEFT_ERROR_DEVICE_LOST);
}

TEST_CASE("where the kernel has iommufd the function's own file is used, and no group") {
  const MachineFolder folder;
  FakeKernel kernel(folder);
  kernel.add_iommufd();
  auto opened = open_it(kernel);
  REQUIRE(opened.ok());
  CHECK(kernel.opened == std::vector<std::string>{"/dev/vfio/devices/vfio3", "/dev/iommu"});
  CHECK((kernel.count[iommufd::kBind] == 1 && kernel.attached == FakeKernel::kSpace));
  std::array<char, 4096> page{};
  REQUIRE(opened.value().space->map(0x100000000, page.data(), page.size()).ok());
  CHECK(kernel.maps[0x100000000].data == page.data());
  REQUIRE(opened.value().space->unmap(0x100000000, page.size()).ok());
  CHECK_FALSE(opened.value().space->unmap(0x100000000, page.size()).ok());
  kernel.failing = {{iommufd::kMap, ENOMEM}};
  CHECK_THAT(opened.value().space->map(0x100000000, page.data(), page.size()).message(), Contains("RLIMIT_MEMLOCK"));
}

TEST_CASE("a refusal of the kernel while it opens says what to do") {
  struct Refusal {
    unsigned long request;
    int error;
    weft_error code;
    const char* words;
  };
  const auto [request, error, code, words] =
      GENERATE(values<Refusal>({{VFIO_GROUP_GET_STATUS, EIO, WEFT_ERROR_DEVICE_LOST, "the group's status"},
                                {VFIO_GROUP_SET_CONTAINER, EPERM, WEFT_ERROR_DEVICE_LOST, "container"},
                                {VFIO_SET_IOMMU, EPERM, WEFT_ERROR_UNSUPPORTED, "allow_unsafe_interrupts"},
                                {VFIO_SET_IOMMU, ENODEV, WEFT_ERROR_DEVICE_LOST, "its IOMMU"},
                                {VFIO_GROUP_GET_DEVICE_FD, EBUSY, WEFT_ERROR_BUSY, "belongs to another process"},
                                {VFIO_GROUP_GET_DEVICE_FD, ENODEV, WEFT_ERROR_DEVICE_LOST, "0000:00:05.0"}}));
  CAPTURE(request, error);
  const MachineFolder folder;
  FakeKernel kernel(folder);
  kernel.failing = {{request, error}};
  const auto opened = open_it(kernel);
  CHECK(opened.status().code() == code);
  CHECK_THAT(opened.status().message(), Contains(words));
}

TEST_CASE("a refusal of iommufd while it opens names the step") {
  const auto [request, error, code, words] = GENERATE(table<unsigned long, int, weft_error, const char*>(
      {{iommufd::kBind, EBUSY, WEFT_ERROR_BUSY, "belongs to another process"},
       {iommufd::kBind, EINVAL, WEFT_ERROR_DEVICE_LOST, "binding it to an iommufd"},
       {iommufd::kAllocate, ENOMEM, WEFT_ERROR_DEVICE_LOST, "an address space"},
       {iommufd::kAttach, EINVAL, WEFT_ERROR_DEVICE_LOST, "its address space"}}));
  const MachineFolder folder;
  FakeKernel kernel(folder);
  kernel.add_iommufd();
  kernel.failing = {{request, error}};
  const auto opened = open_it(kernel);
  CHECK(opened.status().code() == code);
  CHECK_THAT(opened.status().message(), Contains(words));
}

TEST_CASE("a group of two drivers, a kernel without type 1, and a group that another process has") {
  const MachineFolder folder;
  FakeKernel kernel(folder);
  kernel.viable = false;
  CHECK(open_it(kernel).status().code() == WEFT_ERROR_INVALID_STATE);
  CHECK_THAT(open_it(kernel).status().message(), Contains("/sys/kernel/iommu_groups/7/devices"));
  kernel.viable = true;
  kernel.type1 = false;
  CHECK_THAT(open_it(kernel).status().message(), Contains("modprobe vfio_iommu_type1"));
  kernel.type1 = true;
  kernel.unopenable = {{"/dev/vfio/7", EBUSY}};
  folder.link("/proc/4711/fd/12", "/dev/vfio/7");
  CHECK(open_it(kernel).status().code() == WEFT_ERROR_BUSY);
  CHECK_THAT(open_it(kernel).status().message(), Contains("belongs to process 4711"));
}

TEST_CASE("a map that the kernel refuses names the limit") {
  const auto [error, words] = GENERATE(table<int, const char*>({{ENOMEM, "ulimit -l"},
                                                                {ENOSPC, "dma_entry_limit"},
                                                                {EINVAL, "does not translate these addresses"},
                                                                {EIO, "Input/output error"}}));
  const MachineFolder folder;
  FakeKernel kernel(folder);
  auto opened = open_it(kernel);
  REQUIRE(opened.ok());
  kernel.failing = {{VFIO_IOMMU_MAP_DMA, error}};
  std::array<char, 4096> page{};
  const Status status = opened.value().space->map(uint64_t{1} << 46, page.data(), page.size());
  CHECK(status.code() == WEFT_ERROR_NO_HOST_MEMORY);
  CHECK_THAT(status.message(), Contains(words) && Contains("4096 bytes") && Contains("0x400000000000"));
}
