/// A core of any kind in a slice, with a scripted interconnect.
#pragma once
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "model/core/remote/remote_port.hpp"
#include "model/golden/remote.hpp"
#include "testbench/unit/fast_core/programs.hpp"
#include "testbench/unit/model_core/core_bench.hpp"

namespace weft::test {

/// Chip 1 of 4. Keeps what the core sends; the test plays the other chips.
struct ScriptedPort final : core::RemotePort {
  [[nodiscard]] golden::SlicePlace place() const override { return {.chip = 1, .chips = 4}; }
  void attach(core::RemoteCore* core) override { behind = core; }
  uint64_t begin(const spec::DmaCommand& command) override {
    begun.push_back(command);
    return begun.size();
  }
  [[nodiscard]] bool congested() const override { return full; }
  void send(core::RemotePiece piece, uint64_t cycle) override {
    sent.push_back(std::move(piece));
    sent_at.push_back(cycle);
  }
  void enter_barrier(const spec::BarrierCommand& command, uint64_t) override { barriers.push_back(command); }
  void core_reset() override { resets++; }

  core::RemoteCore* behind = nullptr;
  std::vector<spec::DmaCommand> begun;
  std::vector<core::RemotePiece> sent;
  std::vector<uint64_t> sent_at;
  std::vector<spec::BarrierCommand> barriers;
  unsigned resets = 0;
  bool full = false;
};

/// A core of each kind in turn, as chip 1 of 4, with segment 3 in HBM.
struct SliceBench {
  SliceBench() : SliceBench(GENERATE(core::CoreKind::kFast, core::CoreKind::kRtl, core::CoreKind::kLockstep)) {}
  explicit SliceBench(core::CoreKind kind, bool timing_only = false) : owned(make(kind, timing_only)), core(*owned) {
    UNSCOPED_INFO("core of kind " << static_cast<unsigned>(kind));
    core.write_csr(WEFT_CSR_SEGMENT_BASE + 3 * WEFT_CSR_SEGMENT_BASE_STRIDE, 0);
    core.write_csr(WEFT_CSR_SEGMENT_LIMIT + 3 * WEFT_CSR_SEGMENT_BASE_STRIDE, 1 << 20);
    core.write_csr(WEFT_CSR_SEGMENT_ATTRIBUTES + 3 * WEFT_CSR_SEGMENT_BASE_STRIDE, WEFT_ADDRESS_SPACE_HBM | 4 | 8);
    core.advance(100);
  }
  ~SliceBench() {
    const auto mismatch = core::find_mismatch(core);
    INFO(mismatch.report);
    CHECK_FALSE(mismatch.differs);
  }
  std::unique_ptr<core::TensorCore> make(core::CoreKind kind, bool timing_only) {
    std::string error;
    auto made = core::make_core(kind, chip, bus, {.timing_only = timing_only, .remote = &port}, error);
    INFO(error);
    REQUIRE(made != nullptr);
    return made;
  }
  template <class C>
  void push(unsigned queue, const C& command) {
    REQUIRE(core.push(queue, spec::encode(command)));
  }
  void run(uint64_t cycles) {
    const uint64_t end = core.cycle() + cycles;
    while (core.cycle() < end) core.advance(end);
  }
  uint64_t semaphore(unsigned index) { return core.read_csr(WEFT_CSR_SEMAPHORE + 8 * index); }
  uint64_t fault_code() { return core.read_csr(WEFT_CSR_FAULT_CODE) & 0xff; }
  bool working() { return (core.read_csr(WEFT_CSR_STATUS) & 1) != 0; }

  const spec::Chip& chip = *spec::find_chip("nano");
  Bus bus{chip};
  ScriptedPort port;
  std::unique_ptr<core::TensorCore> owned;
  core::TensorCore& core;
};

inline spec::DmaCommand remote(uint16_t chip, uint64_t from, uint8_t segment, uint64_t to, uint32_t bytes) {
  auto c = copy_out(from, segment, to, bytes);
  c.header.flags = WEFT_COMMAND_FLAG_REMOTE;
  c.remote_chip = chip;
  return c;
}
inline spec::BarrierCommand barrier() {
  spec::BarrierCommand c;
  c.header.opcode = WEFT_OPCODE_BARRIER;
  c.count0 = 4;
  c.count1 = c.count2 = 1;
  c.stride0 = 1;
  c.signature = 7;
  return c;
}

}  // namespace weft::test
