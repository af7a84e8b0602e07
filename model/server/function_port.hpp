/// One function's socket side: the client that owns the function, and those that came meanwhile.
#pragma once
#include <poll.h>

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/chip/simulation.hpp"
#include "model/server/connection.hpp"
#include "model/server/dispatcher.hpp"
#include "model/server/listener.hpp"
#include "model/server/management_reply.hpp"
#include "model/server/rights.hpp"

namespace weft::server {

/// Serves one function to one client at a time. A further client is answered with EBUSY, one that may not connect with
/// EACCES; one that comes while the device still clears what the former one left waits until that is done. Owner: the
/// server; not thread-safe.
class FunctionPort {
 public:
  using Clock = Connection::Clock;

  FunctionPort(chip::Simulation& simulation, size_t function) : simulation_(simulation), function_(function) {}

  /// Of every client to come. `log`: hears of their messages; nullptr: nobody does. `signal`: nullptr: their eventfds
  /// are not signalled.
  void set_log(MessageLog* log) { log_ = log; }
  void set_signal(std::shared_ptr<EventSignal> signal) { signal_ = std::move(signal); }
  /// See WaitCredit::set_patience().
  void set_patience(std::chrono::milliseconds patience) { credit_.set_patience(patience); }
  void set_permissions(const Permissions& permissions) { permissions_ = permissions; }

  /// Serves the client at the other end of `socket`. Throws std::bad_alloc, and the socket is closed then.
  void attach(FileDescriptor socket);
  /// Serves whoever connects, one after the other.
  void listen(std::unique_ptr<Listener> listener) { listener_ = std::move(listener); }

  /// Serves the client that has connected by `socket`, keeps it until the one before is cleared away, or refuses it. Of
  /// a port that listens.
  void take(FileDescriptor socket);

  /// Adds what is to be polled.
  void poll_for(std::vector<pollfd>& polled);
  /// When serve() is to be called although no socket has anything; Clock::time_point::max(): never.
  [[nodiscard]] Clock::time_point due() const;
  /// What poll_for() added, of all that is polled.
  [[nodiscard]] std::span<const pollfd> polled_of(std::span<const pollfd> polled) const {
    return polled.subspan(polled_at_, polled_);
  }
  /// Looks at what poll() said of what poll_for() added. True: serve() has something to do.
  [[nodiscard]] bool look(std::span<const pollfd> polled);
  /// As of look(), rest() or wake(): no message of the client is left.
  [[nodiscard]] bool quiet() const { return quiet_; }
  /// The descriptor of the client if nothing but a message of it, or its leaving, concerns the port until the next
  /// attach() or serve(), so that it need not be looked at; else -1.
  [[nodiscard]] int rests_on() const;
  /// In place of look() while it rests: the client has sent nothing, or something.
  void rest() {
    quiet_ = true;
    polled_at_ = polled_ = 0;
  }
  void wake() { quiet_ = false; }
  /// Takes what the sockets have; no message of the client after `end`. False: the attached client has left and no
  /// other can come.
  [[nodiscard]] bool serve(Clock::time_point end = Clock::time_point::max());

  /// A client that came with attach() is still there.
  [[nodiscard]] bool attached() const { return client_.has_value() && listener_ == nullptr; }
  /// The process that is served.
  [[nodiscard]] std::optional<Peer> peer() const;
  [[nodiscard]] FunctionOwner owner() const;
  /// The client has changed since the last call: it came, or it left.
  [[nodiscard]] bool take_change() { return std::exchange(changed_, false); }
  /// The client's write of SIM_HOLD waits.
  [[nodiscard]] bool asks_to_hold() const { return client_ && client_->hold.has_value(); }
  /// What the client may do from now on beside `tenants` - 1 others.
  void set_rights(chip::HostRights rights, size_t tenants);
  /// The client's traces are handed to the device.
  void close();

 private:
  struct Client {
    Client(FileDescriptor socket, chip::Simulation& simulation, size_t function, MessageLog* log, WaitCredit* credit,
           std::shared_ptr<EventSignal> signal, bool maps_doorbells)
        : connection(std::move(socket)),
          dispatcher(simulation, function, {log, &connection, credit, std::move(signal), maps_doorbells}) {}
    Connection connection;
    Dispatcher dispatcher;
    /// A write of SIM_HOLD that waits. The client's messages behind it wait with it.
    struct Hold {
      Message message;
      chip::HoldRequest request;
    };
    std::optional<Hold> hold;
  };
  struct Refused {
    Connection connection;
    int error;
  };

  void accept();
  [[nodiscard]] bool takes_connections() const;
  /// False: the client has left.
  [[nodiscard]] bool serve_client(Clock::time_point end);
  /// The client's next message that is due; kNothing too while one waits.
  [[nodiscard]] Connection::Received receive(Message& message);
  void serve_refused();

  chip::Simulation& simulation_;
  size_t function_;
  MessageLog* log_ = nullptr;
  std::shared_ptr<EventSignal> signal_;
  Permissions permissions_;
  WaitCredit credit_;  // of all clients of this function, one after the other
  std::unique_ptr<Listener> listener_;
  std::optional<Client> client_;
  FileDescriptor next_;  // of a client that came when the one before had left, and the server had not seen that yet
  std::deque<Refused> refused_;  // the oldest first
  size_t polled_at_ = 0, polled_ = 0;
  bool client_polled_ = false;
  bool quiet_ = true;
  bool changed_ = false;
};

}  // namespace weft::server
