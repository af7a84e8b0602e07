// The firmware against a host that writes anything into its rings, lists and images, rings any doorbell, and leaves.
//
// The input is what the host does: operations of an opcode byte and its operands, kSleep ends a turn of the host.
// Queues 1 and 2 are created first, so that most operations meet a living ring. HBM beyond the function's share belongs
// to another one: a write there is a failure. So is activity without end.
#include "host_side.hpp"
#include "testbench/fuzz/fuzz_target.hpp"
#include "testbench/fuzz/host_operations.hpp"
#include "testbench/fuzz/seeds.hpp"

using namespace weft;
using namespace mock;

namespace {

constexpr size_t kMaxTurns = 48;
constexpr uint64_t kShare = kHbmBytes / 2;

using Operation = fuzz::HostOperation;
using enum fuzz::HostOperation;

void poke(void* object, size_t bytes, size_t offset, uint64_t value) {
  offset %= bytes;
  std::memcpy(static_cast<uint8_t*>(object) + offset, &value, bytes - offset < 8 ? bytes - offset : 8);
}

class FuzzedHost {
 public:
  FuzzedHost(Host host, fuzz::Input& input) : host_(std::move(host)), input_(input) {}

  void create_queues() {
    host_.create(1, 16, 16);
    host_.create(2, 4, 4);
  }
  void turn() {
    while (!input_.empty()) {
      const auto operation = fuzz::host_operation(input_.take<uint8_t>());
      if (operation == kSleep) break;
      act(operation);
    }
    machine().event = true;
  }

 private:
  uint32_t queue() { return input_.take<uint8_t>() % weft::fw::kQueues; }

  /// A ring that was created, else the admin queue's: put() indexes by its size.
  uint32_t living_queue() {
    const uint32_t q = queue();
    return host_.rings[q].entries != 0 ? q : 0;
  }

  void act(Operation operation) {
    switch (operation) {
      case kEntry: {
        const uint32_t q = living_queue();
        host_.put(q, input_.take<weft_submission_entry>());
        break;
      }
      case kRawEntry: {
        const uint32_t q = living_queue();
        host_.put_raw(q, input_.take<weft_submission_entry>());
        break;
      }
      case kRing:
        host_.ring(living_queue());
        break;
      case kDoorbell: {
        const auto q = input_.take<uint8_t>() % 32u;
        machine().ring(q, input_.take<uint32_t>());
        break;
      }
      case kCompletion:
        machine().completion_doorbell[queue()] = input_.take<uint32_t>();
        break;
      case kDrain:
        drain(living_queue());
        break;
      case kImage:
        load();
        break;
      case kLaunch:
        launch();
        break;
      case kCreate: {
        const uint32_t q = 1 + queue() % WEFT_LIMIT_IO_QUEUES;
        const auto entries = 1u << input_.take<uint8_t>() % 7;
        host_.create(q, entries, 1u << input_.take<uint8_t>() % 7);
        break;
      }
      case kBusError:
        machine().fail_dma_after = input_.take<uint8_t>();
        break;
      case kCoreFault:
        machine().core.fault_code = input_.take<uint8_t>();
        machine().core.fault_queue = input_.take<uint8_t>() % WEFT_CORE_QUEUES;
        machine().core.fault_command = input_.take<uint8_t>();
        break;
      case kCoreHang:
        machine().core.hang_queue = input_.take<uint8_t>() % WEFT_CORE_QUEUES;
        machine().core.hang_command = input_.take<uint8_t>();
        break;
      case kRequests:
        machine().requests |= input_.take<uint8_t>() & 3;
        machine().departed |= input_.take<uint8_t>() & 3;
        machine().requests |= machine().departed;
        break;
      case kBoot:
        host_ = Host();
        if (const auto offset = input_.take<uint16_t>(); offset != 0)
          poke(&host_.page(), sizeof(weft_parameter_page), offset, input_.take<uint64_t>());
        break;
      case kMemory: {
        const auto offset = input_.take<uint32_t>();
        poke(machine().host.data(), kHostBytes, offset, input_.take<uint64_t>());
        break;
      }
      case kSleep:
      case kOperations:
        break;
    }
  }

  void drain(uint32_t q) {
    for (const auto& c : host_.drain(q)) {
      if (q == 0 && WEFT_STATUS_CODE(c.status) == WEFT_ERROR_OK) program_ = c.start_cycle;
    }
  }

  void load() {
    auto image = make_image({4, 3, 2, 1, 1}, 2);
    const auto offset = input_.take<uint16_t>();
    const auto value = input_.take<uint64_t>();
    if (offset != 0) poke(image.data(), image.size(), offset, value);
    place_image(image);
    host_.submit(0, load_entry(image.size()));
  }

  void launch() {
    const uint32_t q = living_queue();
    const uint64_t list = make_list(0, 2);
    for (uint32_t i = 0; i < 2; i++) argument(0, i).address = kShare / 2 + i * 256;
    const auto offset = input_.take<uint8_t>();
    const auto value = input_.take<uint64_t>();
    if (offset != 0) poke(&argument(0, 0), 2 * sizeof(weft_launch_argument), offset, value);
    host_.submit(q, launch_entry(program_, list));
  }

  Host host_;
  fuzz::Input& input_;
  uint64_t program_ = 64;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  Host booting = boot();
  machine().functions = 2;
  // Where in its own memory a host wants something written is its own affair.
  machine().writable = {{WEFT_ADDRESS_SPACE_HOST, 0, UINT64_MAX}, {WEFT_ADDRESS_SPACE_HBM, 0, kShare}};
  FuzzedHost host(std::move(booting), input);
  machine().script.assign(kMaxTurns, [&] { host.turn(); });
  machine().script.front() = [&] { host.create_queues(); };
  run_firmware();
  fuzz::require(!machine().hung, "the firmware comes to rest");
  fuzz::require(machine().script_next == machine().script.size(), "the firmware serves the host to the end");
  fuzz::require(machine().stray_writes == 0, "nothing is written outside of the function's share of HBM");
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  static const fuzz::OperationFormat kFormat = fuzz::format_of(fuzz::firmware_seeds(), fuzz::host_operand_bytes);
  return fuzz::mutate_operations(data, size, max_size, seed, kFormat);
}
