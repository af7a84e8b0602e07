/// A vfio-user conversation as a fuzzer's input: what one peer does to its socket, step by step; and changes of it that
/// know where a message's fields are.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/spec/vfio_user.hpp"

namespace weft::fuzz {

/// What a step does with its bytes and descriptors.
enum class Action : uint8_t {
  kSend,        ///< in one piece
  kSendHalves,  ///< in two pieces, with a turn of the other side between them
  kHalfClose,   ///< shutdown() of the sending direction
  kClose,
  kReceive,  ///< reads what the other side has sent
  kPause,    ///< lets the other side work
  kSubmit,   ///< of the server's client: entries into a ring of its memory, and its doorbells (host_rings.hpp)
};
inline constexpr unsigned kActions = 7;

/// What descriptors travel with a message.
enum class Descriptors : uint8_t { kNone, kMemory, kUnsealed, kEventfd, kNull, kSocket };
inline constexpr unsigned kDescriptorKinds = 6;

/// On the wire of the corpus: action u8, descriptors u8 (kind in bits 2:0, count - 1 in 7:3), length u16, bytes.
struct Step {
  Action action = Action::kSend;
  Descriptors descriptors = Descriptors::kNone;
  uint8_t descriptor_count = 1;  ///< 1 to 32
  std::vector<uint8_t> bytes;
};
using Session = std::vector<Step>;

/// Any bytes are a session; a last step that is cut short keeps what is there. At most kMaxSteps steps.
inline constexpr size_t kMaxSteps = 64;
[[nodiscard]] Session read_session(const uint8_t* data, size_t size);
[[nodiscard]] std::vector<uint8_t> write_session(const Session& session);

/// A step that sends a message with `payload` and a right header.
[[nodiscard]] Step message(uint16_t id, spec::vfio_user::Command command, std::vector<uint8_t> payload,
                           uint32_t flags = 0);
template <typename Body>
[[nodiscard]] std::vector<uint8_t> payload_of(const Body& body, std::span<const uint8_t> data = {}) {
  const auto* first = reinterpret_cast<const uint8_t*>(&body);
  std::vector<uint8_t> bytes(first, first + sizeof body);
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}

/// One to four changes: a field of a message set to a boundary, messages inserted from `templates`, repeated, removed,
/// exchanged, cut or grown with and without a right length, descriptors and actions exchanged, ids put in order, plain
/// bytes changed. The result serialises to `max_size` bytes at most. For LLVMFuzzerCustomMutator.
[[nodiscard]] size_t mutate_session(uint8_t* data, size_t size, size_t max_size, unsigned seed,
                                    const Session& templates);

}  // namespace weft::fuzz
