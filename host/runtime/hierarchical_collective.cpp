// Launches of all slices, and crossings of their hosts' network between them. An all-reduce has them all, a
// reduce-scatter ends with the sum, an all-gather begins with copies of the blocks to the hosts in place of it.
//
//   slice, by ICI      reduce-scatter ──► copies to the host          sum of parts ──► copy to the host          all-gather
//   hosts, by DCN                                         parts ──► copies to the chip             sums ──► copies to the chip
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <future>
#include <optional>
#include <span>
#include <utility>

#include "base/round_up.hpp"
#include "host/compiler/collectives/collective_mesh.hpp"
#include "host/compiler/collectives/sum_kernel.hpp"
#include "host/runtime/multislice_session.hpp"
#include "host/runtime/open_chips.hpp"

namespace weft::runtime {
namespace {

using compiler::Collective;
using compiler::CollectiveBlock;
using compiler::CollectiveKind;

constexpr uint64_t kFemtosecondsPerSecond = 1'000'000'000'000'000;
constexpr uint64_t kRoom = 64;  // of arguments, whole pieces of so many bytes

/// Memory of one chip, and its host's for it. `share`: what the chip has of its slice's sum. Parts of others lie in
/// `arrived` one behind the other, each as long as this slice's own.
struct OneChip {
  uint64_t share_bytes = 0;
  BufferHandle array, share, arrived, sums;
  BufferHandle to_network, from_network;  // HOST
  std::byte *sent = nullptr, *received = nullptr;
  ProgramHandle reduce, sum, gather;
};

/// A command of a step.
struct Submitted {
  uint32_t slice = 0, chip = 0;
  EventHandle event;
};

/// What goes over the network as soon as a command of the step has ended.
struct Leaving {
  HostMessage message;
  uint64_t from_offset = 0, to_offset = 0;
  size_t command = 0;
};

class Hierarchical {
 public:
  Hierarchical(MultisliceSession& session, HostNetwork& network, const Collective& collective, Payload payload)
      : session_(session), network_(network), collective_(collective), payload_(payload), chips_(session.count()) {}

  Status prepare(const std::vector<std::vector<std::vector<std::byte>>>& inputs) {
    if (!goes_over_slices(collective_.kind))
      return Error{WEFT_ERROR_INVALID_ARGUMENT,
                   "over several slices there are all-reduce, reduce-scatter and all-gather only"};
    if (with_data() && inputs.size() != slices())
      return Error{WEFT_ERROR_INVALID_ARGUMENT, fmt::format("inputs of {} slices for {}", inputs.size(), slices())};
    for (uint32_t slice = 0; slice < slices(); slice++) {
      if (with_data() && inputs[slice].size() != session_.slice(slice).chips())
        return on_slice(
            slice, Error{WEFT_ERROR_INVALID_ARGUMENT, fmt::format("inputs of {} chips for {}", inputs[slice].size(),
                                                                  session_.slice(slice).chips())});
      for (uint32_t chip = 0; chip < session_.slice(slice).chips(); chip++) {
        chips_[slice].emplace_back();
        if (!compiler::takes_part(collective_, chip)) continue;
        auto status = prepare(slice, chip);
        if (status.ok() && with_data()) status = fill(slice, chip, inputs[slice][chip]);
        if (!status.ok()) return on_slice(slice, status.error());
      }
    }
    return Ok{};
  }

