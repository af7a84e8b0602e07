// One request at a time, in pieces that both ends take.
#include "model/server/client_memory.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace weft::server {

void ClientMemory::set_transfer_bytes(uint64_t bytes) {
  transfer_bytes_ = static_cast<size_t>(std::min<uint64_t>(bytes, chip::tenant_limits::kTransferBytes));
}

bool ClientMemory::read(uint64_t iova, std::span<std::byte> out) {
  while (!out.empty()) {
    const auto piece = out.first(std::min(out.size(), transfer_bytes_));
    if (!ask(vfio_user::Command::kDmaRead, {iova, piece.size()}, {}, piece)) return false;
    out = out.subspan(piece.size());
    iova += piece.size();
  }
  return true;
}

bool ClientMemory::write(uint64_t iova, std::span<const std::byte> data) {
  while (!data.empty()) {
    const auto piece = data.first(std::min(data.size(), transfer_bytes_));
    if (!ask(vfio_user::Command::kDmaWrite, {iova, piece.size()}, piece, {})) return false;
    data = data.subspan(piece.size());
    iova += piece.size();
  }
  return true;
}

bool ClientMemory::ask(vfio_user::Command command, const vfio_user::DmaAccess& body, std::span<const std::byte> data,
                       std::span<std::byte> out) {
  if (connection_ == nullptr || credit_ == nullptr) {
    std::ranges::fill(out, std::byte{0});
    return true;
  }
  const auto begin = WaitCredit::Clock::now();
  if (!credit_->allows(begin)) return false;
  Message reply;
  bool answered = false;
  try {
    answered = connection_->ask(command, std::as_bytes(std::span(&body, 1)), data, begin + credit_->patience(), reply);
  } catch (const std::bad_alloc&) {  // the device's access fails; the connection's frame may be lost
    connection_->give_up();
  }
  credit_->spend(WaitCredit::Clock::now() - begin);
  if (!answered || reply.error != 0 || (reply.header.flags & vfio_user::kFlagError) != 0) return false;
  // The protocol's text has 4 bytes for the count in the reply to a write, and 8 in all else; clients have either.
  constexpr size_t kShortBytes = 12;
  const size_t bytes = reply.payload.size() - std::min(reply.payload.size(), out.size());
  if (!reply.fds.empty() || (bytes != sizeof body && !(out.empty() && bytes == kShortBytes))) return false;
  vfio_user::DmaAccess place{};
  std::memcpy(&place, reply.payload.data(), bytes);
  if (place.address != body.address || place.count != body.count) return false;
  if (!out.empty()) std::memcpy(out.data(), &reply.payload[sizeof place], out.size());
  return true;
}

}  // namespace weft::server
