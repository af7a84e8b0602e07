// What a tenant holds, and the list of attacks.
#include "testbench/tenant/tenant.hpp"

#include <cerrno>

namespace weft::tenant {
namespace {

constexpr int kEnterMs = 600;  // a function that is being cleared lets its client wait

}  // namespace

uint64_t Random::odd_value() {
  switch (below(6)) {
    case 0:
      return below(8);
    case 1:
      return (uint64_t{1} << below(64)) + between(0, 2) - 1;
    case 2:
      return UINT64_MAX - below(4);
    case 3:
      return below(1 << 16) * 4096;
    case 4:
      return RawDevice::kBase + below(RawDevice::kBytes);
    default:
      return word();
  }
}

Bytes Random::bytes(size_t count) {
  Bytes bytes(count);
  for (std::byte& b : bytes) b = static_cast<std::byte>(word());
  return bytes;
}

Tenant::~Tenant() {
  for (std::jthread& thread : threads_) thread.request_stop();
  for (const auto& end : ends_) end();
  threads_.clear();
}

RawClient Tenant::enter(const std::string& socket) const {
  const int64_t deadline = now_ms() + kEnterMs;
  for (;;) {
    RawClient client(socket);
    if (client.valid() && client.negotiate(static_cast<int>(std::max<int64_t>(1, deadline - now_ms()))) == 0)
      return client;
    if (now_ms() >= deadline) return RawClient();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

unsigned Tenant::any_function() {
  return static_cast<unsigned>(random.between(stage_.first_hostile, stage_.functions - 1));
}

RawDevice* Tenant::device() {
  const unsigned function = any_function();
  if (ruined_.contains(function)) return nullptr;
  auto& device = devices_[function];
  if (device != nullptr && !device->client().valid()) device.reset();
  if (device == nullptr) {
    connected_.insert(function);
    RawClient client = enter(stage_.socket(function));
    if (!client.valid()) {
      ruined_.insert(function);
      return nullptr;
    }
    device = std::make_unique<RawDevice>(std::move(client));
  }
  return device->map() ? device.get() : nullptr;
}

RawDevice* Tenant::booted() {
  RawDevice* const it = device();
  return it != nullptr && (it->booted() || it->boot()) ? it : nullptr;
}

std::string Tenant::spare_socket() {
  const unsigned function = any_function();
  if (ruined_.contains(function)) return {};
  devices_.erase(function);
  ruined_.insert(function);
  connected_.insert(function);
  return stage_.socket(function);
}

RawClient Tenant::spare() {
  const std::string socket = spare_socket();
  return socket.empty() ? RawClient() : enter(socket);
}

void Tenant::drop(const RawDevice* device) {
  std::erase_if(devices_, [device](const auto& entry) { return entry.second.get() == device; });
}

void Tenant::meanwhile(std::function<void()> step, uint64_t times) {
  threads_.emplace_back([step = std::move(step), times](const std::stop_token& stop) {
    for (uint64_t i = 0; i < times && !stop.stop_requested(); i++) step();
  });
}

std::vector<Attack> all_attacks() {
  std::vector<Attack> all;
  for (const auto part : {message_attacks(), connection_attacks(), descriptor_attacks(), map_attacks(), ring_attacks(),
                          timing_attacks(), outside_attacks()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace weft::tenant
