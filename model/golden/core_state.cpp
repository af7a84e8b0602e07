/// The table of opcodes, and the state that they act on.
#include "model/golden/core_state.hpp"

#include "model/golden/execute.hpp"

namespace weft::golden {
namespace {

struct Entry {
  uint8_t opcode;
  Execute on_dma_out;  ///< for an opcode that two queues take: what it does on dma_out
  Execute otherwise;
};
constexpr Entry kTable[] = {
    {WEFT_OPCODE_COPY, execute_copy_out, execute_copy_in}, {WEFT_OPCODE_FILL, execute_fill_out, execute_fill_in},
    {WEFT_OPCODE_GATHER, nullptr, execute_gather},         {WEFT_OPCODE_SCATTER, execute_scatter, nullptr},
    {WEFT_OPCODE_MATMUL, nullptr, execute_matmul},         {WEFT_OPCODE_ELEMENTWISE, nullptr, execute_elementwise},
    {WEFT_OPCODE_REDUCE, nullptr, execute_reduce},         {WEFT_OPCODE_TRANSPOSE, nullptr, execute_transpose},
    {WEFT_OPCODE_EPILOGUE, nullptr, execute_elementwise},  {WEFT_OPCODE_CAST, nullptr, execute_elementwise},
    {WEFT_OPCODE_SIGNAL, nullptr, execute_nothing},        {WEFT_OPCODE_WAIT, nullptr, execute_nothing},
    {WEFT_OPCODE_FENCE, nullptr, execute_nothing},         {WEFT_OPCODE_BARRIER, nullptr, execute_nothing},
};

}  // namespace

CoreState::CoreState(const spec::Chip& chip, Path path, VmemForm form)
    : chip_(chip),
      path_(path),
      vmem_(chip.vmem_bytes, uint64_t{chip.n} * sizeof(uint32_t), form),
      acc_(size_t{golden::acc_rows(chip)} * chip.n * sizeof(uint32_t)) {}

std::optional<Fault> CoreState::execute(const spec::Command& command, unsigned queue, MemoryAccess& memory,
                                        const SlicePlace& place) {
  if (auto fault = check_command(command, queue, chip_, segments_, place)) return fault;
  return execute_checked(command, queue, memory);
}

std::optional<Fault> CoreState::execute_checked(const spec::Command& command, unsigned queue, MemoryAccess& memory) {
  for (const Entry& entry : kTable) {
    if (entry.opcode != command.bytes[0]) continue;
    const Execute run = queue == WEFT_QUEUE_DMA_OUT ? entry.on_dma_out : entry.otherwise;
    return run(*this, command, memory);
  }
  return Fault{WEFT_FAULT_ILLEGAL_OPCODE, command.bytes[0]};
}

std::optional<Fault> execute_nothing(CoreState&, const spec::Command&, MemoryAccess&) { return std::nullopt; }

}  // namespace weft::golden
