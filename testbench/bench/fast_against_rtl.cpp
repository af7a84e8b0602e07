/// Cycles of the fast core against the RTL's, program by program, and their memories, which must be equal.
///
///   fast_against_rtl [--trace] [preset]...         print (all three if none is named)
///   fast_against_rtl --gate [preset]...  also fail where cycles or memory differ
///
/// Random programs, compiled or not, are compared by random_programs --core both (testbench/random).
#include <fmt/core.h>

#include <functional>
#include <random>
#include <string>

#include "programs.hpp"

namespace {

using namespace weft;
using namespace weft::test;

constexpr uint64_t kLimit = 1'000'000;  // cycles: nothing here takes as long

struct Outcome {
  uint64_t cycles = 0;
  uint64_t fault = 0;
  std::vector<std::byte> memory;
  std::vector<std::tuple<char, unsigned, unsigned, uint64_t>> lines;
  std::vector<uint64_t> counters;
};

Outcome run(core::CoreKind kind, const spec::Chip& chip, const Program& program) {
  Bus bus(chip);
  std::mt19937 random(3);
  for (size_t i = 0; i < (2u << 20); i += 2) {
    const auto v = static_cast<uint16_t>((random() & 0x807f) | (120 + random() % 8) << 7);
    std::memcpy(bus.bytes.data() + i, &v, 2);
  }
  std::string error;
  const auto core = core::make_core(kind, chip, bus, {}, error);
  if (!core) {
    fmt::print(stderr, "{}\n", error);
    std::exit(2);
  }
  Log log;
  core->set_observer(&log);
  for (unsigned s = 3; s <= 5; s++) {
    const uint32_t at = s * WEFT_CSR_SEGMENT_BASE_STRIDE;
    core->write_csr(WEFT_CSR_SEGMENT_BASE + at, uint64_t{s - 3} << 20);
    core->write_csr(WEFT_CSR_SEGMENT_LIMIT + at, s == 5 ? 2 << 20 : 1 << 20);
    core->write_csr(WEFT_CSR_SEGMENT_ATTRIBUTES + at, WEFT_ADDRESS_SPACE_HBM | 4 | 8);
  }
  core->advance(1000);
  // The queues are filled a cycle at a time, so that both cores see every command as soon as there is room.
  std::array<size_t, WEFT_CORE_QUEUES> next{};
  while (core->cycle() < kLimit) {
    bool left = false;
    for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++) {
      if (next[q] < program.queues[q].size() && core->push(q, program.queues[q][next[q]])) next[q]++;
      left = left || next[q] < program.queues[q].size();
    }
    if (!left && !core->busy()) break;
    core->advance(core->cycle() + 1);
  }
  Outcome out;
  out.cycles = core->read_csr(WEFT_CSR_LAST_RETIRE_CYCLE) - core->read_csr(WEFT_CSR_FIRST_ACCEPT_CYCLE);
  out.fault = core->read_csr(WEFT_CSR_FAULT_CODE);
  core->write_csr(WEFT_CSR_COUNTER_SNAPSHOT, 1);
  core->advance(core->cycle() + 2);
  for (uint32_t i = 0; i < WEFT_COUNTERS; i++) out.counters.push_back(core->read_csr(WEFT_CSR_COUNTER + 8 * i));
  out.memory = std::move(bus.bytes);
  out.lines = std::move(log.lines);
  return out;
}

struct Case {
  std::string name;
  Program program;
};

