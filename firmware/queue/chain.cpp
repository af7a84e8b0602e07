// Chains of entries.
#include "firmware/queue/chain.hpp"

namespace weft::fw {

void chain_advance(Chain& chain, const weft_submission_entry& entry, weft_error error, const RootCause& root) {
  const bool unbelievable = error == WEFT_ERROR_BAD_DESCRIPTOR && chain.linked;
  if ((entry.flags & WEFT_SUBMISSION_FLAG_CHAIN) == 0 && !unbelievable) {
    chain = Chain{};
    return;
  }
  chain.linked = true;
  if (error == WEFT_ERROR_OK || chain.broken) return;
  chain.broken = true;
  chain.root = root;
}

}  // namespace weft::fw
