// A heap that refuses one allocation, each in turn, while a device lives its whole life: every call answers OK or
// NO_HOST_MEMORY, and the latter may be made again; every command ends once; nothing is lost and nothing leaks.
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <new>
#include <optional>
#include <thread>

#include "driver/memory/address_allocator.hpp"
#include "driver/report/report_file.hpp"
#include "driver/transport/version_reply.hpp"
#include "testbench/unit/driver/device_fixture.hpp"

namespace {

std::atomic<int64_t> until_failure{INT64_MAX};  ///< allocations of the driver before the one that is refused
std::atomic<int64_t> refusals{0};               ///< how many in a row are refused then
std::atomic<uint64_t> refused{0};
std::atomic<int64_t> live{0};  ///< allocations that were not given back
thread_local int sheltered = 0;

/// What is not the driver's own need, in this thread: the test, the mock.
struct Shelter {
  Shelter() { sheltered++; }
  ~Shelter() { sheltered--; }
};

void* allocate(size_t bytes) {
  if (sheltered == 0 && until_failure.fetch_sub(1) <= 0 && refusals.fetch_sub(1) > 0) {
    refused++;
    throw std::bad_alloc();
  }
  void* const memory = std::malloc(bytes != 0 ? bytes : 1);
  if (memory == nullptr) throw std::bad_alloc();
  live++;
  return memory;
}

/// A sanitizer's operator new of this kind would be another allocator than the operator delete below.
void* allocate_or_null(size_t bytes) noexcept {
  try {
    return allocate(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void deallocate(void* memory) noexcept {
  if (memory == nullptr) return;
  live--;
  std::free(memory);
}

}  // namespace

void* operator new(size_t bytes) { return allocate(bytes); }
void* operator new[](size_t bytes) { return allocate(bytes); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return allocate_or_null(bytes); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return allocate_or_null(bytes); }
void operator delete(void* memory) noexcept { deallocate(memory); }
void operator delete[](void* memory) noexcept { deallocate(memory); }
void operator delete(void* memory, size_t) noexcept { deallocate(memory); }
void operator delete[](void* memory, size_t) noexcept { deallocate(memory); }

using namespace weft::driver;
using namespace weft::driver::test;

namespace {

/// The device has memory of its own.
class SteadyMock final : public MockTransport {
 public:
  using MockTransport::MockTransport;
  Status read(Region region, uint64_t offset, void* data, uint32_t bytes) override {
    const Shelter shelter;
    return MockTransport::read(region, offset, data, bytes);
  }
  Status write(Region region, uint64_t offset, const void* data, uint32_t bytes) override {
    const Shelter shelter;
    return MockTransport::write(region, offset, data, bytes);
  }
  Status dma_map(int fd, uint64_t fd_offset, uint64_t iova, uint64_t bytes) override {
    const Shelter shelter;
    return MockTransport::dma_map(fd, fd_offset, iova, bytes);
  }
  Status dma_unmap(uint64_t iova, uint64_t bytes) override {
    const Shelter shelter;
    return MockTransport::dma_unmap(iova, bytes);
  }
  Status set_irqs(std::span<const int> eventfds) override {
    const Shelter shelter;
    return MockTransport::set_irqs(eventfds);
  }
  Status reset() override {
    const Shelter shelter;
    return MockTransport::reset();
  }
};

/// One life of a device. No check of Catch2 in it: what is wrong is kept for later.
class Life {
 public:
  void run(const Bytes& executable) {
    const Shelter test;
    open();
    if (device_ == nullptr) return complain("open");
    work(executable);
    fail();
    listen();
    reset();
    close();
  }
  const char* complaint() const { return complaint_; }
  weft_status status() const { return status_; }

 private:
  static constexpr int kTries = 4;

  void complain(const char* what) {
    if (complaint_ == nullptr) complaint_ = what;
  }

  /// The call with the driver's allocations counted; again while it says that there is no memory.
  template <typename Call>
  weft_status with_heap(Call&& call) {
    weft_status status = WEFT_ERROR_NO_HOST_MEMORY;
    for (int i = 0; i < kTries && status == WEFT_ERROR_NO_HOST_MEMORY; i++) {
      sheltered--;
      status = call();
      sheltered++;
    }
    return status;
  }
  template <typename Call>
  void ok(const char* what, Call&& call) {
    expect(what, WEFT_ERROR_OK, call);
  }
  template <typename Call>
  void expect(const char* what, weft_status wanted, Call&& call) {
    const weft_status status = with_heap(call);
    if (status == wanted) return;
    if (complaint_ == nullptr) status_ = status;
    complain(what);
  }

  void open() {
    for (int i = 0; i < kTries && device_ == nullptr; i++) {
      std::unique_ptr<SteadyMock> transport = std::make_unique<SteadyMock>(nano());
      SteadyMock* mock = transport.get();
      std::shared_ptr<Device> device;
      (void)abi::guard([&]() -> Status {
        sheltered--;
        struct Back {
          ~Back() { sheltered++; }
        } back;
        auto opened = Device::open(std::move(transport));
        if (!opened.ok()) return opened.status();
        device = opened.value();
        return {};
      });
      if (device == nullptr) continue;
      device_ = new weft_device{std::move(device)};
      mock_ = mock;
    }
  }

  /// An event whose callback must come once.
  void watch(weft_event* event) {
    if (event == nullptr) return complain("no event");
    ok("callback", [&] {
      return weft_event_set_callback(
          event, [](weft_event*, weft_status, void* user) { (*static_cast<std::atomic<int>*>(user))++; }, &called_);
    });
    expected_++;
  }
  void end(weft_event* event, weft_status wanted) {
    if (event == nullptr) return;
    expect("wait", wanted, [&] { return weft_event_wait(event, nullptr); });
    weft_event_release(event);
  }
  void callbacks() {
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (called_ < expected_ && std::chrono::steady_clock::now() < patience) std::this_thread::yield();
    if (called_ != expected_) complain("callbacks");
  }
  weft_queue* queue(weft_queue* completions = nullptr) {
    weft_queue_options options = WEFT_INIT(weft_queue_options);
    options.entries = 16;
    options.completion_entries = completions == nullptr ? 64 : 0;
    options.completions = completions;
    options.coalesce_count = completions == nullptr ? 4 : 0;
    options.coalesce_cycles = completions == nullptr ? 1000 : 0;
    weft_queue* made = nullptr;
    ok("queue", [&] { return weft_queue_create(device_, &options, &made); });
    return made;
  }

  void work(const Bytes& executable) {
    ok("host buffer", [&] { return weft_buffer_create(device_, WEFT_MEMORY_HOST, 10000, &host_); });
    ok("HBM buffer", [&] { return weft_buffer_create(device_, WEFT_MEMORY_HBM, 10000, &hbm_); });
    first_ = queue();
    second_ = queue(first_);
    ok("program", [&] { return weft_program_load(device_, executable.data(), executable.size(), &program_); });
    ok("semaphore", [&] { return weft_semaphore_create(device_, 1, &semaphore_); });
    if (complaint_ != nullptr) return;
    weft_kernel* kernel = nullptr;
    ok("kernel", [&] { return weft_program_get_kernel(program_, 1, &kernel); });
    const weft_argument arguments[] = {{hbm_, 0}, {hbm_, 4096}};
    std::array<weft_event*, 4> events{};
    ok("copy", [&] { return weft_copy(first_, hbm_, 0, host_, 0, 4096, nullptr, &events[0]); });
    ok("launch", [&] { return weft_launch(first_, kernel, arguments, 2, nullptr, &events[1]); });
    ok("fill", [&] { return weft_fill(second_, hbm_, 0, 64, 7, nullptr, &events[2]); });
    ok("signal", [&] { return weft_signal(second_, semaphore_, 5, nullptr, &events[3]); });
    for (weft_event* event : events) watch(event);
    for (weft_event* event : events) end(event, WEFT_ERROR_OK);
    ok("semaphore wait", [&] { return weft_semaphore_wait(semaphore_, 5, nullptr); });
    callbacks();
  }

  /// Commands that fail, time out, are cancelled; a queue that is halted.
  void fail() {
    if (complaint_ != nullptr) return;
    mock_->configure([](MockFaults& f) { f.fail_next = WEFT_ERROR_COMPUTE_FAULT; });
    weft_event* event = nullptr;
    ok("no-op", [&] { return weft_nop(first_, nullptr, &event); });
    watch(event);
    end(event, WEFT_ERROR_COMPUTE_FAULT);
    mock_->configure([](MockFaults& f) { f.fail_next = WEFT_ERROR_BUDGET_EXCEEDED; });
    ok("no-op", [&] { return weft_nop(first_, nullptr, &event); });
    watch(event);
    end(event, WEFT_ERROR_BUDGET_EXCEEDED);  // with a report, if there is memory for one
    mock_->configure([](MockFaults& f) { f.paused = true; });
    ok("no-op", [&] { return weft_nop(second_, nullptr, &event); });
    watch(event);
    expect("wait in vain", WEFT_ERROR_TIMEOUT_WAIT, [&] { return weft_event_wait(event, nullptr); });
    ok("cancel", [&] { return weft_event_cancel(event); });
    end(event, WEFT_ERROR_CANCELLED);
    ok("no-op", [&] { return weft_nop(second_, nullptr, &event); });
    watch(event);
    mock_->halt_queue(2, 99);
    end(event, WEFT_ERROR_BAD_DOORBELL);
    mock_->configure([](MockFaults& f) { f.paused = false; });
    callbacks();
  }

  void listen() {
    if (complaint_ != nullptr) return;
    weft_event* event = nullptr;
    ok("listen", [&] { return weft_device_listen(device_, &event); });
    watch(event);
    end(event, WEFT_ERROR_OK);  // of the halted queue
    weft_error_log log{};
    ok("errors", [&] { return weft_device_get_errors(device_, &log, nullptr, 0); });
    if (log.halted != 1) complain("errors counted");
    callbacks();
  }

  void reset() {
    if (complaint_ != nullptr) return;
    mock_->configure([](MockFaults& f) { f.paused = true; });
    std::array<weft_event*, 3> events{};
    for (weft_event*& event : events) ok("no-op", [&] { return weft_nop(first_, nullptr, &event); });
    for (weft_event* event : events) watch(event);
    ok("reset", [&] { return weft_device_reset(device_); });
    for (weft_event* event : events) end(event, WEFT_ERROR_ABORTED_BY_RESET);
    mock_->configure([](MockFaults& f) { f.paused = false; });
    weft_queue* again = queue();
    weft_event* event = nullptr;
    ok("no-op after the reset", [&] { return weft_nop(again, nullptr, &event); });
    end(event, WEFT_ERROR_OK);
    ok("release", [&] { return weft_queue_release(again); });
    callbacks();
    weft_device_statistics counts = WEFT_INIT(weft_device_statistics);
    ok("statistics", [&] { return weft_device_get_statistics(device_, &counts); });
    if (counts.completed != counts.submitted) complain("completed is not submitted");
    if (counts.bad_completions + counts.late_completions + counts.unknown_completions != 0) complain("completions");
  }

  void close() {
    weft_semaphore_release(semaphore_);
    sheltered--;
    weft_program_release(program_);
    sheltered++;
    for (weft_buffer* buffer : {host_, hbm_}) weft_buffer_release(buffer);
    for (weft_queue* queue : {second_, first_}) ok("release", [&] { return weft_queue_release(queue); });
    ok("close", [&] { return weft_close(device_, nullptr); });
  }

  weft_device* device_ = nullptr;
  SteadyMock* mock_ = nullptr;
  weft_buffer *host_ = nullptr, *hbm_ = nullptr;
  weft_queue *first_ = nullptr, *second_ = nullptr;
  weft_program* program_ = nullptr;
  weft_semaphore* semaphore_ = nullptr;
  std::atomic<int> called_{0};
  int expected_ = 0;
  const char* complaint_ = nullptr;
  weft_status status_ = WEFT_ERROR_OK;
};

struct Outcome {
  const char* complaint;
  weft_status status;
  int64_t leaked;
  bool refused;
};

Outcome live_once(const Bytes& executable, int64_t failing, int64_t in_a_row) {
  const int64_t before = live;
  const uint64_t refused_before = refused;
  Outcome outcome;
  {
    Life life;
    refusals = in_a_row;
    until_failure = failing;
    life.run(executable);
    until_failure = INT64_MAX;
    outcome = {life.complaint(), life.status(), 0, refused != refused_before};
  }
  outcome.leaked = live - before;
  return outcome;
}

}  // namespace

TEST_CASE("a device survives the refusal of any one allocation, and of any three in a row") {
  const int64_t in_a_row = GENERATE(int64_t{1}, int64_t{3});
  const Bytes executable = make_executable(nano());
  (void)live_once(executable, INT64_MAX, 0);  // what is made once in a process
  const Outcome without = live_once(executable, INT64_MAX, 0);
  CAPTURE(without.complaint != nullptr ? without.complaint : "");
  REQUIRE(without.complaint == nullptr);
  REQUIRE(without.leaked == 0);
  int64_t failing = 0;
  const uint64_t lost_before = lost_reports();
  for (bool reached = true; reached; failing++) {
    const Outcome outcome = live_once(executable, failing, in_a_row);
    reached = outcome.refused;
    if (outcome.complaint != nullptr || outcome.leaked != 0) {
      const std::string complaint = outcome.complaint != nullptr ? outcome.complaint : "nothing";
      CAPTURE(failing, in_a_row, complaint, weft_status_name(outcome.status), outcome.leaked);
      FAIL("the refusal of an allocation broke something");
    }
  }
  CHECK(failing > 300);                      // the driver allocates, and all of it was tried
  CHECK(lost_reports() > lost_before + 20);  // of a command that waited in vain, and of one that failed
}

TEST_CASE("reading the capabilities of a server without memory ends with bad_alloc, and leaks nothing") {
  constexpr size_t kDeep = 1000;
  const std::string text = R"({"capabilities":{"a name that is longer than a short string":)" +
                           std::string(kDeep, '[') + std::string(kDeep, ']') +
                           R"(,"max_msg_fds":32},"more":"words that need memory of their own"})";
  int64_t failing = 0;
  for (bool reached = true; reached; failing++) {
    const int64_t before = live;
    const uint64_t refused_before = refused;
    bool accepted = false;
    refusals = INT64_MAX;  // from then on there is none at all: what is unwound may not need any
    until_failure = failing;
    try {
      accepted = descriptors_of_version_reply(text).ok();
    } catch (const std::bad_alloc&) {
    }
    until_failure = INT64_MAX;
    const int64_t leaked = live - before;
    reached = refused != refused_before;
    CAPTURE(failing);
    CHECK(accepted != reached);
    CHECK(leaked == 0);
  }
  CHECK(failing > 5);
}

TEST_CASE("an address allocator without memory stays as it was, and its release needs none") {
  constexpr uint64_t kBytes = 1u << 16;
  for (int64_t failing = 0; failing < 12; failing++) {
    AddressAllocator allocator(0, kBytes);
    const auto low = allocator.allocate(192, 64), high = allocator.allocate(64, 4096);
    REQUIRE((low && high));
    const uint64_t free = allocator.free_bytes(), largest = allocator.largest_bytes();
    std::optional<uint64_t> more;
    bool refused_now = false;
    refusals = 1;
    until_failure = failing;
    try {
      more = allocator.allocate(100, 1024);  // a piece before it, and one behind
    } catch (const std::bad_alloc&) {
      refused_now = true;
    }
    until_failure = 0;
    refusals = INT64_MAX;  // no memory at all
    const bool high_released = allocator.release(*high);
    until_failure = INT64_MAX;
    CAPTURE(failing);
    CHECK(high_released);
    if (refused_now) {
      CHECK_FALSE(more);
      CHECK(allocator.free_bytes() == free + 64);
      CHECK(allocator.largest_bytes() >= largest);
    } else {
      CHECK(allocator.release(more.value()));
    }
    CHECK(allocator.release(*low));
    CHECK(allocator.free_bytes() == kBytes);
    CHECK(allocator.largest_bytes() == kBytes);
  }
}
