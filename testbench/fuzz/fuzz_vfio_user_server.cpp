// The vfio-user server, its function and the real firmware behind it, against a client that does anything with its
// socket: one simulated chip for all inputs, each of which is a client that comes, speaks and goes.
//
// After every input the function must have settled and must serve the next client. The simulated time of an input is
// bounded, not the work of a single command: the corpus has no programs.
#include <sys/socket.h>

#include <array>
#include <csignal>
#include <memory>
#include <string>

#include "model/chip/simulation.hpp"
#include "model/core/fast/fast_core.hpp"
#include "model/server/function_port.hpp"
#include "testbench/fuzz/fuzz_target.hpp"
#include "testbench/fuzz/host_rings.hpp"
#include "testbench/fuzz/session_socket.hpp"
#include "testbench/fuzz/vfio_user_messages.hpp"

using namespace weft;
using fuzz::Action;
using fuzz::Session;
using fuzz::Step;

// The injected fault simulator_exit is a raise(SIGKILL); here the simulator goes on.
extern "C" int raise(int signal) noexcept { return signal == SIGKILL ? 0 : ::kill(::getpid(), signal); }

// The firmware runs on a stack of its own (SystemC's), which neither the address nor the leak sanitizer knows.
extern "C" const char* __asan_default_options() { return "detect_stack_use_after_return=0:detect_leaks=0"; }

namespace {

constexpr unsigned kTurnsToSettle = 20'000;
constexpr unsigned kSlicesOfTurn = 4;
constexpr size_t kMaxReplies = 4096;

std::unique_ptr<chip::Simulation> make_simulation() {
  chip::ChipOptions options;
  options.preset = spec::find_chip("nano");
  options.make_core = [preset = options.preset](core::MemoryBus& bus, std::string&) {
    return std::make_unique<core::FastCore>(*preset, bus);
  };
  std::string error;
  auto simulation = chip::Simulation::make(options, error);
  fuzz::require(simulation != nullptr, "the chip is made");
  return simulation;
}

/// The only chip of the process.
struct Device {
  Device() { port.set_patience(std::chrono::milliseconds{0}); }  // the client is on the server's thread

  std::unique_ptr<chip::Simulation> simulation = make_simulation();
  server::FunctionPort port{*simulation, 0};
  fuzz::SessionDescriptors descriptors{fuzz::kHostMemoryBytes};
};

/// Reads all messages that are there and checks their frames.
class Replies {
 public:
  void receive(int socket) {
    std::array<uint8_t, 65536> buffer;
    ssize_t got = 0;
    while ((got = ::recv(socket, buffer.data(), buffer.size(), MSG_DONTWAIT)) > 0)
      stream_.insert(stream_.end(), buffer.begin(), buffer.begin() + got);
    while (stream_.size() >= sizeof(spec::vfio_user::Header)) {
      spec::vfio_user::Header header;
      std::memcpy(&header, stream_.data(), sizeof header);
      const auto command = static_cast<spec::vfio_user::Command>(header.command);
      const bool asks =
          (header.flags & spec::vfio_user::kTypeMask) == spec::vfio_user::kTypeCommand &&
          (command == spec::vfio_user::Command::kDmaRead || command == spec::vfio_user::Command::kDmaWrite);
      fuzz::require(asks || (header.flags & spec::vfio_user::kTypeMask) == spec::vfio_user::kTypeReply,
                    "the server sends replies, and commands that read and write memory");
      fuzz::require(header.size >= sizeof header && header.size <= server::kMaxMessageBytes, "a reply has a sane size");
      fuzz::require(((header.flags & spec::vfio_user::kFlagError) != 0) == (header.error != 0),
                    "an error reply has an errno");
      if (stream_.size() < header.size) return;
      stream_.erase(stream_.begin(), stream_.begin() + header.size);
      fuzz::require(++count_ <= kMaxReplies, "no more replies than messages");
    }
  }

 private:
  std::vector<uint8_t> stream_;
  size_t count_ = 0;
};

class Client {
 public:
  explicit Client(Device& device) : device_(device) {
    auto pair = fuzz::socket_pair();
    socket_ = std::move(pair[0]);
    device_.port.attach(std::move(pair[1]));
  }

  void act(const Step& step) {
    switch (step.action) {
      case Action::kSend:
        (void)fuzz::send_step(socket_.get(), step, step.bytes, device_.descriptors);
        break;
      case Action::kSendHalves: {
        const auto bytes = std::span(step.bytes);
        (void)fuzz::send_step(socket_.get(), step, bytes.first(bytes.size() / 2), device_.descriptors);
        serve();
        (void)fuzz::send_step(socket_.get(), step, bytes.subspan(bytes.size() / 2), device_.descriptors);
        break;
      }
      case Action::kHalfClose:
        ::shutdown(socket_.get(), SHUT_WR);
        break;
      case Action::kClose:
        socket_.reset();
        break;
      case Action::kReceive:
        if (socket_.valid()) replies_.receive(socket_.get());
        break;
      case Action::kSubmit:
        for (const Step& doorbell : rings_.submit(step.bytes))
          (void)fuzz::send_step(socket_.get(), doorbell, doorbell.bytes, device_.descriptors);
        break;
      case Action::kPause:
        for (unsigned i = 0; i < kSlicesOfTurn; i++) serve();
        break;
    }
    serve();
  }

  void leave() {
    socket_.reset();
    for (unsigned i = 0; i < kTurnsToSettle; i++) {
      serve();
      if (!served_ && device_.simulation->function().settled()) return;
    }
    fuzz::require(false, "a client that has left is cleared away within a bound");
  }

 private:
  void serve() {
    if (served_) served_ = device_.port.serve();
    if (!served_) device_.port.close();
    if (device_.simulation->pending()) {
      device_.simulation->run_slice();
    } else {
      device_.simulation->end_idle_wait();
    }
  }

  Device& device_;
  server::FileDescriptor socket_;
  Replies replies_;
  fuzz::HostRings rings_{device_.descriptors.memory()};
  bool served_ = true;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Device device;
  fuzz::fill_host_memory(device.descriptors.memory());
  device.descriptors.drain();
  Client client(device);
  for (const Step& step : fuzz::read_session(data, size)) client.act(step);
  client.leave();
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  static const Session kTemplates = fuzz::client_messages();
  return fuzz::mutate_session(data, size, max_size, seed, kTemplates);
}
