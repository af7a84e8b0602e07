// Nothing writes into memory that was given back: for each way in which commands end while an engine works for them,
// the memory is handed out again, filled and checked (docs/decisions/quiescence.md has the table).
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "testbench/system/remote_copy_kernels.hpp"
#include "testbench/system/sim_server.hpp"
#include "testbench/system/test_device.hpp"
#include "weft/spec/commands.hpp"

using namespace weft;
using namespace weft::test;

namespace {

constexpr uint32_t kWords = 65536;
constexpr uint64_t kBufferBytes = kWords * 4;
constexpr uint64_t kCopyBytes = 32 * kBufferBytes;  ///< of a copy, so that a ring of them outlasts every test
constexpr uint32_t kOld = 0x0dd0dd01;               ///< what the victim writes
constexpr uint32_t kNew = 0x5a5a5a5a;               ///< what the next owner of the memory writes
constexpr uint64_t kNeverCycles = uint64_t{1} << 40;

enum class Engine { kCore, kCopy };
enum class Fault { kNone, kYes };

/// Writes kOld over its argument again and again, by one command that needs the firmware no more: 60,000 times.
compiler::Kernel writer(Fault fault = Fault::kNone) {
  compiler::Kernel kernel;
  kernel.name = "writer";
  kernel.vmem_bytes = kBufferBytes;
  kernel.semaphores = 1;
  spec::DmaCommand fill;
  fill.header.opcode = WEFT_OPCODE_FILL;
  fill.src_off = kOld;
  fill.size0 = kBufferBytes;
  fill.header.post_sem0 = 0, fill.header.post_count0 = 1;
  kernel.queues[WEFT_QUEUE_DMA_IN] = {spec::encode(fill)};
  spec::DmaCommand copy;
  copy.header.opcode = WEFT_OPCODE_COPY;
  copy.dst_seg = 3, copy.size0 = kBufferBytes;
  copy.size1 = 60000;  // strides of 0
  copy.header.wait_sem0 = 0, copy.header.wait_count0 = 1;
  kernel.queues[WEFT_QUEUE_DMA_OUT] = {spec::encode(copy)};
  if (fault == Fault::kYes) {  // another channel reads a segment that is not mapped, some time later
    fill.size1 = 10;           // strides of 0
    for (int i = 0; i < 60; i++) kernel.queues[WEFT_QUEUE_DMA_IN].push_back(spec::encode(fill));
    spec::DmaCommand wrong;
    wrong.header.opcode = WEFT_OPCODE_COPY;
    wrong.src_seg = 31, wrong.size0 = 16;
    kernel.queues[WEFT_QUEUE_DMA_IN].push_back(spec::encode(wrong));
  }
  compiler::Argument out;
  out.name = "out";
  out.direction = WEFT_ARGUMENT_DIRECTION_OUTPUT;
  out.rows = 1, out.columns = kWords, out.pitch_bytes = kBufferBytes, out.size_bytes = kBufferBytes;
  kernel.arguments = {out};
  return kernel;
}

Handle<weft_event> launch(const Handle<weft_queue>& queue, const Handle<weft_program>& program,
                          const Handle<weft_buffer>& out, uint32_t budget_kcycles = 0) {
  weft_kernel* kernel = nullptr;
  require_ok(weft_program_get_kernel(program.get(), 0, &kernel));
  weft_command_options options = WEFT_INIT(weft_command_options);
  options.budget_kcycles = budget_kcycles;
  const weft_argument argument{out.get(), 0};
  weft_event* e = nullptr;
  require_ok(weft_launch(queue.get(), kernel, &argument, 1, &options, &e));
  return Handle<weft_event>(e);
}

Handle<weft_event> copy(const Handle<weft_queue>& queue, const Handle<weft_buffer>& to, const Handle<weft_buffer>& from,
                        uint64_t bytes = kBufferBytes) {
  weft_event* e = nullptr;
  require_ok(weft_copy(queue.get(), to.get(), 0, from.get(), 0, bytes, nullptr, &e));
  return Handle<weft_event>(e);
}

uint64_t address_of(const Handle<weft_buffer>& buffer) {
  weft_buffer_info info = WEFT_INIT(weft_buffer_info);
  require_ok(weft_buffer_get_info(buffer.get(), &info));
  return info.device_address;
}

/// Lets the device work for so long, whatever it does.
void let_cycles_pass(Device& device, const Handle<weft_queue>& queue, uint32_t kcycles) {
  const auto never = device.semaphore();
  REQUIRE(end_of(wait(queue, never, 1, kcycles)) == WEFT_ERROR_BUDGET_EXCEEDED);
}

size_t words_overwritten(const uint32_t* words, size_t count) {
  return count - static_cast<size_t>(std::count(words, words + count, kNew));
}

/// Work on an engine that outlasts every test and writes over `out`.
struct Victim {
  Victim(Device& device, Engine which, weft_memory memory, Fault fault = Fault::kNone, uint32_t budget_kcycles = 0)
      : d(device),
        other(d.queue()),
        queue(d.queue()),
        bytes(which == Engine::kCore ? kBufferBytes : kCopyBytes),
        out(d.buffer(memory, bytes)) {
    require_ok(weft_device_set_watchdog(d.device.get(), kNeverCycles));
    if (which == Engine::kCore) {
      program = d.load(writer(fault));
      events.push_back(launch(queue, program, out, budget_kcycles));
    } else {
      source = d.buffer(WEFT_MEMORY_HBM, bytes);
      for (int i = 0; i < 1000; i++) events.push_back(copy(queue, out, source, bytes));
    }
    let_cycles_pass(d, other, 60);
    REQUIRE(info_of(events.back()).done == 0);
  }
  [[nodiscard]] size_t words() const { return bytes / 4; }
  Device& d;
  Handle<weft_queue> other, queue;
  uint64_t bytes;
  Handle<weft_buffer> out, source;  ///< `source` of a copy
  Handle<weft_program> program;
  std::vector<Handle<weft_event>> events;
};

weft_status reset(Victim& v, weft_reset_level level) {
  weft_reset_report report = WEFT_INIT(weft_reset_report);
  return weft_reset(v.d.device.get(), level == WEFT_RESET_LEVEL_QUEUE ? v.queue.get() : nullptr, level, &report);
}

/// How many words of the victim's memory are not its next owner's: the device is ready.
size_t overwritten_on_a_ready_device(Victim& v, weft_memory memory) {
  if (memory == WEFT_MEMORY_HOST) {
    std::fill_n(mapped(v.out), v.words(), kNew);
    let_cycles_pass(v.d, v.other, 100);
    return words_overwritten(mapped(v.out), v.words());
  }
  const auto staging = v.d.buffer(WEFT_MEMORY_HOST, kBufferBytes);
  std::fill_n(mapped(staging), kWords, kNew);
  const uint64_t address = address_of(v.out);
  v.out.reset();
  const auto again = v.d.buffer(WEFT_MEMORY_HBM, kBufferBytes);
  REQUIRE(address_of(again) == address);
  require_ok(end_of(copy(v.other, again, staging)));
  let_cycles_pass(v.d, v.other, 100);
  std::fill_n(mapped(staging), kWords, 0);
  require_ok(end_of(copy(v.other, staging, again)));
  return words_overwritten(mapped(staging), kWords);
}

/// A way in which commands end, and how the last of them does then.
struct Way {
  const char* name;
  weft_status ending;
  std::function<void(Victim&)> end;
  std::vector<Engine> engines{Engine::kCore, Engine::kCopy};  ///< that the commands work on
  Fault fault = Fault::kNone;
  uint32_t budget_kcycles = 0;
};

const std::vector<Way> kReadyAfterwards{
    {"bad doorbell", WEFT_ERROR_BAD_DOORBELL,
     [](Victim& v) {
       v.d.inject(WEFT_INJECTED_FAULT_DOORBELL_VALUE, id_of(v.queue), 1, 0x7fffffff);
       weft_event* e = nullptr;
       require_ok(weft_nop(v.queue.get(), nullptr, &e));
       REQUIRE(end_of(Handle<weft_event>(e)) == WEFT_ERROR_BAD_DOORBELL);
     }},
    {"reset of the queue", WEFT_ERROR_ABORTED_BY_RESET,
     [](Victim& v) { require_ok(reset(v, WEFT_RESET_LEVEL_QUEUE)); }},
    {"reset of the core",
     WEFT_ERROR_ABORTED_BY_RESET,
     [](Victim& v) { require_ok(reset(v, WEFT_RESET_LEVEL_ENGINE)); },
     {Engine::kCore}},
    {"reset of the device", WEFT_ERROR_ABORTED_BY_RESET,
     [](Victim& v) {
       require_ok(reset(v, WEFT_RESET_LEVEL_DEVICE));
       v.other = v.d.queue();
     }},
    {"cancel", WEFT_ERROR_CANCELLED, [](Victim& v) { require_ok(weft_queue_cancel(v.queue.get())); }},
    {"budget", WEFT_ERROR_BUDGET_EXCEEDED, [](Victim&) {}, {Engine::kCore}, Fault::kNone, 2000},
    {"fault of the core", WEFT_ERROR_DMA_FAULT, [](Victim&) {}, {Engine::kCore}, Fault::kYes},
};

void end_and_check(const std::string& device, const Way& way, Engine engine, weft_memory memory) {
  INFO(way.name << (engine == Engine::kCore ? ", the core" : ", the copy engine") << " writes "
                << (memory == WEFT_MEMORY_HBM ? "HBM" : "host memory") << ", " << device);
  Device d(device);
  Victim v(d, engine, memory, way.fault, way.budget_kcycles);
  way.end(v);
  CHECK(end_of(v.events.back()) == way.ending);
  CHECK(overwritten_on_a_ready_device(v, memory) == 0);
}

}  // namespace

