/// Chakra execution traces (MLCommons): what one rank of a job computes and sends, and after what. Other simulators and
/// profilers write and read the same files.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace weft::chakra {

/// Numbers of the public schema.
enum class NodeType : uint8_t {
  kInvalid = 0,
  kMetadata = 1,
  kMemoryLoad = 2,
  kMemoryStore = 3,
  kCompute = 4,
  kSend = 5,
  kReceive = 6,
  kCollective = 7,
  kStorage = 8,
  kBatch = 9,
  kCheckpoint = 10,
};
inline constexpr uint64_t kNodeTypes = 11;

enum class CollectiveType : uint8_t {
  kAllReduce = 0,
  kReduce = 1,
  kAllGather = 2,
  kGather = 3,
  kScatter = 4,
  kBroadcast = 5,
  kAllToAll = 6,
  kReduceScatter = 7,
  kReduceScatterBlock = 8,
  kBarrier = 9,
};
inline constexpr uint64_t kCollectiveTypes = 10;

std::string_view name_of(NodeType type);        ///< "COMP_NODE"
std::string_view name_of(CollectiveType type);  ///< "ALL_REDUCE"

/// What a replay reads of a node. What a file does not say is empty.
struct Node {
  uint64_t id = 0;
  std::string name;
  NodeType type = NodeType::kInvalid;
  std::vector<uint64_t> after;           ///< ids of the nodes that end before it begins: control and data dependences
  std::optional<uint64_t> start_fs;      ///< when the recorded run began it
  uint64_t duration_fs = 0;              ///< of the recorded run; 0: not said
  bool on_host = false;                  ///< is_cpu_op
  std::optional<uint64_t> operations;    ///< num_ops: floating-point operations
  std::optional<uint64_t> tensor_bytes;  ///< tensor_size: memory traffic
  std::optional<CollectiveType> collective;  ///< comm_type
  /// comm_size: of a message, or of each rank's input of a collective (of the root's, where only the root has one).
  std::optional<uint64_t> bytes;
  std::optional<uint64_t> from, to;  ///< ranks: comm_src, comm_dst
  uint64_t tag = 0;                  ///< comm_tag
  std::optional<uint64_t> root;      ///< rank, of a collective that has one
  std::string group;                 ///< pg_name: a process group; empty: all ranks
  std::string groups_text;           ///< of a metadata node: inputs.values, which may list process groups
};

/// One rank's file.
struct Trace {
  std::string file;     ///< for messages
  std::string version;  ///< of the schema
  std::vector<Node> nodes;
};

/// Bytes of a file without the framing of any protobuf library: each message behind its length, the file's metadata
/// first. Returns the trace, or a message that names file, node and field. Dependences exist, are free of cycles and
/// name each node once, and every node has the fields that its type needs. Fields and attributes that Node has not are
/// passed over.
std::variant<Trace, std::string> read_trace(std::string_view bytes, std::string_view file);

/// The bytes of a file. Dependences are written as data dependences, times in whole microseconds and, as attributes
/// `start_fs` and `duration_fs`, in full: read_trace prefers these.
std::string write_trace(const Trace& trace);

/// "FILE: node 7 (\"layer 3\")": how messages name a node.
std::string describe(const Trace& trace, const Node& node);

/// What is wrong with a trace's nodes, empty: nothing. read_trace has asked.
std::string check_nodes(const Trace& trace);

/// Limits of a node's numbers. Durations: an hour. Bytes: 8 TB. Ranks: 2^20.
inline constexpr uint64_t kMostDurationFs = 3'600'000'000'000'000'000;
inline constexpr uint64_t kMostBytes = uint64_t{1} << 43;
inline constexpr uint64_t kMostRanks = uint64_t{1} << 20;

}  // namespace weft::chakra
