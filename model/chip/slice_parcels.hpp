/// What the chips of a slice send each other, and the order in which it happens.
#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <variant>

#include "model/core/remote/remote_port.hpp"
#include "model/ici/routing.hpp"
#include "weft/spec/commands.hpp"

namespace weft::chip {

/// The order of what happens in a slice: by time, then by the chip that it happens to, then by kind, by the chip that it
/// comes from, and by that chip's own count. No part of it depends on when the simulator came to know of something.
struct SliceOrder {
  uint64_t time_fs = 0;
  uint32_t chip = 0;
  uint32_t kind = 0;
  uint32_t source = 0;
  uint64_t number = 0;
  friend auto operator<=>(const SliceOrder&, const SliceOrder&) = default;
};

/// A part of a remote command's data.
struct DataParcel {
  uint32_t from, to;
  uint32_t sender_epoch;    ///< core resets of the sender before it
  uint32_t receiver_epoch;  ///< of the receiver, as the sender knew when it took the command
  uint32_t serial;          ///< of the command among those from this chip to that one in the sender's epoch
  uint32_t pieces;          ///< of the whole command; 0: this one is not its last
  uint64_t number;          ///< the sender's own count
  core::RemotePiece piece;
};

/// A chip comes to a barrier.
struct BarrierArrival {
  uint32_t chip, epoch;
  spec::BarrierCommand command;
};

/// A barrier lets a chip go.
struct BarrierRelease {
  uint32_t from, to;
  uint32_t epoch;   ///< in which the chip came to the barrier
  uint64_t number;  ///< count of the chip that the barrier is at
  std::optional<golden::Fault> fault;
};

/// A chip's core was reset a hop's time ago.
struct CoreWasReset {
  uint32_t chip, epoch;
};

/// std::monostate: data between chips of other ranks, of which only the time on the links matters here.
using Parcel = std::variant<std::monostate, DataParcel, BarrierArrival, BarrierRelease, CoreWasReset>;

/// What a chip gives to the network.
struct Departure {
  uint32_t from, to;
  uint64_t bytes;
  uint8_t traffic_class;
  ici::Route route;
  Parcel parcel;
};

/// What comes back to a sender.
struct Return {
  uint64_t number;  ///< of the command
  uint64_t room;    ///< bytes that have left the interconnect
  uint32_t epoch;   ///< of the sender, when it sent
  bool done;        ///< the command is
  std::optional<golden::Fault> fault;
};

}  // namespace weft::chip
