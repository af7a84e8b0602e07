// Prints how fast the Verilated VPU simulates: cycles a second for each kind of row and for an idle unit. Not a test.
#include <fmt/core.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>

#include "Vvpu_speed_nano.h"
#include "Vvpu_speed_v5e.h"
#include "weft/spec/chips.hpp"
#include "weft/spec/commands.hpp"

namespace {
using weft::spec::VpuCommand;

/// Runs one command shape back to back for at least `seconds`, all requests granted, data constant.
template <class Model>
void measure(const char* chip, const char* name, const VpuCommand* command, double seconds) {
  const unsigned sublanes = weft::spec::find_chip(chip)->vpu_sublanes;
  auto model = std::make_unique<Model>();
  uint32_t pattern = 0x3f8ccccd;
  for (auto& w : model->acc_data_i.m_storage) w = pattern += 0x01234567;
  for (auto& w : model->va_rdata_i.m_storage) w = pattern += 0x01234567;
  for (auto& w : model->vb_rdata_i.m_storage) w = pattern += 0x01234567;
  model->va_gnt_i = model->vb_gnt_i = model->vw_gnt_i = model->acc_gnt_i = static_cast<uint8_t>((1u << sublanes) - 1);
  if (command != nullptr) {
    const auto c = weft::spec::encode(*command);
    std::memcpy(model->cmd_i.m_storage, c.bytes.data(), c.bytes.size());
  }
  uint64_t rows = 0;
  uint8_t va = 0, vb = 0, acc = 0;  // rows granted a cycle ago
  const auto cycle = [&] {
    model->clk_i = 0;
    model->va_rvalid_i = va;
    model->vb_rvalid_i = vb;
    model->acc_rvalid_i = acc;
    model->eval();
    va = model->va_req_o, vb = model->vb_req_o, acc = model->acc_req_o;
    rows += model->cnt_rows_o;
    if (model->fault_valid_o) std::abort();
    model->clk_i = 1;
    model->eval();
  };
  model->rst_ni = 0;
  cycle();
  model->rst_ni = 1;
  model->cmd_valid_i = command != nullptr;
  using Clock = std::chrono::steady_clock;
  uint64_t cycles = 0;
  const auto begin = Clock::now();
  double elapsed = 0;
  while (elapsed < seconds) {
    for (int i = 0; i < 2000; i++) cycle();
    cycles += 2000;
    elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
  }
  fmt::print("{:9} {:28} {:9.3f} us a cycle, {:10.0f} cycles/s, {:.3f} rows a cycle\n", chip, name,
             1e6 * elapsed / cycles, cycles / elapsed, static_cast<double>(rows) / cycles);
}

template <class Model>
void measure_chip(const char* chip, unsigned n) {
  constexpr double kSeconds = 0.3;
  measure<Model>(chip, "idle", nullptr, kSeconds);
  VpuCommand c;
  c.header.opcode = WEFT_OPCODE_EPILOGUE;
  c.src_space = WEFT_VPU_SPACE_ACC;
  c.src_dtype = WEFT_VPU_DTYPE_F32;
  c.dst_dtype = WEFT_VPU_DTYPE_BF16;
  c.rows = 64;
  c.cols = static_cast<uint16_t>(n);
  c.a_stride = 1;
  c.d_stride = 2;
  c.b_mode = WEFT_VPU_B_MODE_ROW;
  c.activation = WEFT_VPU_ACTIVATION_RELU;
  measure<Model>(chip, "epilogue bias relu bf16", &c, kSeconds);
  c.dst_dtype = WEFT_VPU_DTYPE_F32;
  c.b_mode = WEFT_VPU_B_MODE_NONE;
  measure<Model>(chip, "epilogue relu f32", &c, kSeconds);
  c = {};
  c.header.opcode = WEFT_OPCODE_ELEMENTWISE;
  c.op = WEFT_VPU_OP_MUL;
  c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_F32;
  c.rows = 64;
  c.cols = static_cast<uint16_t>(n);
  c.a_stride = c.b_stride = c.d_stride = 2;
  c.b_mode = WEFT_VPU_B_MODE_TENSOR;
  measure<Model>(chip, "elementwise mul f32", &c, kSeconds);
  c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_BF16;
  c.op = WEFT_VPU_OP_ADD;
  measure<Model>(chip, "elementwise add bf16", &c, kSeconds);
  c.b_mode = WEFT_VPU_B_MODE_NONE;
  c.b_stride = 0;
  c.header.opcode = WEFT_OPCODE_CAST;
  c.op = WEFT_VPU_OP_NONE;
  c.src_dtype = WEFT_VPU_DTYPE_F32;
  c.dst_dtype = WEFT_VPU_DTYPE_I32;
  measure<Model>(chip, "cast f32 to i32", &c, kSeconds);
  c.header.opcode = WEFT_OPCODE_REDUCE;
  c.op = WEFT_VPU_OP_SUM;
  c.dst_dtype = WEFT_VPU_DTYPE_F32;
  measure<Model>(chip, "reduce sum f32", &c, kSeconds);
  c.header.opcode = WEFT_OPCODE_ELEMENTWISE;
  c.op = WEFT_VPU_OP_TANH;
  measure<Model>(chip, "tanh f32", &c, kSeconds);
  c.header.opcode = WEFT_OPCODE_TRANSPOSE;
  c.op = WEFT_VPU_OP_NONE;
  c.rows = static_cast<uint16_t>(n);
  measure<Model>(chip, "transpose f32", &c, kSeconds);
}
}  // namespace

int main() {
  measure_chip<Vvpu_speed_nano>("nano", 8);
  measure_chip<Vvpu_speed_v5e>("v5e-1mxu", 128);
}