  Result<HierarchicalResult> run() {
    HierarchicalResult result;
    HierarchicalTimes& times = result.times;
    Status status = Ok{};
    if (reduces()) {
      status = step(times.reduced, [this](uint32_t s, uint32_t c) { return reduce(s, c); });
      if (status.ok()) times.parts = cross(times);
      if (status.ok()) status = step(times.added, [this](uint32_t s, uint32_t c) { return add(s, c); });
    } else {
      status = step(times.added, [this](uint32_t s, uint32_t c) { return leave(s, c); });
    }
    times.sums = times.gathered = times.added;
    if (status.ok() && gathers()) {
      times.sums = cross(times);
      status = step(times.gathered, [this](uint32_t s, uint32_t c) { return gather(s, c); });
    }
    if (!status.ok()) return status.error();
    if (!with_data()) return result;
    for (uint32_t slice = 0; slice < slices(); slice++) {
      result.outputs.emplace_back(chips_[slice].size());
      for (uint32_t number = 0; number < chips_[slice].size(); number++) {
        if (chips_[slice][number].array == nullptr) continue;
        auto data = output(slice, number);
        if (!data.ok()) return on_slice(slice, data.error());
        result.outputs[slice][number] = std::move(data.value());
      }
    }
    return result;
  }

 private:
  [[nodiscard]] uint32_t slices() const { return session_.count(); }
  [[nodiscard]] bool with_data() const { return payload_ == Payload::kArrays; }
  [[nodiscard]] bool reduces() const { return collective_.kind != CollectiveKind::kAllGather; }
  [[nodiscard]] bool gathers() const { return collective_.kind != CollectiveKind::kReduceScatter; }
  [[nodiscard]] CollectiveBlock part(const OneChip& one, uint32_t owner) const {
    return compiler::collective_block(one.share_bytes, slices(), owner);
  }
  /// Where the part of another slice lies among those that arrived.
  [[nodiscard]] uint64_t arrived_offset(const OneChip& one, uint32_t owner, uint32_t from) const {
    return (from < owner ? from : from - 1) * round_up(part(one, owner).bytes, kRoom);
  }
  /// Another slice, the next one first, so that each host receives from one at a time.
  [[nodiscard]] uint32_t ahead(uint32_t slice, uint32_t by) const { return (slice + by) % slices(); }

  Status prepare(uint32_t slice, uint32_t number) {
    const ChipSet& set = session_.slice(slice);
    OneChip& one = chips_[slice][number];
    const auto mesh = compiler::collective_mesh(set.shape(), collective_, number);
    if (!mesh.ok()) return on_chip(number, mesh.error());
    one.share_bytes = compiler::collective_block(collective_.bytes, mesh.value().ranks(), mesh.value().rank).bytes;
    const uint64_t own = round_up(part(one, slice).bytes, kRoom);
    const uint64_t room = round_up(one.share_bytes, kRoom) + kRoom;
    const auto take = [&](BufferHandle& buffer, weft_memory memory, uint64_t bytes) -> Status {
      auto made = set.buffer(number, memory, bytes);
      if (!made.ok()) return made.error();
      buffer = std::move(made.value());
      return Ok{};
    };
    auto status = take(one.array, WEFT_MEMORY_HBM, round_up(collective_.bytes, kRoom) + kRoom);
    if (status.ok()) status = take(one.share, WEFT_MEMORY_HBM, room);
    if (status.ok()) status = take(one.sums, WEFT_MEMORY_HBM, room);
    if (status.ok()) status = take(one.arrived, WEFT_MEMORY_HBM, own * slices() + kRoom);
    if (status.ok()) status = take(one.to_network, WEFT_MEMORY_HOST, room);
    if (status.ok()) status = take(one.from_network, WEFT_MEMORY_HOST, std::max(room, own * slices() + kRoom));
    if (status.ok()) status = map(set, number, one.to_network, one.sent);
    if (status.ok()) status = map(set, number, one.from_network, one.received);
    if (status.ok() && reduces()) status = load(set, number, CollectiveKind::kReduceScatter, one.reduce);
    if (status.ok() && gathers()) status = load(set, number, CollectiveKind::kAllGather, one.gather);
    if (status.ok() && reduces() && slices() > 1 && part(one, slice).bytes != 0) {
      const auto sum = compiler::compile_sum(set.chip(), collective_.dtype, part(one, slice).bytes, slices());
      status = sum.ok() ? load(set, number, sum.value(), one.sum) : Status(on_chip(number, sum.error()));
    }
    return status;
  }
  /// Where the sums, or the blocks, of a chip's share are: it has all of them before it gathers.
  [[nodiscard]] const BufferHandle& whole(const OneChip& one) const { return slices() == 1 ? one.share : one.sums; }
  Status fill(uint32_t slice, uint32_t number, std::span<const std::byte> input) {
    const OneChip& one = chips_[slice][number];
    const auto [offset, bytes] =
        reduces() ? CollectiveBlock{.offset = 0, .bytes = collective_.bytes} : part(one, slice);
    if (input.size() != bytes)
      return on_chip(
          number, Error{WEFT_ERROR_INVALID_ARGUMENT, fmt::format("an input of {} bytes for {}", input.size(), bytes)});
    if (bytes == 0) return Ok{};
    return session_.slice(slice).write(number, reduces() ? one.array : whole(one), offset, input);
  }
  [[nodiscard]] Result<std::vector<std::byte>> output(uint32_t slice, uint32_t number) const {
    const OneChip& one = chips_[slice][number];
    if (gathers()) return session_.slice(slice).read(number, one.array, 0, collective_.bytes);
    const auto [offset, bytes] = part(one, slice);
    if (bytes == 0) return std::vector<std::byte>{};
    return session_.slice(slice).read(number, whole(one), offset, bytes);
  }
  static Status map(const ChipSet& set, uint32_t number, const BufferHandle& buffer, std::byte*& mapped) {
    void* pointer = nullptr;
    if (const auto status = weft_buffer_map(buffer.get(), &pointer); status != WEFT_ERROR_OK)
      return set.error(number, status);
    mapped = static_cast<std::byte*>(pointer);
    return Ok{};
  }
  Status load(const ChipSet& set, uint32_t number, CollectiveKind kind, ProgramHandle& program) const {
    Collective within = collective_;
    within.kind = kind;
    const auto kernel = compiler::compile_collective(set.chip(), set.shape(), number, within);
    return kernel.ok() ? load(set, number, kernel.value(), program) : Status(on_chip(number, kernel.error()));
  }
  static Status load(const ChipSet& set, uint32_t number, const compiler::Kernel& kernel, ProgramHandle& program) {
    auto loaded = set.load(number, kernel);
    if (!loaded.ok()) return loaded.error();
    program = std::move(loaded.value());
    return Ok{};
  }

