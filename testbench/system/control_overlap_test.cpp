// Turns of a loop that overlap: bits and cycles of a pipeline over two buffers, on every core and with both managers.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "testbench/system/control_launch.hpp"

using namespace weft;
using namespace weft::test;
using Catch::Contains;

namespace {

const spec::Chip& nano() { return *spec::find_chip("nano"); }

constexpr uint8_t kInput = 3, kOutput = 4;  // segments
/// Of each of the two buffers: its rows are loaded, may be loaded anew, are added up, may be written anew.
enum Semaphore : uint8_t { kLoaded, kLoad = 2, kAdded = 4, kAdd = 6 };
constexpr uint8_t kSemaphores = 8;

template <typename Command>
void wait_for(Command& command, std::initializer_list<uint8_t> semaphores) {
  auto& h = command.header;
  const auto* s = semaphores.begin();
  h.wait_sem0 = s[0], h.wait_count0 = 1;
  if (semaphores.size() == 2) h.wait_sem1 = s[1], h.wait_count1 = 1;
}
template <typename Command>
void post(Command& command, std::initializer_list<uint8_t> semaphores) {
  auto& h = command.header;
  const auto* s = semaphores.begin();
  h.post_sem0 = s[0], h.post_count0 = 1;
  if (semaphores.size() == 2) h.post_sem1 = s[1], h.post_count1 = 1;
}

/// Of each row of the input, twice the row. A turn does 2 x `rows` rows, a half in each buffer. `ordered`: a load waits
/// until what was loaded into its buffer has been added up.
compiler::Block turn_block(uint32_t rows, bool ordered) {
  const uint32_t row = nano().n * 4, bytes = rows * row, words = bytes / nano().word_bytes;
  compiler::Block block;
  for (uint8_t half = 0; half < 2; half++) {
    spec::DmaCommand load;
    load.header.opcode = WEFT_OPCODE_COPY;
    load.header.tag = half;
    if (ordered) wait_for(load, {static_cast<uint8_t>(kLoad + half)});
    post(load, {static_cast<uint8_t>(kLoaded + half)});
    load.src_seg = kInput;
    load.src_off = uint64_t{half} * bytes;
    load.dst_off = uint64_t{half} * bytes;
    load.size0 = bytes;
    block[WEFT_QUEUE_DMA_IN].push_back(spec::encode(load));
    spec::VpuCommand add;
    add.header.opcode = WEFT_OPCODE_ELEMENTWISE;
    add.header.tag = static_cast<uint16_t>(2 + half);
    wait_for(add, {static_cast<uint8_t>(kLoaded + half), static_cast<uint8_t>(kAdd + half)});
    if (ordered)
      post(add, {static_cast<uint8_t>(kLoad + half), static_cast<uint8_t>(kAdded + half)});
    else
      post(add, {static_cast<uint8_t>(kAdded + half)});
    add.op = WEFT_VPU_OP_ADD;
    add.src_dtype = add.dst_dtype = WEFT_VPU_DTYPE_I32;
    add.b_mode = WEFT_VPU_B_MODE_TENSOR;
    add.rows = static_cast<uint16_t>(rows);
    add.cols = static_cast<uint16_t>(nano().n);
    add.a_addr = add.b_addr = half * words;
    add.d_addr = (2 + half) * words;
    add.a_stride = add.b_stride = add.d_stride = words / rows;
    block[WEFT_QUEUE_VPU].push_back(spec::encode(add));
    spec::DmaCommand store;
    store.header.opcode = WEFT_OPCODE_COPY;
    store.header.tag = static_cast<uint16_t>(4 + half);
    wait_for(store, {static_cast<uint8_t>(kAdded + half)});
    post(store, {static_cast<uint8_t>(kAdd + half)});
    store.src_off = uint64_t{2u + half} * bytes;
    store.dst_seg = kOutput;
    store.dst_off = uint64_t{half} * bytes;
    store.size0 = bytes;
    block[WEFT_QUEUE_DMA_OUT].push_back(spec::encode(store));
  }
  return block;
}

/// Both buffers are free: posted at the start, taken back at the end.
void add_credits(compiler::Block& block, weft_opcode opcode, bool ordered) {
  for (const uint8_t first : {kLoad, kAdd}) {
    if (first == kLoad && !ordered) continue;
    spec::NoneCommand credit;
    credit.header.opcode = opcode;
    credit.header.tag = 10;
    if (opcode == WEFT_OPCODE_SIGNAL)
      post(credit, {first, static_cast<uint8_t>(first + 1)});
    else
      wait_for(credit, {first, static_cast<uint8_t>(first + 1)});
    block[WEFT_QUEUE_SYNC].push_back(spec::encode(credit));
  }
}

enum class Turns { kApart, kOverlap, kOverlapAndBind, kOverlapUnordered };

/// Rows of `turns` turns, twice, by a loop in a loop if `outer` is more than 1.
compiler::Kernel pipeline(uint32_t rows, uint32_t turns, uint32_t outer, Turns kind) {
  const uint64_t bytes = uint64_t{2} * rows * nano().n * 4;
  compiler::ControlListBuilder list;
  const compiler::Loop inner = list.new_loop(), around = list.new_loop();
  const auto window = [&](uint32_t argument) {
    const auto stride = static_cast<int64_t>(bytes);
    return compiler::Window{
        .argument = argument, .size_bytes = bytes, .strides = {{inner, stride}, {around, turns * stride}}};
  };
  const auto bind = [&] {
    list.bind({{kInput, window(0), WEFT_EXECUTABLE_CONTROL_READABLE},
               {kOutput, window(1), WEFT_EXECUTABLE_CONTROL_WRITABLE}});
  };
  const bool overlap = kind != Turns::kApart, ordered = kind != Turns::kOverlapUnordered;
  compiler::Block body = turn_block(rows, ordered), begin, end;
  if (overlap) {
    add_credits(begin, WEFT_OPCODE_SIGNAL, ordered);
    add_credits(end, WEFT_OPCODE_WAIT, ordered);
  } else {
    add_credits(body, WEFT_OPCODE_SIGNAL, ordered);
    add_credits(body, WEFT_OPCODE_WAIT, ordered);
  }
  bind();
  if (overlap) list.run(list.add_block(begin));
  const uint16_t number = list.add_block(body);
  list.begin_loop(around, outer);
  list.begin_loop(inner, turns);
  if (kind == Turns::kOverlapAndBind) {
    list.bind({{7, window(0), WEFT_EXECUTABLE_CONTROL_READABLE}});
    bind();
  }
  list.run(number, overlap);
  list.end();
  list.end();
  if (overlap) list.run(list.add_block(end), true);
  compiler::Kernel kernel;
  kernel.name = "pipeline";
  for (uint32_t i = 0; i < 2; i++) {
    compiler::Argument argument;
    argument.name = i == 0 ? "x" : "y";
    argument.dtype = WEFT_ARGUMENT_DTYPE_I32;
    argument.direction = i == 0 ? WEFT_ARGUMENT_DIRECTION_INPUT : WEFT_ARGUMENT_DIRECTION_OUTPUT;
    argument.rows = uint64_t{2} * rows * turns * outer;
    argument.columns = nano().n;
    argument.pitch_bytes = uint64_t{nano().n} * 4;
    argument.size_bytes = argument.rows * argument.pitch_bytes;
    kernel.arguments.push_back(argument);
  }
  kernel.vmem_bytes = 2 * bytes;
  kernel.semaphores = (1u << kSemaphores) - 1;
  kernel.control = list.finish().value();
  return kernel;
}

/// Cycles of a launch whose bits are right.
uint64_t cycles_of(Device& device, uint32_t rows, uint32_t turns, uint32_t outer, Turns kind) {
  const compiler::Kernel kernel = pipeline(rows, turns, outer, kind);
  const size_t elements = size_t{2} * rows * turns * outer * nano().n;
  ControlData data(2, std::vector<int32_t>(elements, -1)), expected = data;
  for (size_t i = 0; i < elements; i++) {
    data[0][i] = expected[0][i] = static_cast<int32_t>(i * 2654435761u);
    expected[1][i] = static_cast<int32_t>(2 * static_cast<uint32_t>(data[0][i]));
  }
  const Outcome outcome = run(device, kernel, data);
  REQUIRE(outcome.message.empty());
  CHECK(differences(outcome.data, expected) == 0);
  return outcome.end_cycle - outcome.start_cycle;
}

std::string device_name(const std::string& core, const std::string& manager = "rv32") {
  return "sim:nano?core=" + core + "&manager=" + manager;
}

}  // namespace

