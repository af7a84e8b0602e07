/// The capabilities of a VERSION message: what the client proposes, and the server's answer.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft::server {

/// What a client proposes. Names that the server does not know are left out.
struct Proposal {
  std::vector<std::string> names;     ///< capabilities that both know
  uint64_t transfer_bytes = 1 << 20;  ///< max_data_xfer_size; the protocol's default
};

/// `text`: what follows the version numbers: nothing, or JSON with a final zero. Nothing: it is no such text, or longer
/// than 4 KiB, or a capability that the server knows has another type than the protocol gives it. Throws
/// std::bad_alloc.
[[nodiscard]] std::optional<Proposal> read_proposal(std::span<const std::byte> text);

/// The server's value of each capability that the client has proposed, as JSON. Of the others the protocol's defaults
/// hold, which the server keeps to.
[[nodiscard]] std::string answer_proposal(const Proposal& proposal);

}  // namespace weft::server
