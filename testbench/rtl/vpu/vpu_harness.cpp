// Clocks the VPU and plays VMEM, ACC and core for it.
#include "testbench/rtl/vpu/vpu_harness.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "Vvpu_nano.h"

namespace weft::vpu_test {

VpuHarness::VpuHarness(uint64_t seed, unsigned refused_percent)
    : vmem(kVmemWords * kWordBytes),
      acc(kAccRows * kN),
      context_(bench::make_context()),
      model_(std::make_unique<Vvpu_nano>(context_.get())),
      waves_(std::make_unique<bench::Waves<Vvpu_nano>>(*context_, *model_)),
      random_(seed),
      refused_percent_(refused_percent) {
  model_->va_poison_i = model_->vb_poison_i = model_->acc_poison_i = 0;
  model_->rst_ni = 0;
  for (int i = 0; i < 2; i++) {
    model_->clk_i = 0;
    model_->eval();
    model_->clk_i = 1;
    model_->eval();
  }
  model_->rst_ni = 1;
}

VpuHarness::~VpuHarness() = default;

void VpuHarness::push(const spec::VpuCommand& command) {
  offered_.push_back(command);
  times_.emplace_back();
}

bool VpuHarness::active() const { return model_->active_o; }
bool VpuHarness::ready() const { return model_->cmd_ready_o; }

void VpuHarness::violate(const std::string& what) {
  if (violation_.empty()) violation_ = fmt::format("cycle {}: {}", now_, what);
}

bool VpuHarness::grant(bool req) { return req && random_() % 100 >= refused_percent_; }

/// A refused request stands until it is granted; a granted address lies inside; a pair starts even.
void VpuHarness::check_port(const char* port, const Request& before, const Request& now, uint32_t limit) {
  if (before.req && !before.granted && (!now.req || now.addr != before.addr || now.pair != before.pair))
    violate(fmt::format("{}: a refused request changed", port));
  if (now.req && now.addr + (now.pair ? 1u : 0u) >= limit)
    violate(fmt::format("{}: address {} outside", port, now.addr));
  if (now.req && now.pair && now.addr % 2 != 0) violate(fmt::format("{}: pair at odd address {}", port, now.addr));
}

/// Reads of a cycle see what stood before the writes of that cycle; their data appears in the next one, noise
/// otherwise.
void VpuHarness::access_memories() {
  const auto noise = [&](auto& row) {
    for (auto& w : row) w = static_cast<uint32_t>(random_());
  };
  noise(a_data_);
  noise(b_data_);
  noise(acc_data_);
  const auto load = [&](const Request& r, auto& row) {
    if (r.granted) std::memcpy(row.data(), &vmem[size_t{r.addr} * kWordBytes], r.pair ? 2 * kWordBytes : kWordBytes);
  };
  load(va_, a_data_);
  load(vb_, b_data_);
  if (acc_port_.granted) std::memcpy(acc_data_.data(), &acc[size_t{acc_port_.addr} * kN], 4 * kN);
  if (vw_.granted)
    std::memcpy(&vmem[size_t{vw_.addr} * kWordBytes], model_->vw_data_o.m_storage,
                vw_.pair ? 2 * kWordBytes : kWordBytes);
}

void VpuHarness::drive() {
  std::ranges::copy(a_data_, model_->va_rdata_i.m_storage);
  std::ranges::copy(b_data_, model_->vb_rdata_i.m_storage);
  std::ranges::copy(acc_data_, model_->acc_rdata_i.m_storage);
  model_->va_rvalid_i = va_.granted;
  model_->vb_rvalid_i = vb_.granted;
  model_->acc_rvalid_i = acc_port_.granted;
  model_->va_gnt_i = model_->vb_gnt_i = model_->vw_gnt_i = model_->acc_gnt_i = 0;
  model_->cmd_valid_i = !offered_.empty();
  for (auto& w : model_->cmd_i.m_storage) w = static_cast<uint32_t>(random_());
  if (offered_.empty()) return;
  const auto bytes = spec::encode(offered_.front()).bytes;
  std::memcpy(model_->cmd_i.m_storage, bytes.data(), bytes.size());
}

/// What is asked for in this cycle, held against the port's contract.
void VpuHarness::sample_requests() {
  const Request va{.req = model_->va_req_o != 0, .addr = model_->va_addr_o, .pair = model_->va_pair_o != 0};
  const Request vb{.req = model_->vb_req_o != 0, .addr = model_->vb_addr_o, .pair = model_->vb_pair_o != 0};
  const Request vw{.req = model_->vw_req_o != 0, .addr = model_->vw_addr_o, .pair = model_->vw_pair_o != 0};
  const Request ar{.req = model_->acc_req_o != 0, .addr = model_->acc_row_o};
  check_port("va", va_, va, kVmemWords);
  check_port("vb", vb_, vb, kVmemWords);
  check_port("vw", vw_, vw, kVmemWords);
  check_port("acc", acc_port_, ar, kAccRows);
  if (vw_.req && !vw_.granted && !std::ranges::equal(write_data_, model_->vw_data_o.m_storage))
    violate("vw: data of a refused write changed");
  std::ranges::copy(model_->vw_data_o.m_storage, write_data_.begin());
  va_ = va, vb_ = vb, vw_ = vw, acc_port_ = ar;
}

void VpuHarness::answer_requests() {
  model_->va_gnt_i = va_.granted = grant(va_.req);
  model_->vb_gnt_i = vb_.granted = grant(vb_.req);
  model_->vw_gnt_i = vw_.granted = grant(vw_.req);
  model_->acc_gnt_i = acc_port_.granted = grant(acc_port_.req);
  model_->eval();
  if ((model_->va_req_o != 0) != va_.req || (model_->vb_req_o != 0) != vb_.req || (model_->vw_req_o != 0) != vw_.req ||
      (model_->acc_req_o != 0) != acc_port_.req)
    violate("a request depends on a grant of the same cycle");
}

/// Retirement first: in the cycle of done_o the next command may already read.
void VpuHarness::track() {
  if (model_->done_o) {
    if (taken_ == retired_ || fault_)
      violate("done_o without a command");
    else
      times_[retired_++].done = now_;
  }
  if (retired_ >= times_.size()) return;
  auto& t = times_[retired_];
  if ((va_.req || vb_.req || acc_port_.req) && t.first_request < 0) t.first_request = now_;
  if (!vw_.granted) return;
  if (t.first_write < 0) t.first_write = now_;
  t.last_write = now_;
  t.writes++;
}

void VpuHarness::check_outputs() {
  if (model_->cnt_busy_o + model_->cnt_stalled_o + model_->cnt_idle_o != 1)
    violate("not exactly one of busy, stalled, idle");
  if (!model_->cnt_busy_o && (va_.granted || acc_port_.granted)) violate("busy is not a row of a read");
  if (model_->cnt_row_o != vw_.granted) violate("cnt_row_o is not a row written");
  if (!vw_.granted && (model_->nan_results_o != 0 || model_->inf_results_o != 0))
    violate("status counts without a write");
  if ((model_->active_o != 0) != (taken_ > retired_)) violate(fmt::format("active_o is {}", model_->active_o));
  counters_.busy += model_->cnt_busy_o;
  counters_.stalled += model_->cnt_stalled_o;
  counters_.idle += model_->cnt_idle_o;
  counters_.rows += model_->cnt_row_o;
  counters_.nans += model_->nan_results_o;
  counters_.infinities += model_->inf_results_o;
  counters_.read_refused +=
      (va_.req && !va_.granted) || (vb_.req && !vb_.granted) || (acc_port_.req && !acc_port_.granted);
  counters_.write_refused += vw_.req && !vw_.granted;
  counters_.a_granted += va_.granted || acc_port_.granted;
  counters_.b_granted += vb_.granted;
}

void VpuHarness::cycle() {
  drive();
  model_->clk_i = 0;
  model_->eval();
  sample_requests();
  answer_requests();
  if (model_->fault_valid_o) {
    faults_reported_++;
    if (!fault_)
      fault_ = ReportedFault{
          {static_cast<weft_fault>(model_->fault_code_o), model_->fault_address_o}, model_->fault_tag_o, now_};
  }
  track();
  check_outputs();
  const bool accepted = model_->cmd_valid_i && model_->cmd_ready_o;
  if (accepted) {
    if (fault_) violate("a command was taken after a fault");
    times_[taken_++].accepted = now_;
    offered_.pop_front();
  }
  access_memories();
  waves_->before_edge(static_cast<uint64_t>(now_));
  model_->clk_i = 1;
  model_->eval();
  waves_->after_edge(static_cast<uint64_t>(now_));
  now_++;
}

bool VpuHarness::run(uint64_t limit_cycles) {
  for (uint64_t i = 0; i < limit_cycles; i++) {
    if (retired_ == times_.size() || fault_) return true;
    cycle();
  }
  return false;
}

}  // namespace weft::vpu_test
