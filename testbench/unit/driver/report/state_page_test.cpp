// The state page: read whole, refused with the byte, and fed with garbage.
#include "driver/report/state_page.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "driver/hang/hang_report.hpp"

using namespace weft::driver;
using Catch::Contains;

namespace {

using Bytes = std::vector<std::byte>;

/// Two queues of 17, the engines, the core's queues, semaphores 3 and 5, one timeline.
Bytes make_page() {
  constexpr size_t kBytes[] = {sizeof(weft_state_queue), sizeof(weft_state_engine), sizeof(weft_state_core_queue),
                               sizeof(weft_state_semaphores), sizeof(weft_state_timeline)};
  constexpr size_t kCounts[] = {17, 2, 5, 1, 1};
  weft_state_header header{};
  header.magic = WEFT_LIMIT_STATE_MAGIC;
  header.version = WEFT_LIMIT_STATE_VERSION;
  header.sections = 5;
  header.cycle = 4711;
  size_t at = sizeof header;
  for (size_t i = 0; i < 5; i++) {
    header.section_offset[i] = static_cast<uint32_t>(at);
    header.section_count[i] = static_cast<uint16_t>(kCounts[i]);
    header.section_record_bytes[i] = static_cast<uint16_t>(kBytes[i]);
    at += kCounts[i] * kBytes[i];
  }
  header.bytes = static_cast<uint32_t>(at);
  Bytes page(at);
  std::memcpy(page.data(), &header, sizeof header);
  const auto put = [&](size_t section, size_t index, const auto& record) {
    std::memcpy(page.data() + header.section_offset[section] + index * sizeof record, &record, sizeof record);
  };
  for (uint16_t id = 0; id < 17; id++) {
    weft_state_queue q{};
    q.queue = id;
    q.state = id < 2 ? WEFT_QUEUE_STATE_ACTIVE : WEFT_QUEUE_STATE_DELETED;
    q.wait = id == 1 ? WEFT_QUEUE_WAIT_RUNNING : WEFT_QUEUE_WAIT_NOTHING;
    q.opcode = id == 1 ? WEFT_QUEUE_OPCODE_LAUNCH : 0;
    put(0, id, q);
  }
  for (uint16_t i = 0; i < 2; i++) {
    weft_state_engine e{};
    e.engine = i;
    put(1, i, e);
  }
  for (uint16_t i = 0; i < 5; i++) {
    weft_state_core_queue q{};
    q.queue = i;
    put(2, i, q);
  }
  weft_state_semaphores s{};
  s.value[3] = 1;
  s.value[5] = 65535;
  put(3, 0, s);
  put(4, 0, weft_state_timeline{.semaphore = 9, .padding0 = {}, .value = 77});
  return page;
}

template <typename T>
void poke(Bytes& page, size_t at, T value) {
  std::memcpy(page.data() + at, &value, sizeof value);
}

std::string refusal(const Bytes& page) {
  const auto decoded = decode_state_page(page);
  return decoded.ok() ? "" : decoded.status().message();
}

/// A page that is taken can be printed, whatever it holds.
void use(const Bytes& bytes) {
  auto page = decode_state_page(bytes);
  if (!page.ok()) return;
  HangReport report;
  report.graph = make_wait_graph(page.value(), {});
  report.page = std::move(page.value());
  REQUIRE(!report_text(report).empty());
  REQUIRE(!report_json(report).empty());
}

}  // namespace

TEST_CASE("a whole state page is read") {
  const auto page = decode_state_page(make_page());
  REQUIRE(page.ok());
  CHECK(page.value().header.cycle == 4711);
  CHECK(page.value().queues.size() == 17);
  CHECK(page.value().queues[1].wait == WEFT_QUEUE_WAIT_RUNNING);
  CHECK(page.value().engine(WEFT_ENGINE_COPY) != nullptr);
  CHECK(page.value().semaphores[5] == 65535);
  CHECK(page.value().timelines.at(0).value == 77);
}

TEST_CASE("a page is refused with the byte and the reason") {
  using H = weft_state_header;
  const auto broken = [](auto change) {
    Bytes page = make_page();
    change(page);
    return refusal(page);
  };
  CHECK_THAT(broken([](Bytes& p) { p.resize(127); }), Contains("byte 127"));
  CHECK_THAT(broken([](Bytes& p) { poke<uint32_t>(p, offsetof(H, magic), 0); }), Contains("byte 0: the magic"));
  CHECK_THAT(broken([](Bytes& p) { poke<uint16_t>(p, offsetof(H, version), 9); }), Contains("version 9"));
  CHECK_THAT(broken([](Bytes& p) { poke<uint16_t>(p, offsetof(H, sections), 4); }), Contains("4 tables"));
  CHECK_THAT(broken([](Bytes& p) { poke<uint32_t>(p, offsetof(H, bytes), 1u << 30); }),
             Contains("it says that it has"));
  CHECK_THAT(broken([](Bytes& p) { poke<uint32_t>(p, offsetof(H, section_offset), 64); }), Contains("leaves the page"));
  CHECK_THAT(broken([](Bytes& p) { poke<uint32_t>(p, offsetof(H, section_offset) + 8, 0xfffffff0); }),
             Contains("table 2"));
  CHECK_THAT(broken([](Bytes& p) { poke<uint16_t>(p, offsetof(H, section_count), 0xffff); }),
             Contains("1024 are possible"));
  CHECK_THAT(broken([](Bytes& p) { poke<uint16_t>(p, offsetof(H, section_record_bytes), 95); }),
             Contains("at least 96"));
}

TEST_CASE("records that are longer than this reader knows are read, and tables that are empty") {
  Bytes page = make_page();
  weft_state_header header;
  std::memcpy(&header, page.data(), sizeof header);
  header.section_offset[4] = header.bytes;
  header.section_count[4] = 2;
  header.section_record_bytes[4] = 40;
  header.section_count[2] = 0;
  header.bytes += 80;
  page.resize(header.bytes);
  std::memcpy(page.data(), &header, sizeof header);
  poke<uint16_t>(page, header.section_offset[4] + 40, 12);
  const auto decoded = decode_state_page(page);
  REQUIRE(decoded.ok());
  CHECK(decoded.value().timelines.at(1).semaphore == 12);
  CHECK(decoded.value().core_queues.empty());
}

TEST_CASE("every truncation and every flipped bit of a page is refused or printed") {
  const Bytes whole = make_page();
  for (size_t bytes = 0; bytes < whole.size(); bytes++) CHECK(!decode_state_page(std::span(whole).first(bytes)).ok());
  for (size_t bit = 0; bit < whole.size() * 8; bit += bit < sizeof(weft_state_header) * 8 ? 1 : 7) {
    Bytes page = whole;
    page[bit / 8] ^= std::byte(1u << bit % 8);
    use(page);
  }
}

TEST_CASE("random pages never crash the reader or the printer") {
  const uint32_t seed = 20261122;
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 5000; round++) {
    Bytes page = make_page();
    const uint32_t changes = random() % 40 + 1;
    for (uint32_t i = 0; i < changes; i++) {
      const size_t at = random() % 4 == 0 ? random() % sizeof(weft_state_header) : random() % page.size();
      page[at] = std::byte(random() % 8 == 0 ? 0xff : random());
    }
    if (random() % 2 == 0) poke<uint32_t>(page, 0, WEFT_LIMIT_STATE_MAGIC);
    use(page);
  }
}
