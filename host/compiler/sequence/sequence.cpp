// The parts' graphs once more, with values between them lying as their producer has them.
#include "host/compiler/sequence/sequence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/round_up.hpp"
#include "host/compiler/layout.hpp"
#include "host/compiler/partition/value_views.hpp"
#include "host/compiler/tiles/chunk_copies.hpp"

namespace weft::compiler {
namespace {

using ir::ValueId;

constexpr uint64_t kAlignment = 64, kElementBytes = 4;
constexpr uint64_t kMostColumns = 1024;  // of a row that is made for a collective

class Planner {
 public:
  Planner(const ir::Module& module, const Partition& partition, const std::vector<size_t>& parts)
      : module_(module), partition_(partition), parts_(parts) {
    const std::set<size_t> own(parts.begin(), parts.end());
    for (size_t i = 0; i < partition.parts.size(); i++)
      if (!own.contains(i)) outside_.insert(partition.parts[i].inputs.begin(), partition.parts[i].inputs.end());
    for (const auto& output : module.outputs) outside_.insert(output.value);
    for (const size_t part : parts)
      if (const auto& collective = partition.parts[part].collective) {
        const ValueId from = partition.parts[part].inputs[0];
        travels_.insert(from);
        if (collective->kind == CollectiveKind::kReduceScatter || collective->kind == CollectiveKind::kAllToAll)
          cut_in_[from] = collective->groups[0].size();
      }
    find_regions();
  }

  Result<Sequence> run(size_t& refused) {
    for (refused = 0; refused < parts_.size(); refused++) {
      const size_t number = parts_[refused];
      const Part& part = partition_.parts[number];
      auto status = part.collective ? add_collective(number, part) : add_graph(number, part);
      if (!status.ok()) return status.error();
    }
    settle_regions();
    return std::move(sequence_);
  }

 private:
  /// Rows of f32 or i32, and where they are.
  struct Lying {
    SequenceValue as;
    SequencePlace place;
  };
  /// Values that lie one behind the other, and where the first one does.
  struct Region {
    SequenceMemory memory = SequenceMemory::kBetween;
    uint64_t bytes = 0, offset = 0;
  };

  /// Sums of values that are there at once, of equal groups, are one sum of what they are one behind the other.
  void find_regions() {
    std::vector<std::vector<const Part*>> together;
    std::set<ValueId> summed;
    std::map<ValueId, size_t> maker;  // of what programs make
    for (const size_t number : parts_) {
      const Part& part = partition_.parts[number];
      const auto joins = [&](const Part& first) {
        const bool at_once =
            maker.at(first.inputs[0]) == maker.at(part.inputs[0]) || !(needs_long(first) || needs_long(part));
        return at_once && first.collective->dtype == part.collective->dtype &&
               first.collective->groups == part.collective->groups;
      };
      const bool sums = part.collective && part.collective->kind == CollectiveKind::kAllReduce &&
                        maker.contains(part.inputs[0]) && !region_of_.contains(part.inputs[0]);
      if (!sums) {
        if (part.graph) summed.clear();
      } else if (!together.empty() && !summed.empty() && !summed.contains(part.inputs[0]) &&
                 joins(*together.back().front())) {
        together.back().push_back(&part);
      } else {
        together.push_back({&part});
        summed.clear();
      }
      if (sums) {
        summed.insert(part.outputs[0]);
        region_of_[part.inputs[0]] = 2 * together.size() - 2;
        region_of_[part.outputs[0]] = 2 * together.size() - 1;
        joined_[&part] = together.size() - 1;
      }
      if (part.graph)
        for (const ValueId value : part.outputs) maker[value] = number;
    }
    regions_.resize(2 * together.size());
    for (const auto& [value, region] : region_of_)
      if (outside_.contains(value)) regions_[region].memory = SequenceMemory::kResults;
  }

  /// Whether the part is a long collective, or some long one needs what it gives: then it does not wait for others'.
  bool needs_long(const Part& part) {
    const auto [known, fresh] = needs_long_.try_emplace(&part, part.is_long);
    if (!fresh || part.is_long) return known->second;
    for (const size_t number : parts_) {
      const Part& reader = partition_.parts[number];
      const bool reads = std::ranges::any_of(
          part.outputs, [&](ValueId value) { return std::ranges::find(reader.inputs, value) != reader.inputs.end(); });
      if (reads && needs_long(reader)) return needs_long_[&part] = true;
    }
    return false;
  }

