/// What each vfio-user command does to its function; every length, offset and count of a message is checked here.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "model/chip/simulation.hpp"
#include "model/server/client_memory.hpp"
#include "model/server/connection.hpp"
#include "model/server/doorbell_page.hpp"
#include "model/server/event_signal.hpp"
#include "model/server/irq.hpp"
#include "model/server/message_log.hpp"

namespace weft::server {

/// 0 and a payload, or an errno.
struct Reply {
  int error = 0;
  std::vector<std::byte> payload;
  int descriptor = -1;  ///< that goes with it; the dispatcher's
};

/// What a client has beside its messages. Nothing but the last is owned; all of it may be missing, as in a replay: then
/// vectors reach no eventfd, and memory that is not shared reads as zeros.
struct Surroundings {
  MessageLog* log = nullptr;         ///< hears of the messages
  Connection* connection = nullptr;  ///< for DMA_READ and DMA_WRITE
  WaitCredit* credit = nullptr;      ///< of their replies
  std::shared_ptr<EventSignal> signal = nullptr;
  bool maps_doorbells = false;  ///< the client may map them: see DoorbellPage
};

/// The protocol's state of one client. Made when the client comes; its destructor takes away the eventfds and tells
/// the device, which ends and clears what the client left; the function is free again when it has settled. Not
/// thread-safe.
class Dispatcher final : private chip::InterruptSink {
 public:
  Dispatcher(chip::Simulation& simulation, size_t function, Surroundings surroundings = {});
  ~Dispatcher() override;
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  /// Executes a command. Errors: the message's own frame error; EINVAL: VERSION is due or was due once, or a wrong size
  /// or field; ENOTSUP: unknown or not built; ENOMEM; else what the command says. Nothing has changed after an error.
  [[nodiscard]] Reply handle(Message& message);

  /// The command would hold time: see chip::Simulation::ask_to_hold().
  [[nodiscard]] bool asks_to_hold(const Message& message) const;

  /// From now on the client may do what `rights` say. What it has done by a right that it loses is undone: time goes
  /// on, faults are disarmed.
  void set_rights(chip::HostRights rights);

  /// The client has mapped its doorbells: they are to be looked at without a message.
  [[nodiscard]] bool maps_doorbells() const { return doorbells_ != nullptr; }
  /// take_doorbells() has something to do.
  [[nodiscard]] bool doorbells_rung() const { return doorbells_ != nullptr && doorbells_->rung(); }
  /// What the client has stored into its doorbells is written to the device, as messages would.
  void take_doorbells();

  /// The client has given memory that is not shared: the device's accesses use its connection, in simulated time.
  [[nodiscard]] bool asks_client() const { return asks_client_; }

  /// The client cannot be served any more (its protocol version, its framing): end the connection after the reply.
  [[nodiscard]] bool hopeless() const { return hopeless_; }

 private:
  bool signal(unsigned vector) override;
  [[nodiscard]] Reply checked(Message& message);
  [[nodiscard]] Reply execute(Message& message);
  [[nodiscard]] Reply version(const Message& message);
  [[nodiscard]] Reply dma_map(const Message& message);
  [[nodiscard]] Reply dma_unmap(const Message& message);
  [[nodiscard]] Reply device_info(const Message& message) const;
  [[nodiscard]] Reply region_info(const Message& message);
  [[nodiscard]] Reply irq_info(const Message& message) const;
  [[nodiscard]] Reply set_irqs(Message& message);
  [[nodiscard]] int assign_eventfds(Message& message, unsigned start, unsigned count);
  [[nodiscard]] Reply region_read(const Message& message);
  [[nodiscard]] Reply region_write(const Message& message);
  /// Writes 4 bytes as if the client did.
  void write_word(uint32_t region, uint32_t offset, uint32_t value);
  /// The doorbells in memory are those of the device: 0 since its last reset.
  void follow_resets();

  [[nodiscard]] chip::Function& function() const { return simulation_.function(function_); }

  chip::Simulation& simulation_;
  size_t function_;
  MessageLog* log_;
  EventfdInterrupts interrupts_;
  ClientMemory memory_;
  bool may_map_doorbells_;
  std::unique_ptr<DoorbellPage> doorbells_;
  uint64_t generation_ = 0;  // of the device, when doorbells_ were those of it
  bool negotiated_ = false;
  bool hopeless_ = false;
  bool asks_client_ = false;
};

}  // namespace weft::server
