// Operators that move elements without looking at their values.
#include <algorithm>

#include "host/compiler/onnx/functions.hpp"
#include "host/compiler/onnx/rules.hpp"

namespace weft::compiler::frontend {
namespace {

void transpose(Node& n) {
  const ValueId x = n.in(0);
  Dims order = ir::counting(n.b.rank(x));
  std::ranges::reverse(order);
  n.out(n.b.transpose(x, n.integers("perm", order)));
}

void concat(Node& n) { n.out(n.b.concatenate(n.all_inputs(), Node::axis(n.integer("axis", 1), n.b.rank(n.in(0))))); }

void split(Node& n) {
  const ValueId x = n.in(0);
  const size_t axis = Node::axis(n.integer("axis", 0), n.b.rank(x));
  const int64_t size = n.b.dim(x, axis);
  Dims parts;
  if (const auto given = n.integers_of(1, "split")) {
    parts = *given;
  } else {
    const auto count =
        n.since >= 18 ? n.integer("num_outputs", static_cast<int64_t>(n.outputs())) : static_cast<int64_t>(n.outputs());
    if (count < 1 || count > static_cast<int64_t>(n.outputs())) invalid("{} parts, {} outputs", count, n.outputs());
    const int64_t part = (size + count - 1) / count;
    for (int64_t i = 0; i < count; i++) parts.push_back(std::clamp<int64_t>(size - i * part, 0, part));
  }
  if (parts.size() != n.outputs()) invalid("{} parts, {} outputs", parts.size(), n.outputs());
  int64_t at = 0;
  for (size_t i = 0; i < parts.size(); i++) {
    if (parts[i] < 0 || parts[i] > size - at) invalid("parts {} of {} elements", ir::dims_text(parts), size);
    n.out(n.b.slice_of(x, axis, at, at + parts[i]), i);
    at += parts[i];
  }
  if (at != size) invalid("parts {} of {} elements", ir::dims_text(parts), size);
}

void slice(Node& n) {
  ValueId x = n.in(0);
  const bool inputs = n.since >= 10;
  const auto part = [&](size_t i, const char* name) {
    return inputs ? (n.has(i) ? std::optional(n.known(i)->integers()) : std::nullopt) : n.integers(name);
  };
  const auto starts = part(1, "starts"), ends = part(2, "ends");
  if (!starts || !ends || starts->size() != ends->size()) invalid("starts and ends have different lengths");
  const Dims axes = Node::axes(part(3, "axes").value_or(ir::counting(starts->size())), n.b.rank(x));
  const Dims steps = inputs ? part(4, "steps").value_or(Dims(starts->size(), 1)) : Dims(starts->size(), 1);
  if (axes.size() != starts->size() || steps.size() != starts->size())
    invalid("axes or steps have another length than starts");
  Dims from(n.b.rank(x)), to = n.b.dims(x), by(n.b.rank(x), 1), turned;
  for (size_t i = 0; i < axes.size(); i++) {
    const auto d = static_cast<size_t>(axes[i]);
    const int64_t size = n.b.dim(x, d);
    int64_t step = steps[i], start = (*starts)[i], end = (*ends)[i];
    if (step == 0) invalid("a step of 0");
    if (std::ranges::count(axes, axes[i]) != 1) invalid("axis {} is there twice", d);
    start = start < 0 ? std::max<int64_t>(start, -size - 1) + size : start;
    end = end < 0 ? std::max<int64_t>(end, -size - 1) + size : end;
    step = std::clamp<int64_t>(step, -INT32_MAX, INT32_MAX);
    if (step > 0) {
      from[d] = std::clamp<int64_t>(start, 0, size);
      to[d] = std::max(from[d], std::clamp<int64_t>(end, 0, size));
    } else {  // the same elements of the reversed dimension
      turned.push_back(axes[i]);
      from[d] = size - 1 - std::clamp<int64_t>(start, -1, size - 1);
      to[d] = std::max(from[d], size - 1 - std::clamp<int64_t>(end, -1, size - 1));
    }
    by[d] = std::abs(step);
  }
  if (!turned.empty()) x = n.b.reverse(x, turned);
  n.out(n.b.slice(x, from, to, by));
}

void expand(Node& n) {
  const ValueId x = n.in(0);
  n.out(n.b.broadcast_to(x, ir::broadcast_dims(n.b.dims(x), n.known(1)->integers())));
}

void tile(Node& n) {
  const ValueId x = n.in(0);
  const Dims repeats = n.known(1)->integers(), dims = n.b.dims(x);
  if (repeats.size() != dims.size()) invalid("{} repeats of {} dimensions", repeats.size(), dims.size());
  Dims wide, where, joined;
  for (size_t d = 0; d < dims.size(); d++) {
    if (repeats[d] < 0 || repeats[d] > INT32_MAX) invalid("{} repeats", repeats[d]);
    where.push_back(static_cast<int64_t>(wide.size()) + 1);
    wide.push_back(repeats[d]);
    wide.push_back(dims[d]);
    joined.push_back(repeats[d] * dims[d]);
  }
  n.out(n.b.reshape(n.b.broadcast_in(x, wide, where), joined));
}

/// Indices of the elements that stand at the places of a padded dimension.
Dims padded_places(const std::string& mode, int64_t size, int64_t low, int64_t high) {
  Dims places;
  const int64_t period = mode == "reflect" ? std::max<int64_t>(2 * (size - 1), 1) : std::max<int64_t>(size, 1);
  for (int64_t i = -low; i < size + high; i++) {
    int64_t at = ((i % period) + period) % period;
    if (mode == "edge") at = std::clamp<int64_t>(i, 0, size - 1);
    if (mode == "reflect" && at >= size) at = period - at;
    places.push_back(at);
  }
  return places;
}

void pad(Node& n) {
  ValueId x = n.in(0);
  const size_t rank = n.b.rank(x);
  const auto mode = n.word("mode", "constant");
  const Dims pads = n.since >= 11 ? n.known(1)->integers() : n.integers("pads", {});
  const Dims axes = n.since >= 18 && n.has(3) ? Node::axes(n.known(3)->integers(), rank) : ir::counting(rank);
  if (pads.size() != 2 * axes.size()) invalid("{} pads for {} dimensions", pads.size(), axes.size());
  Dims low(rank), high(rank);
  for (size_t i = 0; i < axes.size(); i++) {
    low[static_cast<size_t>(axes[i])] = pads[i];
    high[static_cast<size_t>(axes[i])] = pads[axes.size() + i];
  }
  if (mode == "constant") {
    const ValueId value =
        n.since >= 11 ? (n.has(2) ? n.b.reshape(n.in(2), {}) : n.b.like(x, 0)) : n.b.like(x, n.number("value", 0));
    return n.out(n.b.pad(x, value, low, high, Dims(rank)));
  }
  if (mode != "reflect" && mode != "edge" && mode != "wrap")
    invalid("mode '{}'; constant, reflect, edge or wrap", mode);
  for (size_t d = 0; d < rank; d++) {
    if (low[d] == 0 && high[d] == 0) continue;
    const int64_t size = n.b.dim(x, d);
    if (size == 0 || size + low[d] + high[d] < 0 || low[d] > INT32_MAX || high[d] > INT32_MAX)
      invalid("pads {} of {}", ir::dims_text(pads), n.b.type(x).text());
    x = n.b.take(x, n.b.integers(padded_places(mode, size, low[d], high[d])), d);
  }
  n.out(x);
}

/// Cuts or pads the middle of some dimensions to a shape.
void center_crop_pad(Node& n) {
  ValueId x = n.in(0);
  const size_t rank = n.b.rank(x);
  const Dims axes = Node::axes(n.integers("axes", ir::counting(rank)), rank), to = n.known(1)->integers();
  if (to.size() != axes.size()) invalid("{} sizes for {} axes", to.size(), axes.size());
  for (size_t i = 0; i < axes.size(); i++) {
    const auto d = static_cast<size_t>(axes[i]);
    const int64_t size = n.b.dim(x, d), more = to[i] - size;
    if (more < 0) {
      x = n.b.slice_of(x, d, -more / 2, -more / 2 + to[i]);
    } else {
      Dims low(rank), high(rank);
      low[d] = more / 2, high[d] = more - more / 2;
      x = n.b.pad(x, n.b.like(x, 0), low, high, Dims(rank));
    }
  }
  n.out(x);
}

void depth_to_space(Node& n) {
  const ValueId x = n.in(0);
  const int64_t block = n.integer("blocksize", 0);
  const Dims d = n.b.dims(x);
  if (d.size() != 4 || block < 1 || block > 1 << 15 || d[1] % (block * block) != 0)
    invalid("blocks of {} of {}", block, n.b.type(x).text());
  const int64_t c = d[1] / block / block;
  const auto mode = n.word("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") invalid("mode '{}'; DCR or CRD", mode);
  const ValueId y = mode == "DCR"
                        ? n.b.transpose(n.b.reshape(x, {d[0], block, block, c, d[2], d[3]}), {0, 3, 4, 1, 5, 2})
                        : n.b.transpose(n.b.reshape(x, {d[0], c, block, block, d[2], d[3]}), {0, 1, 4, 2, 5, 3});
  n.out(n.b.reshape(y, {d[0], c, d[2] * block, d[3] * block}));
}
void space_to_depth(Node& n) {
  const ValueId x = n.in(0);
  const int64_t block = n.integer("blocksize", 0);
  const Dims d = n.b.dims(x);
  if (d.size() != 4 || block < 1 || block > 1 << 15 || d[2] % block != 0 || d[3] % block != 0)
    invalid("blocks of {} of {}", block, n.b.type(x).text());
  const ValueId y =
      n.b.transpose(n.b.reshape(x, {d[0], d[1], d[2] / block, block, d[3] / block, block}), {0, 3, 5, 1, 2, 4});
  n.out(n.b.reshape(y, {d[0], d[1] * block * block, d[2] / block, d[3] / block}));
}

void trilu(Node& n) {
  const ValueId x = n.in(0);
  const size_t rank = n.b.rank(x);
  if (rank < 2) invalid("{}; Trilu takes matrices", n.b.type(x).text());
  const ValueId k = n.has(1) ? n.b.reshape(n.in(1), {}) : n.b.scalar(ElementType::kI64, 0);
  const Dims matrix{n.b.dim(x, rank - 2), n.b.dim(x, rank - 1)};
  const ValueId rows = n.b.iota(ElementType::kI64, matrix, 0), columns = n.b.iota(ElementType::kI64, matrix, 1);
  const ValueId kept = n.b.compare(n.integer("upper", 1) != 0 ? "ge" : "le", n.b.minus(columns, rows), k);
  n.out(n.b.select(kept, x, n.b.like(x, 0)));
}

/// Column i of `time_axis` holds element length - 1 - i while that is one, else element i.
void reverse_sequence(Node& n) {
  const ValueId x = n.in(0), lengths = n.in(1);
  const size_t time = Node::axis(n.integer("time_axis", 0), n.b.rank(x)),
               batch = Node::axis(n.integer("batch_axis", 1), n.b.rank(x));
  if (time + batch != 1) invalid("axes {} and {}; 0 and 1", time, batch);
  ValueId t = time == 0 ? n.b.transpose(x,
                                        [&] {
                                          Dims p = ir::counting(n.b.rank(x));
                                          std::swap(p[0], p[1]);
                                          return p;
                                        }())
                        : x;
  const Dims dims = n.b.dims(t);
  const Dims grid{dims[0], dims[1]};
  const ValueId places = n.b.iota(ElementType::kI64, grid, 1);
  const ValueId length = n.b.reshape(n.b.convert(lengths, ElementType::kI64), {dims[0], 1});
  const ValueId from = n.b.select(n.b.compare("lt", places, length), n.b.minus(n.b.minus(length, 1), places), places);
  const ValueId flat = n.b.plus(from, n.b.times(n.b.iota(ElementType::kI64, grid, 0), static_cast<double>(dims[1])));
  Dims joined{dims[0] * dims[1]};
  joined.insert(joined.end(), dims.begin() + 2, dims.end());
  ValueId y = n.b.take(n.b.reshape(t, joined), flat, 0);
  if (time == 0) {
    Dims p = ir::counting(n.b.rank(x));
    std::swap(p[0], p[1]);
    y = n.b.transpose(y, p);
  }
  n.out(y);
}

}  // namespace

const Rules& movement_rules() {
  static const Rules rules{{"CenterCropPad", center_crop_pad},
                           {"Concat", concat},
                           {"DepthToSpace", depth_to_space},
                           {"Expand", expand},
                           {"Pad", pad},
                           {"ReverseSequence", reverse_sequence},
                           {"Slice", slice},
                           {"SpaceToDepth", space_to_depth},
                           {"Split", split},
                           {"Tile", tile},
                           {"Transpose", transpose},
                           {"Trilu", trilu}};
  return rules;
}

}  // namespace weft::compiler::frontend
