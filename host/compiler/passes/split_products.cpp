// Products of f32 that ask for more than one pass of bf16, as sums of products of bf16 parts (docs/numerics.md): a value is
// the sum of three parts, each the rest rounded to bf16, and a product of two values that of the parts that count. The
// method is that of bf16x3 and bf16x6 of Henry, Tang and Heinecke, "Leveraging the bfloat16 Artificial Intelligence Datatype
// For Higher-Precision Computations" (2019).
#include <array>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "host/compiler/ir/builder.hpp"
#include "host/compiler/partition/device_graph.hpp"
#include "host/compiler/passes/pass.hpp"
#include "host/compiler/passes/rewriter.hpp"

namespace weft::compiler::passes {
namespace {

using ir::ElementType;
using ir::Module;
using ir::Op;
using ir::OpKind;
using ir::ValueId;

constexpr size_t kParts = 3;  // 8 bits of the significand each: all 24 of f32
using Parts = std::array<ValueId, kParts>;

/// Parts of the two operands, the smallest products first; the first part by the first one is apart.
using Pair = std::pair<size_t, size_t>;
constexpr std::array<Pair, 5> kSmall{Pair{1, 1}, Pair{2, 0}, Pair{0, 2}, Pair{1, 0}, Pair{0, 1}};

class Splitter {
 public:
  explicit Splitter(Rewriter& rewriter) : rewriter_(rewriter), build_(rewriter.to()) {}

  void write(const Op& op) {
    build_.origin = op.origin;
    const size_t count = op.word("precision") == "high" ? 2 : kParts;
    const Parts a = parts_of(rewriter_.value(op.operands[0]), count);
    const Parts b = parts_of(rewriter_.value(op.operands[1]), count);
    const std::span<const Pair> pairs = std::span(kSmall).subspan(count == kParts ? 0 : 3);
    ValueId small = product(op, a[pairs[0].first], b[pairs[0].second]);
    for (const auto& [i, j] : pairs.subspan(1)) small = build_.plus(small, product(op, a[i], b[j]));
    // The rest of an infinity is a NaN: the product of the first parts alone tells what is infinite.
    const ValueId large = product(op, a[0], b[0]);
    const ValueId finite = build_.compare("lt", build_.unary(OpKind::kAbs, large),
                                          build_.like(large, std::numeric_limits<double>::infinity()));
    rewriter_.replace(op, build_.select(finite, build_.plus(large, small), large));
  }

 private:
  /// The first `count` parts of a value, each as f32 that bf16 holds. The others are the first one.
  Parts parts_of(ValueId value, size_t count) {
    const auto [found, fresh] = parts_.try_emplace({value, count});
    if (!fresh) return found->second;
    Parts& parts = found->second;
    for (size_t i = 0; i < count; i++) {
      parts[i] = build_.add(OpKind::kReducePrecision, {value}, {{"exponent_bits", 8}, {"mantissa_bits", 7}});
      if (i + 1 < count) value = build_.minus(value, parts[i]);
    }
    for (size_t i = count; i < kParts; i++) parts[i] = parts[0];
    return parts;
  }

  ValueId product(const Op& op, ValueId a, ValueId b) {
    Op one = op;
    one.results.clear();
    one.attributes.erase("precision");
    one.operands = {a, b};
    return rewriter_.to().add(std::move(one));
  }

  Rewriter& rewriter_;
  ir::Builder build_;
  std::map<std::pair<ValueId, size_t>, Parts> parts_;
};

/// Whether it asks for more than one pass and has a form of several. A depthwise convolution is the vector unit's, in f32.
bool splits(const Module& module, const Op& op) {
  if (!op.attributes.contains("precision") || (op.kind == OpKind::kConvolution && is_depthwise(module, op)))
    return false;
  const auto f32 = [&](ValueId v) { return module.type(v).element == ElementType::kF32; };
  return f32(op.operands[0]) && f32(op.operands[1]) && f32(op.results[0]);
}

/// A product of bf16 is exact in one pass.
bool needs_one(const Module& module, const Op& op) {
  return op.attributes.contains("precision") && module.type(op.operands[0]).element == ElementType::kBf16 &&
         module.type(op.operands[1]).element == ElementType::kBf16;
}

}  // namespace

Module split_products(const Module& module) {
  Rewriter rewriter(module);
  Splitter splitter(rewriter);
  for (const Op& op : module.ops()) {
    if (splits(module, op)) {
      splitter.write(op);
      continue;
    }
    Op mapped = rewriter.mapped(op);
    if (needs_one(module, op)) mapped.attributes.erase("precision");
    for (auto& region : mapped.regions) region = std::make_shared<const Module>(split_products(*region));
    rewriter.add(op, std::move(mapped));
  }
  return rewriter.finish();
}

}  // namespace weft::compiler::passes
