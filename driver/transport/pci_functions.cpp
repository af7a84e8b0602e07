// Links and small files of /sys/bus/pci, and /proc/<pid>/fd.
#include "driver/transport/pci_functions.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "weft/spec/spec.h"

namespace weft::driver {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDevices = "/sys/bus/pci/devices";
constexpr const char* kDriver = "vfio-pci";

/// The last name of what a link points at; empty: there is no link.
std::string link_name(const std::string& path) {
  std::error_code error;
  const fs::path target = fs::read_symlink(path, error);
  return error ? std::string() : target.filename().string();
}

uint16_t read_id(const std::string& path) {
  std::ifstream file(path);
  unsigned value = 0;
  file >> std::hex >> value;
  return static_cast<uint16_t>(value);
}

/// Names in a folder, in order; none: there is no such folder.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    names.push_back(at->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

PciFunction look_at(const VfioKernel& kernel, const std::string& address) {
  const std::string folder = kernel.place(fmt::format("{}/{}", kDevices, address));
  PciFunction function;
  function.address = address;
  function.driver = link_name(folder + "/driver");
  function.group = link_name(folder + "/iommu_group");
  const auto devices = names_in(folder + "/vfio-dev");
  if (!devices.empty()) function.device = devices.front();
  function.vendor_id = read_id(folder + "/vendor");
  function.device_id = read_id(folder + "/device");
  return function;
}

bool is_weft(const PciFunction& function) {
  return function.vendor_id == WEFT_PCI_VENDOR_ID && function.device_id == WEFT_PCI_DEVICE_ID;
}

/// "0000:00:05.0"; empty: the text is no address.
std::string whole_address(const std::string& text) {
  constexpr std::string_view kForm = "dddd:dd:dd.d", kDomain = "0000:";
  const std::string address = text.size() + kDomain.size() == kForm.size() ? std::string(kDomain) + text : text;
  if (address.size() != kForm.size()) return {};
  for (size_t i = 0; i < kForm.size(); i++) {
    const bool hexadecimal = std::isxdigit(static_cast<unsigned char>(address[i])) != 0;
    if (kForm[i] == 'd' ? !hexadecimal : address[i] != kForm[i]) return {};
  }
  std::string lower = address;
  std::ranges::transform(lower, lower.begin(), [](char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

/// The function's own file, and the one that maps memory for it.
struct Files {
  std::string function;
  std::string memory;
};
Files files_of(const VfioKernel& kernel, const PciFunction& function) {
  if (uses_iommufd(kernel, function)) return {"/dev/vfio/devices/" + function.device, "/dev/iommu"};
  return {"/dev/vfio/" + function.group, "/dev/vfio/vfio"};
}

}  // namespace

std::vector<PciFunction> weft_functions(const VfioKernel& kernel) {
  std::vector<PciFunction> found;
  for (const std::string& address : names_in(kernel.place(kDevices))) {
    PciFunction function = look_at(kernel, address);
    if (is_weft(function)) found.push_back(std::move(function));
  }
  return found;
}

Result<PciFunction> find_function(const VfioKernel& kernel, const std::string& address) {
  const std::string whole = whole_address(address);
  if (whole.empty())
    return failure(WEFT_ERROR_INVALID_ARGUMENT, "'{}' is no PCI address: write it as in 0000:00:05.0", address);
  PciFunction function = look_at(kernel, whole);
  std::error_code error;
  if (!fs::exists(kernel.place(fmt::format("{}/{}", kDevices, whole)), error))
    return failure(WEFT_ERROR_DEVICE_LOST,
                   "there is no PCI function {}: weft list shows the Weft chips of this machine", whole);
  if (!is_weft(function))
    return failure(WEFT_ERROR_UNSUPPORTED, "PCI function {} is {:04x}:{:04x}, not a Weft chip ({:04x}:{:04x})", whole,
                   function.vendor_id, function.device_id, WEFT_PCI_VENDOR_ID, WEFT_PCI_DEVICE_ID);
  return function;
}

bool uses_iommufd(const VfioKernel& kernel, const PciFunction& function) {
  std::error_code error;
  return !function.device.empty() && fs::exists(kernel.place("/dev/iommu"), error);
}

Status obstacle(const VfioKernel& kernel, const PciFunction& function) {
  const std::string& address = function.address;
  if (function.driver != kDriver)
    return failure(WEFT_ERROR_INVALID_STATE,
                   "PCI function {0} is not bound to vfio-pci (its driver: {1}). As root: modprobe vfio-pci; {2}echo "
                   "vfio-pci > /sys/bus/pci/devices/{0}/driver_override; echo {0} > /sys/bus/pci/drivers_probe",
                   address, function.driver.empty() ? "none" : function.driver,
                   function.driver.empty()
                       ? std::string()
                       : fmt::format("echo {0} > /sys/bus/pci/devices/{0}/driver/unbind; ", address));
  if (function.group.empty() && !uses_iommufd(kernel, function))
    return failure(WEFT_ERROR_INVALID_STATE,
                   "no IOMMU translates for PCI function {}: turn it on in the firmware's setup and boot Linux with "
                   "intel_iommu=on (AMD: amd_iommu=on); a guest needs one of its own (docs/guest.md)",
                   address);
  const Files files = files_of(kernel, function);
  for (const std::string& file : {files.memory, files.function}) {
    if (::access(kernel.place(file).c_str(), R_OK | W_OK) == 0) continue;
    if (errno == ENOENT)
      return failure(WEFT_ERROR_INVALID_STATE, "{} is not there, by which PCI function {} is opened: modprobe vfio-pci",
                     file, address);
    return failure(
        WEFT_ERROR_INVALID_STATE,
        "no permission to open {0} of PCI function {1} ({2}). As root: chown $USER {0}; a udev rule keeps it "
        "so (docs/guest.md)",
        file, address, std::strerror(errno));
  }
  return {};
}

uint32_t owner_of(const VfioKernel& kernel, const PciFunction& function) {
  const std::string file = files_of(kernel, function).function;
  const std::string processes = kernel.place("/proc");
  for (const std::string& name : names_in(processes)) {
    uint32_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || end != name.data() + name.size()) continue;
    const std::string folder = fmt::format("{}/{}/fd", processes, name);
    for (const std::string& descriptor : names_in(folder)) {
      std::error_code ignored;
      if (fs::read_symlink(folder + "/" + descriptor, ignored).string() == file) return pid;
    }
  }
  return 0;
}

}  // namespace weft::driver
