// Nothing writes into memory that was given back: for each way in which commands end while an engine works for them,
// the memory is handed out again, filled and checked (docs/decisions/quiescence.md has the table).
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "testbench/system/test_device.hpp"
#include "weft/spec/commands.hpp"

using namespace weft;
using namespace weft::test;

namespace {

constexpr uint32_t kWords = 65536;
constexpr uint64_t kBytes = kWords * 4;
constexpr uint32_t kOld = 0x0dd0dd01;  ///< what the victim writes
constexpr uint32_t kNew = 0x5a5a5a5a;  ///< what the next owner of the memory writes
constexpr uint64_t kNeverCycles = uint64_t{1} << 40;

enum class Engine { kCore, kCopy };
enum class Fault { kNone, kYes };

/// Writes kOld over its argument again and again, by one command that needs the firmware no more: 60,000 times.
compiler::Kernel writer(Fault fault = Fault::kNone) {
  compiler::Kernel kernel;
  kernel.name = "writer";
  kernel.vmem_bytes = kBytes;
  kernel.semaphores = 1;
  spec::DmaCommand fill;
  fill.header.opcode = WEFT_OPCODE_FILL;
  fill.src_off = kOld;
  fill.size0 = kBytes;
  fill.header.post_sem0 = 0, fill.header.post_count0 = 1;
  kernel.queues[WEFT_QUEUE_DMA_IN] = {spec::encode(fill)};
  spec::DmaCommand copy;
  copy.header.opcode = WEFT_OPCODE_COPY;
  copy.dst_seg = 3, copy.size0 = kBytes;
  copy.size1 = 60000;  // strides of 0
  copy.header.wait_sem0 = 0, copy.header.wait_count0 = 1;
  kernel.queues[WEFT_QUEUE_DMA_OUT] = {spec::encode(copy)};
  if (fault == Fault::kYes) {  // another channel reads a segment that is not mapped, some time later
    for (int i = 0; i < 60; i++) kernel.queues[WEFT_QUEUE_DMA_IN].push_back(spec::encode(fill));
    spec::DmaCommand wrong;
    wrong.header.opcode = WEFT_OPCODE_COPY;
    wrong.src_seg = 31, wrong.size0 = 16;
    kernel.queues[WEFT_QUEUE_DMA_IN].push_back(spec::encode(wrong));
  }
  compiler::Argument out;
  out.name = "out";
  out.direction = WEFT_ARGUMENT_DIRECTION_OUTPUT;
  out.rows = 1, out.columns = kWords, out.pitch_bytes = kBytes, out.size_bytes = kBytes;
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

Handle<weft_event> copy(const Handle<weft_queue>& queue, const Handle<weft_buffer>& to,
                        const Handle<weft_buffer>& from) {
  weft_event* e = nullptr;
  require_ok(weft_copy(queue.get(), to.get(), 0, from.get(), 0, kBytes, nullptr, &e));
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

size_t words_overwritten(const uint32_t* words) {
  return kWords - static_cast<size_t>(std::count(words, words + kWords, kNew));
}

/// Work on an engine that outlasts every test and writes over `out`.
struct Victim {
  Victim(Device& device, Engine which, weft_memory memory, Fault fault = Fault::kNone, uint32_t budget_kcycles = 0)
      : d(device), other(d.queue()), queue(d.queue()), out(d.buffer(memory, kBytes)) {
    require_ok(weft_device_set_watchdog(d.device.get(), kNeverCycles));
    if (which == Engine::kCore) {
      program = d.load(writer(fault));
      events.push_back(launch(queue, program, out, budget_kcycles));
    } else {
      source = d.buffer(memory == WEFT_MEMORY_HOST ? WEFT_MEMORY_HBM : WEFT_MEMORY_HOST, kBytes);
      for (int i = 0; i < 1000; i++) events.push_back(copy(queue, out, source));
    }
    let_cycles_pass(d, other, 60);
    REQUIRE(info_of(events.back()).done == 0);
  }
  Device& d;
  Handle<weft_queue> other, queue;
  Handle<weft_buffer> out, source;
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
    std::fill_n(mapped(v.out), kWords, kNew);
    let_cycles_pass(v.d, v.other, 100);
    return words_overwritten(mapped(v.out));
  }
  const auto staging = v.d.buffer(WEFT_MEMORY_HOST, kBytes);
  std::fill_n(mapped(staging), kWords, kNew);
  const uint64_t address = address_of(v.out);
  v.out.reset();
  const auto again = v.d.buffer(WEFT_MEMORY_HBM, kBytes);
  REQUIRE(address_of(again) == address);
  require_ok(end_of(copy(v.other, again, staging)));
  let_cycles_pass(v.d, v.other, 100);
  std::fill_n(mapped(staging), kWords, 0);
  require_ok(end_of(copy(v.other, staging, again)));
  return words_overwritten(mapped(staging));
}

/// A way in which commands end, and how the last of them does then.
struct Way {
  const char* name;
  weft_status ending;
  std::function<void(Victim&)> end;
  bool copies = true;  ///< of the copy engine too
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
    {"reset of the core", WEFT_ERROR_ABORTED_BY_RESET, [](Victim& v) { require_ok(reset(v, WEFT_RESET_LEVEL_ENGINE)); },
     false},
    {"reset of the device", WEFT_ERROR_ABORTED_BY_RESET,
     [](Victim& v) {
       require_ok(reset(v, WEFT_RESET_LEVEL_DEVICE));
       v.other = v.d.queue();
     }},
    {"cancel", WEFT_ERROR_CANCELLED, [](Victim& v) { require_ok(weft_queue_cancel(v.queue.get())); }},
    {"budget", WEFT_ERROR_BUDGET_EXCEEDED, [](Victim&) {}, false, Fault::kNone, 200},
    {"fault of the core", WEFT_ERROR_DMA_FAULT, [](Victim&) {}, false, Fault::kYes},
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
    if (way.copies) end_and_check("sim:nano?core=fast", way, Engine::kCopy, WEFT_MEMORY_HOST);
  }
}

TEST_CASE(
    "the same on the RTL: a halt, a reset and a cancel take a launch off the core before its memory is given back",
    "[ready][rtl]") {
  for (const size_t i : {0, 1, 4})
    end_and_check("sim:nano?core=rtl", kReadyAfterwards[i], Engine::kCore, WEFT_MEMORY_HBM);
}
