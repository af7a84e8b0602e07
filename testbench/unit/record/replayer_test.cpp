// A run with stand-in firmware, recorded in a child process (SystemC elaborates once) and replayed here.
#include "model/record/replayer.hpp"

#include <linux/vfio.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

#include "model/record/recorder.hpp"
#include "testbench/unit/chip/stand_in_firmware.hpp"
#include "testbench/unit/record/hand_made.hpp"

using namespace weft;
using namespace weft::record;
using Catch::Contains;
using spec::vfio_user::Command;
using test::TemporaryFile;

namespace {

constexpr uint64_t kIova = 0x8000;
constexpr uint32_t kRounds = 20;
constexpr uint32_t kLineBytes = 64;

/// Reads a line of host memory at each doorbell, writes it back one page further with `added` added to each byte,
/// writes a completion and raises vector 0.
void work(uint8_t added, uint32_t extra_cycles) {
  namespace hal = fw::hal;
  uint32_t done = 0;
  while (hal::running()) {
    hal::wait_for_event(UINT64_MAX);
    (void)hal::doorbell_pending(0);
    for (const uint32_t tail = hal::doorbell_submission(0, 1); done < tail; done++) {
      std::array<uint8_t, kLineBytes> line;
      const uint64_t place = kIova + uint64_t{done} % 16 * kLineBytes;
      if (!hal::dma_read(fw::host_at(0, place), line.data(), kLineBytes)) return;
      for (uint8_t& byte : line) byte = static_cast<uint8_t>(byte + (done == 10 ? added : 1));
      hal::charge(extra_cycles);
      (void)hal::dma_write(fw::host_at(0, place + 4096), line.data(), kLineBytes);
      weft_completion_entry entry{};
      entry.start_cycle = entry.end_cycle = hal::now();
      entry.tag = done;
      (void)hal::completion_write(0, 1, kIova + 8192 + uint64_t{done} * sizeof entry, &entry);
      hal::raise_interrupt(0, 0);
    }
  }
}

template <typename Body>
server::Message message_of(Command command, const Body& body) {
  server::Message message;
  message.header.command = static_cast<uint16_t>(command);
  const auto bytes = std::as_bytes(std::span(&body, 1));
  message.payload.assign(bytes.begin(), bytes.end());
  return message;
}

void send(server::Dispatcher& client, server::Message message) {
  if (client.handle(message).error != 0) std::_Exit(10);
}

void write_region(server::Dispatcher& client, uint32_t region, uint64_t offset, uint32_t value) {
  auto message = message_of(Command::kRegionWrite, spec::vfio_user::RegionAccess{offset, region, sizeof value});
  const auto bytes = std::as_bytes(std::span(&value, 1));
  message.payload.insert(message.payload.end(), bytes.begin(), bytes.end());
  send(client, std::move(message));
}

/// The host's side: kRounds doorbells, each with other data, some while the device still works.
void drive(const std::string& path) {
  test::firmware = [] { work(1, 0); };
  std::string error;
  const chip::ChipOptions options = test::chip_options();
  const auto recorder = Recorder::make(path, options, HazardCheck::kOff, error);
  if (recorder == nullptr) std::_Exit(11);
  const auto simulation = chip::Simulation::make(options, error);
  recorder->attach(*simulation);
  test::SharedMemory memory(16384);
  {
    server::Dispatcher client(*simulation, 0, {.log = recorder.get()});
    send(client, message_of(Command::kVersion, spec::vfio_user::Version{0, 1}));
    auto map = message_of(Command::kDmaMap, spec::vfio_user::DmaMap{32, 3, 0, kIova, 16384});
    map.fds.emplace_back(::dup(memory.fd()));
    send(client, std::move(map));
    auto listen = message_of(Command::kDeviceSetIrqs, spec::vfio_user::IrqSet{20, 1 << 2 | 1 << 5, 2, 0, 1});
    listen.fds.emplace_back(::eventfd(0, 0));
    send(client, std::move(listen));
    for (uint32_t round = 0; round < kRounds; round++) {
      for (uint32_t i = 0; i < kLineBytes; i++)
        *memory.at<uint8_t>(size_t{round} % 16 * kLineBytes + i) = static_cast<uint8_t>(round * 16 + i);
      write_region(client, VFIO_PCI_BAR2_REGION_INDEX, 8, round + 1);
      if (round % 3 != 0) simulation->run_slice();
      send(client, message_of(Command::kRegionRead, spec::vfio_user::RegionAccess{WEFT_REG_CYCLES, 0, 8}));
      if (round % 3 != 0) simulation->run_until_idle();
    }
    simulation->run_until_idle();
  }
  recorder->finish(Ending::kComplete);
}

struct Fixture {
  Fixture() {
    const pid_t child = ::fork();
    if (child == 0) {
      drive(file.path());
      std::_Exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(status == 0);
    std::string error;
    recording = Recording::load(file.path(), Recording::Extent::kWhole, error);
    INFO(error);
    REQUIRE(recording != nullptr);
  }

  ReplayResult replay(Pace pace, uint8_t added, uint32_t extra_cycles) {
    test::firmware = [=] { work(added, extra_cycles); };
    std::string error;
    const auto simulation = chip::Simulation::make(test::chip_options(), error);
    REQUIRE(simulation != nullptr);
    return Replayer(*simulation, *recording, pace).run();
  }

  TemporaryFile file;
  std::unique_ptr<Recording> recording;
};

}  // namespace

TEST_CASE_METHOD(Fixture, "a replay on the same device is identical, cycles included") {
  const ReplayResult result = replay(Pace::kCycles, 1, 0);
  if (result.difference)
    FAIL(result.difference->what << ": " << result.difference->recorded << " / " << result.difference->replayed);
  CHECK(result.compared.completions == kRounds);
  CHECK(result.compared.host_reads == kRounds);
  CHECK(result.compared.host_writes == kRounds);
  CHECK(result.compared.interrupts == kRounds);
  CHECK(result.compared.registers == kRounds);
}

TEST_CASE_METHOD(Fixture, "a device that writes one other byte differs there") {
  const ReplayResult result = replay(Pace::kCycles, 2, 0);
  REQUIRE(result.difference);
  CHECK_THAT(result.difference->what, Contains("host write of the firmware"));
  CHECK(result.difference->where == "byte 0");
}

TEST_CASE_METHOD(Fixture, "a device that is slower differs in its cycles") {
  const ReplayResult result = replay(Pace::kCycles, 1, 100);
  REQUIRE(result.difference);
}

TEST_CASE_METHOD(Fixture, "a device that is slower is the same but for start and end cycles") {
  const ReplayResult result = replay(Pace::kCauses, 1, 5000);
  if (result.difference)
    FAIL(result.difference->what << ": " << result.difference->recorded << " / " << result.difference->replayed);
  CHECK(result.compared.completions == kRounds);
}

TEST_CASE_METHOD(Fixture, "a device that does less than it did is told what is missing") {
  test::firmware = [] {
    while (fw::hal::running()) fw::hal::wait_for_event(UINT64_MAX);
  };
  std::string error;
  const auto simulation = chip::Simulation::make(test::chip_options(), error);
  const ReplayResult result = Replayer(*simulation, *recording, Pace::kCauses).run();
  REQUIRE(result.difference);
  CHECK(result.difference->what == "something is missing");
}
