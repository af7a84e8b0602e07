// Hangs through the whole stack, on the RTL and on the fast core: the report names the deadlock, budgets end what they
// must, slow work lives, and after a reset of each level the same program gives the same bits and cycles.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "host/compiler/executable/executable_writer.hpp"
#include "testbench/system/driver_handles.hpp"
#include "testbench/system/sim_server.hpp"
#include "weft/spec/chips.hpp"
#include "weft/spec/commands.hpp"

namespace {

using namespace weft;
using namespace weft::test;
using Catch::Contains;

constexpr uint64_t kNeverCycles = uint64_t{1} << 40;  // for the core's watchdog
constexpr uint32_t kBytes = 4096;

const spec::Chip& nano() { return *spec::find_chip("nano"); }

std::vector<std::string> cores() { return {"fast", "rtl"}; }

compiler::Kernel kernel_named(const char* name) {
  compiler::Kernel kernel;
  kernel.name = name;
  kernel.vmem_bytes = nano().vmem_bytes;
  kernel.semaphores = 8;
  return kernel;
}

/// dma_in waits for a semaphore that sync posts behind its own wait for one that dma_in posts.
compiler::Kernel deadlock() {
  compiler::Kernel kernel = kernel_named("deadlock");
  spec::DmaCommand fill;
  fill.header.opcode = WEFT_OPCODE_FILL, fill.header.tag = 11;
  fill.header.wait_sem0 = 4, fill.header.wait_count0 = 1;
  fill.header.post_sem0 = 3, fill.header.post_count0 = 1;
  fill.size0 = 64;
  kernel.queues[WEFT_QUEUE_DMA_IN] = {encode(fill)};
  spec::CommandHeader wait;
  wait.opcode = WEFT_OPCODE_WAIT, wait.tag = 22, wait.wait_sem0 = 3, wait.wait_count0 = 1;
  spec::CommandHeader post;
  post.opcode = WEFT_OPCODE_SIGNAL, post.tag = 23, post.post_sem0 = 4, post.post_count0 = 1;
  kernel.queues[WEFT_QUEUE_SYNC] = {spec::encode(wait), spec::encode(post)};
  return kernel;
}

/// Fills VMEM `times` times, then copies kBytes of it to its argument.
compiler::Kernel filling(uint32_t times) {
  compiler::Kernel kernel = kernel_named("filling");
  spec::DmaCommand fill;
  fill.header.opcode = WEFT_OPCODE_FILL;
  fill.size0 = nano().vmem_bytes;
  for (uint32_t i = 0; i < times; i++) {
    fill.header.tag = static_cast<uint16_t>(i);
    fill.src_off = 0x1020304 + i;
    fill.header.wait_sem0 = i == 0 ? WEFT_NO_SEMAPHORE : 2;  // one after the other, be it on two channels
    fill.header.wait_count0 = i == 0 ? 0 : 1;
    fill.header.post_sem0 = i + 1 == times ? 1 : 2, fill.header.post_count0 = 1;
    kernel.queues[WEFT_QUEUE_DMA_IN].push_back(encode(fill));
  }
  spec::DmaCommand copy;
  copy.header.opcode = WEFT_OPCODE_COPY;
  copy.header.wait_sem0 = 1, copy.header.wait_count0 = 1;
  copy.dst_seg = 3, copy.size0 = kBytes;
  kernel.queues[WEFT_QUEUE_DMA_OUT] = {encode(copy)};
  compiler::Argument out;
  out.name = "out";
  out.direction = WEFT_ARGUMENT_DIRECTION_OUTPUT;
  out.rows = 1, out.columns = kBytes / 4, out.pitch_bytes = kBytes, out.size_bytes = kBytes;
  kernel.arguments = {out};
  return kernel;
}

/// One legal MATMUL of 2^38 cycles: rows of 2^32 - 1 elements, all of them the same words of VMEM.
compiler::Kernel endless_product() {
  compiler::Kernel kernel = kernel_named("endless");
  spec::MxuCommand product;
  product.header.opcode = WEFT_OPCODE_MATMUL;
  product.dtype = WEFT_MXU_DTYPE_BF16;
  product.k = UINT32_MAX, product.m = 64, product.cols = 8;
  kernel.queues[WEFT_QUEUE_MXU] = {encode(product)};
  return kernel;
}

struct Device {
  explicit Device(const std::string& core) : Device("sim:nano?core=", core) {}
  Device(const std::string& prefix, const std::string& rest) {
    weft_device* d = nullptr;
    require_ok(weft_open((prefix + rest).c_str(), &d));
    device.reset(d);
  }
  Handle<weft_queue> queue() {
    weft_queue* q = nullptr;
    require_ok(weft_queue_create(device.get(), nullptr, &q));
    return Handle<weft_queue>(q);
  }
  Handle<weft_program> load(const compiler::Kernel& kernel) {
    const auto executable = compiler::write_executable(nano(), kernel);
    if (!executable.ok()) FAIL(executable.error().message);
    weft_program* p = nullptr;
    require_ok(weft_program_load(device.get(), executable.value().data(), executable.value().size(), &p));
    return Handle<weft_program>(p);
  }
  Handle<weft_buffer> buffer() {
    weft_buffer* b = nullptr;
    require_ok(weft_buffer_create(device.get(), WEFT_MEMORY_HOST, kBytes, &b));
    return Handle<weft_buffer>(b);
  }
  Handle<weft_device> device;
};

Handle<weft_event> launch(const Handle<weft_queue>& queue, const Handle<weft_program>& program,
                          weft_buffer* out = nullptr, uint32_t budget_kcycles = 0) {
  weft_kernel* kernel = nullptr;
  require_ok(weft_program_get_kernel(program.get(), 0, &kernel));
  weft_command_options options = WEFT_INIT(weft_command_options);
  options.budget_kcycles = budget_kcycles;
  options.tag = 99;
  const weft_argument argument{out, 0};
  weft_event* event = nullptr;
  require_ok(weft_launch(queue.get(), kernel, &argument, out != nullptr ? 1 : 0, &options, &event));
  return Handle<weft_event>(event);
}

Handle<weft_event> nop(const Handle<weft_queue>& queue) {
  weft_event* event = nullptr;
  require_ok(weft_nop(queue.get(), nullptr, &event));
  return Handle<weft_event>(event);
}

weft_status end_of(const Handle<weft_event>& event) { return weft_event_wait(event.get(), nullptr); }

weft_error_info last_error() {
  weft_error_info info = WEFT_INIT(weft_error_info);
  require_ok(weft_last_error(&info));
  return info;
}

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

nlohmann::json report_json(const std::string& text_path) {
  return nlohmann::json::parse(file_text(text_path.substr(0, text_path.size() - 3) + "json"));
}

/// Bits and cycles of one run of the filling program.
struct Run {
  std::string bits;
  uint64_t cycles;
  bool operator==(const Run&) const = default;
};

Run run(Device& d, const Handle<weft_queue>& queue) {
  const auto program = d.load(filling(3));
  const auto out = d.buffer();
  void* bytes = nullptr;
  require_ok(weft_buffer_map(out.get(), &bytes));
  std::memset(bytes, 0xee, kBytes);
  const auto event = launch(queue, program, out.get());
  require_ok(end_of(event));
  weft_event_info info = WEFT_INIT(weft_event_info);
  require_ok(weft_event_query(event.get(), &info));
  return {std::string(static_cast<const char*>(bytes), kBytes), info.end_cycle - info.start_cycle};
}

}  // namespace

