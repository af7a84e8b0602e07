// Accesses of regions, mapped and by the kernel's read and write.
#include "driver/transport/vfio_region.hpp"

#include "testbench/unit/driver/transport/fake_kernel.hpp"

using namespace weft::driver;
using namespace weft::driver::test;
using Catch::Contains;

namespace {

struct Opened {
  explicit Opened(Region index, bool mappable = true) : kernel(folder) {
    kernel.mappable = mappable;
    device = FileDescriptor(kernel.ioctl(-1, VFIO_GROUP_GET_DEVICE_FD, const_cast<char*>(kAddress)));
    auto opened = VfioRegion::open(kernel, device.get(), index, 256);
    REQUIRE(opened.ok());
    region = std::move(opened.value());
  }
  MachineFolder folder;
  FakeKernel kernel;
  FileDescriptor device;
  VfioRegion region;
};

}  // namespace

TEST_CASE("registers are mapped where they may be, and read back as written in every size") {
  const bool mappable = GENERATE(true, false);
  Opened at(Region::kRegisters, mappable);
  CHECK(at.region.mapped() == mappable);
  const uint64_t pattern = 0x1122334455667788;
  for (const uint32_t bytes : {1u, 2u, 4u, 8u}) {
    CAPTURE(bytes, mappable);
    const uint64_t offset = 64 + 8 * bytes;
    REQUIRE(at.region.write(offset, &pattern, bytes).ok());
    uint64_t mask = bytes == 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * bytes) - 1;
    CHECK(at.kernel.get<uint64_t>(0, offset) == (pattern & mask));
    uint64_t back = 0;
    REQUIRE(at.region.read(offset, &back, bytes).ok());
    CHECK(back == (pattern & mask));
  }
  at.kernel.put<uint64_t>(0, 0, 1);
  at.kernel.put<uint64_t>(0, 8, 2);
  std::array<uint64_t, 2> block{};
  REQUIRE(at.region.read(0, block.data(), sizeof block).ok());
  CHECK(block == std::array<uint64_t, 2>{1, 2});
}

TEST_CASE("the MSI-X table and configuration space are left to the kernel") {
  CHECK_FALSE(Opened(Region::kMsix).region.mapped());
  CHECK_FALSE(Opened(Region::kConfig).region.mapped());
  CHECK(Opened(Region::kDoorbells).region.mapped());
}

TEST_CASE("an access that registers do not take, or outside of the region, does nothing") {
  Opened at(Region::kDoorbells);
  uint64_t value = ~uint64_t{0};
  for (const auto& [offset, bytes] : {std::pair<uint64_t, uint32_t>{1, 4},
                                      {2, 8},
                                      {0, 3},
                                      {0, 0},
                                      {WEFT_PCI_BAR2_BYTES, 4},
                                      {WEFT_PCI_BAR2_BYTES - 4, 8},
                                      {~uint64_t{0}, 4}}) {
    CAPTURE(offset, bytes);
    CHECK(at.region.write(offset, &value, bytes).code() == WEFT_ERROR_INVALID_ARGUMENT);
    CHECK(at.region.read(offset, &value, bytes).code() == WEFT_ERROR_INVALID_ARGUMENT);
  }
  CHECK(at.kernel.get<uint64_t>(2, 0) == 0);
}

TEST_CASE("a region that is too small, and one that the kernel does not tell of") {
  const MachineFolder folder;
  FakeKernel kernel(folder);
  kernel.region_bytes[0] = 128;
  const auto small = VfioRegion::open(kernel, 0, Region::kRegisters, 256);
  CHECK(small.status().code() == WEFT_ERROR_UNSUPPORTED);
  CHECK_THAT(small.status().message(), Contains("has 128 bytes, 256 are needed"));
  kernel.failing = {{VFIO_DEVICE_GET_REGION_INFO, EINVAL}};
  CHECK(VfioRegion::open(kernel, 0, Region::kRegisters, 256).status().code() == WEFT_ERROR_DEVICE_LOST);
}
