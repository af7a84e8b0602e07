/// The other end of weft-sim's management socket: one line asked, one line answered.
#pragma once
#include <chrono>
#include <string>
#include <string_view>

#include "host/compiler/result.hpp"

namespace weft::tools {

/// Where a weft-sim listens whose folder is not named.
inline constexpr const char* kDefaultListenFolder = "/tmp/weft";

/// A connection. Owner of its socket; not thread-safe. Blocks up to kPatience for a reply.
class ManagementClient {
 public:
  static constexpr std::chrono::seconds kPatience{10};
  static constexpr size_t kMaxReplyBytes = 32u << 20;

  /// Connects to `folder`/management.sock. INVALID_ARGUMENT: nobody listens there; the message says what to do.
  [[nodiscard]] static Result<ManagementClient> connect(const std::string& folder);
  ManagementClient(ManagementClient&& other) noexcept;
  ManagementClient& operator=(ManagementClient&& other) noexcept;
  ~ManagementClient();

  /// Sends a request (without its newline) and returns the reply (without its newline). An error of the server comes
  /// back as one, with its code; DEVICE_LOST: the server has gone, or does not answer, or not as one.
  [[nodiscard]] Result<std::string> ask(std::string_view request);

  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  ManagementClient(int socket, std::string folder) : socket_(socket), folder_(std::move(folder)) {}
  [[nodiscard]] Result<std::string> receive_line();
  [[nodiscard]] Error lost(std::string_view why) const;

  int socket_;
  std::string folder_;
};

}  // namespace weft::tools