TEST_CASE("turns that overlap give the right bits and the same cycles on RTL and fast core") {
  for (const auto& [rows, turns, outer] :
       {std::array{8u, 1u, 1u}, {8u, 2u, 1u}, {8u, 7u, 3u}, {32u, 12u, 2u}, {1024u, 3u, 2u}}) {
    for (const Turns kind : {Turns::kOverlap, Turns::kOverlapAndBind}) {
      INFO(rows << " rows, " << turns << " turns in " << outer << (kind == Turns::kOverlap ? "" : ", bound in each"));
      Device fast(device_name("fast")), rtl(device_name("rtl"));
      CHECK(cycles_of(fast, rows, turns, outer, kind) == cycles_of(rtl, rows, turns, outer, kind));
    }
  }
}

TEST_CASE("turns that overlap give the right bits on the lockstep core and with the native manager", "[native]") {
  for (const char* name : {"lockstep", "fast"}) {
    Device device(device_name(name, std::string(name) == "fast" ? "native" : "rv32"));
    (void)cycles_of(device, 32, 7, 3, Turns::kOverlap);
    (void)cycles_of(device, 1024, 4, 1, Turns::kOverlap);
    (void)cycles_of(device, 8, 9, 1, Turns::kOverlapAndBind);
  }
}

TEST_CASE("turns that overlap though no semaphore orders them are a hazard") {
  (void)::setenv("WEFT_CHECK_HAZARDS", "1", 1);  // as the tests' runner has it
  for (const char* core : {"rtl", "fast"}) {
    Device device(device_name(core));
    // Long turns: a core that falls idle between two of them has them in order, whatever their commands say.
    constexpr uint32_t kRows = 1024, kTurns = 4;
    const compiler::Kernel kernel = pipeline(kRows, kTurns, 1, Turns::kOverlapUnordered);
    const ControlData data(2, std::vector<int32_t>(size_t{2} * kRows * kTurns * nano().n, 1));
    const Outcome outcome = run(device, kernel, data);
    INFO(core << ": " << outcome.message);
    CHECK(outcome.status == WEFT_ERROR_COMPUTE_FAULT);
    CHECK_THAT(outcome.message, Contains("HAZARD"));
    (void)cycles_of(device, kRows, kTurns, 1, Turns::kOverlap);  // these are ordered
  }
}

TEST_CASE("a turn that overlaps costs its work or what the firmware does for it and no drain") {
  for (const std::string core : {"rtl", "fast"}) {
    Device device(device_name(core));
    for (const uint32_t rows : {16u, 1024u}) {
      const auto each = [&](Turns kind) {
        return (cycles_of(device, rows, 14, 1, kind) - cycles_of(device, rows, 4, 1, kind)) / 10;
      };
      const uint64_t apart = each(Turns::kApart), overlapping = each(Turns::kOverlap),
                     bound = each(Turns::kOverlapAndBind);
      // What a turn moves, in and out.
      const uint64_t bytes = uint64_t{2} * 2 * rows * nano().n * 4;
      const uint64_t work = bytes * nano().clock_hz / nano().hbm_bytes_per_second;
      std::printf("  %s, a turn of 2 x %u rows, %llu cycles of HBM: apart %llu, overlapping %llu, with a bind %llu\n",
                  core.c_str(), rows, static_cast<unsigned long long>(work), static_cast<unsigned long long>(apart),
                  static_cast<unsigned long long>(overlapping), static_cast<unsigned long long>(bound));
      CHECK(overlapping <= std::max<uint64_t>(work + work / 20, 2400));
      CHECK(apart > overlapping);
    }
  }
}