TEST_CASE("two queues of the core that wait for each other: DEVICE_HUNG, and the report names the cycle",
          "[deadlock]") {
  for (const std::string& core : cores()) {
    INFO(core);
    Device d(core);
    require_ok(weft_device_set_watchdog(d.device.get(), 5000));
    const auto queue = d.queue();
    const auto program = d.load(deadlock());
    CHECK(end_of(launch(queue, program)) == WEFT_ERROR_DEVICE_HUNG);
    const auto info = last_error();
    REQUIRE(info.report_path[0] != 0);
    const std::string text = file_text(info.report_path);
    INFO(text);
    CHECK_THAT(text, Contains("CYCLE: ") &&
                         Contains("core queue dma_in -> semaphore 4: its command 11 needs 1, it is 0") &&
                         Contains("semaphore 3 -> core queue dma_in: one of its next commands posts it"));
    CHECK_THAT(text, Contains("rerun") && Contains("WEFT_WAVE=") && Contains("hang_test"));
    const auto json = report_json(info.report_path);
    CHECK(json["waits"]["cycle"].size() == 4);
    CHECK(json["command"]["tag"] == 99);
    const auto fine = d.load(kernel_named("empty"));
    require_ok(end_of(launch(queue, fine)));
    if (core == "fast") std::printf("%s", text.c_str());
  }
}

