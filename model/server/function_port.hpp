/// One function's socket side: the client that owns the function, and those that came meanwhile.
#pragma once
#include <poll.h>

#include <memory>
#include <optional>
#include <vector>

#include "model/chip/simulation.hpp"
#include "model/server/connection.hpp"
#include "model/server/dispatcher.hpp"
#include "model/server/listener.hpp"
#include "model/server/management_reply.hpp"

namespace weft::server {

/// Serves one function to one client at a time. A further client is answered with EBUSY; one that comes while the
/// device still clears what the former one left waits until that is done. Owner: the server; not thread-safe.
class FunctionPort {
 public:
  /// Messages served in a row before simulated time goes on.
  static constexpr unsigned kMessagesPerTurn = 64;
  /// Further clients that wait for their refusal; beyond that they are closed without one.
  static constexpr size_t kMaxRefused = 16;

  FunctionPort(chip::Simulation& simulation, size_t function) : simulation_(simulation), function_(function) {}

  /// Hears of the messages of every client to come; nullptr: nobody.
  void set_log(MessageLog* log) { log_ = log; }

  /// Serves the client at the other end of `socket`.
  void attach(FileDescriptor socket);
  /// Serves whoever connects, one after the other.
  void listen(std::unique_ptr<Listener> listener) { listener_ = std::move(listener); }

  /// Adds what is to be polled.
  void poll_for(std::vector<pollfd>& polled) const;
  /// Takes what the sockets have. False: the attached client has left and no other can come.
  [[nodiscard]] bool serve();
  /// A client that came with attach() is still there.
  [[nodiscard]] bool attached() const { return client_.has_value() && listener_ == nullptr; }
  /// Who is served.
  [[nodiscard]] FunctionOwner owner() const;
  /// The client's traces are handed to the device.
  void close();

 private:
  struct Client {
    Client(FileDescriptor socket, chip::Simulation& simulation, size_t function, MessageLog* log)
        : connection(std::move(socket)), dispatcher(simulation, function, log) {}
    Connection connection;
    Dispatcher dispatcher;
  };

  void accept();
  /// False: the client has left.
  [[nodiscard]] bool serve_client();
  void serve_refused();

  chip::Simulation& simulation_;
  size_t function_;
  MessageLog* log_ = nullptr;
  std::unique_ptr<Listener> listener_;
  std::optional<Client> client_;
  std::vector<Connection> refused_;
};

}  // namespace weft::server