TEST_CASE("a way to end that leaves the device ready: its memory is quiet when it is handed out again", "[ready]") {
  for (const Way& way : kReadyAfterwards) {
    for (const weft_memory memory : {WEFT_MEMORY_HBM, WEFT_MEMORY_HOST})
      end_and_check("sim:nano?core=fast", way, Engine::kCore, memory);
    if (way.engines.back() == Engine::kCopy) end_and_check("sim:nano?core=fast", way, Engine::kCopy, WEFT_MEMORY_HOST);
  }
}

TEST_CASE(
    "the same on the RTL: a halt, a reset and a cancel take a launch off the core before its memory is given back",
    "[ready][rtl]") {
  for (const size_t i : {0, 1, 4})
    end_and_check("sim:nano?core=rtl", kReadyAfterwards[i], Engine::kCore, WEFT_MEMORY_HBM);
}

namespace {

/// For ways that leave no device to ask: time in which its engines would have written over all of the victim's memory.
void let_wall_time_pass() { std::this_thread::sleep_for(std::chrono::milliseconds(150)); }

/// Waits for the victim until its driver has asked the firmware for a sign of life.
weft_status wait_for_a_sign_of_life(Victim& v) {
  weft_wait_options options = WEFT_INIT(weft_wait_options);
  options.deadline_cycles = 200'000;
  return weft_event_wait(v.events.back().get(), &options);
}

const std::vector<Way> kFailedAfterwards{
    {"dead firmware",
     WEFT_ERROR_DEVICE_HUNG,
     [](Victim& v) {
       v.d.inject(WEFT_INJECTED_FAULT_FIRMWARE_DEAD);
       (void)!wait_for_a_sign_of_life(v);
     },
     {Engine::kCore}},
    {"deaf firmware",
     WEFT_ERROR_DEVICE_HUNG,
     [](Victim& v) {
       v.d.inject(WEFT_INJECTED_FAULT_FIRMWARE_DEAF);
       (void)!wait_for_a_sign_of_life(v);
     },
     {Engine::kCore}},
    {"firmware that loops", WEFT_ERROR_DEVICE_HUNG, [](Victim& v) { v.d.inject(WEFT_INJECTED_FAULT_FIRMWARE_LOOPS); }},
    {"panic",
     WEFT_ERROR_FIRMWARE_PANIC,
     [](Victim& v) {
       v.d.inject(WEFT_INJECTED_FAULT_CORE_RESET_STUCK);
       const auto program = v.d.load(writer());
       (void)!end_of(launch(v.other, program, v.d.buffer(WEFT_MEMORY_HBM, kBufferBytes)));
     },
     {Engine::kCopy}},
    {"device gone", WEFT_ERROR_DEVICE_LOST,
     [](Victim& v) {
       v.d.inject(WEFT_INJECTED_FAULT_DEVICE_GONE, id_of(v.other));
       weft_event* e = nullptr;
       require_ok(weft_nop(v.other.get(), nullptr, &e));
       const Handle<weft_event> event(e);
       uint64_t cycle = 0;
       CHECK(weft_device_cycle(v.d.device.get(), &cycle) == WEFT_ERROR_DEVICE_LOST);  // before the copies are through
       CHECK(end_of(event) == WEFT_ERROR_DEVICE_LOST);
     }},
    {"close", WEFT_ERROR_CANCELLED,
     [](Victim& v) {
       weft_close_options options = WEFT_INIT(weft_close_options);
       options.drain_ms = 1;
       require_ok(weft_close(v.d.device.release(), &options));
     }},
};

}  // namespace

