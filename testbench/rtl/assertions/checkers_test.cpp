// Every assertion of every checker is seen to hold on what is legal and to fail, by its name, on what is not.
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "Vcheckers_bench.h"
#include "model/verilated/model_failure.hpp"
#include "testbench/rtl/bench/verilated_bench.hpp"
#include "weft/spec/spec.h"

namespace {

using namespace weft::bench;
using Top = Vcheckers_bench;
using Cycle = std::function<void(Top&)>;

/// A checker out of reset: its instance, and the member that is its reset.
struct Checker {
  const char* instance;
  CData& (*reset)(Top&);
};
#define CHECKER(name)                                            \
  Checker {                                                      \
    "u_" #name, [](Top& t) -> CData& { return t.name##_rst_ni; } \
  }

/// One assertion: cycles that are legal, and the one, in the same place, that is not.
struct Rule {
  Checker checker;
  const char* assertion;
  std::vector<Cycle> before;  ///< legal
  Cycle legal, illegal;       ///< the cycle after them
  bool later = false;         ///< what is illegal shows in the cycle after it
};

/// All inputs 0, all checkers in reset.
class CheckersBench {
 public:
  CheckersBench() : context_(make_context()), top(std::make_unique<Top>(context_.get())) {
    for (CData* reset : {&top->stream_rst_ni, &top->request_rst_ni, &top->answer_rst_ni, &top->one_hot_rst_ni,
                         &top->level_rst_ni, &top->unit_rst_ni, &top->semaphore_rst_ni, &top->order_rst_ni,
                         &top->sum_rst_ni, &top->arbiter_rst_ni, &top->acc_rst_ni, &top->issue_rst_ni,
                         &top->channel_rst_ni, &top->core_rst_ni, &top->interrupt_rst_ni, &top->first_fault_rst_ni})
      *reset = 0;
    clear();
    step();
  }
  void clear() {
    Top& t = *top;
    for (CData* input : {&t.valid_i,
                         &t.ready_i,
                         &t.payload_i,
                         &t.req_i,
                         &t.gnt_i,
                         &t.rvalid_i,
                         &t.request_i,
                         &t.grant_i,
                         &t.push_i,
                         &t.pop_i,
                         &t.level_i,
                         &t.done_i,
                         &t.fault_i,
                         &t.active_i,
                         &t.post_valid_i,
                         &t.overflow_i,
                         &t.start_i,
                         &t.pending_i,
                         &t.retire_i,
                         &t.clear_i,
                         &t.row_reads_i,
                         &t.row_writes_i,
                         &t.row_write_banks_i,
                         &t.dma_read_banks_i,
                         &t.dma_write_banks_i,
                         &t.dma_refused_i,
                         &t.row_issue_i,
                         &t.seed_read_i,
                         &t.pending_write_i,
                         &t.seed_bank_i,
                         &t.bank_reads_i,
                         &t.acc_req_i,
                         &t.acc_gnt_i,
                         &t.tile_start_i,
                         &t.swap_i,
                         &t.shadow_ready_i,
                         &t.shadow_busy_i,
                         &t.weight_first_i,
                         &t.weight_issue_i,
                         &t.flight_i,
                         &t.same_type_i,
                         &t.state_i,
                         &t.held_i,
                         &t.outstanding_i,
                         &t.asked_i,
                         &t.answered_i,
                         &t.dead_i,
                         &t.front_valid_i,
                         &t.back_valid_i,
                         &t.stop_i,
                         &t.busy_i,
                         &t.units_start_i,
                         &t.units_retire_i,
                         &t.units_held_i,
                         &t.units_active_i,
                         &t.units_faulted_i,
                         &t.in_reset_i,
                         &t.full_i,
                         &t.head_valid_i,
                         &t.taken_i,
                         &t.expired_i,
                         &t.interrupt_i,
                         &t.set_i,
                         &t.clear_bits_i,
                         &t.irq_i,
                         &t.raised_i})
      *input = 0;
    t.take_sem_i = 0xff;
    t.take_count_i = t.value_i = t.start_tag_i = t.pending_tag_i = 0;
    t.sum_i = 0;
    t.mxu_granted_i = t.mxu_banks_i = 0;
    t.idle_credit_i = 0;
    for (unsigned i = 0; i < 4; i++) t.counter_i[i] = 0;
    t.queue_level_i = 0;
    t.row_read_banks_i = 0;
    t.acc_row_i = 0;
    t.state_i = 1u << 5;
  }
  void step() {
    context_->time(cycle_++);
    top->clk_i = 0;
    top->eval();
    top->clk_i = 1;
    top->eval();
  }
  void run(const Cycle& cycle) {
    clear();
    cycle(*top);
    step();
  }

