// State page, fault records and log of a device that writes anything: decoded or refused, and printed as text and JSON.
#include <vector>

#include "driver/hang/hang_report.hpp"
#include "driver/report/fault_log.hpp"
#include "driver/report/log_text.hpp"
#include "driver/report/state_page.hpp"
#include "testbench/fuzz/fuzz_target.hpp"

using namespace weft::driver;

namespace {

/// One command in flight that waits for a timeline, so that the graph has edges from the host's side too.
OutstandingCommand outstanding(uint16_t queue, uint16_t semaphore) {
  OutstandingCommand command;
  command.queue = queue;
  command.command_id = 1;
  command.opcode = WEFT_QUEUE_OPCODE_WAIT;
  command.timelines = {.wait_id = semaphore, .signal_id = 0, .wait_value = 1, .signal_value = 0};
  return command;
}

}  // namespace

/// Layout: a fault record, a completion, a log record, queue u16, semaphore u16, the page.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weft::fuzz::Input input(data, size);
  const auto record = input.take<weft_fault_record>();
  const auto completion = input.take<weft_completion_entry>();
  const auto log = input.take<weft_log_record>();
  const auto queue = input.take<uint16_t>();
  const auto semaphore = input.take<uint16_t>();
  weft::fuzz::require(!describe_record(record).empty(), "a fault record has words");
  const Status failure = describe_failure(completion, static_cast<uint8_t>(queue), record);
  weft::fuzz::require(!failure.ok() && !failure.message().empty(), "a failed completion is never a success");
  weft::fuzz::require(!log_text(log).empty(), "a log record has words");

  HangReport report;
  auto page = decode_state_page(std::as_bytes(input.take_rest()));
  if (page.ok()) {
    report.outstanding.push_back(outstanding(queue, semaphore));
    report.graph = make_wait_graph(page.value(), report.outstanding);
    report.page = std::move(page.value());
  } else {
    weft::fuzz::require(page.status().message().starts_with("state page, byte "), "a refusal names the byte");
  }
  report.log.push_back(log);
  report.faults.push_back(describe_record(record));
  weft::fuzz::require(report_text(report).ends_with('\n'), "a report is text");
  weft::fuzz::require(report_json(report).starts_with('{'), "a report is JSON");
  return 0;
}
