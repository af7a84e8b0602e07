// A UNIX socket, lines, a deadline.
#include "host/tools/live/management_client.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "weft/spec/names.hpp"

namespace weft::tools {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

/// The error that a reply holds; nothing if it holds none.
std::optional<Error> error_in(const std::string& folder, const std::string& reply) {
  const Json object = Json::parse(reply, nullptr, false);
  const auto code = object.is_object() ? object.find("error") : object.end();
  if (!object.is_object() || code == object.end() || !code->is_string()) return std::nullopt;
  const std::string message = object.contains("message") && object["message"].is_string()
                                  ? object["message"].get<std::string>()
                                  : std::string("no reason was given");
  weft_error value = WEFT_ERROR_INTERNAL;
  for (const auto& row : spec::kErrorNames) {
    if (row.name == code->get<std::string>()) value = static_cast<weft_error>(row.value);
  }
  return Error{value, fmt::format("{}: {}: {}", folder, spec::error_name(value), message)};
}

}  // namespace

ManagementClient::ManagementClient(ManagementClient&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), folder_(std::move(other.folder_)) {}

ManagementClient& ManagementClient::operator=(ManagementClient&& other) noexcept {
  std::swap(socket_, other.socket_);
  std::swap(folder_, other.folder_);
  return *this;
}

ManagementClient::~ManagementClient() {
  if (socket_ >= 0) ::close(socket_);
}

Error ManagementClient::lost(std::string_view why) const {
  return {WEFT_ERROR_DEVICE_LOST, fmt::format("{}: the management socket {}", folder_, why)};
}

Result<ManagementClient> ManagementClient::connect(const std::string& folder) {
  const std::string path = folder + "/management.sock";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return Error{WEFT_ERROR_INVALID_ARGUMENT,
                 fmt::format("{}: the path of a socket has {} characters at most", path, sizeof address.sun_path - 1)};
  std::memcpy(address.sun_path, path.data(), path.size());
  ManagementClient client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), folder);
  if (client.socket_ >= 0 &&
      ::connect(client.socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return client;
  const int reason = errno;
  return Error{
      WEFT_ERROR_INVALID_ARGUMENT,
      fmt::format("{}: no weft-sim listens there ({}: {}); one is started by: weft-sim --chip nano --functions 8 "
                  "--listen {}",
                  folder, path, std::strerror(reason), folder)};
}

Result<std::string> ManagementClient::ask(std::string_view request) {
  const std::string line = std::string(request) + "\n";
  if (::send(socket_, line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size()))
    return lost("is closed: weft-sim has ended");
  auto reply = receive_line();
  if (!reply.ok()) return reply;
  if (auto error = error_in(folder_, reply.value())) return *error;
  return reply;
}

Result<std::string> ManagementClient::receive_line() {
  std::string line;
  std::array<char, 65536> bytes;
  const auto end = Clock::now() + kPatience;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd polled{socket_, POLLIN, 0};
    const int ready = left > 0 ? ::poll(&polled, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) return lost("was not listened to: interrupted");
    if (ready == 0) return lost(fmt::format("has not answered within {} s", kPatience.count()));
    const ssize_t got = ::recv(socket_, bytes.data(), bytes.size(), 0);
    if (got <= 0) return lost("is closed: weft-sim has ended");
    line.append(bytes.data(), static_cast<size_t>(got));
    if (line.back() == '\n') {
      line.pop_back();
      return line;
    }
    if (line.size() > kMaxReplyBytes) return lost("sends a reply without an end");
  }
}

}  // namespace weft::tools
