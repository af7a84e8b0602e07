/// What the commands of a device program cost, layer by layer: padded, as they are emitted.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "driver/program/executable_loader.hpp"
#include "host/compiler/result.hpp"
#include "host/tools/cost/layers.hpp"
#include "weft/spec/chips.hpp"
#include "weft/spec/commands.hpp"

namespace weft::tools {

/// Of the commands of one layer.
struct CommandCosts {
  uint64_t commands = 0;
  uint64_t mxu_cycles = 0, vpu_cycles = 0;     ///< of all units together, by their closed forms
  uint64_t constant_bytes = 0;                 ///< read from HBM
  uint64_t read_bytes = 0, written_bytes = 0;  ///< other bytes of HBM
  uint64_t scratch_read_bytes = 0;             ///< of read_bytes: what another layer has left in HBM
  uint64_t scratch_written_bytes = 0;          ///< of written_bytes: what stays in HBM for another layer

  [[nodiscard]] uint64_t hbm_bytes() const { return constant_bytes + read_bytes + written_bytes; }
  CommandCosts& operator+=(const CommandCosts& other);
};

/// Cycles of each engine if it works alone: MXU cycles are dealt out to all MXUs, HBM's are its bandwidth's.
[[nodiscard]] WorkBound engines_of(const spec::Chip& chip, const CommandCosts& costs);

/// Gives commands to layers by the texts of their tags. A load of an argument belongs to the layer that reads it first.
class CommandOwners {
 public:
  CommandOwners(const compiler::Part& part, const std::vector<Layer>& layers, const std::vector<std::byte>& executable);

  /// The layer's index; the number of layers: of none. `turn`: of a loop.
  [[nodiscard]] size_t owner(weft_queue_index queue, const spec::Command& command, size_t turn = 0) const;
  /// The same of a command whose tag alone is known: of loads of several arguments, the owner of the first.
  [[nodiscard]] size_t owner(uint16_t tag, size_t turn = 0) const;

 private:
  size_t none_;
  std::vector<size_t> by_tag_;
  std::vector<std::map<size_t, size_t>> in_turn_;  ///< layer of the first turn -> layer of the turn
  std::vector<size_t> first_reader_;               ///< by input
  std::set<uint16_t> argument_loads_;
};

struct ProgramCosts {
  std::vector<CommandCosts> layers;       ///< by layer; one more behind them: of commands that belong to none
  uint64_t macs = 0, cycle_estimate = 0;  ///< as the executable tells them
  uint64_t vmem_bytes = 0, constants_bytes = 0, scratch_bytes = 0, arguments_bytes = 0;
};

/// The commands that run of a program, in blocks of its control list if it has one.
class ProgramRuns {
 public:
  struct Commands {
    std::array<uint32_t, WEFT_CORE_QUEUES> first, count;
    uint64_t turns = 1;  ///< so many times
  };
  /// UNSUPPORTED: the list has conditions, so how often a block runs is not known.
  [[nodiscard]] static Result<ProgramRuns> of(const driver::Executable& executable);

  [[nodiscard]] const std::vector<Commands>& blocks() const { return blocks_; }
  /// Whether the segment lies in the constants.
  [[nodiscard]] bool is_constant(uint8_t segment) const { return constants_.contains(segment); }

 private:
  std::vector<Commands> blocks_;
  std::set<uint8_t> constants_;
};

/// By tag: how many commands of one turn have it, of the block that runs most often.
[[nodiscard]] Result<std::map<uint16_t, uint64_t>> tags_of_turn(const spec::Chip& chip,
                                                                const std::vector<std::byte>& executable);

/// The costs of an executable of `chip` that is `part`'s program. UNSUPPORTED: it has a control list with conditions;
/// errors of driver::load_executable.
[[nodiscard]] Result<ProgramCosts> command_costs(const spec::Chip& chip, const std::vector<std::byte>& executable,
                                                 const std::vector<Layer>& layers, const CommandOwners& owners);

}  // namespace weft::tools
