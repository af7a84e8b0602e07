// Rows of an attention by themselves. Scores of all tokens by all tokens are larger than any memory near the vector
// unit, but a row of them is made of one row of queries and is gone when it has been multiplied by the values.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "host/compiler/ir/builder.hpp"
#include "host/compiler/partition/value_views.hpp"
#include "host/compiler/passes/pass.hpp"
#include "host/compiler/passes/rewriter.hpp"

namespace weft::compiler::passes {
namespace {

using ir::Dims;
using ir::Module;
using ir::Op;
using ir::OpKind;
using ir::ValueId;

constexpr uint64_t kLargest = 1u << 22;      // elements of what stays in one piece
constexpr int64_t kBlockElements = 1 << 20;  // of a block's scores
constexpr int64_t kMostRows = 512;           // of a block
constexpr size_t kMostOps = 50'000;          // that the blocks of a module may have

/// A product of what is computed row by row from another product, and the operators between the two.
struct Chain {
  uint32_t last = 0;            ///< the second product
  std::vector<uint32_t> ops;    ///< before it, ascending; the first products among them
  Dims batch;                   ///< dimensions before the rows
  int64_t rows = 0, width = 0;  ///< of the scores
};

bool begins_with(const Dims& dims, const Dims& first) {
  return dims.size() >= first.size() && std::equal(first.begin(), first.end(), dims.begin());
}

class Finder {
 public:
  explicit Finder(const Module& module) : module_(module), readers_(module.values().size()) {
    for (uint32_t i = 0; i < module.ops().size(); i++)
      for (const ValueId operand : module.ops()[i].operands) readers_[index_of(operand)].push_back(i);
    for (const auto& output : module.outputs) readers_[index_of(output.value)].push_back(UINT32_MAX);
  }

  std::optional<Chain> chain(uint32_t last) {
    const Op& op = module_.ops()[last];
    if (op.kind != OpKind::kDotGeneral || op.attributes.contains("precision")) return std::nullopt;
    const Dims& dims = module_.type(op.operands[0]).dims;
    if (dims.size() < 3 || module_.type(op.operands[0]).count() <= kLargest || !by_rows(op)) return std::nullopt;
    Chain chain{last, {}, {dims.begin(), dims.end() - 2}, dims[dims.size() - 2], dims.back()};
    lead_ = Dims(dims.begin(), dims.end() - 1);
    members_.clear(), products_ = 0;
    if (!take(op.operands[0], dims) || products_ == 0) return std::nullopt;
    for (const uint32_t member : members_)
      for (const ValueId result : module_.ops()[member].results)
        for (const uint32_t reader : readers_[index_of(result)])
          if (reader != last && !members_.contains(reader)) return std::nullopt;
    chain.ops.assign(members_.begin(), members_.end());
    return chain;
  }

 private:
  /// A product whose rows are those of its first operand, with all dimensions before them side by side.
  [[nodiscard]] bool by_rows(const Op& op) const {
    const auto rank = static_cast<int64_t>(module_.type(op.operands[0]).rank());
    return op.list("lhs_batch") == ir::counting(static_cast<size_t>(rank) - 2) &&
           op.list("lhs_contract") == Dims{rank - 1} && module_.type(op.results[0]).rank() == static_cast<size_t>(rank);
  }

  /// The value's operator, if it computes rows from rows.
  bool take(ValueId value, const Dims& scores) {
    const Op& op = module_.op_of(value);
    const uint32_t index = module_.value(value).op;
    if (members_.contains(index)) return true;
    const Dims& dims = module_.type(value).dims;
    if (!begins_with(dims, lead_) || op.results.size() != 1) return false;
    if (constant_behind(module_, value) != nullptr) return true;  // cut where it is read
    bool rows = false;
    if (op.kind == OpKind::kDotGeneral) {
      if (!by_rows(op) || op.attributes.contains("precision") || dims != scores) return true;
      products_++;
      members_.insert(index);
      return true;
    }
    if (is_elementwise_kind(op.kind))
      rows = std::ranges::all_of(op.operands, [&](ValueId v) { return module_.type(v).dims == dims; });
    else if (op.kind == OpKind::kReduce)
      rows = op.operands.size() == 1 && op.list("dimensions") == Dims{static_cast<int64_t>(lead_.size())} &&
             begins_with(module_.type(op.operands[0]).dims, lead_);
    else if (op.kind == OpKind::kReshape)
      rows = begins_with(module_.type(op.operands[0]).dims, lead_);
    else if (op.kind == OpKind::kBroadcast)
      rows = begins_with(module_.type(op.operands[0]).dims, lead_) &&
             op.list("dimensions") == ir::counting(module_.type(op.operands[0]).rank());
    if (!rows) return true;  // from outside, row by row all the same
    members_.insert(index);
    return std::ranges::all_of(op.operands, [&](ValueId v) { return take(v, scores); });
  }

  const Module& module_;
  std::vector<std::vector<uint32_t>> readers_;
  Dims lead_;
  std::set<uint32_t> members_;
  size_t products_ = 0;
};

class Blocks {
 public:
  Blocks(const Module& module, Rewriter& rewriter, const Chain& chain)
      : module_(module), rewriter_(rewriter), chain_(chain), build_(rewriter.to()) {
    rows_ = std::clamp<int64_t>(kBlockElements / chain.width, 1, std::min(kMostRows, chain.rows));
  }