  /// Commands of all chips from now on, submitted while time is held everywhere. `until`: when the last one has ended.
  template <typename Submit>
  Status step(uint64_t& until, Submit submit) {
    std::vector<uint64_t> began(slices());
    std::optional<Error> failure;
    uint32_t held = 0;
    for (; held < slices() && !failure; held++)
      if (auto status = hold(held, began[held]); !status.ok()) failure = on_slice(held, status.error());
    for (uint32_t slice = 0; slice < slices() && !failure; slice++)
      for (uint32_t number = 0; number < chips_[slice].size() && !failure; number++)
        if (chips_[slice][number].array != nullptr)
          if (auto status = submit(slice, number); !status.ok()) failure = on_slice(slice, status.error());
    for (uint32_t slice = 0; slice < held; slice++)
      if (auto status = session_.slice(slice).resume(); !status.ok() && !failure)
        failure = on_slice(slice, status.error());
    if (auto ended = wait_for_all(); ended && !failure) failure = std::move(ended);
    uint64_t end = now_;
    for (const auto& [slice, chip, event] : submitted_) end = std::max(end, time_of(slice, began[slice], event));
    for (auto& leaving : leaving_)
      leaving.message.at =
          time_of(leaving.message.from_slice, began[leaving.message.from_slice], submitted_[leaving.command].event);
    submitted_.clear();
    if (failure) return *failure;
    now_ = until = end;
    return Ok{};
  }
  /// Until all commands of the step have ended, of all slices at once: when one fails, those of the other slices are
  /// cancelled, whose work is of no use any more. Returns what has failed first: what fails after it has been cut off.
  std::optional<Error> wait_for_all() {
    std::optional<Error> failure;
    std::atomic<bool> failed = false;
    const auto wait = [&](uint32_t slice) {
      for (const auto& [of, chip, event] : submitted_) {
        if (of != slice) continue;
        const auto status = weft_event_wait(event.get(), nullptr);
        if (status == WEFT_ERROR_OK || failed.exchange(true)) continue;
        failure = on_slice(slice, session_.slice(slice).error(chip, status));
        for (const auto& other : submitted_)
          if (other.slice != slice) (void)weft_event_cancel(other.event.get());  // BUSY: it is waited for to its end
      }
    };
    std::vector<std::future<void>> others;
    for (uint32_t slice = 1; slice < slices(); slice++) others.push_back(std::async(std::launch::async, wait, slice));
    wait(0);
    for (auto& other : others) other.get();
    return failure;
  }
  Status hold(uint32_t slice, uint64_t& began) {
    if (auto status = session_.slice(slice).hold(); !status.ok()) return status;
    if (const auto status = weft_device_cycle(session_.slice(slice).device(0), &began); status != WEFT_ERROR_OK)
      return session_.slice(slice).error(0, status);
    return Ok{};
  }
  /// When a command has ended, of a step that began now.
  [[nodiscard]] uint64_t time_of(uint32_t slice, uint64_t began, const EventHandle& event) const {
    weft_event_info info = WEFT_INIT(weft_event_info);
    if (weft_event_query(event.get(), &info) != WEFT_ERROR_OK || info.end_cycle < began) return now_;  // it failed
    const auto cycles = static_cast<unsigned __int128>(info.end_cycle - began);
    return now_ + static_cast<uint64_t>(cycles * kFemtosecondsPerSecond / session_.slice(slice).chip().clock_hz);
  }

