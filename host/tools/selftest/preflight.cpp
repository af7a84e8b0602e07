// A pattern from every chip to every neighbour, counters around it, then memory and a sum.
#include "host/tools/selftest/preflight.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <span>

#include "host/compiler/collectives/neighbor_exchange.hpp"
#include "host/reference/collective_reference.hpp"
#include "host/runtime/chip_set.hpp"
#include "host/runtime/driver_error.hpp"
#include "host/runtime/fault_schedule.hpp"
#include "host/tools/live/smi_view.hpp"

namespace weft::tools {
namespace {

using compiler::NeighborExchange;
using compiler::SliceShape;

constexpr uint64_t kBlockBytes = 8192;
constexpr uint32_t kPorts = NeighborExchange::kPorts;
constexpr unsigned kBitsPerByte = 8;

/// Of each chip, by port, as its registers tell it.
using Neighbors = std::vector<std::array<std::optional<uint32_t>, kPorts>>;

Result<Neighbors> told_neighbors(const runtime::ChipSet& chips) {
  Neighbors out(chips.chips());
  for (uint32_t chip = 0; chip < chips.chips(); chip++) {
    weft_chip_place place = WEFT_INIT(weft_chip_place);
    if (const auto status = weft_slice_get_chip(chips.slice(), chip, &place); status != WEFT_ERROR_OK)
      return runtime::driver_error(status);
    for (uint32_t port = 0; port < kPorts; port++)
      if (place.neighbors[port] != WEFT_NO_CHIP) out[chip][port] = place.neighbors[port];
  }
  return out;
}

/// The chip's number in its first word, then noise: half of the bits change from one bit to the next.
std::vector<std::byte> block_of(uint32_t chip, uint64_t seed) {
  std::mt19937_64 random(seed * 0x9e3779b97f4a7c15u + chip);
  std::vector<std::byte> block(kBlockBytes);
  for (uint64_t at = 0; at < kBlockBytes; at += sizeof(uint64_t)) {
    const uint64_t word = random();
    std::memcpy(&block[at], &word, sizeof word);
  }
  std::memcpy(block.data(), &chip, sizeof chip);
  return block;
}

struct Exchange {
  Neighbors neighbors;
  std::vector<std::vector<std::byte>> blocks;  // sent, by chip
  NeighborExchange shape;                      // block and rounds
  runtime::SliceResult result;
  LinksSnapshot before, after;
};

Result<Exchange> exchange_blocks(runtime::SliceSession& session, const PreflightOptions& options) {
  const runtime::ChipSet& chips = session.chips();
  Exchange out;
  auto neighbors = told_neighbors(chips);
  if (!neighbors.ok()) return neighbors.error();
  out.neighbors = std::move(neighbors.value());
  out.shape.block_bytes = kBlockBytes;
  out.shape.rounds = static_cast<uint32_t>(std::max<uint64_t>(1, options.link_bytes / kBlockBytes));
  std::vector<compiler::Kernel> kernels;
  for (uint32_t chip = 0; chip < chips.chips(); chip++) {
    NeighborExchange exchange = out.shape;
    exchange.neighbors = out.neighbors[chip];
    auto kernel = compiler::compile_neighbor_exchange(session.chip(), session.shape(), exchange);
    if (!kernel.ok()) return kernel.error();
    kernels.push_back(std::move(kernel.value()));
    out.blocks.push_back(block_of(chip, options.seed));
  }
  auto before = links_of(chips.slice(), "");
  if (!before.ok()) return before.error();
  std::vector<runtime::ChipInputs> arguments;
  for (const auto& block : out.blocks) arguments.push_back({std::span(block)});
  auto result = session.run(kernels, arguments);
  if (!result.ok()) return result.error();
  auto after = links_of(chips.slice(), "");
  if (!after.ok()) return after.error();
  out.before = std::move(before.value());
  out.after = std::move(after.value());
  out.result = std::move(result.value());
  return out;
}

/// Who wrote into each chip's places, against who should have by the slice's shape.
CheckResult check_neighbors(const Exchange& e, const LinksSnapshot& slice, const SliceShape& shape) {
  constexpr const char* kName = "neighbours";
  uint64_t read = 0;
  for (uint32_t chip = 0; chip < e.neighbors.size(); chip++)
    for (uint32_t port = 0; port < kPorts; port++) {
      const auto& told = e.neighbors[chip][port];
      if (const auto rule = neighbor_by_rule(shape, chip, port); !slice.twisted && rule != told)
        return failed(kName, fmt::format("chip {} says that {} is behind {}; by the slice's shape it is {}", chip,
                                         told ? fmt::format("chip {}", *told) : "nobody", runtime::kPortNames[port],
                                         rule ? fmt::format("chip {}", *rule) : "nobody"));
      if (!told) continue;
      uint32_t id = 0;
      std::memcpy(&id, &e.result.outputs[chip].back()[e.shape.offset(port, 0)], sizeof id);
      if (id != *told)
        return failed(kName,
                      fmt::format("chip {} received the number {} where its neighbour behind {}, chip {}, writes", chip,
                                  id, runtime::kPortNames[port], *told));
      read++;
    }
  return passed(kName, fmt::format("{} numbers of neighbours received, each from where the shape says", read));
}

/// What `receiver` got by `port`, byte by byte.
Comparison compare_blocks(const Exchange& e, uint32_t sender, uint32_t receiver, uint32_t port) {
  Comparison comparison;
  const std::span<const std::byte> received = e.result.outputs[receiver].back();
  const std::array<uint64_t, 1> shape{e.shape.block_bytes};
  for (uint32_t round = 0; round < e.shape.rounds; round++) {
    const size_t first = std::min<size_t>(e.shape.offset(port, round), received.size());
    const size_t count = std::min<size_t>(e.shape.block_bytes, received.size() - first);
    comparison.add(fmt::format("block {}", round), shape, e.blocks[sender], received.subspan(first, count), 1);
  }
  return comparison;
}

LinkTest test_link(const Exchange& e, size_t index, double rate_limit) {
  const LinkSnapshot &then = e.before.links[index], &now = e.after.links[index];
  LinkTest t;
  t.chip = now.chip;
  t.port = now.port;
  t.neighbor = static_cast<uint32_t>(*now.neighbor);
  t.state = now.state;
  t.payload_bytes = now.payload_bytes - then.payload_bytes;
  t.wire_bytes = now.wire_bytes - then.wire_bytes;
  t.frame_errors = now.frame_errors - then.frame_errors;
  t.downs = now.downs - then.downs;
  const Comparison received = compare_blocks(e, t.chip, t.neighbor, t.port ^ 1);
  const auto verdict = received.verdict("what was sent");
  t.differing_bytes = received.differing();
  t.rate = bit_error_rate(t.frame_errors, kBitsPerByte * t.wire_bytes);
  const uint64_t due = e.shape.rounds * e.shape.block_bytes;
  if (t.differing_bytes != 0)
    t.fault = fmt::format("{} bytes arrived wrong", t.differing_bytes);
  else if (!verdict.ok())
    t.fault = verdict.error().message;
  else if (t.state != "up")
    t.fault = fmt::format("{}: data took other ways", t.state);
  else if (t.downs != 0)
    t.fault = fmt::format("went down {} times", t.downs);
  else if (t.payload_bytes < due)
    t.fault = fmt::format("carried {} of {} bytes", t.payload_bytes, due);
  else if (t.rate.estimate > rate_limit)
    t.fault = fmt::format("bit errors: {:.2g}, the limit is {:.2g}", t.rate.estimate, rate_limit);
  return t;
}

CheckResult check_links(const Exchange& e, const std::vector<LinkTest>& links) {
  constexpr const char* kName = "links";
  std::string bad;
  double bound = 0;
  for (const LinkTest& t : links) {
    bound = std::max(bound, t.rate.bound);
    if (!t.fault.empty())
      bad += fmt::format("{}{} to {}: {}", bad.empty() ? "" : "; ", link_name(t.chip, t.port), t.neighbor, t.fault);
  }
  if (!bad.empty()) return failed(kName, bad);
  return passed(kName, fmt::format("{} directions, {} over each, 0 bytes differ; bit errors below {:.2g} (95 %)",
                                   links.size(), bytes_text(e.shape.rounds * e.shape.block_bytes), bound));
}

/// What the links themselves say when nothing could be sent over all of them.
CheckResult unusable_links(const runtime::SliceSession& session, const Error& error) {
  std::string bad;
  if (const auto links = links_of(session.chips().slice(), ""); links.ok())
    for (const LinkSnapshot& link : links.value().links)
      if (link.neighbor && link.state != "up")
        bad += fmt::format("{} to {} is {}; ", link_name(link.chip, link.port), *link.neighbor, link.state);
  return failed("links", bad + error.message);
}

CheckResult check_memories(const runtime::SliceSession& session, const PreflightOptions& options) {
  const runtime::ChipSet& chips = session.chips();
  CheckResult result;
  for (uint32_t chip = 0; chip < chips.chips(); chip++) {
    result = check_hbm(chips.device(chip), chips.queue(chip), options.hbm_bytes, options.seed);
    if (!result.passed) return failed(result.name, fmt::format("chip {}: {}", chip, result.failure));
  }
  return passed(result.name, fmt::format("{} chips, each: {}", chips.chips(), result.numbers));
}

CheckResult check_all_reduce(runtime::SliceSession& session, const PreflightOptions& options) {
  constexpr const char* kName = "all-reduce";
  std::string numbers;
  std::mt19937_64 random(options.seed);
  const SliceShape shape = session.shape();
  for (unsigned axis = 0; axis < shape.size.size(); axis++) {
    if (shape.size[axis] == 1) continue;
    const compiler::Collective sum{.axes = compiler::one_axis(axis), .bytes = options.reduce_bytes};
    ChipData inputs;
    for (uint32_t chip = 0; chip < shape.chips(); chip++)
      inputs.push_back(draw_numbers(random, collective_input_bytes(shape, chip, sum), sum.dtype));
    const auto result = runtime::run_collective(session, sum, inputs);
    if (!result.ok()) return failed(kName, fmt::format("along {}: {}", "xyz"[axis], result.error().message));
    const auto checked = check_collective(shape, sum, collective_reference(shape, sum, inputs), result.value().outputs);
    if (const auto verdict = checked.verdict("the documented order"); !verdict.ok())
      return failed(kName, fmt::format("along {}: {}", "xyz"[axis], verdict.error().message));
    numbers +=
        fmt::format("{}along {} {} elements, 0 differ", numbers.empty() ? "" : "; ", "xyz"[axis], checked.elements());
  }
  return passed(kName, numbers.empty() ? "a slice of one chip has nothing to add" : numbers);
}

}  // namespace

std::optional<uint32_t> neighbor_by_rule(const SliceShape& shape, uint32_t chip, uint32_t port) {
  const uint32_t axis = port / 2, size = shape.size[axis];
  uint32_t stride = 1;
  for (uint32_t lower = 0; lower < axis; lower++) stride *= shape.size[lower];
  const uint32_t at = chip / stride % size;
  const bool up = port % 2 == 0, last = at == (up ? size - 1 : 0);
  if (size == 1 || (last && !shape.wraps[axis])) return std::nullopt;
  const uint32_t to = up ? (at + 1) % size : (at + size - 1) % size;
  return chip - at * stride + to * stride;
}

bool PreflightResult::passed() const {
  return std::ranges::all_of(checks, [](const CheckResult& check) { return check.passed; });
}

PreflightResult preflight(runtime::SliceSession& session, const PreflightOptions& options,
                          const std::function<void(const CheckResult&)>& show) {
  PreflightResult out;
  const auto add = [&](CheckResult result) {
    show(result);
    out.checks.push_back(std::move(result));
  };
  const auto exchange = exchange_blocks(session, options);
  if (exchange.ok()) {
    const Exchange& e = exchange.value();
    for (size_t i = 0; i < e.after.links.size(); i++)
      if (e.after.links[i].neighbor) out.links.push_back(test_link(e, i, options.rate_limit));
    add(check_neighbors(e, e.after, session.shape()));
    add(check_links(e, out.links));
  } else {
    add(unusable_links(session, exchange.error()));
  }
  add(check_memories(session, options));
  add(check_all_reduce(session, options));
  return out;
}

}  // namespace weft::tools
