// What random programs reached.
#include "testbench/random/reached.hpp"

#include <fmt/format.h>

#include "weft/spec/names.hpp"

namespace weft::random {
namespace {

std::string kind(const QueuedCommand& queued) {
  const spec::Command& command = queued.command;
  const spec::OpcodeInfo& opcode = *spec::find_opcode(command.bytes[0]);
  switch (opcode.body) {
    case spec::Body::kDma:
    case spec::Body::kIndexed:
      return fmt::format("{} on {}", opcode.name, spec::queue_name(queued.queue));
    case spec::Body::kMxu: {
      const auto c = spec::decode_mxu(command);
      return fmt::format("{} {}, seed {}", opcode.name, spec::mxu_dtype_name(c.dtype), spec::mxu_seed_name(c.seed));
    }
    case spec::Body::kVpu: {
      const auto c = spec::decode_vpu(command);
      const std::string op = c.op == WEFT_VPU_OP_NONE ? "" : fmt::format(" {}", spec::vpu_op_name(c.op));
      const std::string b =
          c.b_mode == WEFT_VPU_B_MODE_NONE ? "" : fmt::format(", b {}", spec::vpu_b_mode_name(c.b_mode));
      const std::string to = c.src_dtype == c.dst_dtype ? "" : fmt::format(" -> {}", spec::vpu_dtype_name(c.dst_dtype));
      const std::string activation =
          c.activation == WEFT_VPU_ACTIVATION_NONE ? "" : fmt::format(", {}", spec::vpu_activation_name(c.activation));
      const std::string axis =
          c.axis == WEFT_VPU_AXIS_LANES ? "" : fmt::format(" across {}", spec::vpu_axis_name(c.axis));
      return fmt::format("{}{} {}{}{}{}{}", opcode.name, op, spec::vpu_dtype_name(c.src_dtype), to, axis, b,
                         activation);
    }
    case spec::Body::kBarrier:
    case spec::Body::kNone:
      break;
  }
  return std::string(opcode.name);
}

std::string dtype(const QueuedCommand& queued, const spec::OpcodeInfo& opcode) {
  switch (opcode.body) {
    case spec::Body::kDma:
    case spec::Body::kIndexed:
      return std::string(spec::queue_name(queued.queue));
    case spec::Body::kMxu:
      return std::string(spec::mxu_dtype_name(spec::decode_mxu(queued.command).dtype));
    case spec::Body::kVpu:
      return std::string(spec::vpu_dtype_name(spec::decode_vpu(queued.command).src_dtype));
    case spec::Body::kBarrier:
    case spec::Body::kNone:
      break;
  }
  return "none";
}

/// Of an opcode with this body.
std::vector<std::string> dtypes(const spec::OpcodeInfo& opcode) {
  std::vector<std::string> names;
  const auto add = [&](std::string_view enumeration) {
    for (const auto& value : spec::enum_values(enumeration)) names.emplace_back(value.name);
  };
  switch (opcode.body) {
    case spec::Body::kDma:
    case spec::Body::kIndexed:
      for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++)
        if ((opcode.queue_mask >> q & 1) != 0) names.emplace_back(spec::queue_name(q));
      break;
    case spec::Body::kMxu:
      add("mxu_dtype");
      break;
    case spec::Body::kVpu:
      add("vpu_dtype");
      break;
    case spec::Body::kBarrier:
    case spec::Body::kNone:
      names.emplace_back("none");
      break;
  }
  return names;
}

std::string bin(std::string_view opcode, std::string_view dtype, int waits, int posts) {
  return fmt::format("{}.{}.waits{}.posts{}", opcode, dtype, waits, posts);
}

}  // namespace

std::vector<std::string> Reached::all_bins() {
  std::vector<std::string> all;
  for (const auto& opcode : spec::kOpcodes) {
    if (!opcode.built) continue;
    for (const auto& type : dtypes(opcode))
      for (int waits = 0; waits <= 2; waits++)
        for (int posts = 0; posts <= 2; posts++) all.push_back(bin(opcode.name, type, waits, posts));
  }
  return all;
}

void Reached::count(const Program& program) {
  for (const auto& c : program.commands) {
    const auto h = spec::decode_header(c.command);
    if (program.fault && h.tag == program.fault->tag) {
      kinds_[fmt::format("fault {} on {}", spec::fault_name(program.fault->code), spec::queue_name(c.queue))]++;
      continue;
    }
    kinds_[kind(c)]++;
    const int waits = (h.wait_sem0 != WEFT_NO_SEMAPHORE) + (h.wait_sem1 != WEFT_NO_SEMAPHORE);
    const int posts = (h.post_sem0 != WEFT_NO_SEMAPHORE) + (h.post_sem1 != WEFT_NO_SEMAPHORE);
    const spec::OpcodeInfo& opcode = *spec::find_opcode(c.command.bytes[0]);
    bins_[bin(opcode.name, dtype(c, opcode), waits, posts)]++;
    kinds_[fmt::format("queue {}: {} waits, {} posts", spec::queue_name(c.queue), waits, posts)]++;
  }
}

std::string Reached::text() const {
  std::string out;
  for (const auto& [name, count] : kinds_) out += fmt::format("{:<48}{:>8}\n", name, count);
  return out;
}

}  // namespace weft::random