TEST_CASE("the state of a device with a hung launch is told by the firmware, and its queues by name", "[dump]") {
  for (const std::string& core : cores()) {
    INFO(core);
    Device d(core);
    require_ok(weft_device_set_watchdog(d.device.get(), kNeverCycles));
    const auto first = d.queue(), second = d.queue();
    const auto program = d.load(deadlock());
    const auto hung = launch(first, program), next = launch(second, program);
    weft_wait_options soon = WEFT_INIT(weft_wait_options);
    soon.deadline_cycles = 100000;
    CHECK(weft_event_wait(hung.get(), &soon) == WEFT_ERROR_TIMEOUT_WAIT);
    const auto json = report_json(last_error().report_path);
    INFO(json.dump(2));
    CHECK(json["firmware"]["health"] == "answers");
    CHECK(json["state"]["engines"][0]["command"]["opcode"] == "LAUNCH");
    CHECK(json["waits"]["cycle"].size() == 4);
    std::string waits;
    for (const auto& q : json["state"]["queues"]) waits += q["waits_for"].get<std::string>() + " ";
    CHECK_THAT(waits, Contains("running") && Contains("core"));
    weft_reset_report report = WEFT_INIT(weft_reset_report);
    require_ok(weft_reset(d.device.get(), nullptr, WEFT_RESET_LEVEL_DEVICE, &report));
    CHECK(report.innocent == 2);
    CHECK(end_of(hung) == WEFT_ERROR_ABORTED_BY_RESET);
  }
}

TEST_CASE("a budget ends a launch that hangs and one that works too long, and leaves others alone", "[budget]") {
  for (const std::string& core : cores()) {
    INFO(core);
    Device d(core);
    require_ok(weft_device_set_watchdog(d.device.get(), kNeverCycles));
    const auto queue = d.queue();
    const auto hanging = d.load(deadlock()), slow = d.load(filling(60));
    const auto out = d.buffer();
    CHECK(end_of(launch(queue, hanging, nullptr, 100)) == WEFT_ERROR_BUDGET_EXCEEDED);
    CHECK(last_error().report_path[0] != 0);
    CHECK(end_of(launch(queue, slow, out.get(), 20)) == WEFT_ERROR_BUDGET_EXCEEDED);
    CHECK(end_of(launch(queue, slow, out.get())) == WEFT_ERROR_OK);
  }
}

