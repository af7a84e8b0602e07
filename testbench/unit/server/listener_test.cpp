// Sockets and their folder: whose they are, who may open them, and that no link is followed.
#include "model/server/listener.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "model/server/socket_folder.hpp"
#include "testbench/unit/server/client.hpp"

using namespace weft::server;
using Catch::Contains;
namespace fs = std::filesystem;
namespace test = weft::test;

namespace {

struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "weft-listener-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path = name;
  }
  ~Folder() { fs::remove_all(path); }
  std::string at(const char* name) const { return (path / name).string(); }
  fs::path path;
};

mode_t mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::lstat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

/// The umask of the process while it lives.
struct Umask {
  explicit Umask(mode_t mask) : former(::umask(mask)) {}
  ~Umask() { ::umask(former); }
  mode_t former;
};

}  // namespace

TEST_CASE("a socket and the file beside it are the user's alone, whatever the umask") {
  const Folder folder;
  for (const mode_t mask : {0, 022, 077}) {
    const Umask umask(mask);
    std::string error;
    const auto listener = Listener::make(folder.at("s"), error);
    REQUIRE(listener != nullptr);
    CHECK(mode_of(folder.at("s")) == 0600);
    listener->publish_owner(1234);
    CHECK(mode_of(folder.at("s.owner")) == 0600);
    const auto shared = Listener::make(folder.at("g"), error, ::getegid());
    REQUIRE(shared != nullptr);
    CHECK(mode_of(folder.at("g")) == 0660);
    shared->publish_owner(1234);
    CHECK(mode_of(folder.at("g.owner")) == 0640);
  }
  CHECK(fs::is_empty(folder.path));
}

TEST_CASE("the owner's file follows no link and takes the place of what is there") {
  const Folder folder;
  std::ofstream(folder.at("precious")) << "mine";
  fs::create_symlink(folder.at("precious"), folder.at("s.owner"));
  std::string error;
  const auto listener = Listener::make(folder.at("s"), error);
  REQUIRE(listener != nullptr);
  listener->publish_owner(1234);
  CHECK(fs::file_size(folder.at("precious")) == 4);
  CHECK(fs::is_regular_file(fs::symlink_status(folder.at("s.owner"))));
  fs::remove(folder.at("s.owner"));
  fs::create_hard_link(folder.at("precious"), folder.at("s.owner"));
  listener->publish_owner(5678);
  CHECK(fs::file_size(folder.at("precious")) == 4);
  listener->publish_owner(0);
  CHECK_FALSE(fs::exists(folder.at("s.owner")));
}

TEST_CASE("a link in the place of a socket is not followed, and a server whose queue is full is not waited for") {
  const Folder folder;
  std::string error;
  {
    const FileDescriptor dead(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = test::socket_address(folder.at("dead"));
    REQUIRE(::bind(dead.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }
  fs::create_symlink(folder.at("dead"), folder.at("link"));
  CHECK(Listener::make(folder.at("link"), error) == nullptr);
  CHECK(fs::is_symlink(folder.at("link")));

  const FileDescriptor full(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = test::socket_address(folder.at("full"));
  REQUIRE(::bind(full.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(full.get(), 0) == 0);
  const FileDescriptor waits = test::connect_to(folder.at("full"));
  CHECK(Listener::make(folder.at("full"), error) == nullptr);
  CHECK_THAT(error, Contains("in use"));
}

TEST_CASE("the folder of sockets is made for its user alone, with its parents") {
  const Folder folder;
  std::string error;
  const Umask umask(0);
  CHECK(prepare_socket_folder(folder.at("a/b/c"), std::nullopt, error));
  CHECK(mode_of(folder.at("a/b/c")) == 0700);
  CHECK(prepare_socket_folder(folder.at("d/"), std::nullopt, error));
  CHECK(mode_of(folder.at("d")) == 0700);
  CHECK(prepare_socket_folder(folder.at("a/b/c"), std::nullopt, error));  // again
  CHECK(prepare_socket_folder(folder.at("e"), ::getegid(), error));
  CHECK(mode_of(folder.at("e")) == 0750);
  REQUIRE(fs::create_directory(folder.at("readable")));
  REQUIRE(::chmod(folder.at("readable").c_str(), 0755) == 0);
  CHECK(prepare_socket_folder(folder.at("readable"), std::nullopt, error));
  CHECK(mode_of(folder.at("readable")) == 0700);
}

TEST_CASE("a folder of others, one that others may write, and a link to one are refused, and say so") {
  const Folder folder;
  std::string error;
  const auto refused = [&](const std::string& path, const char* why) {
    CAPTURE(path);
    CHECK_FALSE(prepare_socket_folder(path, std::nullopt, error));
    CHECK_THAT(error, Contains(path) && Contains(why));
  };
  for (const mode_t mode : {0777, 0770, 01777, 0702}) {
    const std::string path = folder.at(std::to_string(mode).c_str());
    REQUIRE(fs::create_directory(path));
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    refused(path, "others may write");
    CHECK(mode_of(path) == mode);
  }
  REQUIRE(fs::create_directory(folder.at("real")));
  fs::create_symlink(folder.at("real"), folder.at("link"));
  refused(folder.at("link"), "symbolic link");
  std::ofstream(folder.at("file")) << "x";
  refused(folder.at("file"), "no folder");
  refused(folder.at("file/below"), "Not a directory");
  if (::geteuid() == 0) {
    REQUIRE(fs::create_directory(folder.at("theirs")));
    REQUIRE(::chown(folder.at("theirs").c_str(), 12345, 12345) == 0);
    refused(folder.at("theirs"), "belongs to user 12345");
  }
}

TEST_CASE("a listener without a descriptor for a connection rests, and takes it later") {
  const Folder folder;
  std::string error;
  const auto listener = Listener::make(folder.at("s"), error);
  REQUIRE(listener != nullptr);
  const FileDescriptor client = test::connect_to(folder.at("s"));
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  const rlimit none{0, limit.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  CHECK_FALSE(listener->accept().valid());
  CHECK(listener->resting());
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
  while (listener->resting()) ::usleep(1000);
  CHECK(listener->accept().valid());
  CHECK_FALSE(listener->accept().valid());
  CHECK_FALSE(listener->resting());
}
