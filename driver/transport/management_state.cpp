// A UNIX socket, and the few fields of the reply that a list of devices shows.
#include "driver/transport/management_state.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

namespace weft::driver {
namespace {

constexpr uint64_t kVersion = 1;

/// Events of nlohmann's parser. `path_` has an entry for each object or array that is open: the key that its value
/// stands behind, or nothing for an array.
class State {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  bool null() { return true; }
  bool boolean(bool) { return true; }
  bool number_integer(number_integer_t) { return true; }
  bool number_float(number_float_t, const string_t&) { return true; }
  bool binary(binary_t&) { return true; }
  bool number_unsigned(number_unsigned_t value) {
    if (at({"weft_management"})) version = value;
    if (at({"chip", "chips"})) chip.chips = static_cast<uint32_t>(std::min<uint64_t>(value, UINT32_MAX));
    if (value > UINT32_MAX || chip.functions.empty()) return true;
    const auto number = static_cast<uint32_t>(value);
    if (at({"functions", "", "function"})) chip.functions.back().index = number;
    if (at({"functions", "", "owner", "pid"})) chip.functions.back().owner_pid = number;
    return true;
  }
  bool string(string_t& value) {
    if (at({"chip", "preset"})) chip.preset = std::move(value);
    if (at({"chip", "core"})) chip.core = std::move(value);
    if (at({"message"})) message = std::move(value);
    return true;
  }
  bool start_object(size_t) {
    if (at({"functions", ""})) chip.functions.emplace_back();
    if (at({"functions", "", "owner"})) chip.functions.back().owned = true;
    return open();
  }
  bool start_array(size_t) { return open(); }
  bool key(string_t& name) {
    path_.back() = std::move(name);
    return true;
  }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception&) { return false; }

  ManagedChip chip;
  uint64_t version = 0;
  std::string message;  ///< of a refusal

 private:
  static constexpr size_t kDeepest = 32;

  bool at(std::initializer_list<std::string_view> path) const {
    return std::equal(path_.begin(), path_.end(), path.begin(), path.end());
  }
  bool open() {
    path_.emplace_back();
    return path_.size() <= kDeepest;
  }
  bool close() {
    path_.pop_back();
    return true;
  }

  std::vector<std::string> path_;
};

}  // namespace

Result<ManagedChip> read_management_state(std::string_view reply) {
  constexpr size_t kShownBytes = 80;
  State state;
  if (!nlohmann::json::sax_parse(reply, &state) || state.version == 0)
    return failure(WEFT_ERROR_DEVICE_LOST, "it does not answer as weft-sim: '{}'{}", reply.substr(0, kShownBytes),
                   reply.size() > kShownBytes ? " and more" : "");
  if (state.version != kVersion)
    return failure(WEFT_ERROR_UNSUPPORTED, "it speaks version {} of the management protocol, this driver {}",
                   state.version, kVersion);
  if (!state.message.empty()) return failure(WEFT_ERROR_DEVICE_LOST, "it refuses: {}", state.message);
  if (state.chip.preset.empty() || state.chip.chips == 0 || state.chip.functions.empty())
    return failure(WEFT_ERROR_DEVICE_LOST, "its answer names no chip");
  return std::move(state.chip);
}

Status ManagementSocket::lost(std::string_view why) const {
  return failure(WEFT_ERROR_DEVICE_LOST, "the management socket in '{}' {}", folder_, why);
}

Result<ManagementSocket> ManagementSocket::connect(const std::string& folder) {
  const std::string path = folder + "/management.sock";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return failure(WEFT_ERROR_INVALID_ARGUMENT, "'{}': the path of a socket has {} characters at most", path,
                   sizeof address.sun_path - 1);
  std::memcpy(address.sun_path, path.data(), path.size());
  ManagementSocket made(FileDescriptor::opened_by([] { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); }),
                        folder);
  if (!made.socket_.valid()) return failure(WEFT_ERROR_NO_HOST_MEMORY, "socket: {}", std::strerror(errno));
  if (::connect(made.socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return failure(WEFT_ERROR_DEVICE_LOST, "no simulator listens in '{}': {}", folder, std::strerror(errno));
  return made;
}

Result<std::string> ManagementSocket::ask(const std::string& line) {
  using Clock = std::chrono::steady_clock;
  if (::send(socket_.get(), line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size()))
    return lost("is closed");
  const auto end = Clock::now() + std::chrono::milliseconds(kPatienceMs);
  std::string reply;
  std::array<char, 16384> bytes;
  while (reply.size() <= kMaxReplyBytes) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd polled{socket_.get(), POLLIN, 0};
    const int ready = left > 0 ? ::poll(&polled, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return lost(fmt::format("has not answered within {} ms", kPatienceMs));
    const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (got <= 0) return lost("is closed");
    reply.append(bytes.data(), static_cast<size_t>(got));
    if (reply.back() == '\n') return reply;
  }
  return lost("sends a reply without an end");
}

Result<ManagedChip> ManagementSocket::chip(uint32_t number) {
  auto reply = ask(fmt::format("{{\"weft_management\":{},\"request\":\"state\",\"chip\":{}}}\n", kVersion, number));
  if (!reply.ok()) return reply.status();
  auto chip = read_management_state(reply.value());
  if (chip.ok()) return chip;
  return failure(chip.status().code(), "the simulator in '{}': {}", folder_, chip.status().message());
}

}  // namespace weft::driver
