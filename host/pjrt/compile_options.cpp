// Three messages of XLA in protobuf's wire format: as much of them as the plugin needs.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>

#include "host/pjrt/program.hpp"
#include "host/pjrt/protobuf_writer.hpp"

namespace weft::pjrt {
namespace {

/// Fields of a message, one after the other.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}

  /// False: the end, or bytes that are no message.
  bool next() {
    if (rest_.empty()) return false;
    const uint64_t tag = varint();
    number = tag >> 3;
    value = 0;
    bytes = {};
    switch (tag & 7) {
      case 0:
        value = varint();
        break;
      case 1:
        bytes = take(8);
        break;
      case 2:
        bytes = take(varint());
        break;
      case 5:
        bytes = take(4);
        break;
      default:
        broken = true;
    }
    return !broken;
  }
  uint64_t varint() {
    uint64_t result = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      result |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return result;
    }
    broken = true;
    return 0;
  }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

  uint64_t number = 0, value = 0;
  std::string_view bytes;
  bool broken = false;

 private:
  std::string_view take(uint64_t count) {
    if (count > rest_.size()) {
      broken = true;
      return {};
    }
    const auto taken = rest_.substr(0, static_cast<size_t>(count));
    rest_.remove_prefix(static_cast<size_t>(count));
    return taken;
  }
  std::string_view rest_;
};

// Numbers of fields.
constexpr uint64_t kBuildOptions = 3;                                            // of CompileOptionsProto
constexpr uint64_t kReplicas = 4, kPartitions = 5, kAssignment = 9;              // of ExecutableBuildOptionsProto
constexpr uint64_t kReplicaCount = 1, kComputationCount = 2, kComputations = 3;  // of DeviceAssignmentProto
constexpr uint64_t kReplicaIds = 1;                                              // of its ComputationDevice
constexpr uint64_t kShardingKind = 1, kTileDims = 3, kTileDevices = 4, kReplicateLast = 6,
                   kLastDims = 8;                                // of OpSharding
constexpr uint64_t kReplicated = 0, kTiled = 3, kUnreduced = 6;  // its kinds
constexpr int kMaxDevices = 1024;

/// Device ids of each partition, replica by replica.
bool read_assignment(std::string_view bytes, std::vector<std::vector<int>>& partitions) {
  Fields message(bytes);
  while (message.next()) {
    if (message.number != kComputations) continue;
    auto& ids = partitions.emplace_back();
    Fields device(message.bytes);
    while (device.next()) {
      if (device.number != kReplicaIds) continue;
      Fields packed(device.bytes);
      if (device.bytes.empty()) ids.push_back(static_cast<int>(device.value));
      while (!packed.at_end() && !packed.broken) ids.push_back(static_cast<int>(packed.varint()));
      if (packed.broken) return false;
    }
    if (device.broken) return false;
  }
  return !message.broken;
}

}  // namespace

Result<CompileOptions> read_options(std::string_view bytes) {
  const weft::Error broken{WEFT_ERROR_INVALID_ARGUMENT, "the compile options are no CompileOptionsProto"};
  CompileOptions options;
  options.text = bytes;
  std::vector<std::vector<int>> partitions;
  Fields message(bytes);
  while (message.next()) {
    if (message.number != kBuildOptions) continue;
    Fields build(message.bytes);
    while (build.next()) {
      if (build.number == kReplicas) options.replicas = static_cast<int>(build.value);
      if (build.number == kPartitions) options.partitions = static_cast<int>(build.value);
      if (build.number == kAssignment && !read_assignment(build.bytes, partitions)) return broken;
    }
    if (build.broken) return broken;
  }
  if (message.broken) return broken;
  if (options.replicas < 1 || options.replicas > kMaxDevices || options.partitions < 1 ||
      options.partitions > kMaxDevices)
    return weft::Error{WEFT_ERROR_INVALID_ARGUMENT,
                       fmt::format("{} replicas of {} partitions", options.replicas, options.partitions)};
  if (!partitions.empty())
    for (size_t replica = 0; replica < partitions[0].size(); replica++)
      for (const auto& ids : partitions) {
        if (ids.size() != partitions[0].size()) return broken;
        options.devices.push_back(ids[replica]);
      }
  return options;
}

std::string assignment_of(const CompileOptions& options) {
  std::string out;
  put_field(out, kReplicaCount, static_cast<uint64_t>(options.replicas));
  put_field(out, kComputationCount, static_cast<uint64_t>(options.partitions));
  for (int partition = 0; partition < options.partitions; partition++) {
    std::string ids, device;
    for (int replica = 0; replica < options.replicas; replica++)
      put(ids, static_cast<uint64_t>(options.devices[static_cast<size_t>(replica * options.partitions + partition)]));
    put_field(device, kReplicaIds, ids);
    put_field(out, kComputations, device);
  }
  return out;
}

std::string sharding_text(const compiler::ir::Tiling& tiling) {
  std::string out;
  if (tiling.replicated()) {
    put_field(out, kShardingKind, kReplicated);
    return out;
  }
  // Tile by tile in C order, of a sum part by part, the devices that have it.
  std::map<compiler::ir::Dims, std::vector<uint64_t>> owners;
  const bool sum = !tiling.part.empty();
  for (size_t device = 0; device < tiling.place.size(); device++) {
    auto place = tiling.place[device];
    if (sum) place.push_back(tiling.part[device]);
    owners[place].push_back(device);
  }
  const size_t copies = owners.begin()->second.size();
  std::string dims, devices;
  for (const int64_t count : tiling.tiles) put(dims, static_cast<uint64_t>(count));
  if (sum && copies == 1 && std::ranges::all_of(tiling.tiles, [](int64_t count) { return count == 1; })) {
    put_field(out, kShardingKind, kUnreduced);
    return out;
  }
  if (sum) put(dims, static_cast<uint64_t>(std::ranges::max(tiling.part)) + 1);
  if (copies > 1) put(dims, copies);
  for (const auto& [place, list] : owners)
    for (const uint64_t device : list) put(devices, device);
  put_field(out, kShardingKind, kTiled);
  put_field(out, kTileDims, dims);
  put_field(out, kTileDevices, devices);
  std::string last;  // what the dimensions are that no dimension of the array has
  if (sum) put(last, kUnreduced);
  if (sum && copies > 1) put(last, kReplicated);
  if (sum) put_field(out, kLastDims, last);
  if (!sum && copies > 1) put_field(out, kReplicateLast, uint64_t{1});
  return out;
}

}  // namespace weft::pjrt
