/// Messages from end to end: what their source keeps until they are acknowledged, and what their receiver knows.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <tuple>

#include "model/ici/link_view.hpp"
#include "model/ici/routing.hpp"
#include "model/ici/time.hpp"

namespace weft::ici {

/// A message from one chip to another, cut into packets. Messages of one flow (the same source, destination, class,
/// order and way) arrive in order.
struct Message {
  uint32_t from = 0;
  uint32_t to = 0;
  uint64_t bytes = 0;         ///< of a message that has arrived: as its receiver counted them
  uint8_t traffic_class = 0;  ///< < kClasses
  uint8_t order = 0;          ///< < kOrders: in which the axes are taken
  uint8_t way = 0;            ///< of the shortest ones, modulo their number (Topology::way)
  uint64_t tag = 0;           ///< comes back with the delivery
};

inline constexpr uint32_t kNothing = ~uint32_t{0};

/// A message at its source. What its packets' headers carry of it (the message, number, incarnation, packets) does not
/// change while they travel.
struct alignas(64) Sending {
  Message message;
  DimensionOrder route;
  uint32_t cut = 0;          // packets that have been cut, counted anew when they are sent again
  uint32_t packets = 0;      // of all of it; 0: not started
  uint32_t next = kNothing;  // in its source's list
  uint32_t flow = kNothing;  // once the books are open
  uint32_t number = 0;       // in the order in which messages were started; of its flow, once the books are open
  uint32_t incarnation = 0;  // of its flow
  uint32_t holds = 0;        // once the books are open: what refers to it (flow, list, packets, a delivery)
};
static_assert(sizeof(Sending) == 64);

/// A message at its receiver.
struct Receiving {
  Femtoseconds last_byte = 0;
  uint64_t bytes = 0;
  uint32_t packets_left = 0;  // not yet arrived; while the books are closed
};

/// An acknowledgement on its way to the source: all messages before `number` and so many packets of that one are there.
struct Acknowledgement {
  uint32_t incarnation, number, packets;
};

/// A flow at its source: its messages in order, kept until they are acknowledged.
struct SourceFlow {
  enum class State : uint8_t {
    kIdle,     ///< nothing is kept; the next message chooses a way
    kSending,  ///< what is kept has been sent, or stands in the list of `queue`
    kWaiting,  ///< for acknowledgements of what may have arrived; then the rest is sent again
    kParked,   ///< no way is known
  };
  Message ends;  ///< a message of it
  DimensionOrder route;
  State state = State::kIdle;
  bool by_tables = false;     ///< else in dimension order
  uint32_t queue = 0;         ///< in which its packets set out
  uint32_t incarnation = 0;   ///< how often its messages were given up
  uint32_t next_number = 0;   ///< of its next message, in this incarnation
  uint32_t acknowledged = 0;  ///< packets of the first message that is kept
  Femtoseconds resume_at = kNever, give_up_at = kNever;
  std::deque<uint32_t> kept;                     ///< messages that are not acknowledged
  std::deque<Acknowledgement> acknowledgements;  ///< on their way here
};

/// A flow at its receiver: what it expects next. Anything else of this incarnation is a duplicate, or comes before
/// something that was dropped and will be sent again; the receiver discards it.
struct ReceiverFlow {
  uint32_t incarnation = 0;
  uint32_t number = 0;  ///< of the message
  uint32_t packet = 0;  ///< of that message
  uint64_t bytes = 0;   ///< of that message, so far
  Femtoseconds last_byte = 0;
};

/// Of a flow among those of its source: destination, class, order, way.
using FlowKey = std::tuple<uint32_t, uint8_t, uint8_t, uint8_t>;
constexpr FlowKey flow_key(const Message& message) {
  return {message.to, message.traffic_class, message.order, message.way};
}

/// What a chip knows once something has gone wrong in the slice.
struct ChipBooks {
  LinkView view;
  std::shared_ptr<const FaultTables> tables;  ///< of the view; made when somebody needs them
  std::map<FlowKey, uint32_t> flows;          ///< that it is the source of
};

}  // namespace weft::ici
