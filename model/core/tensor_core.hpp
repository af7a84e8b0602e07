/// One interface for all tensor cores: RTL, fast, and both in lockstep.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "model/core/memory_bus.hpp"
#include "weft/spec/chips.hpp"
#include "weft/spec/commands.hpp"

namespace weft::core {

/// What a core tells of its commands; called from within advance(), in cycle order, on the simulator's thread.
class CoreObserver {
 public:
  virtual ~CoreObserver() = default;
  /// A unit took a command in `cycle`.
  virtual void command_started(weft_unit_index unit, const spec::Command& command, uint64_t cycle) = 0;
  /// The command's writes are visible in `cycle`.
  virtual void command_retired(weft_unit_index unit, const spec::Command& command, uint64_t cycle) = 0;
};

/// A tensor core seen from its manager. Takes commands, moves memory through a MemoryBus, signals by an interrupt line.
/// Not thread-safe; no call blocks on anything but computation. A core holds no global or static state.
class TensorCore {
 public:
  virtual ~TensorCore() = default;

  /// Register access, spec/core_csr.toml. A write takes effect in the next cycle. Unknown offsets read 0 and ignore
  /// writes.
  [[nodiscard]] virtual uint64_t read_csr(uint32_t offset) = 0;
  virtual void write_csr(uint32_t offset, uint64_t value) = 0;

  /// Hands a command to queue 0 to 4 in the current cycle. False: the queue is full and nothing happened.
  [[nodiscard]] virtual bool push(unsigned queue, const spec::Command& command) = 0;

  /// True while cycles change anything: a queue holds a command or a unit works. False: advance() only counts cycles.
  [[nodiscard]] virtual bool busy() const = 0;

  /// Level of the interrupt line: INTERRUPT is not 0.
  [[nodiscard]] virtual bool interrupt() const = 0;

  /// Current cycle: the number of clock edges since power-up, those skipped while idle included.
  [[nodiscard]] virtual uint64_t cycle() const = 0;

  /// Runs to cycle `until`, or to the first cycle in which interrupt() becomes 1. Returns the cycle reached.
  /// An idle core jumps to `until` and credits its idle counters.
  virtual uint64_t advance(uint64_t until) = 0;
  /// The same, but an idle core stays where it is: how far a caller meant to go must not show in the cycle reached.
  virtual uint64_t advance_while_busy(uint64_t until) = 0;

  /// As long as nobody acts on the core, nothing that others can see happens before this cycle: it may be advanced
  /// there at once. cycle(): something may happen at any moment. UINT64_MAX: it is not busy. Of the core as advance()
  /// has left it.
  [[nodiscard]] virtual uint64_t quiet_until() const { return busy() ? cycle() : UINT64_MAX; }

  /// Copies VMEM bytes or ACC rows (N x 4 bytes each) for comparison and dumps, as ECC shows them: single errors
  /// corrected. False: outside.
  [[nodiscard]] virtual bool peek_vmem(uint64_t byte_address, std::span<std::byte> out) const = 0;
  [[nodiscard]] virtual bool peek_acc(uint32_t row, std::span<std::byte> out) const = 0;

  /// At most one observer; nullptr removes it.
  virtual void set_observer(CoreObserver* observer) = 0;
};

class RemotePort;

/// How the RTL writes down the MXU's array: as vector loops, which simulate fast, or as N x N instances of a processing
/// element, which is what would be built. Bits and cycles are the same.
enum class ArrayForm : uint8_t { kFast, kStructural };

/// Which core to build, and the options that only some of them have.
struct CoreOptions {
  std::string wave_path;                ///< FST file; RTL and lockstep only; empty: none
  uint64_t wave_from_cycle = 0;         ///< first cycle in the file
  uint64_t wave_to_cycle = UINT64_MAX;  ///< last cycle in the file
  /// RTL and lockstep: seed of what flip-flops and memories other than VMEM and ACC hold before they are written;
  /// 0: all 0. v5e-1mxu always starts from 0.
  unsigned initial_seed = 0;
  ArrayForm array = ArrayForm::kFast;  ///< RTL and lockstep
  bool initial_memories = false;  ///< RTL only, with a seed: VMEM and ACC too hold anything, also what is no codeword
  bool check_hazards = false;     ///< unordered accesses to the same place are faults (hazard_core.hpp)
  std::function<void(const std::string&)> report_hazard{};  ///< called with each; may be empty
  /// Fast only: commands take the cycles that they take, and no byte of VMEM, ACC or memory moves: for what no memory of
  /// the simulator's machine holds. Commands themselves are read from HBM as ever.
  bool timing_only = false;
  /// The way to the other chips of a slice (remote_port.hpp); outlives the core. nullptr: it stands alone.
  RemotePort* remote = nullptr;
};

enum class CoreKind : uint8_t { kRtl = 1, kFast = 2, kLockstep = 3 };

/// A lockstep core's verdict; empty optional-like state: `differs` false.
struct Mismatch {
  bool differs = false;
  std::string report;  ///< unit, command, first wrong element (tile, row, lane), both values in hex and decimal, cycle
  std::string
      unit;  ///< whose output is wrong: a unit of spec/commands.toml, or vmem or acc if it lost what was written
  uint64_t cycle = 0;  ///< in which the wrong value was written; that of the retirement if it was not written at all
};

/// Cycles of a core before a mismatch that are worth looking at in waves.
inline constexpr uint64_t kWaveWindowCycles = 2000;

/// Makes a core of the given kind. `bus` outlives the core. nullptr and a message in `error` if the preset has no such
/// core.
std::unique_ptr<TensorCore> make_core(CoreKind kind, const spec::Chip& chip, MemoryBus& bus, const CoreOptions& options,
                                      std::string& error);

/// The mismatch that a lockstep core found first (a core of another kind never differs).
Mismatch find_mismatch(const TensorCore& core);

/// "rtl", "fast", "lockstep" to the kind. False: no such core.
bool parse_core_kind(std::string_view text, CoreKind& kind);

/// "fast", "structural" to the form. False: no such array.
bool parse_array_form(std::string_view text, ArrayForm& form);

}  // namespace weft::core
