// The programs that the tests of several processes start, one a role; each is one client of one function.
//   steady SOCKET SEED   says "open", then products, each compared with the golden model, until its input ends
//   victim SOCKET SEED   tells whether its memory is fresh, then keeps core, copies and admin queue busy for ever
//   fresh SOCKET         reads all of its HBM: how many bytes are not zero
//   capacity SOCKET      how much HBM is free, and how many programs fit
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "testbench/system/product.hpp"
#include "weft/weft.h"

namespace {

using namespace weft;

constexpr uint64_t kPieceBytes = 1u << 20;
constexpr uint64_t kVictimBytes = 4u << 20;

[[noreturn]] void give_up(const std::string& what) {
  weft_error_info info = WEFT_INIT(weft_error_info);
  const bool known = weft_last_error(&info) == WEFT_ERROR_OK;
  fmt::print("error {}: {}\n", what, known ? info.message : "");
  std::exit(1);
}

void check(weft_status status, const char* what) {
  if (status != WEFT_ERROR_OK) give_up(fmt::format("{} ({})", what, weft_status_name(status)));
}

bool input_ended() {
  pollfd p{STDIN_FILENO, POLLIN, 0};
  return ::poll(&p, 1, 0) == 1;
}

int run_steady(const std::string& socket, uint64_t seed) {
  constexpr size_t kProducts = 4;
  constexpr uint64_t kLargest = 48;
  const auto products = test::random_products(kProducts, kLargest, seed);
  std::array<std::vector<uint32_t>, kProducts> golden;
  for (size_t i = 0; i < kProducts; i++) golden[i] = test::golden_product(products[i]);
  runtime::Target target;
  target.socket = socket;
  auto session = runtime::Session::open(target);
  if (!session.ok()) {
    fmt::print("error open: {}\n", session.error().message);
    return 1;
  }
  fmt::print("open\n");
  std::fflush(stdout);
  uint64_t runs = 0, elements = 0, differing = 0;
  do {
    const size_t i = runs % kProducts;
    const auto run = test::run_product(session.value(), products[i]);
    if (!run.ok()) {
      fmt::print("error {} as number {}: {}\n", products[i].name(), runs, run.error().message);
      return 1;
    }
    const auto difference = test::compare_bits(products[i], run.value().c, golden[i]);
    if (difference.differing != 0) fmt::print("difference {}: {}\n", products[i].name(), difference.first);
    differing += difference.differing;
    elements += golden[i].size();
    runs++;
  } while (!input_ended());
  if (const auto status = session.value().close(); !status.ok()) {
    fmt::print("error close: {}\n", status.error().message);
    return 1;
  }
  fmt::print("steady {} {} {}\n", runs, elements, differing);
  return differing == 0 && elements != 0 ? 0 : 1;
}

/// A device with a queue and a host buffer of one piece.
struct Client {
  explicit Client(const std::string& socket) {
    check(weft_open(("vfio-user:" + socket).c_str(), &device), "open");
    check(weft_queue_create(device, nullptr, &queue), "queue");
    check(weft_buffer_create(device, WEFT_MEMORY_HOST, kPieceBytes, &host), "host buffer");
    void* pointer = nullptr;
    check(weft_buffer_map(host, &pointer), "map");
    bytes = static_cast<const unsigned char*>(pointer);
  }
  weft_device_info info() const {
    weft_device_info info = WEFT_INIT(weft_device_info);
    check(weft_device_get_info(device, &info), "info");
    return info;
  }
  void wait(weft_event* event) const {
    check(weft_event_wait(event, nullptr), "wait");
    weft_event_release(event);
  }
  void close() const {
    weft_buffer_release(host);
    check(weft_queue_release(queue), "release");
    check(weft_close(device, nullptr), "close");
  }
  /// Bytes of the first `limit` of HBM that are not zero; all of them are free.
  uint64_t count_nonzero(uint64_t limit) const {
    weft_buffer* all = nullptr;
    check(weft_buffer_create(device, WEFT_MEMORY_HBM, limit, &all), "HBM buffer");
    uint64_t count = 0;
    for (uint64_t at = 0; at < limit; at += kPieceBytes) {
      const uint64_t piece = std::min(kPieceBytes, limit - at);
      weft_event* event = nullptr;
      check(weft_copy(queue, host, 0, all, at, piece, nullptr, &event), "copy");
      wait(event);
      for (uint64_t i = 0; i < piece; i++) count += bytes[i] != 0;
    }
    weft_buffer_release(all);
    return count;
  }

