// Requests of the vfio-user protocol.
#include "driver/transport/transport_vfio_user.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "driver/transport/version_reply.hpp"

namespace weft::driver {
namespace {

using namespace vfio_user;

/// Sends `message`, expects a reply that is at least a T. Shorter: the server does not speak our protocol.
template <typename T>
Result<T> exchange(VfioUserSocket& socket, Command command, const T& message) {
  const VfioUserSocket::Bytes payload{&message, sizeof message};
  auto reply = socket.request(command, {&payload, 1});
  if (!reply.ok()) return reply.status();
  if (reply.value().size() < sizeof(T)) {
    const std::string why = fmt::format("the reply to vfio-user command {} has {} bytes, at least {} are due",
                                        static_cast<int>(command), reply.value().size(), sizeof(T));
    socket.shutdown(why);
    return failure(WEFT_ERROR_DEVICE_LOST, "{}", why);
  }
  T value;
  std::memcpy(&value, reply.value().data(), sizeof value);
  return value;
}

/// Process id of the client that the server at `path` serves, from the file beside its socket; empty: not to be had.
std::string owner_of(const std::string& path) {
  constexpr size_t kMaxDigits = 10;
  std::ifstream file(path + ".owner");
  std::string pid;
  file >> pid;
  const bool number = !pid.empty() && pid.size() <= kMaxDigits && pid.find_first_not_of("0123456789") == pid.npos;
  return number ? pid : std::string();
}

}  // namespace

Result<std::unique_ptr<Transport>> VfioUserTransport::connect(FileDescriptor socket,
                                                              std::unique_ptr<SimProcess> simulator,
                                                              int reply_timeout_ms) {
  std::unique_ptr<VfioUserTransport> transport(
      new VfioUserTransport(std::move(socket), std::move(simulator), reply_timeout_ms));
  if (Status s = transport->negotiate(); !s.ok()) return transport->with_last_words(std::move(s));
  if (Status s = transport->check_device(); !s.ok()) return transport->with_last_words(std::move(s));
  return std::unique_ptr<Transport>(std::move(transport));
}

Result<std::unique_ptr<Transport>> VfioUserTransport::connect_path(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return failure(WEFT_ERROR_INVALID_ARGUMENT, "a socket path of {} characters: 1 to {} are possible", path.size(),
                   sizeof address.sun_path - 1);
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  auto fd = FileDescriptor::opened_by([] { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); });
  if (!fd.valid() || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return failure(WEFT_ERROR_DEVICE_LOST, "no device at socket '{}': {}", path, std::strerror(errno));
  }
  auto connected = connect(std::move(fd), nullptr);
  if (connected.ok() || connected.status().code() != WEFT_ERROR_BUSY) return connected;
  const std::string owner = owner_of(path);
  return failure(WEFT_ERROR_BUSY, "the device at socket '{}' belongs to {}; it is free when that ends", path,
                 owner.empty() ? std::string("another process") : "process " + owner);
}

VfioUserTransport::~VfioUserTransport() { shutdown(); }

Status VfioUserTransport::negotiate() {
  const std::string text = fmt::format(R"({{"capabilities":{{"max_msg_fds":{},"max_data_xfer_size":{}}}}})",
                                       VfioUserSocket::kMaxDescriptors, VfioUserSocket::kMaxDataBytes);
  const Version version{kMajor, kMinor};
  const std::array<VfioUserSocket::Bytes, 2> payload{{{&version, sizeof version}, {text.c_str(), text.size() + 1}}};
  auto reply = socket_.request(Command::kVersion, payload);
  if (!reply.ok()) return reply.status();
  const auto& bytes = reply.value();
  Version theirs{};
  if (bytes.size() < sizeof theirs) return failure(WEFT_ERROR_DEVICE_LOST, "a VERSION reply of {} bytes", bytes.size());
  std::memcpy(&theirs, bytes.data(), sizeof theirs);
  if (theirs.major != kMajor || theirs.minor > kMinor) {
    return failure(WEFT_ERROR_ABI_MISMATCH, "the server speaks vfio-user {}.{}, this driver {}.{}", theirs.major,
                   theirs.minor, kMajor, kMinor);
  }
  const auto* first = reinterpret_cast<const char*>(bytes.data()) + sizeof theirs;
  const auto descriptors =
      descriptors_of_version_reply(std::string_view(first, strnlen(first, bytes.size() - sizeof theirs)));
  if (!descriptors.ok()) return descriptors.status();
  message_descriptors_ = static_cast<size_t>(std::min<uint64_t>(descriptors.value(), VfioUserSocket::kMaxDescriptors));
  return {};
}