 private:
  std::unique_ptr<VerilatedContext> context_;

 public:
  std::unique_ptr<Top> top;

 private:
  uint64_t cycle_ = 0;
};

/// The message of the failure of the legal or the illegal cycles, empty: none.
std::string failure_of(const Rule& rule, bool is_illegal) {
  const Cycle& last = is_illegal ? rule.illegal : rule.legal;
  CheckersBench bench;
  rule.checker.reset(*bench.top) = 1;
  try {
    for (const auto& cycle : rule.before) bench.run(cycle);
    bench.run(last);
    if (rule.later && is_illegal) bench.run(last);
  } catch (const weft::verilated::ModelFailure& failure) {
    return failure.what();
  }
  return {};
}

void check_rule(const Rule& rule) {
  INFO(rule.checker.instance << "." << rule.assertion);
  CHECK(failure_of(rule, false) == "");
  const std::string message = failure_of(rule, true);
  CHECK(message.find(std::string("assertion ") + rule.assertion + " failed in ") == 0);
  CHECK(message.find(std::string("checkers_bench.") + rule.checker.instance + " in cycle ") != std::string::npos);
}

const Cycle kNothing = [](Top&) {};
#define DO(...) [](Top& t) { __VA_ARGS__; }

}  // namespace

TEST_CASE("a stream's assertions fail when an offer is withdrawn or changed") {
  const Cycle waiting = DO(t.valid_i = 1, t.payload_i = 5);
  check_rule({CHECKER(stream), "ValidHeld_A", {waiting}, DO(t.valid_i = t.ready_i = 1, t.payload_i = 5), kNothing});
  check_rule({CHECKER(stream),
              "PayloadStable_A",
              {waiting},
              DO(t.valid_i = t.ready_i = 1, t.payload_i = 5),
              DO(t.valid_i = t.ready_i = 1, t.payload_i = 6)});
}

TEST_CASE("a request's assertions fail when it is withdrawn, changed, or granted unasked") {
  const Cycle refused = DO(t.req_i = 1, t.payload_i = 5), granted = DO(t.req_i = t.gnt_i = 1, t.payload_i = 5);
  check_rule({CHECKER(request), "RequestHeld_A", {refused}, granted, kNothing});
  check_rule({CHECKER(request), "RequestStable_A", {refused}, granted, DO(t.req_i = t.gnt_i = 1, t.payload_i = 7)});
  check_rule({CHECKER(request), "GrantOfRequest_A", {}, granted, DO(t.gnt_i = 1)});
}

TEST_CASE("an answer's assertion fails without a grant and without an answer") {
  const Cycle granted = DO(t.gnt_i = 1);
  check_rule({CHECKER(answer), "AnswerFollowsGrant_A", {granted}, DO(t.rvalid_i = 1), kNothing});
  check_rule({CHECKER(answer), "AnswerFollowsGrant_A", {kNothing}, kNothing, DO(t.rvalid_i = 1)});
}

TEST_CASE("an arbiter's assertions fail on two grants, a grant unasked, and none") {
  check_rule(
      {CHECKER(one_hot), "GrantOneHot_A", {}, DO(t.request_i = 6, t.grant_i = 2), DO(t.request_i = 6, t.grant_i = 6)});
  check_rule({CHECKER(one_hot),
              "GrantOfRequest_A",
              {},
              DO(t.request_i = 1, t.grant_i = 1),
              DO(t.request_i = 1, t.grant_i = 2)});
  check_rule({CHECKER(one_hot), "GrantIfRequested_A", {}, kNothing, DO(t.request_i = 4)});
}

