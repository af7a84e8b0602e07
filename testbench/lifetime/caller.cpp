#include "testbench/lifetime/caller.hpp"

#include <fmt/format.h>

#include <numeric>

#include "testbench/lifetime/transfer.hpp"

namespace weft::lifetime {

Caller::Caller(World& world, uint64_t seed, const char* role) : world_(world), draw_(seed), record_(this_thread(role)) {
  record_.role = role;
}

Caller::~Caller() = default;

/// How often each act is drawn, against the others.
const std::vector<Caller::Act>& Caller::acts() {
  static const std::vector<Act> all{
      {30, &Caller::submit_one},
      {10, &Caller::submit_many},
      {10, &Caller::submit_waiting},
      {8, &Caller::create_queue},
      {6, &Caller::release_any_queue},
      {3, &Caller::cancel_queue},
      {2, &Caller::reset_queue},
      {2, &Caller::reset_idle_queue},
      {4, &Caller::queue_info},
      {16, &Caller::query_any},
      {20, &Caller::wait_any},
      {4, &Caller::cancel_any},
      {20, &Caller::callback_any},
      {20, &Caller::release_any_event},
      {2, &Caller::news_any},
      {8, &Caller::create_buffer},
      {6, &Caller::look_at_buffer},
      {7, &Caller::release_any_buffer},
      {20, &Caller::transfer},
      {2, &Caller::load_program},
      {2, &Caller::look_at_program},
      {5, &Caller::launch},
      {1, &Caller::release_any_program},
      {2, &Caller::overwrite},
      {6, &Caller::create_semaphore},
      {4, &Caller::release_any_semaphore},
      {6, &Caller::signal_any},
      {5, &Caller::semaphore_value},
      {6, &Caller::wait_semaphore},
      {6, &Caller::relay},
      {8, &Caller::wake_up},
      {3, &Caller::record},
      {2, &Caller::patch},
      {5, &Caller::replay},
      {2, &Caller::release_any_recording},
      {8, &Caller::look_at_device},
      {3, &Caller::listen},
      {1, &Caller::reset_device},
      {1, &Caller::reset_engine},
      {2, &Caller::close_any},
      {1, &Caller::inject},
      {1, &Caller::fork_child},
  };
  return all;
}

void Caller::act() {
  static const unsigned sum =
      std::accumulate(acts().begin(), acts().end(), 0u, [](unsigned n, const Act& act) { return n + act.weight; });
  uint64_t at = draw_.below(sum);
  for (const Act& act : acts()) {
    if (at < act.weight) return (this->*act.make)();
    at -= act.weight;
  }
}

void Caller::too_late(Call kind, int64_t took_ms, int64_t timeout_ms) {
  world_.fail(fmt::format("{} returned after {} ms; its own limits are {} ms, and {} ms is what it may be late",
                          name_of(kind), took_ms, timeout_ms, world_.slack_ms()));
}

bool Caller::judge(Call kind, weft_status status, Statuses allowed, const std::string& what) {
  if (allowed.has(status)) return true;
  weft_error_info info = WEFT_INIT(weft_error_info);
  std::string message;
  if (status != WEFT_ERROR_OK && weft_last_error(&info) == WEFT_ERROR_OK && info.code == status)
    message = fmt::format(" (\"{}\")", info.message);
  world_.fail(fmt::format("{}{}{} returned {}{}; allowed: {}", name_of(kind), what.empty() ? "" : " of ", what,
                          weft_status_name(status), message, allowed.text()));
  return false;
}

void Caller::see_end(Event& event, weft_status status) {
  int32_t before = Event::kUnseen;
  if (!event.seen.compare_exchange_strong(before, static_cast<int32_t>(status))) {
    if (before != static_cast<int32_t>(status))
      world_.fail(fmt::format("{} ended with {} and later with {}", event.what,
                              weft_status_name(static_cast<weft_status>(before)), weft_status_name(status)));
    return;
  }
  world_.counts.add_end(status);
  world_.findings.checked("end of a command");
  const Statuses ends = allowed_ends(event);
  if (ends.has(status)) return;
  if (status == WEFT_ERROR_BAD_DOORBELL) {  // whose it was is known when all threads have ended
    const std::lock_guard lock(event.device->mutex);
    for (const auto& other : event.device->events)
      if (other.get() == &event) event.device->suspects.push_back(other);
    return;
  }
  world_.fail(fmt::format("{} ended with {}; allowed: {}", event.what, weft_status_name(status), ends.text()));
}

std::shared_ptr<Event> Caller::new_event(const std::shared_ptr<Queue>& queue, std::string what) {
  auto event = std::make_shared<Event>(queue->device);
  event->queue = queue;
  event->what = std::move(what);
  event->world = &world_;
  event->action_seed = draw_.bits();
  return event;
}

void Caller::release_all() {
  std::vector<std::function<void()>> releases;
  const auto add = [&](auto& table, auto release) {
    for (const auto& object : table.all()) {
      table.remove(object.get());
      releases.emplace_back([this, object, release] {
        if (object->claim()) {
          (this->*release)(*object);
        } else {
          world_.fail("an object is still pinned");
        }
      });
    }
  };
  add(world_.events, &Caller::release_event);
  add(world_.queues, &Caller::release_queue);
  add(world_.semaphores, &Caller::release_semaphore);
  add(world_.buffers, &Caller::release_buffer);
  add(world_.programs, &Caller::release_program);
  add(world_.recordings, &Caller::release_recording);
  for (size_t i = releases.size(); i > 1; i--) std::swap(releases[i - 1], releases[draw_.below(i)]);
  for (const auto& release : releases) release();
}

weft_command_options Caller::draw_options() {
  weft_command_options options = WEFT_INIT(weft_command_options);
  options.tag = static_cast<uint32_t>(world_.next_tag++);
  options.fence_before = draw_.once_in(8) ? 1 : 0;
  return options;
}

}  // namespace weft::lifetime
