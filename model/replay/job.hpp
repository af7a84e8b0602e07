/// A job of several ranks: their traces, process groups, and which of their communications belong together.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/chakra/trace.hpp"

namespace weft::replay {

/// ranks: by rank, whose files are `PREFIX.<rank>.et`. groups: ranks of each process group, by its name.
struct Job {
  std::string name;
  std::vector<chakra::Trace> ranks;
  std::map<std::string, std::vector<uint32_t>> groups;
};

/// Reads `PREFIX.0.et`, `PREFIX.1.et`, ... as many as there are, and process groups: of metadata nodes (as PyTorch
/// writes them), and of a JSON file {"name": [ranks], ..} if its path is not empty. Returns the job, or a message that
/// names the file and what is wrong with it.
std::variant<Job, std::string> read_job(const std::string& prefix, const std::string& groups_file);

/// Process groups of a text: {"name": [ranks], ..}. Names are added to `job`; an error names `file`.
std::string add_groups(Job& job, std::string_view text, const std::string& file);

/// A node of a job: rank, and place in its trace.
struct NodePlace {
  uint32_t rank = 0, node = 0;
};

/// Nodes of different ranks that are one communication.
struct Communication {
  bool is_transfer = false;       ///< a send and its receive, in this order; else a collective
  std::vector<NodePlace> nodes;   ///< of a collective: by rank of its group
  chakra::CollectiveType type{};  ///< of a collective
  uint64_t bytes = 0;
  uint32_t root = 0;  ///< place in `nodes`
};

struct Communications {
  std::vector<Communication> all;
  std::vector<std::vector<uint32_t>> of_node;  ///< by rank and node: place in `all`; kNone: it communicates nothing
  static constexpr uint32_t kNone = ~uint32_t{0};
};

/// Which nodes belong together. The n-th send from one rank to another with a tag, in the order of the file, is the
/// n-th receive there; the n-th collective of a group in each rank's file is the n-th of all its ranks. Returns them,
/// or a message that names file, node and field: one without its other end, sizes or types that differ, a rank or group
/// that does not exist.
std::variant<Communications, std::string> match(const Job& job);

}  // namespace weft::replay