TEST_CASE("a level's assertions fail above the depth, on a wrong count, on a push when full and a pop when empty") {
  const Cycle push0 = DO(t.push_i = 1), push1 = DO(t.push_i = 1, t.level_i = 1);
  check_rule({CHECKER(level), "LevelInRange_A", {push0, push1}, DO(t.level_i = 2), DO(t.level_i = 3)});
  check_rule({CHECKER(level), "LevelCounts_A", {push0}, DO(t.level_i = 1), DO(t.level_i = 0)});
  check_rule({CHECKER(level), "NoPushWhenFull_A", {push0, push1}, DO(t.level_i = 2), DO(t.level_i = 2, t.push_i = 1)});
  check_rule({CHECKER(level), "NoPopWhenEmpty_A", {}, kNothing, DO(t.pop_i = 1)});
}

TEST_CASE("a unit's assertions fail on what it did not take, on too much, and on life after a fault") {
  const Cycle take = DO(t.valid_i = t.ready_i = 1), held = DO(t.active_i = 1);
  const Cycle take_more = DO(t.valid_i = t.ready_i = t.active_i = 1);
  const Cycle faults = DO(t.active_i = t.fault_i = 1);
  check_rule({CHECKER(unit), "DoneWasTaken_A", {}, kNothing, DO(t.done_i = 1)});
  check_rule({CHECKER(unit), "FaultWasTaken_A", {}, kNothing, DO(t.fault_i = 1)});
  check_rule({CHECKER(unit), "HeldBounded_A", {take, take_more}, held, take_more, true});
  check_rule({CHECKER(unit), "ActiveWhileHeld_A", {take}, held, kNothing});
  check_rule({CHECKER(unit), "ActiveWhileHeld_A", {}, kNothing, held});
  check_rule({CHECKER(unit), "NothingTakenAfterFault_A", {take, faults}, kNothing, take});
  check_rule({CHECKER(unit), "NothingDoneAfterFault_A", {take, faults}, kNothing, DO(t.done_i = 1)});
}

TEST_CASE("the semaphores' assertions fail on underflow, on taking without a grant, and on an overflow let through") {
  check_rule({CHECKER(semaphore),
              "NoUnderflow_A",
              {},
              DO(t.request_i = t.grant_i = 1, t.take_sem_i = 3, t.take_count_i = t.value_i = 4),
              DO(t.request_i = t.grant_i = 1, t.take_sem_i = 3, t.take_count_i = 5, t.value_i = 4)});
  check_rule({CHECKER(semaphore),
              "TakenByGrantOnly_A",
              {},
              DO(t.request_i = t.grant_i = 1, t.take_sem_i = 3),
              DO(t.take_sem_i = 3)});
  check_rule(
      {CHECKER(semaphore), "GrantOneHot_A", {}, DO(t.request_i = 3, t.grant_i = 1), DO(t.request_i = t.grant_i = 3)});
  check_rule({CHECKER(semaphore),
              "OverflowIsRefused_A",
              {},
              DO(t.post_valid_i = 1, t.sum_i = 65535),
              DO(t.post_valid_i = 1, t.sum_i = 65536)});
}

TEST_CASE("a retirement lane's assertions fail on another order and on what is not done") {
  const Cycle first = DO(t.start_i = 1, t.start_tag_i = 7), second = DO(t.start_i = 1, t.start_tag_i = 8);
  check_rule({CHECKER(order),
              "RetireInOrder_A",
              {first, second},
              DO(t.pending_i = 1, t.pending_tag_i = 7),
              DO(t.pending_i = 1, t.pending_tag_i = 8)});
  check_rule({CHECKER(order),
              "RetireIsPending_A",
              {first},
              DO(t.pending_i = t.retire_i = 1, t.pending_tag_i = 7),
              DO(t.retire_i = 1)});
}

