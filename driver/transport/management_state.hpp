// What a running simulator tells of its chips to anyone who may connect: its management socket, one line asked, one line
// answered. Asking costs its clients no device cycle.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "driver/status.hpp"
#include "driver/transport/file_descriptor.hpp"

namespace weft::driver {

/// A chip of a simulator that listens.
struct ManagedChip {
  struct Function {
    uint32_t index = 0;
    bool owned = false;
    uint32_t owner_pid = 0;  ///< 0: free, or not known
  };
  std::string preset;
  std::string core;    ///< "rtl", "fast", "lockstep"
  uint32_t chips = 0;  ///< of the simulator
  std::vector<Function> functions;
};

/// The management socket of a folder. Not thread-safe.
class ManagementSocket {
 public:
  static constexpr int kPatienceMs = 5000;             ///< for a reply
  static constexpr size_t kMaxReplyBytes = 16u << 20;  ///< of which a chip takes a few thousand

  /// DEVICE_LOST: nothing listens in the folder. INVALID_ARGUMENT: its path is too long for a socket.
  static Result<ManagementSocket> connect(const std::string& folder);

  /// Blocks up to kPatienceMs. DEVICE_LOST: no answer, or not one of a chip; UNSUPPORTED: of another version.
  Result<ManagedChip> chip(uint32_t number);

 private:
  ManagementSocket(FileDescriptor socket, std::string folder)
      : socket_(std::move(socket)), folder_(std::move(folder)) {}
  Result<std::string> ask(const std::string& line);
  Status lost(std::string_view why) const;

  FileDescriptor socket_;
  std::string folder_;
};

/// The reply to the request "state". DEVICE_LOST: it is no such reply, or a refusal; UNSUPPORTED: of another
/// version. Any text is safe.
Result<ManagedChip> read_management_state(std::string_view reply);

}  // namespace weft::driver
