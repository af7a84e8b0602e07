// Programs and launches, and memory that is handed out again after a launch was ended by force.
#include <fmt/format.h>

#include <algorithm>

#include "testbench/lifetime/caller.hpp"
#include "testbench/lifetime/kernels.hpp"

namespace weft::lifetime {
namespace {

constexpr uint32_t kNew = 0x5a5a5a5a;  ///< what the next owner of the memory writes
constexpr uint64_t kNeverCycles = uint64_t{1} << 40;

}  // namespace

std::shared_ptr<Program> Caller::make_program(const Pinned<Device>& device, bool endless) {
  static const auto kShort = writer(3), kLong = writer(60'000);
  const auto& file = endless ? kLong : kShort;
  auto program = std::make_shared<Program>(device.shared());
  const Before before(*device);
  QueueClaim claim(*device);  // "takes a queue for itself"
  auto* handle = no_handle<weft_program>();
  const weft_status status =
      call(Call::k_program_load, [&] { return weft_program_load(device->handle, file.data(), file.size(), &handle); });
  Statuses normal{WEFT_ERROR_OK};
  if (claim.may_be_busy()) normal.add(WEFT_ERROR_BUSY);
  claim.give_back();
  judge(Call::k_program_load, status, allowed(before, *device, normal));
  judge_handle(Call::k_program_load, status, handle);
  if (status != WEFT_ERROR_OK) return nullptr;
  program->handle = handle;
  program->born();
  return program;
}

void Caller::release_program(Program& program) {
  call_void(Call::k_program_release, [&] { weft_program_release(program.handle); });
}

void Caller::load_program() {
  const auto device = world_.devices.pick(draw_);
  if (!device || world_.programs.size() > 3) return;
  if (auto program = make_program(device, false)) world_.programs.add(std::move(program));
}

void Caller::look_at_program() {
  const auto program = world_.programs.pick(draw_);
  if (!program) return;
  const Before before(*program->device);
  weft_kernel* kernel = nullptr;
  weft_status status =
      call(Call::k_program_get_kernel, [&] { return weft_program_get_kernel(program->handle, 0, &kernel); });
  judge(Call::k_program_get_kernel, status, allowed(before, *program, WithReset::kGoes, {WEFT_ERROR_OK}));
  if (status != WEFT_ERROR_OK) return;
  const Before later(*program->device);
  weft_kernel_info info = WEFT_INIT(weft_kernel_info);
  status = call(Call::k_kernel_get_info, [&] { return weft_kernel_get_info(kernel, &info); });
  judge(Call::k_kernel_get_info, status, allowed(later, *program, WithReset::kGoes, {WEFT_ERROR_OK}));
}

/// A launch that ends by itself. Its buffer is released while it runs, or later.
void Caller::launch() {
  const auto program = world_.programs.pick(draw_);
  const auto queue = world_.queues.pick(draw_);
  if (!program || !queue || program->device != queue->device) return;
  const Pinned<Device> device(queue->device);
  if (!device) return;
  const auto out = make_buffer(device, draw_.one_of({WEFT_MEMORY_HBM, WEFT_MEMORY_HOST}), kWriterBytes);
  if (out == nullptr) return;
  const Before before(*device);
  weft_kernel* kernel = nullptr;
  const weft_status found =
      call(Call::k_program_get_kernel, [&] { return weft_program_get_kernel(program->handle, 0, &kernel); });
  judge(Call::k_program_get_kernel, found, allowed(before, *program, WithReset::kGoes, {WEFT_ERROR_OK}));
  if (found == WEFT_ERROR_OK) {
    const weft_command_options options = draw_options();
    const weft_argument argument{out->handle, 0};
    const auto event = new_event(queue.shared(), fmt::format("launch {} of queue {}", options.tag, queue->id));
    event->launch = true;
    const weft_status status = submit(
        Call::k_launch, *queue, 1, event,
        [&](weft_event** handle) { return weft_launch(queue->handle, kernel, &argument, 1, &options, handle); },
        program.shared().get());
    if (status == WEFT_ERROR_OK) {
      if (draw_.once_in(3)) set_callback(*event);
      world_.events.add(event);
    }
  }
  if (draw_.once_in(2)) {
    world_.buffers.add(out);
  } else {
    release_buffer(*out);
  }
}

void Caller::release_any_program() {
  if (const auto program = world_.programs.take(draw_)) release_program(*program);
}

/// A launch that writes its buffer without end is ended by force; the buffer is released, and the memory handed out
/// again and filled: nothing of the launch may reach it. Simulators only: the mock's launches are over at once.
void Caller::overwrite() {
  const auto device = world_.devices.pick(draw_);
  if (!device || !device->simulator || device->queues_alive + 4 > device->max_queues) return;
  if (device->overwriting.exchange(true)) return;
  struct Over {
    ~Over() { device.overwriting = false; }
    Device& device;
  } const over{*device};
  const uint32_t reset_mark = device->reset.mark();
  weft_queue_options shape = WEFT_INIT(weft_queue_options);
  shape.entries = 16;
  const auto queue = make_queue(device, shape), other = make_queue(device, shape);
  const auto program = make_program(device, true);
  auto out = make_buffer(device, WEFT_MEMORY_HBM, kWriterBytes);
  const auto staging = make_buffer(device, WEFT_MEMORY_HOST, kWriterBytes);
  std::vector<std::shared_ptr<Event>> events;
  const auto give_back = [&] {
    for (const auto& event : events) {
      event->claim_soon();
      release_event(*event);
    }
    for (const auto& buffer : {out, staging})
      if (buffer != nullptr) release_buffer(*buffer);
    if (program != nullptr) release_program(*program);
    for (const auto& q : {queue, other})
      if (q != nullptr) release_queue(*q);
  };
  /// Submits, waits until it has ended, and tells how; not at all if it was refused.
  const auto run = [&](Call kind, const std::shared_ptr<Queue>& q, bool launch, auto&& function) {
    auto event = new_event(q, fmt::format("{} of queue {} around an endless launch", name_of(kind), q->id));
    event->launch = event->endless = launch;
    event->budget = kind == Call::k_wait;
    if (submit(kind, *q, 1, event, function) != WEFT_ERROR_OK) return std::shared_ptr<Event>();
    events.push_back(event);
    return event;
  };
  const auto ended_with = [&](const std::shared_ptr<Event>& event, weft_status status) {
    return event != nullptr && await_end(*event) && event->seen == static_cast<int32_t>(status);
  };
  if (queue == nullptr || other == nullptr || program == nullptr || out == nullptr || staging == nullptr)
    return give_back();
  const Before before(*device);
  judge(Call::k_device_set_watchdog,
        call(Call::k_device_set_watchdog, [&] { return weft_device_set_watchdog(device->handle, kNeverCycles); }),
        allowed(before, *device, {WEFT_ERROR_OK}));
  weft_kernel* kernel = nullptr;
  if (call(Call::k_program_get_kernel, [&] { return weft_program_get_kernel(program->handle, 0, &kernel); }) !=
      WEFT_ERROR_OK)
    return give_back();
  const weft_argument argument{out->handle, 0};
  const auto victim = run(Call::k_launch, queue, true, [&](weft_event** handle) {
    return weft_launch(queue->handle, kernel, &argument, 1, nullptr, handle);
  });
  if (victim == nullptr) return give_back();
  weft_wait_options some = draw_wait_options(true);
  some.deadline_cycles = 60'000;
  (void)wait_event(*victim, some);

  switch (draw_.below(5)) {
    case 0:
    case 1: {  // its queue halts
      queue->halts = true;
      weft_fault_injection fault = WEFT_INIT(weft_fault_injection);
      fault.kind = WEFT_INJECTED_FAULT_DOORBELL_VALUE;
      fault.target = queue->id;
      fault.value[0] = 0x7fffffff;
      const Before armed(*device);
      const weft_status status = call(Call::k_fault_inject, [&] { return weft_fault_inject(device->handle, &fault); });
      judge(Call::k_fault_inject, status, allowed(armed, *device, {WEFT_ERROR_OK}));
      const auto event =
          run(Call::k_nop, queue, false, [&](weft_event** handle) { return weft_nop(queue->handle, nullptr, handle); });
      if (!ended_with(event, WEFT_ERROR_BAD_DOORBELL)) device->halts_anywhere = true;  // it may be armed still
      judge(Call::k_fault_disarm, call(Call::k_fault_disarm, [&] { return weft_fault_disarm(device->handle); }),
            allowed(armed, *device, {WEFT_ERROR_OK}));
      break;
    }
    case 2: {
      const Before resets(*device);
      const Acting resetting(queue->reset);
      judge(Call::k_reset_queue,
            call(Call::k_reset_queue,
                 [&] { return weft_reset(device->handle, queue->handle, WEFT_RESET_LEVEL_QUEUE, nullptr); }),
            allowed(resets, *queue, WithReset::kGoes, {WEFT_ERROR_OK}));
      break;
    }
    default:
      break;
  }
  if (victim->seen == Event::kUnseen) {
    weft_event_info info;
    if (query(*victim, info) == WEFT_ERROR_OK && info.done == 0) cancel(*victim);
  }
  if (!await_end(*victim)) {
    world_.fail(fmt::format("{} was ended by force and has not ended", victim->what));
    return give_back();
  }

  release_buffer(*out);
  out = make_buffer(device, WEFT_MEMORY_HBM, kWriterBytes);
  auto* words = static_cast<uint32_t*>(map(*staging));
  if (out == nullptr || words == nullptr) return give_back();
  std::fill_n(words, kWriterWords, kNew);
  const auto copy = [&](const Buffer& to, const Buffer& from) {
    return ended_with(run(Call::k_copy, other, false,
                          [&](weft_event** handle) {
                            return weft_copy(other->handle, to.handle, 0, from.handle, 0, kWriterBytes, nullptr,
                                             handle);
                          }),
                      WEFT_ERROR_OK);
  };
  bool whole = copy(*out, *staging);
  if (const auto never = whole ? make_semaphore(device, 0) : nullptr) {  // lets device cycles pass
    other->stalls = other->budgets = true;
    weft_command_options options = WEFT_INIT(weft_command_options);
    options.budget_kcycles = 100;
    whole = ended_with(
        run(Call::k_wait, other, false,
            [&](weft_event** handle) { return weft_wait(other->handle, never->handle, 1, &options, handle); }),
        WEFT_ERROR_BUDGET_EXCEEDED);
    release_semaphore(*never);
  }
  std::fill_n(words, kWriterWords, 0);
  if (whole && copy(*staging, *out) && !device->reset.may_act_since(reset_mark)) {
    world_.findings.checked("memory handed out again");
    const auto wrong = kWriterWords - std::count(words, words + kWriterWords, kNew);
    if (wrong != 0)
      world_.fail(fmt::format(
          "{} ended with {}, its buffer was released, and {} of {} words of the next one in HBM "
          "were overwritten",
          victim->what, weft_status_name(static_cast<weft_status>(victim->seen.load())), wrong, kWriterWords));
  }
  give_back();
}

}  // namespace weft::lifetime