TEST_CASE("the counters' assertion fails when states do not add up to the cycles") {
  const Cycle one = DO(t.counter_i[0] = 1, t.idle_credit_i = 10);
  check_rule({CHECKER(sum),
              "StatesAddUpToCycles_A",
              {kNothing, one},
              DO(t.counter_i[0] = 2, t.counter_i[2] = 10),
              DO(t.counter_i[0] = 2, t.counter_i[2] = 9)});
}

TEST_CASE("the VMEM arbiter's assertions fail on a bank used twice and on starvation") {
  check_rule({CHECKER(arbiter),
              "BankReadOnce_A",
              {},
              DO(t.row_reads_i = 0xa, t.row_read_banks_i = 0x3fcf),
              DO(t.row_reads_i = 0xa, t.row_read_banks_i = 0x3fcf, t.dma_read_banks_i = 8)});
  check_rule({CHECKER(arbiter),
              "BankReadOnce_A",
              {},
              DO(t.row_reads_i = 3, t.row_read_banks_i = 0x3c),
              DO(t.row_reads_i = 3, t.row_read_banks_i = 0x36)});
  check_rule({CHECKER(arbiter),
              "BankReadOnce_A",
              {},
              DO(t.mxu_granted_i = 1, t.mxu_banks_i = 0x66),
              DO(t.mxu_granted_i = 3, t.mxu_banks_i = 0x66)});
  check_rule({CHECKER(arbiter),
              "BankReadOnce_A",
              {},
              DO(t.mxu_granted_i = 2, t.mxu_banks_i = 0x60, t.dma_read_banks_i = 1),
              DO(t.mxu_granted_i = 2, t.mxu_banks_i = 0x60, t.dma_read_banks_i = 2)});
  check_rule({CHECKER(arbiter),
              "BankWrittenOnce_A",
              {},
              DO(t.row_writes_i = 3, t.row_write_banks_i = 0x3c),
              DO(t.row_writes_i = 3, t.row_write_banks_i = 0x36)});
  check_rule({CHECKER(arbiter),
              "BankWrittenOnce_A",
              {},
              DO(t.row_writes_i = 2, t.row_write_banks_i = 0x3c, t.dma_write_banks_i = 0xc),
              DO(t.row_writes_i = 2, t.row_write_banks_i = 0x3c, t.dma_write_banks_i = 2)});
  const Cycle read = DO(t.dma_refused_i = 1), write = DO(t.dma_refused_i = 2);
  check_rule({CHECKER(arbiter), "DmaReadNotStarved_A", {read, read, read}, kNothing, read, true});
  check_rule({CHECKER(arbiter), "DmaWriteNotStarved_A", {write, write, write}, kNothing, write, true});
}

TEST_CASE(
    "the accumulators' assertions fail on a seed before its write, a bank read twice, and a refusal for nothing") {
  check_rule({CHECKER(acc),
              "SeedNotPending_A",
              {},
              DO(t.row_issue_i = t.seed_read_i = 1),
              DO(t.row_issue_i = t.seed_read_i = t.pending_write_i = 1)});
  check_rule({CHECKER(acc),
              "BankReadOnce_A",
              {},
              DO(t.acc_req_i = t.acc_gnt_i = 1, t.bank_reads_i = 2),
              DO(t.acc_req_i = t.acc_gnt_i = 1, t.bank_reads_i = 1)});
  check_rule({CHECKER(acc),
              "BankReadOnce_A",
              {},
              DO(t.acc_req_i = t.acc_gnt_i = t.row_issue_i = t.seed_read_i = 1, t.seed_bank_i = 1),
              DO(t.acc_req_i = t.acc_gnt_i = t.row_issue_i = t.seed_read_i = 1)});
  check_rule({CHECKER(acc),
              "BankReadOnce_A",
              {},
              DO(t.acc_req_i = t.acc_gnt_i = 3, t.acc_row_i = 0x10000),
              DO(t.acc_req_i = t.acc_gnt_i = 3, t.acc_row_i = 0x20000)});
  check_rule({CHECKER(acc), "GrantIfFree_A", {}, DO(t.acc_req_i = t.acc_gnt_i = 1), DO(t.acc_req_i = 1)});
}

