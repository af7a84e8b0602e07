// Random bits by Threefry 2x32 with 20 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011), for
// every algorithm that a program may name: StableHLO leaves the bits to the implementation.
#include <array>

#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/stablehlo/node.hpp"

namespace weft::compiler::stablehlo {
namespace {

using ir::Builder;
using ir::ElementType;

ValueId bits_as(Builder& b, ValueId x, ElementType element) {
  return b.add(OpKind::kBitcastConvert, {x}, {{"element", std::string(name_of(element))}});
}

/// Column `which` of u32[1, 2].
ValueId column(Builder& b, ValueId pair, int64_t which) {
  return b.reshape(b.slice_of(pair, 1, which, which + 1), {1});
}

ValueId rotated(Builder& b, ValueId x, int bits) {
  return b.binary(OpKind::kOr, b.binary(OpKind::kShiftLeft, x, b.like(x, bits)),
                  b.binary(OpKind::kShiftRight, x, b.like(x, 32 - bits)));
}

/// Both words of each block: key u32[1, 2], words of counters u32[n] -> u32[n, 2].
ValueId threefry(Builder& b, ValueId key, ValueId x, ValueId y) {
  constexpr std::array<std::array<int, 4>, 2> kRotations{{{13, 15, 26, 6}, {17, 29, 16, 24}}};
  constexpr double kParity = 0x1bd11bda;
  std::array<ValueId, 3> keys{column(b, key, 0), column(b, key, 1), {}};
  keys[2] = b.binary(OpKind::kXor, b.binary(OpKind::kXor, keys[0], keys[1]), b.like(keys[0], kParity));
  x = b.plus(x, keys[0]), y = b.plus(y, keys[1]);
  for (size_t group = 0; group < 5; group++) {
    for (const int bits : kRotations[group % 2]) {
      x = b.plus(x, y);
      y = b.binary(OpKind::kXor, rotated(b, y, bits), x);
    }
    x = b.plus(x, keys[(group + 1) % 3]);
    y = b.plus(b.plus(y, keys[(group + 2) % 3]), static_cast<double>(group + 1));
  }
  const Dims one{b.dim(x, 0), 1};
  return b.concatenate({b.reshape(x, one), b.reshape(y, one)}, 1);
}

}  // namespace

/// The state is a key and the number of the next block, u64 each; what is behind them stays as it is. All of it is
/// computed in words, low ones first, which a device has.
Values rng_bit_generator(Node& node) {
  if (node.in.size() != 1) ir::invalid("{} operands; it takes 1", node.in.size());
  Builder& b = node.b;
  const ir::TensorType given = b.type(node.in[0]), out = node.result_type(1);
  ValueId state = node.in[0];
  if (given.element == ElementType::kU64 && given.rank() == 1 && given.dims[0] >= 2)
    state = b.reshape(bits_as(b, state, ElementType::kU32), {2 * given.dims[0]});
  else if (given != ir::TensorType{ElementType::kU32, {4}})
    ir::unsupported("a state {}; supported: u64[2], u64[3], u32[4]", given.text());
  if (ir::is_float(out.element) || out.element == ElementType::kPred)
    ir::unsupported("bits {}; supported: integers", out.text());
  ir::check_size(out);
  const auto bytes = static_cast<int64_t>(out.bytes()), blocks = (bytes + 7) / 8;
  if (blocks == 0) return {node.in[0], b.fill(out, 0)};
  const ValueId key = b.reshape(b.slice_of(state, 0, 0, 2), {1, 2});
  const ValueId low = b.slice_of(state, 0, 2, 3), high = b.slice_of(state, 0, 3, 4);
  // The next block's number and `more`, which is below 2^32.
  const auto counted = [&](ValueId more, const Dims& dims) {
    const ValueId sum = b.plus(more, b.broadcast_to(low, dims));
    const ValueId carry = b.convert(b.compare("lt", sum, more), ElementType::kU32);
    return std::pair(sum, b.plus(carry, b.broadcast_to(high, dims)));
  };
  const auto [x, y] = counted(b.iota(ElementType::kU32, {blocks}, 0), {blocks});
  ValueId words = threefry(b, key, x, y);
  if (b.element(words) != out.element) words = bits_as(b, words, out.element);
  const auto made = static_cast<int64_t>(b.type(words).count()), used = static_cast<int64_t>(out.count());
  words = b.reshape(b.slice_of(b.reshape(words, {made}), 0, 0, used), out.dims);
  const auto [next_low, next_high] = counted(b.fill({ElementType::kU32, {1}}, static_cast<double>(blocks)), {1});
  std::vector<ValueId> parts{b.slice_of(state, 0, 0, 2), next_low, next_high};
  if (b.dim(state, 0) > 4) parts.push_back(b.slice_of(state, 0, 4, b.dim(state, 0)));
  ValueId after = b.concatenate(parts, 0);
  if (given.element == ElementType::kU64) after = bits_as(b, b.reshape(after, {given.dims[0], 2}), ElementType::kU64);
  return {after, words};
}

}  // namespace weft::compiler::stablehlo
