/// Runs the natively compiled firmware beside a run of its image: it is fed the image's loads and wake-ups from a log
/// (weft-sim --manager rv32 --manager-log FILE), and its stores, its DMA and its State must be those of the image.
///
///   lockstep FILE...        exit code 0: equal; 1: a difference, with its line; 2: a file is none, or empty
#include <fmt/core.h>

#include <cinttypes>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

#include "base/crc32c.hpp"
#include "firmware/bare/access.hpp"
#include "firmware/bare/registers.hpp"
#include "firmware/main_loop.hpp"
#include "firmware/state.hpp"
#include "model/chip/bus_log.hpp"

namespace {

using namespace weft;

struct Restarted {};  ///< thrown through the firmware: the processor was reset here
struct Ended {};      ///< the log ends here
struct Different {
  std::string what;
};

struct Totals {
  uint64_t loads = 0, stores = 0, filled = 0, drained = 0, checksums = 0, wakes = 0, restarts = 0;
};

/// The log's lines, one after the other.
class Feed {
 public:
  explicit Feed(const std::string& path) : path_(path), file_(path) {}
  bool good() const { return file_.good(); }

  /// The next line must begin with `kind`; its fields.
  std::istringstream expect(char kind, const std::string& doing) {
    std::string line;
    if (!std::getline(file_, line) || file_.eof()) throw Ended{};  // without its newline: the simulator was killed
    number_++;
    if (line == "R" && kind != 'R') throw Restarted{};
    if (line.size() < 1 || line[0] != kind)
      throw Different{fmt::format("{}:{}: the image's next access is '{}', the native firmware's: {}", path_, number_,
                                  line.substr(0, 60), doing)};
    return std::istringstream(line.substr(1));
  }
  [[noreturn]] void differs(const std::string& what) const {
    throw Different{fmt::format("{}:{}: {}", path_, number_, what)};
  }

 private:
  std::string path_;
  std::ifstream file_;
  uint64_t number_ = 0;
};

// What the firmware runs against; one file at a time.
Feed* feed = nullptr;
Totals totals;
fw::State* state = nullptr;
uint32_t dma_control = 0;
const void* dma_memory = nullptr;
const void* crc_memory = nullptr;
uint32_t crc_bytes = 0;

/// The memory's side of the DMA that has just ended.
void move_dma() {
  const uint32_t bytes = dma_control & 0xffff;
  const bool write = (dma_control >> 18 & 1) != 0;
  auto fields = feed->expect(write ? 'W' : 'D', fmt::format("DMA of {} bytes", bytes));
  if (write) {
    uint32_t count = 0, crc = 0;
    fields >> std::hex >> count >> crc;
    const uint32_t own = weft::crc32c(std::span(static_cast<const std::byte*>(dma_memory), bytes));
    if (count != bytes || crc != own)
      feed->differs(fmt::format("a DMA writes {} bytes with CRC {:x}, the native firmware's {} with {:x}", count, crc,
                                bytes, own));
    totals.drained++;
    return;
  }
  std::string text;
  fields >> text;
  if (text.size() != size_t{2} * bytes)
    feed->differs(fmt::format("a DMA of {} digits for {} bytes", text.size(), bytes));
  auto* memory = static_cast<uint8_t*>(const_cast<void*>(dma_memory));
  for (uint32_t i = 0; i < bytes; i++)
    memory[i] = static_cast<uint8_t>(std::stoul(text.substr(size_t{2} * i, 2), nullptr, 16));
  totals.filled++;
}

}  // namespace

namespace weft::fw::bare {

uint32_t load(uintptr_t address) {
  auto fields = feed->expect('L', fmt::format("load of {:#x}", address));
  uintptr_t from = 0;
  uint32_t value = 0;
  fields >> std::hex >> from >> value;
  if (from != address) feed->differs(fmt::format("a load of {:#x}, the native firmware's of {:#x}", from, address));
  totals.loads++;
  constexpr uint32_t kDone = 1;
  if (address == kManager + kDmaStatus && value == kDone) move_dma();
  if (address == kManager + kCrcResult) {
    const uint32_t own = weft::crc32c(std::span(static_cast<const std::byte*>(crc_memory), crc_bytes));
    if (own != value)
      feed->differs(fmt::format("a CRC of {:x} over {} bytes, the native firmware's {:x}", value, crc_bytes, own));
    totals.checksums++;
  }
  return value;
}

void store(uintptr_t address, uint32_t value) {
  auto fields = feed->expect('S', fmt::format("store of {:#x} to {:#x}", value, address));
  uintptr_t to = 0;
  uint32_t stored = 0;
  fields >> std::hex >> to >> stored;
  if (to != address || stored != value)
    feed->differs(
        fmt::format("a store of {:#x} to {:#x}, the native firmware's of {:#x} to {:#x}", stored, to, value, address));
  totals.stores++;
  if (address == kManager + kDmaControl) dma_control = value;
  if (address == kManager + kCrcBytes) crc_bytes = value;
}

void store_pointer(uintptr_t address, const void* memory) {
  auto fields = feed->expect('S', fmt::format("store of a pointer to {:#x}", address));
  uintptr_t to = 0;
  fields >> std::hex >> to;
  if (to != address) feed->differs(fmt::format("a store to {:#x}, the native firmware's to {:#x}", to, address));
  totals.stores++;
  (address == kManager + kCrcSram ? crc_memory : dma_memory) = memory;
}

void wait_for_interrupt() {
  auto fields = feed->expect('E', "sleep");
  uint32_t digest = 0;
  fields >> std::hex >> digest;
  const uint32_t own = chip::state_digest(*state);
  if (digest != own) feed->differs(fmt::format("State has the digest {:x}, the native firmware's {:x}", digest, own));
  totals.wakes++;
}

}  // namespace weft::fw::bare

namespace {

/// The whole log of one simulator. False: it holds nothing.
bool run(const std::string& path) {
  Feed lines(path);
  if (!lines.good()) return false;
  feed = &lines;
  totals = {};
  const auto memory = std::make_unique<fw::State>();
  state = memory.get();
  try {
    (void)lines.expect('R', "start");
    for (;;) {
      totals.restarts++;
      std::memset(static_cast<void*>(state), 0, sizeof *state);
      try {
        fw::run(*state);
        lines.differs("the native firmware has returned");
      } catch (const Restarted&) {
      }
    }
  } catch (const Ended&) {
  }
  return totals.loads != 0 && totals.stores != 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: lockstep FILE...\n");
    return 2;
  }
  for (int i = 1; i < argc; i++) {
    try {
      if (!run(argv[i])) {
        fmt::print(stderr, "lockstep: {}: no accesses in it\n", argv[i]);
        return 2;
      }
    } catch (const Different& different) {
      fmt::print(stderr, "lockstep: {}\n", different.what);
      return 1;
    }
    fmt::print("{}: {} loads, {} stores, {} DMA reads, {} DMA writes, {} checksums, {} wake-ups, {} starts: equal\n",
               argv[i], totals.loads, totals.stores, totals.filled, totals.drained, totals.checksums, totals.wakes,
               totals.restarts);
  }
  return 0;
}
