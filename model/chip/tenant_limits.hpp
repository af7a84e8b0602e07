/// What one tenant may take of the server. A tenant is the client of one PCIe function. docs/security.md has the table,
/// with the errno that a tenant gets beyond each limit.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace weft::chip::tenant_limits {

/// Ranges of host memory that are mapped at a time. Maps that adjoin in address and file are one range.
inline constexpr size_t kRanges = 65536;
/// Ranges that the VERSION reply promises: the protocol's default, and the most that QEMU accepts.
inline constexpr size_t kRangesTold = 65535;
/// Bytes of host memory in ranges that are backed by files.
inline constexpr uint64_t kMappedBytes = uint64_t{1} << 40;
/// Files behind these ranges, however often each is sent.
inline constexpr size_t kFiles = 16384;

/// Address space of the server that all tenants' files take together, in bytes: half of what a process has.
inline constexpr uint64_t kAllFileBytes = uint64_t{1} << 46;
/// Mappings (vm.max_map_count) that tenants' files leave to the rest of the server.
inline constexpr uint64_t kOwnMappings = 16384;

/// Descriptors of one message.
inline constexpr size_t kMessageDescriptors = 8;
/// Bytes of data of one message: the largest BAR.
inline constexpr size_t kTransferBytes = 65536;
/// Bytes of replies that the tenant has not read, beyond which its messages are not read.
inline constexpr size_t kBacklogBytes = 1 << 20;
/// Time for which a tenant may be beyond kBacklogBytes and take no byte.
inline constexpr std::chrono::milliseconds kStall{10'000};
/// Clients of an owned function that wait for their refusal. The oldest makes room.
inline constexpr size_t kRefused = 16;
/// Connections of one function that are accepted in a turn of the server's loop.
inline constexpr unsigned kAcceptsOfTurn = 8;

/// Time of the messages of all tenants in one turn of the server's loop; each tenant that has messages gets an equal
/// share.
inline constexpr std::chrono::microseconds kTurn{300};
/// Messages of one tenant in a turn.
inline constexpr unsigned kMessagesOfTurn = 64;

/// Time for the reply to one DMA_READ or DMA_WRITE.
inline constexpr std::chrono::milliseconds kDmaReply{2000};
/// Time of such replies that a tenant may use beyond its share, while other tenants are there.
inline constexpr std::chrono::milliseconds kDmaCredit{2000};
/// Messages that come before such a reply, and their bytes; the server keeps them for later.
inline constexpr size_t kMessagesKept = 64;
inline constexpr size_t kBytesKept = 1 << 20;

}  // namespace weft::chip::tenant_limits
