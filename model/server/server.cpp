// poll() and slices of simulated time, by turns.
#include "model/server/server.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>

namespace weft::server {

void Server::attach(FileDescriptor socket) { client_.emplace(std::move(socket), simulation_); }

void Server::run() {
  std::vector<pollfd> polled;
  while (!stopping_) {
    const bool busy = simulation_.pending() || simulation_.next_alarm() != 0;
    polled.clear();
    if (stop_fd_ >= 0) polled.push_back({stop_fd_, POLLIN, 0});
    if (client_) {
      const Connection& c = client_->connection;
      polled.push_back({c.fd(), static_cast<short>((c.backlogged() ? 0 : POLLIN) | (c.has_output() ? POLLOUT : 0)), 0});
    }
    if (listener_) polled.push_back({listener_->fd(), POLLIN, 0});
    for (const Connection& c : refused_) polled.push_back({c.fd(), POLLIN, 0});
    const int ready = ::poll(polled.data(), polled.size(), busy ? 0 : -1);
    if (ready < 0 && errno != EINTR) return;
    if (ready > 0) {
      if (stop_fd_ >= 0 && polled.front().revents != 0) stopping_ = true;
      if (client_ && !serve_client()) {
        client_.reset();
        if (!listener_) stopping_ = true;
      }
      if (listener_) accept();
      serve_refused();
    }
    if (simulation_.pending()) {
      simulation_.run_slice();
    } else if (ready == 0) {
      simulation_.end_idle_wait();
    }
  }
  client_.reset();
}

bool Server::serve_client() {
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

void Server::accept() {
  for (;;) {
    FileDescriptor socket = listener_->accept();
    if (!socket.valid()) return;
    if (!client_) {
      attach(std::move(socket));
    } else if (refused_.size() < kMaxRefused) {
      refused_.emplace_back(std::move(socket));
    }
  }
}

void Server::serve_refused() {
  std::erase_if(refused_, [](Connection& connection) {
    Message message;
    const auto received = connection.receive(message);
    if (received == Connection::Received::kMessage) connection.reply(message.header, EBUSY, {});
    return received != Connection::Received::kNothing;
  });
}

}  // namespace weft::server