  /// Behind all other values, each where its memory ends.
  void settle_regions() {
    for (Region& region : regions_)
      region.offset = take(region.memory == SequenceMemory::kResults ? sequence_.result_bytes : sequence_.between_bytes,
                           region.bytes);
    const auto settle = [&](SequencePlace& place, ValueId value) {
      if (const auto found = region_of_.find(value); found != region_of_.end())
        place.offset_bytes += regions_[found->second].offset;
    };
    for (SequenceStep& step : sequence_.steps) {
      const Part& part = partition_.parts[step.part];
      if (step.graph) {
        for (size_t i = 0; i < step.inputs.size(); i++) settle(step.inputs[i], reads_.at(step.part)[i]);
        for (size_t i = 0; i < step.outputs.size(); i++) settle(step.outputs[i], part.outputs[i]);
      } else {
        settle(step.inputs[0], part.inputs[0]);
        settle(step.outputs[0], part.outputs[0]);
      }
    }
    for (SequenceValue& value : sequence_.results)
      if (const auto found = region_of_.find(value.value); found != region_of_.end())
        value.offset_bytes += regions_[found->second].offset;
  }

  [[nodiscard]] std::string name_of(ValueId value) const {
    for (const auto& output : module_.outputs)
      if (output.value == value) return output.name;
    const ir::Op& op = module_.op_of(value);
    return op.kind == ir::OpKind::kParameter ? op.word("name") : fmt::format("%{}", index_of(value));
  }

  /// Takes room; the offset.
  static uint64_t take(uint64_t& bytes, uint64_t size) {
    const uint64_t offset = bytes;
    bytes += round_up(size, kAlignment);
    return offset;
  }

  /// From the host. What several parts read in one form is there once.
  SequencePlace input(SequenceValue value) {
    const auto [known, fresh] = inputs_.try_emplace(std::tuple(value.value, value.columns, value.dtype));
    if (fresh) {
      value.offset_bytes = take(sequence_.input_bytes, value.size_bytes());
      known->second = {SequenceMemory::kInputs, value.offset_bytes, value.size_bytes()};
      sequence_.inputs.push_back(value);
    }
    return known->second;
  }

  SequencePlace make(SequenceValue value) {
    const auto region = region_of_.find(value.value);
    const bool outside = outside_.contains(value.value);
    const auto memory = region != region_of_.end() ? regions_[region->second].memory
                        : outside                  ? SequenceMemory::kResults
                                                   : SequenceMemory::kBetween;
    uint64_t& bytes = region != region_of_.end()           ? regions_[region->second].bytes
                      : memory == SequenceMemory::kResults ? sequence_.result_bytes
                                                           : sequence_.between_bytes;
    value.offset_bytes = take(bytes, value.size_bytes());
    if (outside) sequence_.results.push_back(value);
    return (made_[value.value] = {value, {memory, value.offset_bytes, value.size_bytes()}}).place;
  }

  Status add_graph(size_t number, const Part& part) {
    std::vector<ir::Output> inputs, outputs;
    LoopState lying;
    for (const ValueId value : part.inputs)
      if (const auto found = made_.find(value); found != made_.end()) {
        inputs.push_back({name_of(value), value});
        lying.columns.push_back(found->second.as.columns);
      }
    for (const ValueId value : part.inputs)
      if (!made_.contains(value)) inputs.push_back({name_of(value), value});
    for (const ValueId value : part.outputs) outputs.push_back({name_of(value), value});
    auto graph = device_graph(module_, part.ops, inputs, outputs, lying);
    if (!graph.ok()) return graph.error();
    if (set_columns(part, graph.value(), lying)) {
      graph = device_graph(module_, part.ops, inputs, outputs, lying);
      if (!graph.ok()) return graph.error();
    }
    SequenceStep step{number, {}, {}, {}, {}};
    for (size_t i = 0; i < inputs.size(); i++) {
      reads_[number].push_back(inputs[i].value);
      const Tensor& tensor = graph.value().tensors[graph.value().inputs[i]];
      const auto found = made_.find(inputs[i].value);
      step.inputs.push_back(found != made_.end() ? found->second.place
                                                 : input({inputs[i].value, tensor.rows, tensor.columns, tensor.dtype}));
    }
    for (size_t i = 0; i < outputs.size(); i++) {
      const Tensor& tensor = graph.value().tensors[graph.value().outputs[i]];
      const auto dtype = tensor.dtype == WEFT_VPU_DTYPE_I32 ? tensor.dtype : WEFT_VPU_DTYPE_F32;
      step.outputs.push_back(make({outputs[i].value, tensor.rows, tensor.columns, dtype}));
    }
    step.graph = std::move(graph.value());
    sequence_.steps.push_back(std::move(step));
    return Ok{};
  }

  /// What a collective cuts has whole rows in each part, and what it sends few bytes between rows. True: some output
  /// must lie in other rows than it does.
  bool set_columns(const Part& part, const Graph& graph, LoopState& lying) const {
    bool other = false;
    for (size_t i = 0; i < part.outputs.size(); i++) {
      const Tensor& tensor = graph.tensors[graph.outputs[i]];
      const uint64_t count = module_.type(part.outputs[i]).count();
      uint64_t& columns = lying.stored_columns.emplace_back(0);
      if (const auto cut = cut_in_.find(part.outputs[i]); cut != cut_in_.end()) {
        if (tensor.rows % cut->second != 0) columns = count / cut->second;
      } else if (travels_.contains(part.outputs[i]) &&
                 2 * tensor.columns * vpu_element_bytes(tensor.dtype) <=
                     row_pitch_bytes(tensor.columns, vpu_element_bytes(tensor.dtype))) {
        columns = dense_columns(count);
      }
      other = other || columns != 0;
    }
    return other;
  }

