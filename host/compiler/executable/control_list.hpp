/// The control list of a kernel (docs/executable.md): blocks of commands, and the list that the firmware runs.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "host/compiler/result.hpp"
#include "weft/spec/commands.hpp"
#include "weft/spec/spec.h"

namespace weft::compiler {

/// Commands of the five queues that run as one.
using Block = std::array<std::vector<spec::Command>, WEFT_CORE_QUEUES>;

/// A list ready to be written. Empty: the kernel has none.
struct Control {
  std::vector<Block> blocks;
  std::vector<weft_control_binding> bindings;
  std::vector<weft_control_entry> entries;
};

/// A loop of a list, known before it is opened: bindings in front of it name it.
struct Loop {
  uint16_t number;
};

/// How far a window moves with each turn of a loop.
struct Stride {
  Loop loop;
  int64_t bytes;
};

/// A window of an argument. `argument`: its index, WEFT_EXECUTABLE_CONTROL_CONSTANTS or
/// WEFT_EXECUTABLE_CONTROL_SCRATCH.
struct Window {
  uint32_t argument = 0;
  uint64_t offset_bytes = 0;
  uint64_t size_bytes = 0;
  std::vector<Stride> strides = {};
};

/// A window that a segment is mapped to.
struct SegmentWindow {
  uint32_t segment = 0;
  Window window = {};
  uint32_t access = WEFT_EXECUTABLE_CONTROL_READABLE;
};

/// Holds if the 32-bit word at the window's offset compares so. The window's size is not looked at.
struct Condition {
  Window word = {};
  weft_control_condition compare = WEFT_CONTROL_CONDITION_NOT_EQUAL;
  uint32_t value = 0;
};

/// Emits entries in their order. What is wrong is told by finish(), the first of it.
class ControlListBuilder {
 public:
  /// Adds commands; the same block may run at several places. Returns its number.
  uint16_t add_block(Block block);
  [[nodiscard]] Loop new_loop();

  void run(uint16_t block, bool overlap = false);
  void bind(const std::vector<SegmentWindow>& windows);
  void begin_loop(Loop loop, uint32_t turns);
  /// `turns`: at most; 0: no limit, and no stride names the loop.
  void begin_while(Loop loop, const Condition& condition, uint32_t turns = 0);
  void begin_if(const Condition& condition);
  void otherwise();
  void end();

  /// The list. INVALID_ARGUMENT: what is not ended, ends nothing, or exceeds a limit of the specification.
  [[nodiscard]] Result<Control> finish() const;

 private:
  static constexpr uint16_t kNotOpened = WEFT_EXECUTABLE_CONTROL_NO_LOOP;

  void open(weft_control_entry entry);
  uint16_t add_binding(uint32_t segment, uint32_t access, const Window& window);
  uint16_t here() const { return static_cast<uint16_t>(control_.entries.size()); }
  void fail(std::string why);

  Control control_;
  std::vector<uint16_t> loop_entry_;  ///< by number: index of its LOOP or WHILE
  std::vector<uint16_t> open_;
  std::string wrong_;
};

/// The bytes of section CONTROL for kernel 0. Its commands are those of the blocks, block by block and queue by queue.
[[nodiscard]] std::vector<std::byte> control_section(const Control& control);

/// The list as text, a line an entry, then bindings: for tests and people.
[[nodiscard]] std::string control_text(const Control& control);

}  // namespace weft::compiler