  weft_device* device = nullptr;
  weft_queue* queue = nullptr;
  weft_buffer* host = nullptr;
  const unsigned char* bytes = nullptr;
};

weft_program* load(const Client& client, const std::vector<std::byte>& executable) {
  weft_program* program = nullptr;
  check(weft_program_load(client.device, executable.data(), executable.size(), &program), "load");
  return program;
}

std::vector<std::byte> executable_for(const Client& client) {
  const spec::Chip* chip = spec::find_chip(client.info().preset);
  if (chip == nullptr) give_up("an unknown chip");
  auto executable = test::product_executable(*chip, {WEFT_MXU_DTYPE_BF16, 40, 40, 40});
  if (!executable.ok()) give_up(executable.error().message);
  return executable.value();
}

int run_victim(const std::string& socket, uint64_t seed) {
  const Client client(socket);
  fmt::print("fresh {} {}\n", kVictimBytes, client.count_nonzero(kVictimBytes));
  std::fflush(stdout);
  weft_buffer* mine = nullptr;
  check(weft_buffer_create(client.device, WEFT_MEMORY_HBM, kVictimBytes, &mine), "HBM buffer");
  check(weft_fill(client.queue, mine, 0, kVictimBytes, 0xdeadbeef, nullptr, nullptr), "fill");
  const auto executable = executable_for(client);
  weft_queue* launches = nullptr;
  check(weft_queue_create(client.device, nullptr, &launches), "second queue");
  std::mt19937_64 random(seed);
  for (;;) {
    weft_program* program = load(client, executable);
    weft_kernel* kernel = nullptr;
    check(weft_program_get_kernel(program, 0, &kernel), "kernel");
    const weft_argument arguments[3] = {{mine, 0}, {mine, 1u << 20}, {mine, 2u << 20}};
    for (int i = 0; i < 8; i++) check(weft_launch(launches, kernel, arguments, 3, nullptr, nullptr), "launch");
    weft_event* event = nullptr;
    const uint64_t part = 1 + random() % kPieceBytes;
    check(weft_copy(client.queue, client.host, 0, mine, 0, part, nullptr, nullptr), "copy out");
    check(weft_copy(client.queue, mine, 3u << 20, client.host, 0, part, nullptr, &event), "copy in");
    client.wait(event);
    check(weft_fence(launches, nullptr, &event), "fence");
    client.wait(event);
    weft_program_release(program);
  }
}

int run_fresh(const std::string& socket) {
  const Client client(socket);
  const uint64_t all = client.info().hbm_largest_bytes;
  fmt::print("fresh {} {}\n", all, client.count_nonzero(all));
  client.close();
  return 0;
}

int run_capacity(const std::string& socket) {
  const Client client(socket);
  const auto info = client.info();
  const auto executable = executable_for(client);
  std::vector<weft_program*> programs;
  weft_program* program = nullptr;
  while (weft_program_load(client.device, executable.data(), executable.size(), &program) == WEFT_ERROR_OK)
    programs.push_back(program);
  fmt::print("capacity {} {} {}\n", info.hbm_bytes, info.hbm_free_bytes, programs.size());
  for (weft_program* loaded : programs) weft_program_release(loaded);
  client.close();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  const std::string socket = argc > 2 ? argv[2] : "";
  const uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 0) : 1;
  if (role == "steady" && !socket.empty()) return run_steady(socket, seed);
  if (role == "victim" && !socket.empty()) return run_victim(socket, seed);
  if (role == "fresh" && !socket.empty()) return run_fresh(socket);
  if (role == "capacity" && !socket.empty()) return run_capacity(socket);
  fmt::print(stderr, "usage: process_client steady|victim|fresh|capacity SOCKET [SEED]\n");
  return 2;
}
