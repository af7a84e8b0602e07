// Drives two Verilated models of the MXU with the same inputs.
#include "testbench/rtl/mxu/mxu_harness.hpp"

#include <cstring>
#include <tuple>

#include WEFT_MXU_MODEL_HEADER
#include WEFT_MXU_STRUCTURAL_HEADER

namespace weft::mxu_bench {
namespace {

constexpr uint32_t kTwoBits = 3;

template <class Top>
auto outputs(const Top& t) {
  return std::tuple(t.cmd_ready_o, t.done_o, t.active_o, t.fault_valid_o, t.x_req_o, t.x_req_o ? t.x_addr_o : 0,
                    t.w_req_o, t.w_req_o ? t.w_addr_o : 0, t.acc_gnt_o, t.acc_rvalid_o, t.cnt_busy_o,
                    t.cnt_weight_wait_o, t.cnt_acc_wait_o, t.cnt_vmem_wait_o, t.cnt_drain_o, t.cnt_idle_o, t.cnt_macs_o,
                    t.int_overflow_o);
}

}  // namespace

Harness::Harness(uint64_t seed)
    : vmem(size_t{kVmemWords} * kN),
      random(seed),
      context_(bench::make_context()),
      loops_(std::make_unique<WEFT_MXU_MODEL>(context_.get(), "loops")),
      pes_(std::make_unique<WEFT_MXU_STRUCTURAL>(context_.get(), "pes")),
      waves_(std::make_unique<bench::Waves<WEFT_MXU_MODEL>>(*context_, *loops_)) {
  reset();
}

Harness::~Harness() = default;

void Harness::reset() {
  waiting_.clear();
  reset_ = true;
  step();
  reset_ = false;
  step();
  counters = {};
  cycle = 0;
  accepted.clear();
  done.clear();
  faults.clear();
}

template <class Top>
void Harness::drive(Top& top) const {
  top.rst_ni = !reset_;
  top.cmd_valid_i = offering_;
  std::memcpy(top.cmd_i.data(), offered_.bytes.data(), sizeof offered_.bytes);
  top.x_gnt_i = x_grant_;
  top.x_rvalid_i = x_pending_;
  if (x_pending_) std::memcpy(top.x_i.data(), &vmem[size_t{x_word_} * kN], 2 * kN);
  top.w_gnt_i = w_grant_;
  top.w_rvalid_i = w_pending_;
  if (w_pending_) std::memcpy(top.w_i.data(), &vmem[size_t{w_word_} * kN], 2 * kN);
  const auto poison = [this](unsigned word) {
    const auto found = poisoned.find(word);
    return found == poisoned.end() ? uint8_t{0} : found->second;
  };
  top.x_i[kN / 2] = poison(x_word_);  // above the data
  top.w_i[kN / 2] = poison(w_word_);
  // core_pkg::flip_t: check 8, data 64, granule 32, next, watch, now, from bit 0 on
  const uint64_t granule = acc_flip_.value_or(0);
  top.flip_i[0] = kTwoBits << 8;
  top.flip_i[1] = 0;
  top.flip_i[2] = static_cast<uint32_t>(granule << 8);
  top.flip_i[3] = static_cast<uint32_t>(granule >> 24) | (acc_flip_ ? 1u << 10 : 0);
  top.acc_req_i = acc_request_ >= 0;
  top.acc_row_i = acc_request_ >= 0 ? static_cast<uint16_t>(acc_request_) : 0;
  top.clk_i = 0;
  top.eval();
}

bool Harness::outputs_agree() const {
  if (outputs(*loops_) != outputs(*pes_)) return false;
  return !loops_->acc_rvalid_o || std::memcmp(loops_->acc_o.data(), pes_->acc_o.data(), 4 * kN) == 0;
}

void Harness::step() {
  const auto percent = [this](unsigned p) { return p != 0 && random() % 100 < p; };
  offering_ = !reset_ && !waiting_.empty() && !percent(command_pauses);
  if (offering_) offered_ = spec::encode(waiting_.front());
  x_grant_ = loops_->x_req_o && !percent(x_refusals);
  w_grant_ = loops_->w_req_o && !percent(w_refusals);
  drive(*loops_);
  drive(*pes_);

  WEFT_MXU_MODEL& t = *loops_;
  if (!reset_) {
    if (!outputs_agree()) differing_cycles++;
    ready = t.cmd_ready_o;
    active = t.active_o;
    if (offering_ && ready) {
      waiting_.pop_front();
      accepted.push_back(cycle);
    }
    if (t.done_o) done.push_back(cycle);
    if (t.fault_valid_o) faults.push_back({cycle, t.fault_code_o, t.fault_tag_o, t.fault_address_o});
    const int states =
        t.cnt_busy_o + t.cnt_weight_wait_o + t.cnt_acc_wait_o + t.cnt_vmem_wait_o + t.cnt_drain_o + t.cnt_idle_o;
    if (states != 1) differing_cycles++;
    counters.busy += t.cnt_busy_o;
    counters.weight_wait += t.cnt_weight_wait_o;
    counters.acc_wait += t.cnt_acc_wait_o;
    counters.vmem_wait += t.cnt_vmem_wait_o;
    counters.drain += t.cnt_drain_o;
    counters.idle += t.cnt_idle_o;
    counters.macs += t.cnt_macs_o;
    counters.overflow |= t.int_overflow_o != 0;
    acc_granted = t.acc_gnt_o;
    acc_data.clear();
    if (t.acc_rvalid_o) acc_data.assign(t.acc_o.data(), t.acc_o.data() + kN);
  }
  x_pending_ = x_grant_;
  w_pending_ = w_grant_;
  x_word_ = t.x_addr_o;
  w_word_ = t.w_addr_o;
  acc_request_ = -1;
  acc_flip_.reset();
  waves_->before_edge(cycle);
  loops_->clk_i = 1;
  loops_->eval();
  waves_->after_edge(cycle);
  pes_->clk_i = 1;
  pes_->eval();
  cycle++;
}

bool Harness::run(uint64_t limit) {
  for (uint64_t i = 0; i < limit; i++) {
    step();
    if (waiting_.empty() && !active && !loops_->active_o) return true;
  }
  return false;
}

std::vector<uint32_t> Harness::read_row(unsigned row) {
  acc_granted = false;
  for (unsigned limit = 100000; !acc_granted && limit != 0; limit--) {
    request_row(row);
    step();
  }
  step();
  return acc_data;
}

}  // namespace weft::mxu_bench