  /// What a step has made crosses the network, and lies in the other hosts' memory. Returns when all has arrived.
  uint64_t cross(HierarchicalTimes& times) {
    std::vector<HostMessage> messages;
    for (const auto& leaving : leaving_) messages.push_back(leaving.message);
    if (messages.empty()) return now_;
    const auto arrivals = network_.arrivals(messages);
    for (const auto& leaving : leaving_) {
      if (!with_data()) break;
      const HostMessage& message = leaving.message;
      std::memcpy(chips_[message.to_slice][message.chip].received + leaving.to_offset,
                  chips_[message.from_slice][message.chip].sent + leaving.from_offset, message.bytes);
    }
    const uint64_t first = std::ranges::min_element(messages, {}, &HostMessage::at)->at;
    now_ = std::max(now_, *std::ranges::max_element(arrivals));
    times.network += now_ - first;
    leaving_.clear();
    return now_;
  }

  // --- Commands of one chip

  Status launch(uint32_t slice, uint32_t number, const ProgramHandle& program,
                std::span<const weft_argument> arguments) {
    ChipSet& set = session_.slice(slice);
    weft_kernel* kernel = nullptr;
    if (const auto status = weft_program_get_kernel(program.get(), 0, &kernel); status != WEFT_ERROR_OK)
      return set.error(number, status);
    weft_event* event = nullptr;
    const weft_command_options options = in_order();
    if (const auto status = weft_launch(set.queue(number), kernel, arguments.data(),
                                        static_cast<uint32_t>(arguments.size()), &options, &event);
        status != WEFT_ERROR_OK)
      return set.error(number, status);
    submitted_.push_back({slice, number, EventHandle(event)});
    return Ok{};
  }
  Status copy(uint32_t slice, uint32_t number, const BufferHandle& to, uint64_t to_offset, const BufferHandle& from,
              uint64_t from_offset, uint64_t bytes) {
    ChipSet& set = session_.slice(slice);
    weft_event* event = nullptr;
    const weft_command_options options = in_order();
    if (const auto status =
            weft_copy(set.queue(number), to.get(), to_offset, from.get(), from_offset, bytes, &options, &event);
        status != WEFT_ERROR_OK)
      return set.error(number, status);
    submitted_.push_back({slice, number, EventHandle(event)});
    return Ok{};
  }
  static weft_command_options in_order() {
    weft_command_options options = WEFT_INIT(weft_command_options);
    options.fence_before = 1;
    return options;
  }