TEST_CASE("a budget ends a single command that would last for minutes, long before", "[budget][endless]") {
  for (const std::string& core : cores()) {
    INFO(core);
    Device d(core);
    const auto queue = d.queue();
    const auto endless = d.load(endless_product()), fine = d.load(kernel_named("empty"));
    const auto event = launch(queue, endless, nullptr, 100);
    CHECK(end_of(event) == WEFT_ERROR_BUDGET_EXCEEDED);
    weft_event_info info = WEFT_INIT(weft_event_info);
    require_ok(weft_event_query(event.get(), &info));
    CHECK(info.end_cycle - info.start_cycle < 110'000);
    require_ok(end_of(launch(queue, fine)));
  }
}

TEST_CASE("while a command lasts for minutes, the simulator serves other functions and ends when it is told to",
          "[endless]") {
  const SimServer server("nano", "fast", 2);
  Device busy("vfio-user:", server.socket(0));
  const auto queue = busy.queue();
  const auto endless = busy.load(endless_product());
  const auto event = launch(queue, endless);
  const auto begin = std::chrono::steady_clock::now();
  {
    Device other("vfio-user:", server.socket(1));
    const auto others = other.queue();
    for (int i = 0; i < 10; i++) require_ok(end_of(nop(others)));
  }
  weft_event_info info = WEFT_INIT(weft_event_info);
  require_ok(weft_event_query(event.get(), &info));
  CHECK(info.done == 0);
  REQUIRE(::kill(server.pid(), SIGTERM) == 0);
  CHECK(end_of(event) == WEFT_ERROR_DEVICE_LOST);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(60));
}

TEST_CASE("slow work that makes progress outlives the watchdog's limit many times", "[slow]") {
  for (const std::string& core : cores()) {
    INFO(core);
    Device d(core);
    require_ok(weft_device_set_watchdog(d.device.get(), 5000));
    const auto queue = d.queue();
    const auto slow = d.load(filling(60));
    const auto out = d.buffer();
    const auto event = launch(queue, slow, out.get());
    CHECK(end_of(event) == WEFT_ERROR_OK);
    weft_event_info info = WEFT_INIT(weft_event_info);
    require_ok(weft_event_query(event.get(), &info));
    CHECK(info.end_cycle - info.start_cycle > 10 * 5000);
  }
}

TEST_CASE("a reset of each level ends the launch in its reach, others live, and the same bits and cycles follow",
          "[reset]") {
  for (const std::string& core : cores()) {
    INFO(core);
    Device d(core);
    require_ok(weft_device_set_watchdog(d.device.get(), kNeverCycles));
    auto victim = d.queue(), other = d.queue();
    const Run before = run(d, victim);
    CHECK(before.bits.substr(0, 4) == std::string("\x06\x03\x02\x01", 4));
    for (const weft_reset_level level : {WEFT_RESET_LEVEL_QUEUE, WEFT_RESET_LEVEL_ENGINE, WEFT_RESET_LEVEL_DEVICE}) {
      INFO(level);
      const auto program = d.load(deadlock());
      const auto hung = launch(victim, program);
      const auto behind = nop(victim), elsewhere = nop(other);
      require_ok(end_of(elsewhere));
      weft_reset_report report = WEFT_INIT(weft_reset_report);
      require_ok(weft_reset(d.device.get(), level == WEFT_RESET_LEVEL_QUEUE ? victim.get() : nullptr, level, &report));
      CHECK(report.failed_step == 0);
      CHECK(report.guilty == 0);
      CHECK(report.innocent == (level == WEFT_RESET_LEVEL_ENGINE ? 1 : 2));
      CHECK(end_of(hung) == WEFT_ERROR_ABORTED_BY_RESET);
      CHECK(end_of(behind) == (level == WEFT_RESET_LEVEL_ENGINE ? WEFT_ERROR_OK : WEFT_ERROR_ABORTED_BY_RESET));
      std::printf("%s core, reset level %d: %llu device cycles, stop engines %llu\n", core.c_str(), level,
                  static_cast<unsigned long long>(report.end_cycle - report.start_cycle),
                  static_cast<unsigned long long>(report.step_cycles[WEFT_RESET_STEP_STOP_ENGINES]));
      if (level == WEFT_RESET_LEVEL_DEVICE) {
        CHECK(weft_nop(other.get(), nullptr, nullptr) == WEFT_ERROR_INVALID_STATE);
        victim = d.queue();
      } else {
        require_ok(end_of(nop(other)));
      }
      CHECK(run(d, victim) == before);
      CHECK(run(d, victim) == before);
    }
  }
}
