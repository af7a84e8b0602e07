/// The simulator's loop: sockets and simulated time on one thread.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/chip/simulation.hpp"
#include "model/server/connection.hpp"
#include "model/server/dispatcher.hpp"
#include "model/server/listener.hpp"

namespace weft::server {

/// Serves one function to one client at a time. While something is pending on the device it alternates between a slice
/// of simulated time and a look at the sockets; else it sleeps until a socket has something, and time stands still.
class Server {
 public:
  /// Messages served in a row before simulated time goes on.
  static constexpr unsigned kMessagesPerTurn = 64;
  /// Further clients that wait for their refusal; beyond that they are closed without one.
  static constexpr size_t kMaxRefused = 16;

  explicit Server(chip::Simulation& simulation) : simulation_(simulation) {}

  /// Serves the client at the other end of `socket`; run() ends when it leaves.
  void attach(FileDescriptor socket);
  /// Serves whoever connects, one after the other; a second client at a time is answered with EBUSY.
  void listen(std::unique_ptr<Listener> listener) { listener_ = std::move(listener); }
  /// run() ends when `fd` becomes readable (a signalfd); not owned.
  void stop_on(int fd) { stop_fd_ = fd; }

  /// Until the attached client leaves or a stop is asked for. The client's traces are gone from the device when it
  /// returns.
  void run();

 private:
  struct Client {
    Client(FileDescriptor socket, chip::Simulation& simulation)
        : connection(std::move(socket)), dispatcher(simulation) {}
    Connection connection;
    Dispatcher dispatcher;
  };

  void accept();
  /// False: the client has left.
  [[nodiscard]] bool serve_client();
  void serve_refused();

  chip::Simulation& simulation_;
  std::unique_ptr<Listener> listener_;
  std::optional<Client> client_;
  std::vector<Connection> refused_;
  int stop_fd_ = -1;
  bool stopping_ = false;
};

}  // namespace weft::server
