/// What the management socket tells: one line of JSON a reply. Requests count chips from this rank's first one. Reads the chip between two slices of simulated time, and
/// changes nothing on it.
#pragma once
#include <sys/types.h>

#include <span>
#include <string>
#include <string_view>

#include "model/chip/simulation.hpp"
#include "model/server/management_request.hpp"

namespace weft::server {

/// The client that is served on a function.
struct FunctionOwner {
  bool owned = false;   ///< there is one
  pid_t pid = 0;        ///< 0: of another process namespace
  uid_t uid = 0;        ///< its user
  std::string process;  ///< its name, as the system knows it
};

/// Chip, firmware, engines, counters, and every function with its queues and the last error of each kind. `owners`: of
/// the functions of all chips, as Simulation::function() counts them.
std::string state_reply(chip::Simulation& simulation, const ManagementRequest& request,
                        std::span<const FunctionOwner> owners);

/// One function: its state page, log and fault records, and of each queue the entries around its head, all as the bytes
/// that stand there, in hexadecimal.
std::string function_reply(chip::Simulation& simulation, const ManagementRequest& request, const FunctionOwner& owner);

/// Which of all functions a request names, as Simulation::function() counts them.
size_t function_index(const chip::Simulation& simulation, const ManagementRequest& request);

/// A reset was done: generation and cycle before it.
std::string reset_reply(chip::Simulation& simulation, const ManagementRequest& request, const FunctionOwner& owner);

/// `code`: an error of the C ABI, by name.
std::string error_reply(std::string_view code, std::string_view message);

}  // namespace weft::server
