/// One function per kind of command, for core_state.cpp only. Commands are legal; see CoreState::execute.
#pragma once
#include "model/golden/core_state.hpp"

namespace weft::golden {

using Execute = std::optional<Fault> (*)(CoreState&, const spec::Command&, MemoryAccess&);

std::optional<Fault> execute_copy_in(CoreState& core, const spec::Command& command, MemoryAccess& memory);
std::optional<Fault> execute_copy_out(CoreState& core, const spec::Command& command, MemoryAccess& memory);
std::optional<Fault> execute_fill_in(CoreState& core, const spec::Command& command, MemoryAccess& memory);
std::optional<Fault> execute_fill_out(CoreState& core, const spec::Command& command, MemoryAccess& memory);
std::optional<Fault> execute_gather(CoreState& core, const spec::Command& command, MemoryAccess& memory);
std::optional<Fault> execute_scatter(CoreState& core, const spec::Command& command, MemoryAccess& memory);
std::optional<Fault> execute_matmul(CoreState& core, const spec::Command& command, MemoryAccess& memory);
std::optional<Fault> execute_elementwise(CoreState& core, const spec::Command& command, MemoryAccess& memory);
std::optional<Fault> execute_reduce(CoreState& core, const spec::Command& command, MemoryAccess& memory);
std::optional<Fault> execute_transpose(CoreState& core, const spec::Command& command, MemoryAccess& memory);
std::optional<Fault> execute_nothing(CoreState& core, const spec::Command& command, MemoryAccess& memory);

}  // namespace weft::golden
