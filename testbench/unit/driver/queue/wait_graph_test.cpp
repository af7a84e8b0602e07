// Who waits for whom: deadlocks are found with their cycle, and work that goes on is none.
#include "driver/queue/wait_graph.hpp"

#include <catch2/catch.hpp>

using namespace weft::driver;

namespace {

constexpr uint8_t kNone = WEFT_NO_SEMAPHORE;

/// A queue of the core whose head waits for `wait` >= 1 and whose commands post `posts`.
weft_state_core_queue core_queue(uint16_t queue, uint8_t wait, uint64_t posts, uint8_t running = 0) {
  weft_state_core_queue q{};
  q.queue = queue;
  q.total = q.pushed = 4;
  q.level = 4u - running;
  q.running = running;
  q.head_valid = 1;
  q.posts = posts;
  q.head[4] = wait;
  q.head[5] = q.head[6] = q.head[7] = kNone;
  q.head[8] = wait == kNone ? 0 : 1;
  return q;
}

StatePage page_of(std::vector<weft_state_core_queue> queues) {
  StatePage page;
  page.core_queues = std::move(queues);
  return page;
}

weft_state_queue waiter(uint16_t id, uint16_t timeline, uint64_t value) {
  weft_state_queue q{};
  q.queue = id;
  q.state = WEFT_QUEUE_STATE_ACTIVE;
  q.wait = WEFT_QUEUE_WAIT_SEMAPHORE;
  q.wait_id = timeline;
  q.wait_value = value;
  return q;
}

OutstandingCommand signaller(uint32_t queue, uint16_t timeline) {
  OutstandingCommand c;
  c.queue = queue;
  c.timelines.signal_id = timeline;
  c.timelines.signal_value = 1;
  return c;
}

bool has(const WaitGraph& graph, const std::string& from, const std::string& to) {
  for (const WaitEdge& e : graph.edges) {
    if (e.from == from && e.to == to) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("two core queues that wait for each other are a cycle through both semaphores") {
  const auto graph =
      make_wait_graph(page_of({core_queue(WEFT_QUEUE_DMA_IN, 7, 1u << 3), core_queue(WEFT_QUEUE_MXU, 3, 1u << 7)}), {});
  CHECK(graph.cycle.size() == 4);
  CHECK(has(graph, "core queue dma_in", "semaphore 7"));
  CHECK(has(graph, "semaphore 7", "core queue mxu"));
  CHECK(has(graph, "core queue mxu", "semaphore 3"));
  CHECK(has(graph, "semaphore 3", "core queue dma_in"));
}

TEST_CASE("a queue that waits for a command behind its own head is a cycle on itself") {
  const auto graph = make_wait_graph(page_of({core_queue(WEFT_QUEUE_MXU, 3, 1u << 3)}), {});
  CHECK(graph.cycle == std::vector<std::string>{"core queue mxu", "semaphore 3"});
}

TEST_CASE("a semaphore that nobody posts is no cycle, and says so") {
  const auto graph = make_wait_graph(page_of({core_queue(WEFT_QUEUE_MXU, 3, 0)}), {});
  CHECK(graph.cycle.empty());
  CHECK(has(graph, "semaphore 3", "nobody"));
}

TEST_CASE("a poster that still works keeps the others from being a deadlock") {
  const auto graph =
      make_wait_graph(page_of({core_queue(WEFT_QUEUE_DMA_IN, 7, 1u << 3), core_queue(WEFT_QUEUE_MXU, 3, 1u << 7),
                               core_queue(WEFT_QUEUE_VPU, kNone, 1u << 7, 1)}),
                      {});
  CHECK(graph.cycle.empty());
}

TEST_CASE("a head whose semaphore is there waits for its unit only") {
  StatePage page = page_of({core_queue(WEFT_QUEUE_MXU, 3, 0)});
  page.semaphores[3] = 1;
  const auto graph = make_wait_graph(page, {});
  CHECK(has(graph, "core queue mxu", "unit of mxu"));
  CHECK(!has(graph, "core queue mxu", "semaphore 3"));
}

TEST_CASE("waits of more than 255 are compared whole") {
  StatePage page = page_of({core_queue(WEFT_QUEUE_MXU, 3, 0)});
  page.core_queues[0].head[9] = 2;  // 0x0201
  page.semaphores[3] = 0x200;
  CHECK(has(make_wait_graph(page, {}), "core queue mxu", "semaphore 3"));
  page.semaphores[3] = 0x201;
  CHECK(!has(make_wait_graph(page, {}), "core queue mxu", "semaphore 3"));
}

TEST_CASE("two queues of the host that wait for each other's timeline semaphores are a cycle") {
  StatePage page;
  page.queues = {waiter(1, 10, 1), waiter(2, 20, 1)};
  const std::vector<OutstandingCommand> outstanding{signaller(1, 20), signaller(2, 10)};
  const auto graph = make_wait_graph(page, outstanding);
  CHECK(graph.cycle.size() == 4);
  CHECK(has(graph, "queue 1", "timeline 10"));
  CHECK(has(graph, "timeline 10", "queue 2"));
}

TEST_CASE("a timeline semaphore that no command signals waits for the host") {
  StatePage page;
  page.queues = {waiter(1, 10, 1)};
  const auto graph = make_wait_graph(page, {});
  CHECK(graph.cycle.empty());
  CHECK(has(graph, "timeline 10", "host"));
}

TEST_CASE("a queue behind another one's launch waits for the core, not for itself") {
  StatePage page = page_of({core_queue(WEFT_QUEUE_MXU, kNone, 0, 1)});
  weft_state_queue owner{}, next{};
  owner.queue = 1, next.queue = 2;
  owner.wait = WEFT_QUEUE_WAIT_RUNNING, next.wait = WEFT_QUEUE_WAIT_CORE;
  page.queues = {owner, next};
  const auto graph = make_wait_graph(page, {});
  CHECK(graph.cycle.empty());
  CHECK(has(graph, "queue 1", "core"));
  CHECK(has(graph, "queue 2", "core"));
  CHECK(has(graph, "core", "core queue mxu"));
}
