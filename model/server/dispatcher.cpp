// Commands of the protocol.
#include "model/server/dispatcher.hpp"

#include <linux/vfio.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "model/server/received_file.hpp"
#include "model/server/version.hpp"

namespace weft::server {
namespace {

namespace limits = chip::tenant_limits;

Reply fail(int error) { return Reply{error, {}}; }

template <typename Body>
Reply answer(const Body& body, std::span<const std::byte> data = {}) {
  Reply reply;
  const auto bytes = std::as_bytes(std::span(&body, 1));
  reply.payload.assign(bytes.begin(), bytes.end());
  reply.payload.insert(reply.payload.end(), data.begin(), data.end());
  return reply;
}

/// The fixed part of a payload; empty if the payload is shorter.
template <typename Body>
std::optional<Body> body_of(const Message& message) {
  Body body;
  if (message.payload.size() < sizeof body) return std::nullopt;
  std::memcpy(&body, message.payload.data(), sizeof body);
  return body;
}

/// The whole payload, which must have exactly this size and come without descriptors.
template <typename Body>
std::optional<Body> sole_body_of(const Message& message) {
  if (message.payload.size() != sizeof(Body) || !message.fds.empty()) return std::nullopt;
  return body_of<Body>(message);
}

std::optional<chip::Region> find_region(uint32_t index) {
  switch (index) {
    case VFIO_PCI_BAR0_REGION_INDEX:
      return chip::Region::kRegisters;
    case VFIO_PCI_BAR2_REGION_INDEX:
      return chip::Region::kDoorbells;
    case VFIO_PCI_BAR4_REGION_INDEX:
      return chip::Region::kMsix;
    case VFIO_PCI_CONFIG_REGION_INDEX:
      return chip::Region::kConfig;
    default:
      return std::nullopt;
  }
}

}  // namespace

Dispatcher::Dispatcher(chip::Simulation& simulation, size_t function, Surroundings surroundings)
    : simulation_(simulation),
      function_(function),
      log_(surroundings.log),
      interrupts_(std::move(surroundings.signal)),
      memory_(surroundings.connection, surroundings.credit),
      may_map_doorbells_(surroundings.maps_doorbells) {
  if (log_ != nullptr) log_->connected(function_);
  this->function().msix().set_sink(this);
  this->function().host_memory().set_messages(&memory_);
}

Dispatcher::~Dispatcher() {
  if (log_ != nullptr) log_->left(function_);
  function().host_memory().set_messages(nullptr);
  function().set_rights({});
  simulation_.disconnect(function_);
}

void Dispatcher::set_rights(chip::HostRights rights) {
  function().set_rights(rights);
  if (!rights.hold && function().registers().holds_time()) write_word(VFIO_PCI_BAR0_REGION_INDEX, WEFT_REG_SIM_HOLD, 0);
  if (!rights.inject && function().faults().armed_by_host())
    write_word(VFIO_PCI_BAR0_REGION_INDEX, WEFT_REG_INJECT_CONTROL, WEFT_INJECT_CONTROL_DISARM);
}

bool Dispatcher::asks_to_hold(const Message& message) const {
  if (message.error != 0 || message.header.command != static_cast<uint16_t>(vfio_user::Command::kRegionWrite))
    return false;
  const auto body = body_of<vfio_user::RegionAccess>(message);
  const auto region = body ? find_region(body->region) : std::nullopt;
  return region && function().asks_to_hold(*region, body->offset, std::span(message.payload).subspan(sizeof *body));
}

void Dispatcher::write_word(uint32_t region, uint32_t offset, uint32_t value) {
  const vfio_user::RegionAccess body{offset, region, sizeof value};
  Message message;
  message.header.command = static_cast<uint16_t>(vfio_user::Command::kRegionWrite);
  message.payload = answer(body, std::as_bytes(std::span(&value, 1))).payload;
  (void)handle(message);
}

void Dispatcher::follow_resets() {
  if (doorbells_ == nullptr) return;
  const uint64_t now = function().registers().firmware_read(WEFT_REG_RESET_GENERATION);
  if (std::exchange(generation_, now) != now) doorbells_->clear();
}

void Dispatcher::take_doorbells() {
  follow_resets();
  if (doorbells_ == nullptr) return;
  for (size_t i = 0; i < DoorbellPage::kWords; i++) {  // a client that rings on and on does not keep the server
    const auto ring = doorbells_->take();
    if (!ring) return;
    try {
      write_word(VFIO_PCI_BAR2_REGION_INDEX, ring->offset, ring->value);
    } catch (const std::bad_alloc&) {
      return doorbells_->put_back(*ring);
    }
  }
}

bool Dispatcher::signal(unsigned vector) {
  if (!interrupts_.signal(vector)) return false;
  if (chip::Boundary* boundary = simulation_.boundary(function_))
    boundary->interrupt(simulation_.function_in_chip(function_), vector);
  return true;
}

Reply Dispatcher::handle(Message& message) {
  if (log_ != nullptr) log_->message(function_, message);
  Reply reply;
  try {
    reply = checked(message);
  } catch (const std::bad_alloc&) {
    reply = fail(ENOMEM);
  }
  if (log_ != nullptr) log_->answered(reply.error, reply.payload);
  follow_resets();
  return reply;
}

Reply Dispatcher::checked(Message& message) {
  if (message.error != 0) {
    if (message.error == EINVAL) hopeless_ = true;
    return fail(message.error);
  }
  if ((message.header.flags & vfio_user::kTypeMask) != vfio_user::kTypeCommand) return fail(EINVAL);
  const bool is_version = message.header.command == static_cast<uint16_t>(vfio_user::Command::kVersion);
  if (is_version == negotiated_) return fail(EINVAL);
  return execute(message);
}

Reply Dispatcher::execute(Message& message) {
  switch (static_cast<vfio_user::Command>(message.header.command)) {
    case vfio_user::Command::kVersion:
      return version(message);
    case vfio_user::Command::kDmaMap:
      return dma_map(message);
    case vfio_user::Command::kDmaUnmap:
      return dma_unmap(message);
    case vfio_user::Command::kDeviceGetInfo:
      return device_info(message);
    case vfio_user::Command::kDeviceGetRegionInfo:
      return region_info(message);
    case vfio_user::Command::kDeviceGetIrqInfo:
      return irq_info(message);
    case vfio_user::Command::kDeviceSetIrqs:
      return set_irqs(message);
    case vfio_user::Command::kRegionRead:
      return region_read(message);
    case vfio_user::Command::kRegionWrite:
      return region_write(message);
    case vfio_user::Command::kDeviceReset:
      if (!message.payload.empty() || !message.fds.empty()) return fail(EINVAL);
      function().reset();
      return {};
    case vfio_user::Command::kDeviceGetRegionIoFds:
    case vfio_user::Command::kDmaRead:
    case vfio_user::Command::kDmaWrite:
      break;
  }
  return fail(ENOTSUP);
}

Reply Dispatcher::version(const Message& message) {
  const auto body = body_of<vfio_user::Version>(message);
  if (!body || !message.fds.empty()) return fail(EINVAL);
  if (body->major != vfio_user::kMajor) {
    hopeless_ = true;
    return fail(EPROTONOSUPPORT);
  }
  const auto proposal = read_proposal(std::span(message.payload).subspan(sizeof *body));
  if (!proposal) return fail(EINVAL);
  const std::string ours = answer_proposal(*proposal);
  Reply reply = answer(vfio_user::Version{vfio_user::kMajor, std::min(body->minor, vfio_user::kMinor)},
                       std::as_bytes(std::span(ours.c_str(), ours.size() + 1)));
  memory_.set_transfer_bytes(proposal->transfer_bytes);
  negotiated_ = true;
  return reply;
}

Reply Dispatcher::dma_map(const Message& message) {
  const auto body = body_of<vfio_user::DmaMap>(message);
  if (!body || message.payload.size() != sizeof *body || body->argument_bytes < sizeof *body) return fail(EINVAL);
  if (body->flags == 0 || (body->flags & ~(vfio_user::kDmaReadable | vfio_user::kDmaWritable)) != 0)
    return fail(EINVAL);
  const auto access = static_cast<chip::Access>(body->flags);
  chip::HostMemory& memory = function().host_memory();
  if (message.fds.empty()) {
    asks_client_ = true;
    return fail(body->offset != 0 ? EINVAL : memory.map_messages(body->address, body->bytes, access));
  }
  if (message.fds.size() != 1) return fail(EINVAL);
  return fail(memory.map(message.fds.front().get(), body->offset, body->address, body->bytes, access));
}

Reply Dispatcher::dma_unmap(const Message& message) {
  const auto body = sole_body_of<vfio_user::DmaUnmap>(message);
  if (!body || body->argument_bytes < sizeof *body || (body->flags & ~vfio_user::kUnmapAll) != 0) return fail(EINVAL);
  Reply reply = answer(*body);
  chip::HostMemory& memory = function().host_memory();
  if ((body->flags & vfio_user::kUnmapAll) != 0) {
    if (body->address != 0 || body->bytes != 0) return fail(EINVAL);
    memory.clear();
    return reply;
  }
  if (const int error = memory.unmap(body->address, body->bytes); error != 0) return fail(error);
  return reply;
}

Reply Dispatcher::device_info(const Message& message) const {
  const auto body = sole_body_of<vfio_user::DeviceInfo>(message);
  if (!body || body->argument_bytes < sizeof *body) return fail(EINVAL);
  return answer(vfio_user::DeviceInfo{sizeof(vfio_user::DeviceInfo), VFIO_DEVICE_FLAGS_RESET | VFIO_DEVICE_FLAGS_PCI,
                                      VFIO_PCI_NUM_REGIONS, VFIO_PCI_NUM_IRQS});
}

Reply Dispatcher::region_info(const Message& message) {
  const auto body = sole_body_of<vfio_user::RegionInfo>(message);
  if (!body || body->argument_bytes < sizeof *body || body->index >= VFIO_PCI_NUM_REGIONS) return fail(EINVAL);
  vfio_user::RegionInfo info{sizeof(vfio_user::RegionInfo), 0, body->index, 0, 0, 0};
  if (const auto region = find_region(body->index)) {
    info.flags = VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE;
    info.bytes = region_bytes(*region);
  }
  if (body->index != VFIO_PCI_BAR2_REGION_INDEX || !may_map_doorbells_) return answer(info);
  if (doorbells_ == nullptr) {
    doorbells_ = DoorbellPage::make();
    if (doorbells_ == nullptr) return fail(ENOMEM);
    generation_ = function().registers().firmware_read(WEFT_REG_RESET_GENERATION);
  }
  info.flags |= VFIO_REGION_INFO_FLAG_MMAP;
  Reply reply = answer(info);
  reply.descriptor = doorbells_->fd();
  return reply;
}

Reply Dispatcher::irq_info(const Message& message) const {
  const auto body = sole_body_of<vfio_user::IrqInfo>(message);
  if (!body || body->argument_bytes < sizeof *body || body->index >= VFIO_PCI_NUM_IRQS) return fail(EINVAL);
  vfio_user::IrqInfo info{sizeof(vfio_user::IrqInfo), 0, body->index, 0};
  if (body->index == VFIO_PCI_MSIX_IRQ_INDEX) {
    info.flags = VFIO_IRQ_INFO_EVENTFD | VFIO_IRQ_INFO_MASKABLE;
    info.count = chip::Msix::kVectors;
  }
  return answer(info);
}

Reply Dispatcher::set_irqs(Message& message) {
  const auto body = body_of<vfio_user::IrqSet>(message);
  if (!body || body->argument_bytes < sizeof *body || body->argument_bytes > message.payload.size())
    return fail(EINVAL);
  const uint32_t data = body->flags & VFIO_IRQ_SET_DATA_TYPE_MASK;
  const uint32_t action = body->flags & VFIO_IRQ_SET_ACTION_TYPE_MASK;
  if (body->flags != (data | action) || !std::has_single_bit(data) || !std::has_single_bit(action)) return fail(EINVAL);
  const uint32_t vectors = body->index == VFIO_PCI_MSIX_IRQ_INDEX ? chip::Msix::kVectors : 0;
  if (body->index >= VFIO_PCI_NUM_IRQS || body->start > vectors || body->count > vectors - body->start)
    return fail(EINVAL);
  const size_t booleans = data == VFIO_IRQ_SET_DATA_BOOL ? body->count : 0;
  if (message.payload.size() != sizeof *body + booleans) return fail(EINVAL);
  if (data != VFIO_IRQ_SET_DATA_EVENTFD && !message.fds.empty()) return fail(EINVAL);

  chip::Function& target = function();
  if (body->count == 0) {
    if (data != VFIO_IRQ_SET_DATA_NONE || action != VFIO_IRQ_SET_ACTION_TRIGGER || body->start != 0)
      return fail(EINVAL);
    if (vectors == 0) return {};
    interrupts_.clear();
    target.config().enable_msix(false);
    return {};
  }
  if (data == VFIO_IRQ_SET_DATA_EVENTFD) {
    if (action != VFIO_IRQ_SET_ACTION_TRIGGER) return fail(ENOTSUP);
    return fail(assign_eventfds(message, body->start, body->count));
  }
  for (uint32_t i = 0; i < body->count; i++) {
    if (data == VFIO_IRQ_SET_DATA_BOOL && message.payload[sizeof *body + i] == std::byte{0}) continue;
    if (action == VFIO_IRQ_SET_ACTION_TRIGGER) {
      target.msix().raise(body->start + i);
    } else {
      target.msix().set_vector_mask(body->start + i, action == VFIO_IRQ_SET_ACTION_MASK);
    }
  }
  return {};
}

int Dispatcher::assign_eventfds(Message& message, unsigned start, unsigned count) {
  if (!message.fds.empty() && message.fds.size() != count) return EINVAL;
  for (const FileDescriptor& fd : message.fds) {
    if (!is_eventfd(fd.get())) return EINVAL;
  }
  chip::Function& target = function();
  const bool take = !message.fds.empty();
  for (unsigned i = 0; i < count; i++) {
    if (!interrupts_.assign(start + i, take ? std::move(message.fds[i]) : FileDescriptor())) return EINVAL;
    target.msix().set_vector_mask(start + i, !take);
  }
  // As Linux VFIO does: whoever asks for eventfds wants MSI-X on and these vectors unmasked.
  if (take) target.config().enable_msix(true);
  target.msix().deliver();
  return 0;
}

Reply Dispatcher::region_read(const Message& message) {
  const auto body = sole_body_of<vfio_user::RegionAccess>(message);
  if (!body || body->count > limits::kTransferBytes) return fail(EINVAL);
  const auto region = find_region(body->region);
  if (!region) return fail(EINVAL);
  Reply reply = answer(*body);
  reply.payload.resize(sizeof *body + body->count);
  const auto data = std::span(reply.payload).subspan(sizeof *body);
  if (const int error = function().read(*region, body->offset, data); error != 0) return fail(error);
  return reply;
}

Reply Dispatcher::region_write(const Message& message) {
  const auto body = body_of<vfio_user::RegionAccess>(message);
  if (!body || !message.fds.empty() || message.payload.size() - sizeof *body != body->count) return fail(EINVAL);
  const auto region = find_region(body->region);
  if (!region) return fail(EINVAL);
  const auto data = std::span(message.payload).subspan(sizeof *body);
  Reply reply = answer(*body);
  if (const int error = function().write(*region, body->offset, data); error != 0) return fail(error);
  return reply;
}

}  // namespace weft::server
