// Slots of VMEM that tiles take in turn, and the semaphores between the queues.
#include "host/compiler/collectives/collective_tiles.hpp"

#include <algorithm>

namespace weft::compiler {
namespace {

constexpr unsigned kSources = 3;           // areas of a slot
constexpr unsigned kLoaded = 0;            // .. + 7: a source of the slot has been loaded
constexpr unsigned kAdded = 8;             // .. + 7: the sum is there
constexpr unsigned kFree = 16;             // .. + 7: a sink has read the slot
constexpr uint64_t kMaxTileBytes = 32768;  // several are under way while one is loaded
constexpr uint64_t kTilesInVmem = 32;      // a tile takes at most so much of it

/// One tile of a transfer.
struct Tile {
  const Transfer* transfer;
  uint64_t offset, bytes;
};

class TileScheduler {
 public:
  TileScheduler(ProgramBuilder& program, weft_vpu_dtype dtype, std::optional<unsigned> gate, unsigned at_once)
      : program_(program),
        chip_(program.chip()),
        dtype_(dtype),
        gate_(gate),
        slots_(at_once),
        tile_bytes_(transfer_tile_bytes(chip_)) {}

  void run(const std::vector<Transfer>& transfers) {
    for (const Transfer& transfer : transfers)
      for (uint64_t at = 0; at < transfer.bytes; at += tile_bytes_)
        tiles_.push_back({&transfer, at, std::min(tile_bytes_, transfer.bytes - at)});
    for (size_t i = 0; i < tiles_.size(); i++) {
      load(i);
      if (tiles_[i].transfer->sources.size() > 1) add(i);
      send(i);
    }
    program_.note_vmem_words(slots_ * kSources * tile_bytes_ / chip_.word_bytes);
  }

 private:
  [[nodiscard]] uint64_t area(size_t tile, unsigned source) const {
    return (tile % slots_ * kSources + source) * tile_bytes_;
  }
  [[nodiscard]] unsigned of_slot(unsigned semaphore, size_t tile) const {
    return semaphore + static_cast<unsigned>(tile % slots_);
  }

  void load(size_t index) {
    const Tile& tile = tiles_[index];
    for (unsigned i = 0; i < tile.transfer->sources.size(); i++) {
      const TransferSource& source = tile.transfer->sources[i];
      spec::DmaCommand command;
      command.header.opcode = WEFT_OPCODE_COPY;
      command.header.tag = program_.tag("load");
      command.src_seg = source.place.segment;
      command.src_off = source.place.offset + tile.offset;
      command.dst_off = area(index, i);
      command.size0 = static_cast<uint32_t>(tile.bytes);
      if (i == 0 && index >= slots_)
        ProgramBuilder::wait(command.header, of_slot(kFree, index), tiles_[index - slots_].transfer->sinks.size());
      if (i == 0 && index == 0 && gate_) ProgramBuilder::wait(command.header, *gate_, 1);
      if (source.arrival != WEFT_NO_SEMAPHORE)
        ProgramBuilder::wait(command.header, source.arrival,
                             source.at_once == 0 ? 1
                             : tile.offset == 0  ? source.at_once
                                                 : 0);
      // what follows waits as often as there are readers: additions once for all sources, else each sink
      const uint64_t readers = tile.transfer->sources.size() > 1 ? 1 : tile.transfer->sinks.size();
      ProgramBuilder::post(command.header, of_slot(kLoaded, index), readers);
      program_.note_hbm_bytes(tile.bytes);
      program_.push(WEFT_QUEUE_DMA_IN, spec::encode(command));
    }
  }