/// VPU commands that take other times than a row a cycle, or read b in another rhythm.
Program vector_mix(const spec::Chip& chip) {
  const auto n = static_cast<uint16_t>(chip.n);
  auto plain = epilogue(200, static_cast<uint16_t>(3 * n), n, 1208);
  plain.header.opcode = WEFT_OPCODE_ELEMENTWISE;
  plain.src_space = WEFT_VPU_SPACE_VMEM;
  plain.src_dtype = plain.dst_dtype = WEFT_VPU_DTYPE_F32;
  plain.a_stride = plain.d_stride = 2;
  plain.b_mode = WEFT_VPU_B_MODE_NONE;
  plain.activation = WEFT_VPU_ACTIVATION_NONE;
  plain.b_addr = plain.b_stride = 0;
  Program program;
  for (uint8_t op = WEFT_VPU_OP_EXP2; op <= WEFT_VPU_OP_IOTA; op++) {
    auto c = plain;
    c.op = op;
    if (op == WEFT_VPU_OP_IOTA) c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_I32, c.a_addr = c.a_stride = 0;
    program.add(WEFT_QUEUE_VPU, c);
    c = plain;
    c.header.opcode = WEFT_OPCODE_TRANSPOSE;
    c.rows = static_cast<uint16_t>(1 + op % n);
    c.cols = static_cast<uint16_t>(1 + op * 5 % n);
    program.add(WEFT_QUEUE_VPU, c);
    c = plain;
    c.header.opcode = WEFT_OPCODE_REDUCE;
    c.op = WEFT_VPU_OP_RMIN;
    c.axis = WEFT_VPU_AXIS_ROWS;
    c.rows = 7;
    c.window = op;
    c.b_stride = 2;
    program.add(WEFT_QUEUE_VPU, c);
    c = plain;
    c.op = WEFT_VPU_OP_FMA;
    c.b_mode = WEFT_VPU_B_MODE_COLUMN;
    c.b_addr = 3006;
    c.b_stride = 2;
    program.add(WEFT_QUEUE_VPU, c);
  }
  return program;
}

/// EPILOGUEs that read a row of their own beside the bias or a residual, in the same banks and in others, beside products
/// that read them too.
Program kept_rows(const spec::Chip& chip) {
  const auto n = static_cast<uint16_t>(chip.n);
  Program program;
  for (uint32_t i = 0; i < 24; i++) {
    auto x = matmul(0, 1, 64, n, n * 3u, n, n);
    x.seed = WEFT_MXU_SEED_KEEP;
    program.add(WEFT_QUEUE_MXU, x);
    auto c = epilogue(i % 3, static_cast<uint16_t>(1 + 5 * i % (2 * n)), n, 1208);
    c.b_addr = 400 + 2 * (i % 7);
    c.scalar2 = 600 + 2 * (i % 5);
    if (i % 2 == 0) {
      c.src_dtype = WEFT_VPU_DTYPE_I32, c.dst_dtype = WEFT_VPU_DTYPE_I8;
      c.b_mode = WEFT_VPU_B_MODE_SCALED, c.op = i % 4 == 0 ? WEFT_VPU_OP_NONE : WEFT_VPU_OP_UPPER;
      c.scalar = static_cast<uint32_t>(static_cast<int32_t>(i) - 12);
    } else {
      c.b_mode = WEFT_VPU_B_MODE_RESIDUAL, c.b_stride = 2 * (i % 3);
    }
    program.add(WEFT_QUEUE_VPU, c);
  }
  return program;
}

