// Seeds for what the firmware reads: images, and what a host does.
#include "control_image.hpp"
#include "host_side.hpp"
#include "testbench/fuzz/host_operations.hpp"
#include "testbench/fuzz/seeds.hpp"

namespace weft::fuzz {
namespace {

using Bytes = std::vector<uint8_t>;

/// A host's operations as bytes.
class HostScript {
 public:
  template <typename... Operands>
  HostScript& add(HostOperation operation, const Operands&... operands) {
    append(bytes, operation);
    (append(bytes, operands), ...);
    return *this;
  }
  HostScript& sleep() { return add(HostOperation::kSleep); }
  HostScript& entry(uint8_t queue, weft_submission_entry e) { return add(HostOperation::kEntry, queue, e); }
  HostScript& ring(uint8_t queue) { return add(HostOperation::kRing, queue); }
  HostScript& drain(uint8_t queue) { return add(HostOperation::kDrain, queue); }
  HostScript& load() { return add(HostOperation::kImage, uint16_t{0}, uint64_t{0}).sleep().drain(0); }
  HostScript& launch(uint8_t queue) { return add(HostOperation::kLaunch, queue, uint8_t{0}, uint64_t{0}); }

  Bytes bytes;
};

}  // namespace

Seeds program_image_seeds() {
  Seeds seeds;
  const auto add = [&](const char* name, const Bytes& image) {
    Bytes bytes;
    append(bytes, uint16_t{mock::kImage / WEFT_COMMAND_BYTES});
    append(bytes, static_cast<uint32_t>(image.size()));
    bytes.insert(bytes.end(), image.begin(), image.end());
    seeds[name] = bytes;
  };
  add("small", mock::make_image({2, 1, 1, 1, 1}, 2));
  add("constants", mock::make_image({1, 0, 0, 0, 0}, 0, 4096, 256));
  add("no_commands", mock::make_image({0, 0, 0, 0, 0}));
  mock::ListImage list;
  list.add_block(0, 0, 2);
  list.scratch = 256;
  list.add_binding(3, WEFT_EXECUTABLE_CONTROL_SCRATCH, 0, 16, 1);
  list.add(WEFT_CONTROL_OPCODE_BIND, 0, 1);
  const uint16_t loop = list.add(WEFT_CONTROL_OPCODE_LOOP, 0, 4);
  list.add(WEFT_CONTROL_OPCODE_RUN, 0);
  list.end(loop);
  add("list", list.image());
  return seeds;
}

Seeds firmware_seeds() {
  using mock::entry;
  Seeds seeds;
  HostScript launches;
  launches.sleep().load();
  for (int i = 0; i < 3; i++) launches.launch(1).launch(2);
  seeds["launches"] = launches.sleep().drain(1).drain(2).bytes;

  weft_submission_entry fill = entry(WEFT_QUEUE_OPCODE_FILL, 1);
  fill.arg0 = 0x5a5a5a5a;
  fill.arg1 = WEFT_LIMIT_ADDRESS_FLAG_HBM | 1u << 20;
  fill.size = 4096;
  weft_submission_entry copy = entry(WEFT_QUEUE_OPCODE_COPY, 2);
  copy.arg0 = mock::kLists;
  copy.arg1 = fill.arg1;
  copy.size = 4096;
  HostScript copies;
  copies.sleep().entry(1, fill).entry(1, copy).entry(1, entry(WEFT_QUEUE_OPCODE_FENCE, 3)).ring(1).sleep().drain(1);
  seeds["copies"] = copies.bytes;

  weft_submission_entry wait = entry(WEFT_QUEUE_OPCODE_WAIT, 1);
  wait.wait_id = 1;
  wait.wait_value = 2;
  weft_submission_entry signal = entry(WEFT_QUEUE_OPCODE_SIGNAL, 2);
  signal.signal_id = 1;
  signal.signal_value = 2;
  HostScript semaphores;
  semaphores.sleep().entry(1, wait).ring(1).sleep().entry(2, signal).ring(2).sleep().drain(1).drain(2);
  seeds["semaphores"] = semaphores.bytes;

  HostScript broken;
  broken.sleep().load().add(HostOperation::kCoreFault, uint8_t{WEFT_FAULT_RANGE}, uint8_t{0}, uint8_t{1});
  broken.launch(1).sleep().drain(1).add(HostOperation::kDoorbell, uint8_t{2}, uint32_t{0x8000'0000});
  broken.sleep().add(HostOperation::kBusError, uint8_t{2}).launch(1).sleep().drain(1);
  seeds["faults"] = broken.bytes;

  HostScript hang;
  hang.sleep().load().add(HostOperation::kCoreHang, uint8_t{1}, uint8_t{0}).launch(1).sleep();
  weft_submission_entry abort = entry(WEFT_ADMIN_OPCODE_ABORT, 3);
  abort.arg0 = 1;
  hang.entry(0, abort).ring(0).sleep().drain(0).drain(1);
  seeds["hang"] = hang.bytes;

  HostScript gone;
  gone.sleep().load().launch(1).add(HostOperation::kRequests, uint8_t{1}, uint8_t{1}).sleep();
  gone.add(HostOperation::kBoot, uint16_t{0}).sleep().add(HostOperation::kCreate, uint8_t{0}, uint8_t{4}, uint8_t{4});
  seeds["departed"] = gone.sleep().entry(1, entry(WEFT_QUEUE_OPCODE_NOP, 1)).ring(1).sleep().bytes;

  HostScript laps;  // queue 2 has four entries
  laps.sleep();
  for (uint16_t i = 0; i < 14; i++) {
    laps.entry(2, entry(i % 3 == 2 ? WEFT_QUEUE_OPCODE_FENCE : WEFT_QUEUE_OPCODE_NOP, i));
    if (i % 3 == 2) laps.ring(2).sleep().drain(2);
  }
  seeds["laps"] = laps.ring(2).sleep().drain(2).bytes;

  HostScript admin;
  for (uint8_t opcode = WEFT_ADMIN_OPCODE_CREATE_QUEUE; opcode < 24; opcode++) admin.entry(0, entry(opcode, opcode));
  seeds["admin"] = admin.ring(0).sleep().drain(0).bytes;
  return seeds;
}

}  // namespace weft::fuzz
