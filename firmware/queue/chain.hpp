/// Chains: an entry with flag chain is linked to the next entry of its queue, which runs only if it succeeds.
#pragma once
#include <stdint.h>

#include "firmware/status.hpp"

namespace weft::fw {

/// The command that failed first, where others fail because of it. All zero: none.
struct RootCause {
  uint8_t queue;
  weft_error error : 8;
  uint16_t command_id;
  uint32_t tag;
};
static_assert(sizeof(RootCause) == 8, "a queue and a timeline semaphore each keep one");

/// What the next entry of a queue is linked to. All zero: nothing.
struct Chain {
  bool linked;  ///< the entry before has flag chain
  bool broken;  ///< and has failed
  RootCause root;
};

/// What a dependant ends with. Detail 0: command id in 15:0, queue in 31:16, tag in 63:32 of the root cause; detail 1:
/// its error.
constexpr Status dependency_failed(const RootCause& root) {
  return Status{WEFT_ERROR_DEPENDENCY_FAILED,
                uint64_t{root.command_id} | uint64_t{root.queue} << 16 | uint64_t{root.tag} << 32, root.error};
}

/// The other way round; only for a status with DEPENDENCY_FAILED.
constexpr RootCause root_of(const Status& status) {
  return RootCause{static_cast<uint8_t>(status.detail0 >> 16), static_cast<weft_error>(status.detail1),
                   static_cast<uint16_t>(status.detail0), static_cast<uint32_t>(status.detail0 >> 32)};
}

/// Whether the next entry may run: Ok or DEPENDENCY_FAILED.
constexpr Status chain_status(const Chain& chain) { return chain.broken ? dependency_failed(chain.root) : kOk; }

/// The entry has ended with `error`; `root` is what made it fail, itself or another. A malformed entry within a chain
/// does not end it: its flag cannot be believed, and what follows may depend on it.
void chain_advance(Chain& chain, const weft_submission_entry& entry, weft_error error, const RootCause& root);

}  // namespace weft::fw