  /// Of rows that fill their pitch; 0: there are none that are short enough.
  [[nodiscard]] static uint64_t dense_columns(uint64_t count) {
    if (count <= kMostColumns) return count;
    const uint64_t unit = kAlignment / vpu_element_bytes(WEFT_VPU_DTYPE_F32);
    for (uint64_t columns = kMostColumns; columns >= unit; columns -= unit)
      if (count % columns == 0) return columns;
    return 0;
  }

  /// The sums of values in one region are one step, where the first of them is.
  Status add_sum(size_t number, const Part& part, size_t which) {
    const Region& in = regions_[2 * which];
    Region& out = regions_[2 * which + 1];
    out.bytes = in.bytes;
    const Lying& given = made_.at(part.inputs[0]);
    SequenceValue sum = given.as;
    sum.value = part.outputs[0];
    sum.offset_bytes = given.place.offset_bytes;
    if (outside_.contains(sum.value)) sequence_.results.push_back(sum);
    made_[sum.value] = {sum, {out.memory, sum.offset_bytes, sum.size_bytes()}};
    if (!begun_.insert(which).second) return Ok{};
    SequenceStep step{number,      {}, *part.collective, {{in.memory, 0, in.bytes}}, {{out.memory, 0, out.bytes}},
                      part.is_long};
    step.collective.bytes = in.bytes;
    sequence_.steps.push_back(std::move(step));
    return Ok{};
  }

  Status add_collective(size_t number, const Part& part) {
    const ValueId from = part.inputs[0], to = part.outputs[0];
    if (const auto joined = joined_.find(&part); joined != joined_.end()) return add_sum(number, part, joined->second);
    SequenceStep step{number, {}, *part.collective, {}, {}, part.is_long};
    Collective& collective = step.collective;
    const uint64_t ranks = collective.groups[0].size(), count = module_.type(from).count();
    SequenceValue value{from, 1, count,
                        collective.dtype == WEFT_ARGUMENT_DTYPE_I32 ? WEFT_VPU_DTYPE_I32 : WEFT_VPU_DTYPE_F32};
    if (const uint64_t columns = last_columns(module_.type(from).dims); columns * kElementBytes % kAlignment == 0)
      value.rows = count / columns, value.columns = columns;  // as programs have it, and nothing between rows
    const auto found = made_.find(from);
    if (found != made_.end())
      value = found->second.as;
    else if (cut_in_.contains(from))
      value.rows = ranks, value.columns = count / ranks;
    const bool in_rows = value.rows % ranks == 0;
    step.inputs.push_back(found != made_.end() ? found->second.place : input(value));
    collective.bytes = value.size_bytes();
    value.value = to;
    if (collective.kind == CollectiveKind::kAllGather) {
      collective.bytes *= ranks;
      value.rows *= ranks;
    } else if (cut_in_.contains(from) && !in_rows) {  // of a collective's result
      return Error{WEFT_ERROR_UNSUPPORTED,
                   fmt::format("a collective that cuts {} rows in {} parts", value.rows, ranks)};
    } else if (collective.kind == CollectiveKind::kReduceScatter) {
      value.rows /= ranks;
    }
    step.outputs.push_back(make(value));
    sequence_.steps.push_back(std::move(step));
    return Ok{};
  }

  const ir::Module& module_;
  const Partition& partition_;
  const std::vector<size_t>& parts_;
  std::set<ValueId> outside_;           ///< values that others than the sequence's parts read
  std::map<ValueId, uint64_t> cut_in_;  ///< values -> parts
  std::set<ValueId> travels_;           ///< values that collectives read
  std::map<ValueId, Lying> made_;       ///< of a region: counted from its beginning
  std::vector<Region> regions_;         ///< what is summed, and then its sums, by turns
  std::map<ValueId, size_t> region_of_;
  std::map<const Part*, size_t> joined_;  ///< sums -> which of those that are one
  std::set<size_t> begun_;
  std::map<size_t, std::vector<ValueId>> reads_;  ///< by part, in the order of its graph's inputs
  std::map<std::tuple<ValueId, uint64_t, weft_vpu_dtype>, SequencePlace> inputs_;
  std::map<const Part*, bool> needs_long_;
  Sequence sequence_;
};

}  // namespace

uint64_t SequenceValue::pitch_bytes() const { return row_pitch_bytes(columns, vpu_element_bytes(dtype)); }

Result<Sequence> plan_sequence(const ir::Module& module, const Partition& partition, const std::vector<size_t>& parts,
                               size_t& refused) {
  return Planner(module, partition, parts).run(refused);
}

}  // namespace weft::compiler