TEST_CASE("a way to end after which the device is of no use: the caller's host memory is quiet once the commands ended",
          "[failed]") {
  const SimServer server("nano", "fast", 1);
  for (const std::string& device : {std::string("sim:nano?core=fast"), server.device(0)}) {
    for (const Way& way : kFailedAfterwards) {
      for (const Engine engine : way.engines) {
        INFO(way.name << (engine == Engine::kCore ? ", the core" : ", the copy engine") << " writes host memory, "
                      << device);
        Device d(device);
        Victim v(d, engine, WEFT_MEMORY_HOST);
        uint32_t* words = mapped(v.out);
        way.end(v);
        CHECK(end_of(v.events.back()) == way.ending);
        std::fill_n(words, v.words(), kNew);
        let_wall_time_pass();
        CHECK(words_overwritten(words, v.words()) == 0);
      }
    }
  }
}

TEST_CASE("a chip whose queue halts gets no more of what its neighbour writes into its memory", "[slice]") {
  namespace remote = weft::test;
  weft_slice* slice = nullptr;
  require_ok(weft_slice_open("sim:nano-2x2", &slice));
  {
    weft_device* handles[2] = {};
    for (uint32_t i = 0; i < 2; i++) require_ok(weft_slice_get_device(slice, i, &handles[i]));
    Device from(handles[0]), to(handles[1]);
    for (weft_device* chip : handles) require_ok(weft_device_set_watchdog(chip, kNeverCycles));
    auto kernel = remote::sender(remote::kArgument, 1);
    auto send = spec::decode_dma(kernel.queues[WEFT_QUEUE_DMA_OUT].front());
    send.size1 = send.size2 =
        60000;  // strides of 0; at any speed of the simulator it is still sending when the queue halts
    kernel.queues[WEFT_QUEUE_DMA_OUT].front() = spec::encode(send);
    const auto sends = from.load(kernel), receives = to.load(remote::receiver(1));
    const auto from_queue = from.queue(), to_queue = to.queue(), other = to.queue();
    const auto data = from.buffer(WEFT_MEMORY_HBM, remote::kBytes);
    auto out = to.buffer(WEFT_MEMORY_HBM, kBufferBytes);  // larger than what is sent
    const auto sender = launch(from_queue, sends, data), receiver = launch(to_queue, receives, out);
    let_cycles_pass(to, other, 100);
    REQUIRE(info_of(receiver).done == 0);
    to.inject(WEFT_INJECTED_FAULT_DOORBELL_VALUE, id_of(to_queue), 1, 0x7fffffff);
    REQUIRE(end_of(nop(to_queue)) == WEFT_ERROR_BAD_DOORBELL);
    CHECK(end_of(receiver) == WEFT_ERROR_BAD_DOORBELL);
    const uint64_t address = address_of(out);
    out.reset();
    const auto again = to.buffer(WEFT_MEMORY_HBM, kBufferBytes), staging = to.buffer(WEFT_MEMORY_HOST, kBufferBytes);
    REQUIRE(address_of(again) == address);
    std::fill_n(mapped(staging), kWords, kNew);
    require_ok(end_of(copy(other, again, staging)));
    let_cycles_pass(to, other, 300);
    std::fill_n(mapped(staging), kWords, 0);
    require_ok(end_of(copy(other, staging, again)));
    CHECK(words_overwritten(mapped(staging), kWords) == 0);
    require_ok(weft_event_cancel(sender.get()));
    CHECK(end_of(sender) == WEFT_ERROR_CANCELLED);
  }
  require_ok(weft_slice_close(slice, nullptr));
}