  /// Whole rows are added; what lies behind a short tile's last byte is not stored.
  void add(size_t index) {
    const Tile& tile = tiles_[index];
    const unsigned words = dtype_ == WEFT_VPU_DTYPE_BF16 ? 1 : 2;
    const uint64_t row_bytes = uint64_t{words} * chip_.word_bytes;
    const auto sources = static_cast<unsigned>(tile.transfer->sources.size());
    for (unsigned i = 1; i < sources; i++) {
      spec::VpuCommand command;
      command.header.opcode = WEFT_OPCODE_ELEMENTWISE;
      command.header.tag = program_.tag("add");
      command.op = WEFT_VPU_OP_ADD;
      command.src_dtype = command.dst_dtype = dtype_;
      command.rows = static_cast<uint16_t>((tile.bytes + row_bytes - 1) / row_bytes);
      command.cols = static_cast<uint16_t>(chip_.n);
      command.a_addr = command.d_addr = static_cast<uint32_t>(area(index, 0) / chip_.word_bytes);
      command.b_addr = static_cast<uint32_t>(area(index, i) / chip_.word_bytes);
      command.a_stride = command.b_stride = command.d_stride = words;
      command.b_mode = WEFT_VPU_B_MODE_TENSOR;
      if (i == 1) ProgramBuilder::wait(command.header, of_slot(kLoaded, index), sources);
      if (i + 1 == sources) ProgramBuilder::post(command.header, of_slot(kAdded, index), tile.transfer->sinks.size());
      program_.push(WEFT_QUEUE_VPU, spec::encode(command));
    }
  }

  void send(size_t index) {
    const Tile& tile = tiles_[index];
    const bool added = tile.transfer->sources.size() > 1;
    for (const TransferSink& sink : tile.transfer->sinks) {
      spec::DmaCommand command;
      command.header.opcode = WEFT_OPCODE_COPY;
      command.src_off = area(index, 0);
      command.dst_seg = sink.place.segment;
      command.dst_off = sink.place.offset + tile.offset;
      command.size0 = static_cast<uint32_t>(tile.bytes);
      ProgramBuilder::wait(command.header, of_slot(added ? kAdded : kLoaded, index), 1);
      if (index + slots_ < tiles_.size()) ProgramBuilder::post(command.header, of_slot(kFree, index), 1);
      if (sink.chip) {
        command.header.tag = program_.tag("send to chip " + std::to_string(*sink.chip));
        command.header.flags = WEFT_COMMAND_FLAG_REMOTE;
        command.remote_chip = *sink.chip;
        command.header.post_sem1 = sink.arrival;
        command.header.post_count1 = 1;
      } else {
        command.header.tag = program_.tag("store");
        if (sink.arrival != WEFT_NO_SEMAPHORE) ProgramBuilder::post(command.header, sink.arrival, 1);
        program_.note_hbm_bytes(tile.bytes);
      }
      program_.push(WEFT_QUEUE_DMA_OUT, spec::encode(command));
    }
  }

  ProgramBuilder& program_;
  const spec::Chip& chip_;
  const weft_vpu_dtype dtype_;
  const std::optional<unsigned> gate_;
  const size_t slots_;
  const uint64_t tile_bytes_;
  std::vector<Tile> tiles_;
};

}  // namespace

uint64_t transfer_tile_bytes(const spec::Chip& chip) {
  const uint64_t row_bytes = 2 * chip.word_bytes;  // of f32
  const uint64_t room = chip.vmem_bytes / kTilesInVmem;
  return std::max(row_bytes, std::min(kMaxTileBytes, room) / row_bytes * row_bytes);
}

std::optional<weft_vpu_dtype> sum_dtype(weft_argument_dtype dtype) {
  switch (dtype) {
    case WEFT_ARGUMENT_DTYPE_F32:
      return WEFT_VPU_DTYPE_F32;
    case WEFT_ARGUMENT_DTYPE_BF16:
      return WEFT_VPU_DTYPE_BF16;
    case WEFT_ARGUMENT_DTYPE_I32:
      return WEFT_VPU_DTYPE_I32;
    case WEFT_ARGUMENT_DTYPE_I8:
      return std::nullopt;
  }
  return std::nullopt;
}

void schedule_transfers(ProgramBuilder& program, const std::vector<Transfer>& transfers, weft_vpu_dtype dtype,
                        std::optional<unsigned> gate, unsigned at_once) {
  TileScheduler(program, dtype, gate, at_once).run(transfers);
}

}  // namespace weft::compiler
