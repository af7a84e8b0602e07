// Files of a job.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/chakra/utf8.hpp"
#include "model/replay/job.hpp"

namespace weft::replay {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return {};
  std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (in.bad()) return {};
  return bytes;
}

std::string path_of(const std::string& prefix, uint64_t rank) { return fmt::format("{}.{}.et", prefix, rank); }

/// A rank's file that stands behind a gap: then the ranks up to it are missing.
std::string file_behind_gap(const std::string& prefix, size_t ranks) {
  const fs::path path(prefix);
  const auto folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const auto begin = path.filename().string() + ".";
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const auto name = entry.path().filename().string();
    if (!name.starts_with(begin) || !name.ends_with(".et") || name.size() < begin.size() + 4) continue;
    const auto number = name.substr(begin.size(), name.size() - begin.size() - 3);
    if (!std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; })) continue;
    if (number.size() > 9 || std::stoul(number) >= ranks) return entry.path().string();
  }
  return {};
}

/// Ranks of a JSON array; empty: not that.
std::vector<uint32_t> ranks_of(const Json& value) {
  std::vector<uint32_t> ranks;
  if (!value.is_array()) return {};
  for (const auto& rank : value) {
    if (!rank.is_number_unsigned() || rank.get<uint64_t>() > chakra::kMostRanks) return {};
    ranks.push_back(rank.get<uint32_t>());
  }
  return ranks;
}

std::string add_group(Job& job, const std::string& group, std::vector<uint32_t> ranks, const std::string& where) {
  const auto name = chakra::printable(group);
  if (ranks.empty()) return fmt::format("{}: group {}: not a list of ranks", where, name);
  for (const auto rank : ranks)
    if (rank >= job.ranks.size())
      return fmt::format("{}: group {}: rank {} of a job of {} ranks", where, name, rank, job.ranks.size());
  auto sorted = ranks;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    return fmt::format("{}: group {}: rank {} twice", where, name, *twice);
  const auto [at, is_new] = job.groups.emplace(group, ranks);
  if (!is_new && at->second != ranks) return fmt::format("{}: group {}: other ranks than before", where, name);
  return {};
}

/// PyTorch's list of process groups: JSON in brackets and quotes of its own.
std::string add_metadata_groups(Job& job, const chakra::Trace& trace, const chakra::Node& node) {
  const auto& text = node.groups_text;
  const auto begin = text.find("[{"), end = text.rfind("}]");
  if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
  const auto where = fmt::format("{}: inputs.values", chakra::describe(trace, node));
  const auto list = Json::parse(text.substr(begin, end + 2 - begin), nullptr, false);
  if (!list.is_array()) return {};  // of something else
  for (const auto& group : list) {
    if (!group.is_object() || !group.contains("pg_name") || !group.contains("ranks")) continue;
    const auto& name = group["pg_name"];
    std::vector<uint32_t> ranks = ranks_of(group["ranks"]);
    if (group["ranks"].is_array() && group["ranks"].empty())
      for (uint32_t rank = 0; rank < job.ranks.size(); rank++) ranks.push_back(rank);
    auto error = add_group(job, name.is_string() ? name.get<std::string>() : name.dump(), std::move(ranks), where);
    if (!error.empty()) return error;
  }
  return {};
}

}  // namespace

std::string add_groups(Job& job, std::string_view text, const std::string& file) {
  const auto groups = Json::parse(text, nullptr, false);
  if (!groups.is_object()) return fmt::format("{}: not a JSON object of lists of ranks", file);
  for (const auto& [name, ranks] : groups.items())
    if (auto error = add_group(job, name, ranks_of(ranks), file); !error.empty()) return error;
  return {};
}

std::variant<Job, std::string> read_job(const std::string& prefix, const std::string& groups_file) {
  Job job;
  job.name = prefix;
  for (std::error_code error; fs::exists(path_of(prefix, job.ranks.size()), error);) {
    const auto path = path_of(prefix, job.ranks.size());
    const auto bytes = read_file(path);
    if (!bytes) return fmt::format("{}: cannot be read", path);
    auto trace = chakra::read_trace(*bytes, path);
    if (auto* message = std::get_if<std::string>(&trace)) return std::move(*message);
    job.ranks.push_back(std::move(std::get<chakra::Trace>(trace)));
  }
  if (const auto other = file_behind_gap(prefix, job.ranks.size()); !other.empty())
    return fmt::format("{}: no such file, but there is {}", path_of(prefix, job.ranks.size()), other);
  if (job.ranks.empty()) return fmt::format("{}: no such file", path_of(prefix, 0));
  for (const auto& trace : job.ranks)
    for (const auto& node : trace.nodes)
      if (!node.groups_text.empty())
        if (auto error = add_metadata_groups(job, trace, node); !error.empty()) return error;
  if (groups_file.empty()) return job;
  const auto text = read_file(groups_file);
  if (!text) return fmt::format("{}: cannot be read", groups_file);
  if (auto error = add_groups(job, *text, groups_file); !error.empty()) return error;
  return job;
}

}  // namespace weft::replay
