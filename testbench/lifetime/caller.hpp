/// One thread's part of a program: it draws acts (a call or a few that belong together), makes the calls, and has the
/// oracle judge each outcome.
#pragma once
#include <string>
#include <vector>

#include "testbench/lifetime/oracle.hpp"
#include "testbench/lifetime/watch.hpp"
#include "testbench/lifetime/world.hpp"

namespace weft::lifetime {

class Caller {
 public:
  Caller(World& world, uint64_t seed, const char* role);
  ~Caller();
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  /// One act, as drawn.
  void act();
  /// Ends the copies that this thread has under way and checks their bytes.
  void end_transfers();

  // What a program begins and ends with.
  std::shared_ptr<Device> open_device();
  /// `device` is claimed. Checks what weft_close promises.
  void close_device(const std::shared_ptr<Device>& device, uint32_t drain_ms);
  /// Waits for every command in flight; each must end, as all signals were given.
  void await_ends();
  /// Gives back every handle of the program's tables, in any order.
  void release_all();
  /// Nothing of the device's memory is taken any more.
  void check_memory(Device& device);
  void create_queue();
  void create_semaphore();
  void signal_from_host(Semaphore& semaphore, uint64_t value);

 private:
  struct Act {
    unsigned weight;
    void (Caller::*make)();
  };
  struct Transfer;
  static const std::vector<Act>& acts();

  /// Makes a call, counts it and checks that it returns within `timeout_ms` and the slack.
  template <typename Function>
  weft_status call(Call kind, Function&& function, int64_t timeout_ms = 0) {
    InCall in(record_, kind);
    const int64_t begin = now_us();
    const weft_status status = function();
    const int64_t took_ms = (now_us() - begin) / 1000;
    in.ended(status);
    world_.counts.add(kind, status);
    world_.calls_left--;
    if (took_ms > timeout_ms + world_.slack_ms()) too_late(kind, took_ms, timeout_ms);
    return status;
  }
  template <typename Function>
  void call_void(Call kind, Function&& function) {
    (void)call(kind, [&] {
      function();
      return WEFT_ERROR_OK;
    });
  }
  void too_late(Call kind, int64_t took_ms, int64_t timeout_ms);
  /// True if the outcome is allowed.
  bool judge(Call kind, weft_status status, Statuses allowed, const std::string& what = "");
  /// The command has ended so: as ever before, and as it may.
  void see_end(Event& event, weft_status status);
  template <typename Object>
  void judge_handle(Call kind, weft_status status, const Object* handle);

  /// Submits by `function`, which takes a pointer to the event's handle. `event` may be null: nobody asks. `also`: what
  /// the command uses that goes with a reset of the device. The status.
  template <typename Function>
  weft_status submit(Call kind, Queue& queue, uint32_t commands, const std::shared_ptr<Event>& event,
                     Function&& function, const Child* also = nullptr);
  std::shared_ptr<Event> new_event(const std::shared_ptr<Queue>& queue, std::string what);
  weft_command_options draw_options();
  /// A value to wait for, which the host has signalled or will signal.
  uint64_t draw_wait_value(const Pinned<Semaphore>& semaphore);
  weft_wait_options draw_wait_options(bool deadline);
  weft_status wait_event(Event& event, const weft_wait_options& options);
  /// Waits until it has ended, through waits that time out where they may. False: it did not end.
  bool await_end(Event& event);
  weft_status query(Event& event, weft_event_info& info);

  std::shared_ptr<Queue> make_queue(const Pinned<Device>& device, const weft_queue_options& options,
                                    std::shared_ptr<Queue> ring = nullptr);
  void release_queue(Queue& queue);
  std::shared_ptr<Semaphore> make_semaphore(const Pinned<Device>& device, uint64_t value);
  void release_semaphore(Semaphore& semaphore);
  std::shared_ptr<Buffer> make_buffer(const Pinned<Device>& device, weft_memory memory, uint64_t bytes);
  void release_buffer(Buffer& buffer);
  void* map(Buffer& buffer);
  std::shared_ptr<Program> make_program(const Pinned<Device>& device, bool endless);
  void release_program(Program& program);
  void release_recording(Recording& recording);
  void release_event(Event& event);
  void cancel(Event& event);
  void set_callback(Event& event);
  static void on_event(weft_event* handle, weft_status status, void* user);
  void act_in_callback(Event& event);

  // Acts on queues (caller_queues.cpp).
  void release_any_queue();
  void cancel_queue();
  void reset_queue();
  void reset_idle_queue();
  void queue_info();
  void submit_one();
  void submit_many();
  void submit_waiting();
  // On events (caller_events.cpp).
  void query_error(Event& event, weft_status ended);
  void query_any();
  void wait_any();
  void cancel_any();
  void callback_any();
  void release_any_event();
  void news_any();
  // On memory (caller_memory.cpp).
  void create_buffer();
  void look_at_buffer();
  void release_any_buffer();
  void transfer();
  void advance(Transfer& transfer);
  void load_program();
  void look_at_program();
  void launch();
  void release_any_program();
  void overwrite();
  // On semaphores and recordings (caller_semaphores.cpp).
  void signal_any();
  void semaphore_value();
  void wait_semaphore();
  void release_any_semaphore();
  void relay();
  void wake_up();
  void record();
  void patch();
  void replay();
  void release_any_recording();
  // On devices (caller_device.cpp).
  void look_at_device();
  void listen();
  void reset_device();
  void reset_engine();
  void close_any();
  void inject();
  void check_closed(Device& device);
  // fork (caller_fork.cpp).
  void fork_child();

  World& world_;
  random::Draw draw_;
  ThreadRecord& record_;
  std::vector<std::unique_ptr<Transfer>> transfers_;
};

}  // namespace weft::lifetime

#include "testbench/lifetime/caller_submit.hpp"