TEST_CASE("the MXU issue's assertions fail on rows and weights that come too early, and on states") {
  const auto row = [](Top& t) { t.row_issue_i = 1, t.state_i = 1, t.same_type_i = 1; };
  check_rule({CHECKER(issue),
              "RowAfterWeights_A",
              {},
              [=](Top& t) { row(t), t.tile_start_i = t.swap_i = t.shadow_ready_i = 1; },
              [=](Top& t) { row(t), t.tile_start_i = t.swap_i = 1; }});
  check_rule({CHECKER(issue), "SwapAtTileStart_A", {}, row, [=](Top& t) { row(t), t.swap_i = 1; }});
  check_rule({CHECKER(issue),
              "ShadowNotOverwritten_A",
              {},
              DO(t.weight_issue_i = t.weight_first_i = 1),
              DO(t.weight_issue_i = t.weight_first_i = t.shadow_busy_i = 1)});
  check_rule({CHECKER(issue),
              "OneTypeInFlight_A",
              {},
              [=](Top& t) { row(t), t.flight_i = 1; },
              [=](Top& t) { row(t), t.flight_i = 1, t.same_type_i = 0; }});
  check_rule({CHECKER(issue), "OneState_A", {}, DO(t.state_i = 8), DO(t.state_i = 24)});
  check_rule({CHECKER(issue), "BusyIsRow_A", {}, row, DO(t.state_i = 1)});
}

TEST_CASE("a DMA channel's assertions fail beyond its bounds, on answers nobody asked for, and on life after a fault") {
  check_rule({CHECKER(channel), "HeldInRange_A", {}, DO(t.held_i = 8), DO(t.held_i = 9)});
  check_rule({CHECKER(channel), "OutstandingInRange_A", {}, DO(t.outstanding_i = 9), DO(t.outstanding_i = 10)});
  check_rule(
      {CHECKER(channel), "AnswerWasAsked_A", {}, DO(t.answered_i = 1, t.outstanding_i = 1), DO(t.answered_i = 1)});
  check_rule({CHECKER(channel),
              "AskedHasRoom_A",
              {},
              DO(t.asked_i = 1, t.outstanding_i = 8),
              DO(t.asked_i = 1, t.outstanding_i = 9)});
  check_rule({CHECKER(channel), "DeadIsSilent_A", {}, DO(t.dead_i = 1), DO(t.dead_i = t.back_valid_i = 1)});
  check_rule({CHECKER(channel), "FaultOnce_A", {DO(t.fault_i = 1)}, kNothing, DO(t.fault_i = 1)});
}

