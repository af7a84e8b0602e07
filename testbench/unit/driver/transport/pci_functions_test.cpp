// What sysfs tells of PCI functions, and what is said of those that cannot be opened.
#include "driver/transport/pci_functions.hpp"

#include <sys/stat.h>

#include "driver/device/device_list.hpp"
#include "testbench/unit/driver/transport/fake_kernel.hpp"

using namespace weft::driver;
using namespace weft::driver::test;
using Catch::Contains;

TEST_CASE("Weft chips are found among other functions, in the order of their addresses") {
  const MachineFolder folder;
  const FakeKernel kernel(folder);
  kernel.function("0000:00:1f.0", 0x8086, 0x2918);
  kernel.function("0000:00:04.0", WEFT_PCI_VENDOR_ID, WEFT_PCI_DEVICE_ID);
  kernel.function("0000:00:06.0", WEFT_PCI_VENDOR_ID, WEFT_PCI_DEVICE_ID + 1);
  const auto found = weft_functions(kernel);
  REQUIRE(found.size() == 2);
  CHECK(found[0].address == "0000:00:04.0");
  CHECK((found[0].driver.empty() && found[0].group.empty()));
  CHECK(found[1].address == kAddress);
  CHECK((found[1].driver == "vfio-pci" && found[1].group == "7" && found[1].device.empty()));
  const MachineFolder empty;
  CHECK(weft_functions(VfioKernel(empty.path())).empty());
}

TEST_CASE("an address may lack its domain and have capitals, and anything else is refused") {
  const MachineFolder folder;
  const FakeKernel kernel(folder);
  kernel.function("0000:00:1f.0", 0x8086, 0x2918);
  for (const char* text : {"0000:00:05.0", "00:05.0"}) {
    const auto found = find_function(kernel, text);
    REQUIRE(found.ok());
    CHECK(found.value().address == kAddress);
  }
  for (const char* text :
       {"", "5", "00:05", "0000:00:05:0", "0000-00-05.0", "0000:00:0g.0", "0000:00:05.00", "../../x"}) {
    CAPTURE(text);
    const auto found = find_function(kernel, text);
    CHECK(found.status().code() == WEFT_ERROR_INVALID_ARGUMENT);
    CHECK_THAT(found.status().message(), Contains("write it as in 0000:00:05.0"));
  }
  const auto absent = find_function(kernel, "0000:00:09.0");
  CHECK(absent.status().code() == WEFT_ERROR_DEVICE_LOST);
  CHECK_THAT(absent.status().message(), Contains("weft list"));
  const auto other = find_function(kernel, "00:1F.0");
  CHECK(other.status().code() == WEFT_ERROR_UNSUPPORTED);
  CHECK_THAT(other.status().message(), Contains("8086:2918"));
}

TEST_CASE("each obstacle is named with what to do") {
  const MachineFolder folder;
  const FakeKernel kernel(folder);
  const auto now = [&] {
    const auto found = find_function(kernel, kAddress);
    REQUIRE(found.ok());
    return obstacle(kernel, found.value());
  };
  const auto says = [&](const std::string& text) {
    const Status status = now();
    CHECK(status.code() == WEFT_ERROR_INVALID_STATE);
    CHECK_THAT(status.message(), Contains(text));
    CHECK(status.message().size() < 384);  // it fits into weft_device_entry
  };
  CHECK(now().ok());

  folder.remove(FakeKernel::in_sysfs("driver"));
  says("its driver: none");
  says("echo vfio-pci > /sys/bus/pci/devices/0000:00:05.0/driver_override");
  folder.link(FakeKernel::in_sysfs("driver"), "../../../bus/pci/drivers/weft");
  says("echo 0000:00:05.0 > /sys/bus/pci/devices/0000:00:05.0/driver/unbind");
  folder.remove(FakeKernel::in_sysfs("driver"));
  folder.link(FakeKernel::in_sysfs("driver"), "../../../bus/pci/drivers/vfio-pci");

  folder.remove("/dev/vfio/vfio");
  says("/dev/vfio/vfio is not there");
  says("modprobe vfio-pci");
  folder.file("/dev/vfio/vfio");

  folder.remove(FakeKernel::in_sysfs("iommu_group"));
  says("no IOMMU translates");
  says("intel_iommu=on");
}

TEST_CASE("a file that this user may not open is named") {
  if (::geteuid() == 0) {  // who may open everything; a folder in the place of a file can still not be told apart
    SUCCEED();
    return;
  }
  const MachineFolder folder;
  const FakeKernel kernel(folder);
  REQUIRE(::chmod((folder.path() + "/dev/vfio/7").c_str(), 0) == 0);
  const auto found = find_function(kernel, kAddress);
  REQUIRE(found.ok());
  const Status status = obstacle(kernel, found.value());
  CHECK(status.code() == WEFT_ERROR_INVALID_STATE);
  CHECK_THAT(status.message(), Contains("no permission to open /dev/vfio/7") && Contains("chown"));
}

TEST_CASE("the process that has a function open is found by its descriptors") {
  const MachineFolder folder;
  const FakeKernel kernel(folder);
  const auto function = find_function(kernel, kAddress).value();
  CHECK(owner_of(kernel, function) == 0);
  folder.link("/proc/17/fd/3", "/dev/vfio/8");
  folder.link("/proc/self/fd/3", "/dev/vfio/7");
  CHECK(owner_of(kernel, function) == 0);
  folder.link("/proc/4711/fd/12", "/dev/vfio/7");
  CHECK(owner_of(kernel, function) == 4711);
  kernel.add_iommufd();
  const auto by_iommufd = find_function(kernel, kAddress).value();
  CHECK(by_iommufd.device == "vfio3");
  CHECK(owner_of(kernel, by_iommufd) == 0);
  folder.link("/proc/4712/fd/12", "/dev/vfio/devices/vfio3");
  CHECK(owner_of(kernel, by_iommufd) == 4712);
}

TEST_CASE("the list of devices has the machine's PCI functions, with owner and obstacle") {
  ::setenv("WEFT_SIM", "/nonexistent", 1);
  const MachineFolder folder;
  const FakeKernel kernel(folder);
  kernel.function("0000:00:06.0", WEFT_PCI_VENDOR_ID, WEFT_PCI_DEVICE_ID);
  folder.link("/proc/4711/fd/12", "/dev/vfio/7");
  const auto list = list_devices(nullptr, kernel);
  ::unsetenv("WEFT_SIM");
  REQUIRE(list.ok());
  std::vector<ListedDevice> functions;
  for (const ListedDevice& device : list.value())  // a simulator may listen where none needs to
    if (device.name.starts_with("pci:")) functions.push_back(device);
  REQUIRE(functions.size() == 2);
  CHECK(functions[0].name == "pci:0000:00:05.0");
  CHECK((functions[0].busy && functions[0].owner_pid == 4711 && functions[0].obstacle.empty()));
  CHECK(functions[1].name == "pci:0000:00:06.0");
  CHECK((!functions[1].busy && functions[1].preset.empty()));
  CHECK_THAT(functions[1].obstacle, Contains("not bound to vfio-pci"));
}
