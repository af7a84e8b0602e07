#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "testbench/unit/replay/jobs.hpp"

using namespace weft::replay;
using namespace weft::replay::test;
namespace fs = std::filesystem;

namespace {

/// A folder of its own for a job's files.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("weft_read_job_" + std::to_string(getpid()))) {
    fs::remove_all(path_);
    fs::create_directory(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }

  [[nodiscard]] std::string path(const std::string& name) const { return (path_ / name).string(); }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }
  void write(const Job& job) const {
    for (size_t rank = 0; rank < job.ranks.size(); rank++)
      write("job." + std::to_string(rank) + ".et", weft::chakra::write_trace(job.ranks[rank]));
  }

 private:
  fs::path path_;
};

std::string error_of(std::variant<Job, std::string> read) {
  const auto* error = std::get_if<std::string>(&read);
  return error == nullptr ? "" : *error;
}

}  // namespace

TEST_CASE("a job is as many ranks as there are files, without a gap") {
  const Folder folder;
  folder.write(job_of({{compute(1, 2)}, {compute(1, 3)}, {}}));
  const auto job = std::get<Job>(read_job(folder.path("job"), ""));
  REQUIRE(job.ranks.size() == 3);
  CHECK(job.ranks[1].nodes.front().duration_fs == 3 * weft::ici::kMicrosecond);
  CHECK(job.ranks[1].file == folder.path("job.1.et"));
  fs::remove(folder.path("job.1.et"));
  CHECK_THAT(error_of(read_job(folder.path("job"), "")), Catch::Contains("job.1.et: no such file, but there is"));
  CHECK_THAT(error_of(read_job(folder.path("none"), "")), Catch::EndsWith("none.0.et: no such file"));
  CHECK_THAT(error_of(read_job(folder.path("no/such/folder"), "")), Catch::EndsWith("folder.0.et: no such file"));
}

TEST_CASE("a damaged file is named") {
  const Folder folder;
  folder.write(job_of({{compute(1, 2)}, {compute(1, 3)}}));
  folder.write("job.1.et",
               "\x05"
               "ab");
  CHECK_THAT(error_of(read_job(folder.path("job"), "")), Catch::Contains("job.1.et: metadata: 5 bytes long"));
}

TEST_CASE("groups come from a file, or from PyTorch's metadata") {
  const Folder folder;
  Node metadata{
      .id = 3,
      .type = NodeType::kMetadata,
      .groups_text = R"(['[{"pg_name": "2", "ranks": [1, 0], "group_size": 2}, {"pg_name": "0", "ranks": []}]'])"};
  folder.write(job_of({{metadata}, {metadata}}));
  folder.write("groups.json", R"({"rows": [1]})");
  const auto job = std::get<Job>(read_job(folder.path("job"), folder.path("groups.json")));
  CHECK(job.groups.at("2") == std::vector<uint32_t>{1, 0});
  CHECK(job.groups.at("0") == std::vector<uint32_t>{0, 1});
  CHECK(job.groups.at("rows") == std::vector<uint32_t>{1});
  CHECK_THAT(error_of(read_job(folder.path("job"), folder.path("none.json"))),
             Catch::Contains("none.json: cannot be read"));
}

TEST_CASE("groups that cannot be are refused with their name") {
  const auto tells = [](const char* text, const std::string& words) {
    auto job = job_of({{}, {}});
    INFO(text);
    CHECK_THAT(add_groups(job, text, "g.json"), Catch::StartsWith("g.json: ") && Catch::Contains(words));
  };
  for (const char* text : {"", "{", "[]", "7", "null", "\xff\xfe", "{\"a\":[1]"})
    tells(text, "not a JSON object of lists of ranks");
  for (const char* text : {"{\"a\": 7}", "{\"a\": []}", "{\"a\": [-1]}", "{\"a\": [\"x\"]}", "{\"a\": [1.5]}",
                           "{\"a\": [99999999999999]}"})
    tells(text, "group a: not a list of ranks");
  tells("{\"a\": [2]}", "group a: rank 2 of a job of 2 ranks");
  tells("{\"a\": [1, 0, 1]}", "group a: rank 1 twice");
  auto job = job_of({{}, {}});
  CHECK(add_groups(job, "{\"a\": [0]}", "g.json").empty());
  CHECK(add_groups(job, "{\"a\": [0]}", "g.json").empty());
  CHECK_THAT(add_groups(job, "{\"a\": [1]}", "h.json"), Catch::Contains("h.json: group a: other ranks than before"));
}
