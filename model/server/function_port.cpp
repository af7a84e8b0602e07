// Accepting, serving, refusing.
#include "model/server/function_port.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <new>
#include <string>
#include <utility>

namespace weft::server {

namespace limits = chip::tenant_limits;

namespace {

/// How long the server sleeps at most while a client has mapped its doorbells.
constexpr std::chrono::milliseconds kDoorbellLook{1};

}  // namespace

void FunctionPort::attach(FileDescriptor socket) {
  client_.emplace(std::move(socket), simulation_, function_, log_, &credit_, signal_, permissions_.map_doorbells);
  changed_ = true;
  try {
    client_->connection.reserve();
    if (listener_) listener_->publish_owner(client_->connection.peer().pid);
  } catch (const std::bad_alloc&) {
    close();
    throw;
  }
}

std::optional<Peer> FunctionPort::peer() const {
  return client_ ? std::optional(client_->connection.peer()) : std::nullopt;
}

FunctionOwner FunctionPort::owner() const {
  if (!client_) return {};
  const Peer peer = client_->connection.peer();
  FunctionOwner owner{true, peer.pid, peer.uid, {}};
  std::ifstream name("/proc/" + std::to_string(owner.pid) + "/comm");
  std::getline(name, owner.process);
  return owner;
}

void FunctionPort::set_rights(chip::HostRights rights, size_t tenants) {
  credit_.set_tenants(tenants, Clock::now());
  if (client_) client_->dispatcher.set_rights(rights);
}

void FunctionPort::close() {
  if (!client_) return;
  client_.reset();
  changed_ = true;
  if (listener_) listener_->publish_owner(0);
}

bool FunctionPort::takes_connections() const {
  // A client that comes after one that is gone is not refused: it waits until that one's last message is read and all
  // of it is cleared.
  return client_ ? !client_->connection.peer_closed() : simulation_.function(function_).settled();
}

void FunctionPort::poll_for(std::vector<pollfd>& polled) {
  polled_at_ = polled.size();
  client_polled_ = client_.has_value();
  if (client_) {
    const Connection& c = client_->connection;
    polled.push_back({c.fd(), static_cast<short>((c.backlogged() ? 0 : POLLIN) | (c.has_output() ? POLLOUT : 0)), 0});
  }
  // A connection that is not going to be taken must not wake the loop again and again.
  if (listener_ && !listener_->resting() && takes_connections()) polled.push_back({listener_->fd(), POLLIN, 0});
  for (const Refused& r : refused_) polled.push_back({r.connection.fd(), POLLIN, 0});
  polled_ = polled.size() - polled_at_;
}

FunctionPort::Clock::time_point FunctionPort::due() const {
  auto due = Clock::time_point::max();
  if (next_.valid() && !client_ && takes_connections()) return Clock::time_point::min();
  if (client_) {
    const Connection& c = client_->connection;
    if (asks_to_hold() || c.given_up() || (c.keeps_messages() && !c.backlogged())) return Clock::time_point::min();
    if (c.backlogged()) due = c.patience_ends();
    if (client_->dispatcher.maps_doorbells()) due = std::min(due, Clock::now() + kDoorbellLook);
  }
  return listener_ ? std::min(due, listener_->rest_ends()) : due;
}

int FunctionPort::rests_on() const {
  if (!client_ || listener_ || next_.valid() || !refused_.empty()) return -1;
  const Connection& c = client_->connection;
  const bool expects = asks_to_hold() || c.backlogged() || c.has_output() || c.keeps_messages() || c.given_up();
  const Dispatcher& d = client_->dispatcher;
  return expects || d.maps_doorbells() || d.asks_client() ? -1 : c.fd();
}

bool FunctionPort::look(std::span<const pollfd> polled) {
  const auto own = polled_of(polled);
  const bool rung = client_ && client_->dispatcher.doorbells_rung();
  quiet_ = !client_ || (!asks_to_hold() && !client_->connection.keeps_messages() && !client_->connection.given_up() &&
                        !rung && (!client_polled_ || (own.front().revents & ~POLLOUT) == 0));
  if (rung) return true;
  if (std::ranges::any_of(own, [](const pollfd& p) { return p.revents != 0; })) return true;
  const auto at = due();
  return at != Clock::time_point::max() && at <= Clock::now();
}

bool FunctionPort::serve(Clock::time_point end) {
  if (client_ && !serve_client(end)) {
    close();
    if (!listener_) return false;
  }
  if (listener_) accept();
  serve_refused();
  return true;
}

bool FunctionPort::serve_client(Clock::time_point end) {
  Connection& connection = client_->connection;
  if (!connection.flush()) return false;
  client_->dispatcher.take_doorbells();
  if (connection.backlogged() && connection.patience_ends() <= Clock::now()) return false;
  for (unsigned i = 0; i < limits::kMessagesOfTurn && !connection.backlogged(); i++) {
    if (i != 0 && Clock::now() >= end) break;
    Message message;
    switch (receive(message)) {
      case Connection::Received::kNothing:
        return true;
      case Connection::Received::kClosed:
        return false;
      case Connection::Received::kMessage:
        break;
    }
    // A reply that belongs to no command of the server's is dropped, whatever is wrong with it: a reply has no reply.
    // Only one that has lost the frame (EINVAL) ends the connection, as any such message does.
    if (message.error != EINVAL && (message.header.flags & vfio_user::kTypeMask) == vfio_user::kTypeReply) continue;
    const Reply reply = client_->dispatcher.handle(message);
    try {
      connection.reply(message.header, reply.error, reply.payload, reply.descriptor);
    } catch (const std::bad_alloc&) {
      return false;
    }
    if (client_->dispatcher.hopeless()) return false;
  }
  return true;
}

Connection::Received FunctionPort::receive(Message& message) {
  auto& hold = client_->hold;
  if (!hold) {
    const Connection::Received received = client_->connection.receive(message);
    if (received != Connection::Received::kMessage) return received;
    client_->dispatcher.take_doorbells();  // those that were rung before the message
    if (!client_->dispatcher.asks_to_hold(message)) return received;
    hold = {std::move(message), simulation_.ask_to_hold()};
  }
  if (!simulation_.may_hold(hold->request)) return Connection::Received::kNothing;
  message = std::move(hold->message);
  hold.reset();
  return Connection::Received::kMessage;
}

void FunctionPort::accept() {
  if (next_.valid() && !client_ && takes_connections()) take(std::move(next_));
  for (unsigned i = 0; i < limits::kAcceptsOfTurn && takes_connections(); i++) {
    FileDescriptor socket = listener_->accept();
    if (!socket.valid()) return;
    take(std::move(socket));
  }
}

void FunctionPort::take(FileDescriptor socket) {
  try {
    Connection connection(std::move(socket));
    const bool may_connect = server::may_connect(permissions_, connection.peer().uid);
    if (may_connect && !client_) return attach(connection.take_socket());
    // The one before may have left between the look at it and the accepting of this one, who is not refused then.
    if (may_connect && client_->connection.peer_closed()) {
      next_ = connection.take_socket();
      return;
    }
    if (refused_.size() == limits::kRefused) refused_.pop_front();
    refused_.push_back({std::move(connection), may_connect ? EBUSY : EACCES});
  } catch (const std::bad_alloc&) {
    // The client finds its connection closed.
  }
}

void FunctionPort::serve_refused() {
  std::erase_if(refused_, [](Refused& refused) {
    try {
      Message message;
      const auto received = refused.connection.receive(message);
      if (received == Connection::Received::kMessage) refused.connection.reply(message.header, refused.error, {});
      return received != Connection::Received::kNothing;
    } catch (const std::bad_alloc&) {
      return true;
    }
  });
}

}  // namespace weft::server