  [[nodiscard]] size_t ops() const {
    return static_cast<size_t>(static_cast<int64_t>(ir::count_of(chain_.batch)) * ((chain_.rows + rows_ - 1) / rows_)) *
           (2 * chain_.ops.size() + 4);
  }

  void write() {
    const Op& last = module_.ops()[chain_.last];
    build_.origin = last.origin;
    std::vector<ValueId> parts;
    const auto count = static_cast<int64_t>(ir::count_of(chain_.batch));
    for (int64_t b = 0; b < count; b++) {
      at_ = place(b), sides_.clear();
      std::vector<ValueId> blocks;
      for (int64_t row = 0; row < chain_.rows; row += rows_) {
        first_ = row, end_ = std::min(row + rows_, chain_.rows);
        made_.clear();
        for (const uint32_t op : chain_.ops) made_[module_.ops()[op].results[0]] = write(module_.ops()[op]);
        blocks.push_back(write(last));
      }
      parts.push_back(together(blocks, chain_.batch.size()));
    }
    for (size_t d = chain_.batch.size(); d-- > 0;) {
      std::vector<ValueId> wider;
      const auto size = static_cast<size_t>(chain_.batch[d]);
      for (size_t i = 0; i < parts.size(); i += size)
        wider.push_back(
            together({parts.begin() + static_cast<ptrdiff_t>(i), parts.begin() + static_cast<ptrdiff_t>(i + size)}, d));
      parts = std::move(wider);
    }
    rewriter_.replace(last, parts[0]);
  }

 private:
  [[nodiscard]] Dims place(int64_t number) const {
    Dims at(chain_.batch.size());
    for (size_t d = at.size(); d-- > 0; number /= chain_.batch[d]) at[d] = number % chain_.batch[d];
    return at;
  }
  ValueId together(const std::vector<ValueId>& parts, size_t dimension) {
    return parts.size() == 1 ? parts[0] : build_.concatenate(parts, dimension);
  }

  /// The block's rows of what begins with all dimensions before them.
  ValueId rows_of(ValueId value) {
    if (const auto made = made_.find(value); made != made_.end()) return made->second;
    const Dims& dims = module_.type(value).dims;
    const Op& op = module_.op_of(value);
    ValueId cut{};
    if (op.kind == OpKind::kBroadcast && op.list("dimensions").empty()) {
      cut = build_.broadcast_in(rewriter_.value(op.operands[0]), own(dims), {});
    } else {
      Dims start(dims.size()), limit = dims;
      for (size_t d = 0; d < at_.size(); d++) start[d] = at_[d], limit[d] = at_[d] + 1;
      start[at_.size()] = first_, limit[at_.size()] = end_;
      cut = build_.slice(rewriter_.value(value), start, limit, Dims(dims.size(), 1));
    }
    return made_[value] = cut;
  }
  /// Dimensions of a block of a value.
  [[nodiscard]] Dims own(Dims dims) const {
    std::fill_n(dims.begin(), at_.size(), 1);
    dims[at_.size()] = end_ - first_;
    return dims;
  }

  /// What all blocks of a place of the batch multiply by.
  ValueId side_of(const Op& op) {
    const ValueId value = op.operands[1];
    const auto [found, fresh] = sides_.try_emplace(value);
    if (!fresh) return found->second;
    const Dims& dims = module_.type(value).dims;
    Dims start(dims.size()), limit = dims;
    for (size_t i = 0; i < at_.size(); i++) {
      const auto d = static_cast<size_t>(op.list("rhs_batch")[i]);
      start[d] = at_[i], limit[d] = at_[i] + 1;
    }
    return found->second = build_.slice(rewriter_.value(value), start, limit, Dims(dims.size(), 1));
  }

  ValueId write(const Op& op) {
    Op copy = op;
    copy.results.clear();
    copy.operands[0] = rows_of(op.operands[0]);
    for (size_t i = 1; i < op.operands.size(); i++)
      copy.operands[i] = op.kind == OpKind::kDotGeneral ? side_of(op) : rows_of(op.operands[i]);
    if (op.kind == OpKind::kReshape || op.kind == OpKind::kBroadcast)
      copy.attributes.insert_or_assign("dims", own(module_.type(op.results[0]).dims));
    return rewriter_.to().add(std::move(copy));
  }

  const Module& module_;
  Rewriter& rewriter_;
  const Chain& chain_;
  ir::Builder build_;
  int64_t rows_ = 1, first_ = 0, end_ = 0;
  Dims at_;                           ///< place of the batch
  std::map<ValueId, ValueId> made_;   ///< of a block
  std::map<ValueId, ValueId> sides_;  ///< of a place of the batch: second operands of products
};

}  // namespace

ir::Module row_blocks(const ir::Module& module) {
  Rewriter rewriter(module);
  Finder finder(module);
  size_t room = kMostOps;
  for (uint32_t i = 0; i < module.ops().size(); i++) {
    if (const auto chain = finder.chain(i)) {
      Blocks blocks(module, rewriter, *chain);
      if (blocks.ops() <= room) {
        room -= blocks.ops();
        blocks.write();
        continue;
      }
    }
    rewriter.copy(module.ops()[i]);
  }
  return rewriter.finish();
}

}  // namespace weft::compiler::passes
