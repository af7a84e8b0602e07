// Clocks the VPU and plays VMEM, ACC and core for it.
#include "testbench/rtl/vpu/vpu_harness.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include WEFT_MODEL_HEADER

namespace weft::vpu_test {

VpuHarness::VpuHarness(uint64_t seed, unsigned refused_percent)
    : vmem(kVmemWords * kWordBytes),
      acc(kAccRows * kN),
      context_(bench::make_context()),
      model_(std::make_unique<WEFT_MODEL>(context_.get())),
      waves_(std::make_unique<bench::Waves<WEFT_MODEL>>(*context_, *model_)),
      random_(seed),
      refused_percent_(refused_percent) {
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
  of_acc_.push_back(command.src_space == WEFT_VPU_SPACE_ACC);
}

bool VpuHarness::active() const { return model_->active_o; }
bool VpuHarness::ready() const { return model_->cmd_ready_o; }

void VpuHarness::violate(const std::string& what) {
  if (violation_.empty()) violation_ = fmt::format("cycle {}: {}", now_, what);
}

uint8_t VpuHarness::grant(Port& port) {
  uint8_t granted = 0;
  for (unsigned row = 0; row < kSublanes; row++) {
    port[row].granted = port[row].req && random_() % 100 >= refused_percent_;
    granted = static_cast<uint8_t>(granted | port[row].granted << row);
  }
  return granted;
}

bool VpuHarness::any_granted(const Port& port) { return std::ranges::any_of(port, &Request::granted); }
bool VpuHarness::any_refused(const Port& port) {
  return std::ranges::any_of(port, [](const Request& r) { return r.req && !r.granted; });
}

/// A refused request stands until it is granted; a granted address lies inside; a pair starts even.
void VpuHarness::check_port(const char* name, const Port& before, const Port& after, uint32_t limit) {
  for (unsigned row = 0; row < kSublanes; row++) {
    const Request &old = before[row], &now = after[row];
    if (old.req && !old.granted && (!now.req || now.addr != old.addr || now.pair != old.pair || now.upper != old.upper))
      violate(fmt::format("{} row {}: a refused request changed", name, row));
    if (now.req && now.addr + (now.pair ? 1u : 0u) >= limit)
      violate(fmt::format("{} row {}: address {} outside", name, row, now.addr));
    if (now.req && now.pair && now.addr % 2 != 0)
      violate(fmt::format("{} row {}: pair at odd address {}", name, row, now.addr));
  }
}

/// Reads of a cycle see what stood before the writes of that cycle; their data appears in the next one, noise
/// otherwise. Of two rows that write one word the later one's stays, as VMEM has it.
void VpuHarness::access_memories() {
  const auto noise = [&](auto& row) {
    for (auto& w : row) w = static_cast<uint32_t>(random_());
  };
  noise(a_data_);
  noise(b_data_);
  noise(acc_data_);
  const auto load = [&](const Port& port, Data& data) {
    for (unsigned row = 0; row < kSublanes; row++)
      if (const Request& r = port[row]; r.granted)
        std::memcpy(&data[size_t{row} * kN], &vmem[size_t{r.addr} * kWordBytes], r.pair ? 2 * kWordBytes : kWordBytes);
  };
  load(va_, a_data_);
  load(vb_, b_data_);
  for (unsigned row = 0; row < kSublanes; row++) {
    if (acc_port_[row].granted)
      std::memcpy(&acc_data_[size_t{row} * kN], &acc[size_t{acc_port_[row].addr} * kN], 4 * kN);
    if (vw_[row].granted) {
      const size_t first = vw_[row].upper ? kWordBytes / 2 : 0, end = vw_[row].pair ? 2 * kWordBytes : kWordBytes;
      std::memcpy(&vmem[size_t{vw_[row].addr} * kWordBytes + first],
                  reinterpret_cast<const std::byte*>(&model_->vw_data_o.m_storage[size_t{row} * kN]) + first,
                  end - first);
    }
  }
}

void VpuHarness::drive() {
  std::ranges::copy(a_data_, model_->va_rdata_i.m_storage);
  std::ranges::copy(b_data_, model_->vb_rdata_i.m_storage);
  std::ranges::copy(acc_data_, model_->acc_data_i.m_storage);
  const auto granted = [](const Port& port) {
    uint8_t rows = 0;
    for (unsigned row = 0; row < kSublanes; row++) rows = static_cast<uint8_t>(rows | port[row].granted << row);
    return rows;
  };
  model_->va_rvalid_i = granted(va_);
  model_->vb_rvalid_i = granted(vb_);
  model_->acc_rvalid_i = granted(acc_port_);
  model_->va_gnt_i = model_->vb_gnt_i = model_->vw_gnt_i = model_->acc_gnt_i = 0;
  model_->cmd_valid_i = !offered_.empty();
  for (auto& w : model_->cmd_i.m_storage) w = static_cast<uint32_t>(random_());
  if (offered_.empty()) return;
  const auto bytes = spec::encode(offered_.front()).bytes;
  std::memcpy(model_->cmd_i.m_storage, bytes.data(), bytes.size());
}

/// What is asked for in this cycle, held against the port's contract.
void VpuHarness::sample_requests() {
  const auto sample = [](unsigned rows, const auto& addresses, unsigned bits, bool pair, bool upper = false) {
    Port port;
    for (unsigned row = 0; row < kSublanes; row++) {
      uint32_t address = 0;
      std::memcpy(&address, reinterpret_cast<const std::byte*>(&addresses) + size_t{row} * bits / 8, bits / 8);
      port[row] = {.req = (rows >> row & 1) != 0, .addr = address, .pair = pair, .upper = upper};
    }
    return port;
  };
  const Port va = sample(model_->va_req_o, model_->va_addr_o, 32, model_->va_pair_o != 0);
  const Port vb = sample(model_->vb_req_o, model_->vb_addr_o, 32, model_->vb_pair_o != 0);
  const Port vw = sample(model_->vw_req_o, model_->vw_addr_o, 32, model_->vw_pair_o != 0, model_->vw_upper_o != 0);
  const Port ar = sample(model_->acc_req_o, model_->acc_row_o, 16, false);
  check_port("va", va_, va, kVmemWords);
  check_port("vb", vb_, vb, kVmemWords);
  check_port("vw", vw_, vw, kVmemWords);
  check_port("acc", acc_port_, ar, kAccRows);
  for (unsigned row = 0; row < kSublanes; row++)
    if (vw_[row].req && !vw_[row].granted &&
        !std::equal(&write_data_[size_t{row} * kN], &write_data_[size_t{row} * kN] + kN,
                    &model_->vw_data_o.m_storage[size_t{row} * kN]))
      violate("vw: data of a refused write changed");
  std::ranges::copy(model_->vw_data_o.m_storage, write_data_.begin());
  va_ = va, vb_ = vb, vw_ = vw, acc_port_ = ar;
}

void VpuHarness::answer_requests() {
  const auto asked = std::array{model_->va_req_o, model_->vb_req_o, model_->vw_req_o, model_->acc_req_o};
  model_->va_gnt_i = grant(va_);
  model_->vb_gnt_i = grant(vb_);
  model_->vw_gnt_i = grant(vw_);
  model_->acc_gnt_i = grant(acc_port_);
  model_->eval();
  if (asked != std::array{model_->va_req_o, model_->vb_req_o, model_->vw_req_o, model_->acc_req_o})
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
  const bool asks = (model_->va_req_o | model_->vb_req_o | model_->acc_req_o) != 0;
  if (asks && t.first_request < 0) t.first_request = now_;
  if (!any_granted(vw_)) return;
  if (t.first_write < 0) t.first_write = now_;
  t.last_write = now_;
  t.writes += rows_granted(vw_);
}

uint64_t VpuHarness::rows_granted(const Port& port) {
  return static_cast<uint64_t>(std::ranges::count_if(port, &Request::granted));
}

void VpuHarness::check_outputs() {
  if (model_->cnt_busy_o + model_->cnt_stalled_o + model_->cnt_idle_o != 1)
    violate("not exactly one of busy, stalled, idle");
  // Of a command whose operand a lies in ACC, va reads the row that is kept.
  const bool of_acc = retired_ < of_acc_.size() && of_acc_[retired_];
  if ((model_->cnt_busy_o != 0) < (any_granted(acc_port_) || (!of_acc && any_granted(va_))))
    violate("busy is not a row of a read");
  if (model_->cnt_rows_o != rows_granted(vw_)) violate("cnt_rows_o is not the rows written");
  if (!any_granted(vw_) && (model_->nan_results_o != 0 || model_->inf_results_o != 0))
    violate("status counts without a write");
  if ((model_->active_o != 0) != (taken_ > retired_)) violate(fmt::format("active_o is {}", model_->active_o));
  counters_.busy += model_->cnt_busy_o;
  counters_.stalled += model_->cnt_stalled_o;
  counters_.idle += model_->cnt_idle_o;
  counters_.rows += model_->cnt_rows_o;
  counters_.nans += model_->nan_results_o;
  counters_.infinities += model_->inf_results_o;
  counters_.read_refused += any_refused(va_) || any_refused(vb_) || any_refused(acc_port_);
  counters_.write_refused += any_refused(vw_);
  counters_.a_granted += (of_acc ? 0 : rows_granted(va_)) + rows_granted(acc_port_);
  counters_.kept_granted += of_acc ? rows_granted(va_) : 0;
  counters_.b_granted += rows_granted(vb_);
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