  /// The slice's sum, then the parts of other slices on their way to their owners.
  Status reduce(uint32_t slice, uint32_t number) {
    OneChip& one = chips_[slice][number];
    const weft_argument arguments[] = {{one.array.get(), 0}, {one.share.get(), 0}};
    auto status = launch(slice, number, one.reduce, arguments);
    for (uint32_t by = 1; by < slices() && status.ok(); by++) {
      const uint32_t owner = ahead(slice, by);
      const auto [offset, bytes] = part(one, owner);
      if (bytes == 0) continue;
      status = copy(slice, number, one.to_network, offset, one.share, offset, bytes);
      if (status.ok())
        leaving_.push_back(
            {{slice, owner, number, bytes}, offset, arrived_offset(one, owner, slice), submitted_.size() - 1});
    }
    return status;
  }

  /// What this slice owns of the chip's share goes to all other slices, which lies in `sums`.
  Status leave(uint32_t slice, uint32_t number) {
    OneChip& one = chips_[slice][number];
    const auto [offset, bytes] = part(one, slice);
    if (bytes == 0 || slices() == 1) return Ok{};
    auto status = copy(slice, number, one.to_network, offset, one.sums, offset, bytes);
    for (uint32_t by = 1; by < slices() && status.ok(); by++)
      leaving_.push_back({{slice, ahead(slice, by), number, bytes}, offset, offset, submitted_.size() - 1});
    return status;
  }

  /// The others' parts of what this slice owns come from the host; of an all-reduce the sum goes to all of them.
  Status add(uint32_t slice, uint32_t number) {
    OneChip& one = chips_[slice][number];
    const auto [offset, bytes] = part(one, slice);
    if (one.sum == nullptr) return Ok{};
    Status status = Ok{};
    std::vector<weft_argument> arguments;
    for (uint32_t from = 0; from < slices() && status.ok(); from++) {
      const uint64_t at = arrived_offset(one, slice, from);
      if (from == slice) {
        arguments.push_back({one.share.get(), offset});
      } else {
        status = copy(slice, number, one.arrived, at, one.from_network, at, bytes);
        arguments.push_back({one.arrived.get(), at});
      }
    }
    arguments.push_back({one.sums.get(), offset});
    if (status.ok()) status = launch(slice, number, one.sum, arguments);
    return status.ok() && gathers() ? leave(slice, number) : status;
  }

  /// The others' sums come from the host; then the slice has the whole array.
  Status gather(uint32_t slice, uint32_t number) {
    OneChip& one = chips_[slice][number];
    Status status = Ok{};
    for (uint32_t by = 1; by < slices() && status.ok(); by++) {
      const auto [offset, bytes] = part(one, ahead(slice, by));
      if (bytes != 0) status = copy(slice, number, one.sums, offset, one.from_network, offset, bytes);
    }
    const weft_argument arguments[] = {{whole(one).get(), 0}, {one.array.get(), 0}};
    return status.ok() ? launch(slice, number, one.gather, arguments) : status;
  }

  MultisliceSession& session_;
  HostNetwork& network_;
  const Collective& collective_;
  const Payload payload_;
  std::vector<std::vector<OneChip>> chips_;  // by slice
  std::vector<Submitted> submitted_;         // of the step
  std::vector<Leaving> leaving_;
  uint64_t now_ = 0;
};

}  // namespace

bool goes_over_slices(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kReduceScatter ||
         kind == CollectiveKind::kAllGather;
}

Result<HierarchicalResult> run_hierarchical(MultisliceSession& session, HostNetwork& network,
                                            const Collective& collective,
                                            const std::vector<std::vector<std::vector<std::byte>>>& inputs,
                                            Payload payload) {
  Hierarchical job(session, network, collective, payload);
  if (auto status = job.prepare(inputs); !status.ok()) return status.error();
  return job.run();
}

}  // namespace weft::runtime
