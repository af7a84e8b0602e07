// Observers beside an owner: what they are told, and that nothing they do or leave undone holds the owner up.
#include "model/server/management_port.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "testbench/unit/server/client.hpp"

using namespace weft;
using namespace weft::server;
using Catch::Contains;
using Json = nlohmann::json;

namespace {

constexpr const char* kState = "{\"weft_management\":1,\"request\":\"state\"}\n";
constexpr uint64_t kIova = 0x10000;

/// Raises vector 1 for every doorbell of queue 1.
void answer_doorbells() {
  for (;;) {
    fw::hal::wait_for_event(UINT64_MAX);
    if (fw::hal::doorbell_pending(0) != 0) fw::hal::raise_interrupt(0, 1);
  }
}

class Observer {
 public:
  explicit Observer(const std::string& path) : socket_(test::connect_to(path)) { REQUIRE(socket_.valid()); }

  /// False: the server has closed.
  bool send(std::string_view text) {
    return ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  /// The next line; empty: the server has closed, or nothing came.
  std::string receive() {
    for (;;) {
      if (const size_t end = input_.find('\n'); end != std::string::npos) {
        const std::string line = input_.substr(0, end);
        input_.erase(0, end + 1);
        return line;
      }
      pollfd p{socket_.get(), POLLIN, 0};
      if (::poll(&p, 1, test::kReplyTimeoutMs) != 1) return {};
      std::array<char, 65536> bytes;
      const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
      if (got <= 0) return {};
      input_.append(bytes.data(), static_cast<size_t>(got));
    }
  }
  Json ask(std::string_view line) {
    REQUIRE(send(line));
    return Json::parse(receive());
  }

 private:
  FileDescriptor socket_;
  std::string input_;
};

/// A chip whose function 0 has an owner, and a management socket.
struct Fixture {
  Fixture() {
    test::firmware = answer_doorbells;
    std::string error;
    auto functions = Listener::make(path, error);
    auto management = Listener::make(management_path, error);
    REQUIRE((functions != nullptr && management != nullptr));
    served.emplace(std::move(functions), std::move(management));
    owner.emplace(test::connect_to(path));
    owner->negotiate();
    REQUIRE(owner->map(memory.fd(), kIova, 4096) == 0);
    REQUIRE(owner->listen_to(0, std::array{event0.get(), event1.get()}) == 0);
  }
  void check_owner_works(uint32_t times = 20) {
    for (uint32_t i = 0; i < times; i++) {
      owner->post(test::kDoorbellBar, 8, ++tail);
      REQUIRE(test::wait_for(event1) == 1);
    }
  }
  const std::string path = test::socket_path();
  const std::string management_path = path + "_management";
  std::optional<test::Served> served;
  std::optional<test::Client> owner;
  test::SharedMemory memory{4096};
  FileDescriptor event0 = test::event_fd();
  FileDescriptor event1 = test::event_fd();
  uint32_t tail = 0;
};

}  // namespace

TEST_CASE_METHOD(Fixture, "an observer is told of the chip and of who owns a function, while the owner works") {
  Observer observer(management_path);
  check_owner_works();
  const Json state = observer.ask(kState);
  CHECK(state["weft_management"] == 1);
  CHECK(state["chip"]["preset"] == "nano");
  CHECK(state["counters"].size() == WEFT_COUNTERS);
  REQUIRE(state["functions"].size() == 1);
  const Json& function = state["functions"][0];
  CHECK(function["owner"]["pid"] == ::getpid());
  std::string name;
  std::getline(std::ifstream("/proc/self/comm"), name);
  CHECK(function["owner"]["process"] == name);
  CHECK(function["state"] == "present");
  CHECK(function["hbm"]["used_bytes"].is_null());
  check_owner_works();
  owner->close();
  while (!observer.ask(kState)["functions"][0]["owner"].is_null()) continue;
}

TEST_CASE_METHOD(Fixture, "looking on changes no device cycle between two doorbells") {
  // The stand-in firmware takes the same cycles for every doorbell; the looks in between are not among them.
  Observer observer(management_path);
  const auto cycles_of_work = [&](bool observed) {
    const uint64_t before = owner->read_register(WEFT_REG_CYCLES, 8);
    check_owner_works(1);
    if (observed) observer.ask("{\"weft_management\":1,\"request\":\"function\",\"function\":0}\n");
    return owner->read_register(WEFT_REG_CYCLES, 8) - before;
  };
  check_owner_works(1);
  const uint64_t alone = cycles_of_work(false);
  for (int i = 0; i < 10; i++) CHECK(cycles_of_work(true) == alone);
}

TEST_CASE_METHOD(Fixture, "two observers get their own answers, also to requests sent together") {
  Observer first(management_path), second(management_path);
  REQUIRE(
      first.send(std::string(kState) + "{\"weft_management\":1,\"request\":\"function\",\"function\":0}\n" + kState));
  CHECK(second.ask(kState).contains("functions"));
  CHECK(Json::parse(first.receive()).contains("functions"));
  CHECK(Json::parse(first.receive()).contains("rings"));
  CHECK(Json::parse(first.receive()).contains("functions"));
}

TEST_CASE_METHOD(Fixture, "an observer that is silent, or stops within a line, or does not read, holds nobody up") {
  Observer silent(management_path), half(management_path), deaf(management_path), good(management_path);
  REQUIRE(half.send("{\"weft_man"));
  for (int i = 0; i < 200; i++) REQUIRE(deaf.send(kState));
  check_owner_works(200);
  CHECK(good.ask(kState).contains("functions"));
  REQUIRE(half.send("agement\":1,\"request\":\"state\"}\n"));
  CHECK(Json::parse(half.receive()).contains("functions"));
  check_owner_works();
}

TEST_CASE_METHOD(Fixture, "an observer that asks without a pause gets one answer in a period") {
  Observer greedy(management_path);
  constexpr int kRequests = 40;
  std::string requests;
  for (int i = 0; i < kRequests; i++) requests += kState;
  const auto begin = std::chrono::steady_clock::now();
  REQUIRE(greedy.send(requests));
  check_owner_works(50);
  for (int i = 0; i < kRequests; i++) REQUIRE_FALSE(greedy.receive().empty());
  CHECK(std::chrono::steady_clock::now() - begin >= (kRequests - 1) * ManagementPort::kPeriod);
}

TEST_CASE_METHOD(Fixture, "when all places are taken a new observer gets that of the one silent for longest") {
  std::deque<Observer> observers;
  for (size_t i = 0; i < ManagementPort::kMaxObservers; i++) {
    observers.emplace_back(management_path);
    CHECK(observers.back().ask(kState).contains("functions"));
  }
  CHECK(observers[0].ask(kState).contains("functions"));
  Observer late(management_path);
  CHECK(late.ask(kState).contains("functions"));
  CHECK(observers[0].ask(kState).contains("functions"));
  observers[1].send(kState);
  CHECK(observers[1].receive().empty());
  check_owner_works();
}

TEST_CASE_METHOD(Fixture, "garbage gets an error each line, a line without an end its connection's end") {
  const uint64_t seed = Catch::rngSeed() != 0 ? Catch::rngSeed() : 20'261'122;
  WARN("seed " << seed << " (rerun with --rng-seed)");
  std::mt19937_64 random(seed);
  {
    Observer observer(management_path);
    for (int i = 0; i < 50; i++) {
      std::string line(random() % 300, ' ');
      for (char& c : line) c = static_cast<char>(random());
      std::erase(line, '\n');
      CHECK(observer.ask(line + "\n")["error"] == "INVALID_ARGUMENT");
    }
    CHECK(observer.ask(kState).contains("functions"));
  }
  Observer endless(management_path);
  REQUIRE(endless.send(std::string(kMaxManagementRequestBytes + 1, '{')));
  CHECK_THAT(endless.receive(), Contains("4096 bytes"));
  CHECK(endless.receive().empty());
  for (int i = 0; i < 30; i++) {  // and observers that come and go at any point
    Observer brief(management_path);
    (void)brief.send(std::string_view(kState).substr(0, random() % 40));
  }
  check_owner_works();
}

TEST_CASE_METHOD(Fixture, "a function that is owned is reset only by force, and the refusal says whose it is") {
  Observer observer(management_path);
  const Json refused = observer.ask("{\"weft_management\":1,\"request\":\"reset\",\"function\":0}\n");
  CHECK(refused["error"] == "BUSY");
  CHECK_THAT(refused["message"].get<std::string>(), Contains(std::to_string(::getpid())));
  CHECK(owner->read_register(WEFT_REG_RESET_GENERATION) == 0);
  const Json done = observer.ask("{\"weft_management\":1,\"request\":\"reset\",\"function\":0,\"force\":true}\n");
  CHECK(done["reset"]["reset_generation"] == 0);
  CHECK(test::wait_for(event0) == 1);
  while (owner->read_register(WEFT_REG_DEVICE_STATE) != WEFT_DEVICE_STATE_PRESENT) continue;
  CHECK(owner->read_register(WEFT_REG_RESET_GENERATION) == 1);
}

TEST_CASE_METHOD(Fixture, "a chip that stands alone has no links to tell of, and takes no faults of links") {
  Observer observer(management_path);
  const Json links = observer.ask("{\"weft_management\":1,\"request\":\"links\"}\n");
  CHECK(links["error"] == "UNSUPPORTED");
  CHECK_THAT(links["message"].get<std::string>(), Contains("--slice"));
  const Json inject =
      observer.ask("{\"weft_management\":1,\"request\":\"inject\",\"kind\":\"link_down\",\"port\":0}\n");
  CHECK(inject["error"] == "INVALID_ARGUMENT");
  CHECK_THAT(inject["message"].get<std::string>(), Contains("chip 0 refused link_down at port +x"));
  check_owner_works();
}
