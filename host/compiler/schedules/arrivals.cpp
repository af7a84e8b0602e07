// A command waits for two semaphores at most, so several senders take a chain of them.
#include "host/compiler/schedules/arrivals.hpp"

#include <fmt/format.h>

namespace weft::compiler {

void await_arrivals(ProgramBuilder& program, const std::string& step, const std::vector<Arrival>& arrivals) {
  for (size_t i = 0; i < arrivals.size(); i++) {
    const auto& senders = arrivals[i].semaphores;
    const bool last = i + 1 == arrivals.size();
    for (uint64_t chunk = 0; chunk < arrivals[i].row_chunks; chunk++) {
      for (size_t sender = 0; sender < senders.size(); sender += 2) {
        const bool posts = last && sender + 2 >= senders.size();
        spec::NoneCommand command;
        command.header.opcode = posts ? WEFT_OPCODE_SIGNAL : WEFT_OPCODE_WAIT;
        command.header.tag = program.tag(fmt::format("{} arrivals, row chunk {}", step, chunk));
        ProgramBuilder::wait(command.header, senders[sender], 1);
        if (sender + 1 < senders.size()) ProgramBuilder::wait(command.header, senders[sender + 1], 1);
        if (posts) ProgramBuilder::post(command.header, kArrived, 1);
        program.push(WEFT_QUEUE_SYNC, spec::encode(command));
      }
    }
  }
}

}  // namespace weft::compiler