std::vector<Case> cases(const spec::Chip& chip) {
  std::vector<Case> all;
  const auto n = static_cast<uint16_t>(chip.n);
  for (const uint16_t m : {uint16_t{1}, static_cast<uint16_t>(n / 2), n, static_cast<uint16_t>(n + 1),
                           static_cast<uint16_t>(2 * n), static_cast<uint16_t>(4 * n)})
    for (const uint32_t k : {1u, uint32_t{n}, uint32_t{n} * 5 / 2, uint32_t{n} * 8})
      all.push_back({fmt::format("product m {} k {} x 6 blocks", m, k), product(chip, m, k, 6)});
  Program stream;
  for (int i = 0; i < 12; i++) stream.add(WEFT_QUEUE_DMA_IN, copy_in(3, 0, 0, 64 * chip.word_bytes));
  all.push_back({"copy in, 12 x 64 words", stream});
  Program out;
  for (int i = 0; i < 12; i++)
    out.add(WEFT_QUEUE_DMA_OUT,
            copy_out(0, 5, uint64_t{static_cast<unsigned>(i)} * 64 * chip.word_bytes, 64 * chip.word_bytes));
  all.push_back({"copy out, 12 x 64 words", out});
  Program rows;
  auto narrow = copy_in(3, 0, 0, 16);
  narrow.size1 = 200;
  narrow.src_stride1 = 256;
  narrow.dst_stride1 = static_cast<int32_t>(chip.word_bytes);
  for (int i = 0; i < 4; i++) rows.add(WEFT_QUEUE_DMA_IN, narrow);
  all.push_back({"copy in, 4 x 200 runs of 16 bytes", rows});
  Program fills;
  auto fill = copy_in(0, 0x12345678, 0, 100 * chip.word_bytes);
  fill.header.opcode = WEFT_OPCODE_FILL;
  for (int i = 0; i < 4; i++) fills.add(WEFT_QUEUE_DMA_IN, fill);
  auto fill_out = fill;
  fill_out.dst_seg = 5;
  for (int i = 0; i < 4; i++) fills.add(WEFT_QUEUE_DMA_OUT, fill_out);
  all.push_back({"fills, both ways", fills});
  Program vector;
  for (int i = 0; i < 5; i++) {
    vector.add(WEFT_QUEUE_VPU, epilogue(0, 30, n, 200));
    auto sum = epilogue(200, 20, n, 400);
    sum.header.opcode = WEFT_OPCODE_REDUCE;
    sum.op = WEFT_VPU_OP_SUM;
    sum.src_space = WEFT_VPU_SPACE_VMEM;
    sum.a_stride = 2;
    vector.add(WEFT_QUEUE_VPU, sum);
  }
  all.push_back({"epilogues and sums", vector});
  all.push_back({"functions, transposes, windows, columns", vector_mix(chip)});
  all.push_back({"epilogues with rows of their own", kept_rows(chip)});
  Program types;
  for (int i = 0; i < 6; i++) {
    auto c = matmul(0, 1, 64, n, n * 3u, n, n);
    if (i % 3 == 2) c.dtype = WEFT_MXU_DTYPE_INT8;
    if (i % 2 == 1) c.seed = WEFT_MXU_SEED_KEEP;
    types.add(WEFT_QUEUE_MXU, tagged(c, static_cast<uint16_t>(i)));
  }
  all.push_back({"bf16 and int8 in turn, keeping sums", types});
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  bool gate = false, trace = false;
  std::vector<std::string> presets;
  for (int i = 1; i < argc; i++) {
    if (std::string(argv[i]) == "--gate")
      gate = true;
    else if (std::string(argv[i]) == "--trace")
      trace = true;
    else
      presets.emplace_back(argv[i]);
  }
  if (presets.empty()) presets = {"nano", "nano-4mxu", "small", "v5e-1mxu"};
  int bad = 0;
  for (const auto& preset : presets) {
    const spec::Chip& chip = *spec::find_chip(preset);
    fmt::print("{:44} {:>9} {:>9} {:>8}\n", preset, "rtl", "fast", "");
    for (const auto& [name, program] : cases(chip)) {
      const auto rtl = run(core::CoreKind::kRtl, chip, program);
      const auto fast = run(core::CoreKind::kFast, chip, program);
      const double error = static_cast<double>(fast.cycles) / static_cast<double>(rtl.cycles) - 1;
      const bool same = rtl.memory == fast.memory && rtl.fault == fast.fault && rtl.counters == fast.counters;
      fmt::print("{:44} {:9} {:9} {:+7.2f}%{}\n", name, rtl.cycles, fast.cycles, 100 * error,
                 same ? "" : "  RESULTS DIFFER");
      if (!same || fast.cycles != rtl.cycles) bad++;
      if (!trace) continue;
      for (size_t i = 0; i < std::max(rtl.lines.size(), fast.lines.size()); i++) {
        const auto text = [&](const auto& lines) {
          if (i >= lines.size()) return std::string(30, ' ');
          const auto& [what, unit, tag, cycle] = lines[i];
          return fmt::format("{} unit {} tag {:3} cycle {:6}", what, unit, tag, cycle);
        };
        fmt::print("    {}   {}{}\n", text(rtl.lines), text(fast.lines),
                   i < rtl.lines.size() && i < fast.lines.size() && rtl.lines[i] == fast.lines[i] ? "" : "  *");
      }
      for (size_t i = 0; i < rtl.counters.size(); i++)
        if (rtl.counters[i] != fast.counters[i])
          fmt::print("    counter {} rtl {} fast {}\n", i, rtl.counters[i], fast.counters[i]);
    }
  }
  return gate && bad != 0 ? 1 : 0;
}
