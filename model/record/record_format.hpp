/// The file of a recorded run, as docs/replay.md describes it.
///
///   header   FileHeader
///   block    BlockHead, then `stored_bytes`: `raw_bytes` of records, as they are or deflated
///   ...
///   end      BlockHead of kind kEnd, then an EndBody
///
/// A record never crosses a block. Numbers in records are LEB128 varints. Little-endian.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::record {

inline constexpr std::array<char, 8> kMagic = {'W', 'E', 'F', 'T', 'R', 'E', 'C', '\n'};
/// 3: a kSlice without the latency of optical links; 2: without kSlice and kMoment; 1: as 2, but without kObserverResets
inline constexpr uint32_t kVersion = 4;
inline constexpr size_t kPresetBytes = 28;

/// What the chip was: a replay makes the same one.
struct FileHeader {
  std::array<char, 8> magic = kMagic;
  uint32_t version = kVersion;
  uint32_t abi = 0;          ///< ABI_VERSION
  uint64_t fingerprint = 0;  ///< of the preset
  std::array<char, kPresetBytes> preset{};
  uint32_t image = 0;  ///< CRC-32 of the firmware's image; 0: the firmware ran natively
  uint8_t core = 0;    ///< core::CoreKind
  uint8_t functions = 1;
  uint8_t check_hazards = 0;
  uint8_t engine = 0;  ///< rv32::Engine that ran the image
  uint32_t crc = 0;    ///< CRC-32 (zlib's) of all before it
};
static_assert(sizeof(FileHeader) == 64 && offsetof(FileHeader, fingerprint) == 16 && offsetof(FileHeader, crc) == 60);

enum class BlockKind : uint32_t { kPlain = 1, kDeflated = 2, kEnd = 3 };

inline constexpr uint32_t kBlockMagic = 0x4b4c4257;  ///< "WBLK"

struct BlockHead {
  uint32_t magic = kBlockMagic;
  BlockKind kind = BlockKind::kPlain;
  uint32_t number = 0;  ///< from 0
  uint32_t raw_bytes = 0;
  uint32_t stored_bytes = 0;
  uint32_t crc = 0;  ///< CRC-32 of all of the head before it and of the stored bytes
};
static_assert(sizeof(BlockHead) == 24 && offsetof(BlockHead, crc) == 20);

inline constexpr size_t kBlockTargetBytes = size_t{256} << 10;
inline constexpr size_t kBlockMaxBytes = size_t{1} << 20;

enum class Ending : uint32_t {
  kComplete = 0,  ///< the simulator ended as it should
  kInjected = 1,  ///< the injected fault SIMULATOR_EXIT killed it
  kModel = 2,     ///< an assertion of the RTL failed
};

struct EndBody {
  uint64_t records = 0;
  Ending ending = Ending::kComplete;
  uint32_t reserved = 0;
};
static_assert(sizeof(EndBody) == 16);

/// Each record is its kind in one byte, then what stands here. `function` is one byte, `data` as many bytes as said.
enum class RecordKind : uint8_t {
  kRun = 1,              ///< cycles since the last cycle told, Standstill::Kind: here stands time for what follows
  kConnected = 2,        ///< function: a client came
  kLeft = 3,             ///< function: it went
  kRegionRead = 4,       ///< function, region (VFIO's number), offset, bytes, data that was answered
  kRegionWrite = 5,      ///< function, region, offset, bytes, data
  kMessage = 6,          ///< function, command, descriptors, bytes, payload: any other message that was not refused
  kWaitEnds = 7,         ///< function, weft_wait_status
  kHostRead = 8,         ///< function, chip::Accessor, access flags, address, bytes, bytes of a piece, cycles, payload
  kHostWrite = 9,        ///< the same
  kInterrupt = 10,       ///< function, vector, cycles since the last cycle told
  kPage = 11,            ///< kPageBytes of data: defines the next page number
  kObserverResets = 12,  ///< function: by the management socket
  kSlice = 13,   ///< the first record of a chip of a slice: its number, the slice's chips, bytes, the slice's name,
                 ///< femtoseconds that optical links take (0: as other links)
  kMoment = 14,  ///< of a slice in place of kRun: femtoseconds since the last one, stop (chip::Moment),
                 ///< Standstill::Kind
};
inline constexpr unsigned kRecordKinds = 15;

/// The payload of a host access is cut at multiples of kPageBytes of its address. Each part is a page's number + 1 (if
/// it is a whole page that is defined), or 0 and its bytes.
inline constexpr size_t kPageBytes = 4096;
inline constexpr size_t kMaxPages = 16384;  ///< defined in a file: 64 MiB in the memory of who records
/// The same of each chip of a slice: all of them together define about as many as a chip alone.
inline constexpr size_t max_pages(uint32_t chips) {
  constexpr size_t kLeast = 64;
  return kMaxPages / chips > kLeast ? kMaxPages / chips : kLeast;
}
inline constexpr size_t kMaxSliceNameBytes = 64;
/// Bytes of a record's payload; longer accesses take several records, all but the last with kFlagContinued.
inline constexpr size_t kMaxPayloadBytes = size_t{64} << 10;

inline constexpr uint8_t kFlagOk = 1;         ///< all of it was mapped
inline constexpr uint8_t kFlagContinued = 2;  ///< the next record is of the same access

}  // namespace weft::record