TEST_CASE("the core's assertions fail on starts, retirements and idleness that cannot be") {
  check_rule({CHECKER(core),
              "RetireOne_A",
              {},
              DO(t.units_retire_i = 2, t.units_held_i = 6),
              DO(t.units_retire_i = 6, t.units_held_i = 6)});
  check_rule(
      {CHECKER(core), "RetireIsHeld_A", {}, DO(t.units_retire_i = t.units_held_i = 4), DO(t.units_retire_i = 4)});
  check_rule({CHECKER(core),
              "ActiveIsHeld_A",
              {},
              DO(t.units_active_i = t.units_held_i = 4, t.busy_i = 1),
              DO(t.units_active_i = 4, t.busy_i = 1)});
  check_rule(
      {CHECKER(core), "StoppedStartsNothing_A", {}, DO(t.units_start_i = 1), DO(t.units_start_i = t.stop_i = 1)});
  check_rule(
      {CHECKER(core), "TakenFromHead_A", {}, DO(t.taken_i = t.head_valid_i = 8, t.busy_i = 1), DO(t.taken_i = 8)});
  check_rule({CHECKER(core), "BusyWhileWorking_A", {}, DO(t.head_valid_i = t.stop_i = 1), DO(t.head_valid_i = 1)});
  check_rule({CHECKER(core),
              "BusyWhileWorking_A",
              {},
              DO(t.fetching_i = t.full_i = 1, t.stop_i = 1),
              DO(t.fetching_i = t.full_i = 1)});
  check_rule({CHECKER(core), "WatchdogOnce_A", {DO(t.expired_i = 1)}, kNothing, DO(t.expired_i = 1)});
  constexpr uint32_t kFull = WEFT_CORE_QUEUE_DEPTH;  // 5 bits a queue
  constexpr uint32_t kAllFull = kFull | kFull << 5 | kFull << 10 | kFull << 15 | kFull << 20;
  check_rule({CHECKER(core),
              "ResetTakesNothing_A",
              {},
              DO(t.in_reset_i = 1, t.full_i = 31, t.queue_level_i = kAllFull),
              DO(t.in_reset_i = 1)});
  const Cycle full = DO(t.queue_level_i = kFull << 10, t.full_i = 4);
  check_rule({CHECKER(core), "FullIsTold_A", {}, full, DO(t.queue_level_i = kFull << 10)});
  check_rule({CHECKER(core), "FullIsTold_A", {}, full, DO(t.queue_level_i = (kFull - 1) << 10, t.full_i = 4)});
  check_rule({CHECKER(core),
              "FullIsTold_A",
              {},
              DO(t.fetching_i = t.full_i = 4, t.busy_i = 1),
              DO(t.fetching_i = 4, t.busy_i = 1)});
}

TEST_CASE("the interrupts' assertions fail on a bit lost, an event lost, a bit for nothing, and a wrong line") {
  const Cycle event = DO(t.set_i = 2), up = DO(t.interrupt_i = 2, t.irq_i = 1);
  check_rule({CHECKER(interrupt), "InterruptHeld_A", {event, up}, up, kNothing});
  check_rule({CHECKER(interrupt), "EventNotLost_A", {event}, up, kNothing});
  check_rule({CHECKER(interrupt), "NothingWithoutEvent_A", {kNothing}, kNothing, up});
  check_rule({CHECKER(interrupt), "LineIsAnyBit_A", {event}, up, DO(t.interrupt_i = 2)});
}

TEST_CASE("the first fault's assertions fail when the core goes on, starts again, or the fault changes") {
  const Cycle raised = DO(t.raised_i = 1), stopped = DO(t.stop_i = 1, t.payload_i = 3);
  check_rule({CHECKER(first_fault), "StopFollowsFault_A", {raised}, stopped, kNothing});
  check_rule({CHECKER(first_fault), "StopHeld_A", {raised, stopped}, stopped, kNothing});
  check_rule({CHECKER(first_fault), "FirstFaultHeld_A", {raised, stopped}, stopped, DO(t.stop_i = 1, t.payload_i = 4)});
}

TEST_CASE("a program may take the message itself") {
  const auto refuse_nobody = [] {
    CheckersBench bench;
    bench.top->one_hot_rst_ni = 1;
    bench.run(DO(t.request_i = 4));
  };
  weft::verilated::set_failure_handler([](const std::string& message) { throw message; });
  CHECK_THROWS_AS(refuse_nobody(), std::string);
  weft::verilated::set_failure_handler(nullptr);
  CHECK_THROWS_AS(refuse_nobody(), weft::verilated::ModelFailure);
}

TEST_CASE("the text of another error comes back as it is") {
  CHECK(weft::verilated::failure_message(
            "[12] %Error: a.sv:3: Assertion failed in TOP.a.u_b.Name_A: 'assert' failed.\n", 7) ==
        "assertion Name_A failed in TOP.a.u_b in cycle 7 (a.sv:3)");
  CHECK(weft::verilated::failure_message("[0] %Error: a.sv:3: Assertion failed in TOP.a.Name_A: why\n", 0) ==
        "assertion Name_A failed in TOP.a in cycle 0 (a.sv:3): why");
  for (const char* text : {"", "%Error", "[0] %Error: a.sv:3: Assertion failed in", "100% of \n nothing"})
    CHECK(weft::verilated::failure_message(text, 1) == text);
}