Status VfioUserTransport::check_device() {
  const auto info = exchange(socket_, Command::kDeviceGetInfo, DeviceInfo{sizeof(DeviceInfo), 0, 0, 0});
  if (!info.ok()) return info.status();
  if (info.value().regions <= static_cast<uint32_t>(Region::kConfig) || info.value().irqs <= kIrqMsix) {
    return failure(WEFT_ERROR_UNSUPPORTED, "not a PCI device: {} regions, {} interrupt kinds", info.value().regions,
                   info.value().irqs);
  }
  constexpr std::array<std::pair<Region, uint64_t>, 4> kRegions{{{Region::kRegisters, WEFT_PCI_BAR0_BYTES},
                                                                 {Region::kDoorbells, WEFT_PCI_BAR2_BYTES},
                                                                 {Region::kMsix, WEFT_PCI_BAR4_BYTES},
                                                                 {Region::kConfig, 256}}};
  for (const auto& [region, bytes] : kRegions) {
    const auto reply = exchange(socket_, Command::kDeviceGetRegionInfo,
                                RegionInfo{sizeof(RegionInfo), 0, static_cast<uint32_t>(region), 0, 0, 0});
    if (!reply.ok()) return reply.status();
    if (reply.value().bytes < bytes) {
      return failure(WEFT_ERROR_UNSUPPORTED, "region {} has {} bytes, {} are needed", static_cast<uint32_t>(region),
                     reply.value().bytes, bytes);
    }
  }
  const auto irq = exchange(socket_, Command::kDeviceGetIrqInfo, IrqInfo{sizeof(IrqInfo), 0, kIrqMsix, 0});
  if (!irq.ok()) return irq.status();
  if (irq.value().count < WEFT_PCI_MSIX_VECTORS) {
    return failure(WEFT_ERROR_UNSUPPORTED, "{} MSI-X vectors, {} are needed", irq.value().count, WEFT_PCI_MSIX_VECTORS);
  }
  return {};
}

Status VfioUserTransport::with_last_words(Status status) {
  if (status.ok() || status.code() != WEFT_ERROR_DEVICE_LOST) return status;
  if (simulator_ != nullptr)
    if (Status refusal = simulator_->refusal(); !refusal.ok()) return refusal;
  const std::string words = last_words();
  return words.empty() ? status : failure(WEFT_ERROR_DEVICE_LOST, "{}; {}", status.message(), words);
}

Status VfioUserTransport::read(Region region, uint64_t offset, void* data, uint32_t bytes) {
  const RegionAccess access{offset, static_cast<uint32_t>(region), bytes};
  const VfioUserSocket::Bytes payload{&access, sizeof access};
  auto reply = socket_.request(Command::kRegionRead, {&payload, 1});
  if (!reply.ok()) return reply.status();
  RegionAccess answer{};
  const bool whole = reply.value().size() == sizeof answer + bytes;
  if (whole) std::memcpy(&answer, reply.value().data(), sizeof answer);
  if (!whole || answer.offset != offset || answer.region != access.region || answer.count != bytes) {
    socket_.shutdown("a REGION_READ reply that does not fit its request");
    return failure(
        WEFT_ERROR_DEVICE_LOST,
        "reading {} bytes at {:#x} of region {}: the reply has {} bytes and is for {} bytes at {:#x} of region {}",
        bytes, offset, access.region, reply.value().size(), answer.count, answer.offset, answer.region);
  }
  std::memcpy(data, reply.value().data() + sizeof answer, bytes);
  return {};
}

Status VfioUserTransport::write(Region region, uint64_t offset, const void* data, uint32_t bytes) {
  const RegionAccess access{offset, static_cast<uint32_t>(region), bytes};
  const std::array<VfioUserSocket::Bytes, 2> payload{{{&access, sizeof access}, {data, bytes}}};
  return socket_.request(Command::kRegionWrite, payload).status();
}

Status VfioUserTransport::post(Region region, uint64_t offset, const void* data, uint32_t bytes) {
  const RegionAccess access{offset, static_cast<uint32_t>(region), bytes};
  const std::array<VfioUserSocket::Bytes, 2> payload{{{&access, sizeof access}, {data, bytes}}};
  return socket_.post(Command::kRegionWrite, payload);
}

Status VfioUserTransport::dma_map(int fd, uint64_t fd_offset, uint64_t iova, uint64_t bytes) {
  const DmaMap map{sizeof(DmaMap), kDmaReadable | kDmaWritable, fd_offset, iova, bytes};
  const VfioUserSocket::Bytes payload{&map, sizeof map};
  return socket_.request(Command::kDmaMap, {&payload, 1}, {&fd, 1}).status();
}

Status VfioUserTransport::dma_unmap(uint64_t iova, uint64_t bytes) {
  return exchange(socket_, Command::kDmaUnmap, DmaUnmap{sizeof(DmaUnmap), 0, iova, bytes}).status();
}

Status VfioUserTransport::set_irqs(std::span<const int> eventfds) {
  for (size_t first = 0; first < eventfds.size(); first += message_descriptors_) {
    const auto part = eventfds.subspan(first, std::min(message_descriptors_, eventfds.size() - first));
    const IrqSet set{sizeof(IrqSet), kIrqDataEventfd | kIrqActionTrigger, kIrqMsix, static_cast<uint32_t>(first),
                     static_cast<uint32_t>(part.size())};
    const VfioUserSocket::Bytes payload{&set, sizeof set};
    if (Status s = socket_.request(Command::kDeviceSetIrqs, {&payload, 1}, part).status(); !s.ok()) return s;
  }
  return {};
}

Status VfioUserTransport::reset() { return socket_.request(Command::kDeviceReset, {}).status(); }

void VfioUserTransport::disconnect() {
  socket_.shutdown("closed by this process");
  if (!socket_.wait_until_closed(close_ms_) && simulator_ != nullptr) simulator_->kill();
}

void VfioUserTransport::shutdown() {
  disconnect();
  if (simulator_ != nullptr) simulator_->stop();
}

std::string VfioUserTransport::last_words() { return simulator_ != nullptr ? simulator_->last_words() : std::string(); }

}  // namespace weft::driver
