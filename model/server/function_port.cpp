// Accepting, serving, refusing.
#include "model/server/function_port.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string>

namespace weft::server {

void FunctionPort::attach(FileDescriptor socket) {
  client_.emplace(std::move(socket), simulation_, function_, log_);
  if (listener_) listener_->publish_owner(client_->connection.peer());
}

FunctionOwner FunctionPort::owner() const {
  if (!client_) return {};
  FunctionOwner owner{client_->connection.peer(), {}};
  std::ifstream name("/proc/" + std::to_string(owner.pid) + "/comm");
  std::getline(name, owner.process);
  return owner;
}

void FunctionPort::close() {
  if (!client_) return;
  client_.reset();
  if (listener_) listener_->publish_owner(0);
}

void FunctionPort::poll_for(std::vector<pollfd>& polled) const {
  if (client_) {
    const Connection& c = client_->connection;
    polled.push_back({c.fd(), static_cast<short>((c.backlogged() ? 0 : POLLIN) | (c.has_output() ? POLLOUT : 0)), 0});
  }
  if (listener_ && (client_ || simulation_.function(function_).settled()))
    polled.push_back({listener_->fd(), POLLIN, 0});
  for (const Connection& c : refused_) polled.push_back({c.fd(), POLLIN, 0});
}

bool FunctionPort::serve() {
  if (client_ && !serve_client()) {
    close();
    if (!listener_) return false;
  }
  if (listener_) accept();
  serve_refused();
  return true;
}

bool FunctionPort::serve_client() {
  Connection& connection = client_->connection;
  if (!connection.flush()) return false;
  for (unsigned i = 0; i < kMessagesPerTurn && !connection.backlogged(); i++) {
    Message message;
    switch (connection.receive(message)) {
      case Connection::Received::kNothing:
        return true;
      case Connection::Received::kClosed:
        return false;
      case Connection::Received::kMessage:
        break;
    }
    const Reply reply = client_->dispatcher.handle(message);
    connection.reply(message.header, reply.error, reply.payload);
    if (client_->dispatcher.hopeless()) return false;
  }
  return true;
}

void FunctionPort::accept() {
  // Whoever comes after a client that is gone is not refused: it waits until that one's last message is read and all of
  // it is cleared.
  while (client_ ? !client_->connection.peer_closed() : simulation_.function(function_).settled()) {
    FileDescriptor socket = listener_->accept();
    if (!socket.valid()) return;
    if (!client_) {
      attach(std::move(socket));
    } else if (refused_.size() < kMaxRefused) {
      refused_.emplace_back(std::move(socket));
    }
  }
}

void FunctionPort::serve_refused() {
  std::erase_if(refused_, [](Connection& connection) {
    Message message;
    const auto received = connection.receive(message);
    if (received == Connection::Received::kMessage) connection.reply(message.header, EBUSY, {});
    return received != Connection::Received::kNothing;
  });
}

}  // namespace weft::server
