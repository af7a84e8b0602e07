// Graph -> Program. One chip alone is a slice of one: all rows, all columns, and nobody to send to.
#include "host/compiler/lower.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

#include "host/compiler/collectives/barrier_signature.hpp"
#include "host/compiler/layout.hpp"
#include "host/compiler/program_constants.hpp"

namespace weft::compiler {
namespace {

Span common(Span a, Span b) {
  const uint64_t first = std::max(a.first, b.first), end = std::min(a.first + a.count, b.first + b.count);
  return {first, end > first ? end - first : 0};
}

class Lowering {
 public:
  /// `joined`: without numbers each input and output is an argument.
  Lowering(const spec::Chip& chip, const Graph& graph, const ShardView& view, bool overlap, JoinedArguments joined)
      : chip_(chip),
        graph_(graph),
        view_(view),
        overlap_(overlap),
        one_(!joined.inputs.empty() || !joined.outputs.empty()),
        joined_(std::move(joined)),
        places_(graph.tensors.size()),
        stored_(graph.tensors.size()),
        output_(graph.tensors.size()),
        readers_(graph.tensors.size()),
        constants_(chip) {}

  Result<ShardedProgram> run() {
    program_.name = graph_.name;
    if (!one_ && graph_.inputs.size() + graph_.outputs.size() >= WEFT_LIMIT_ARGUMENTS)
      return Error{WEFT_ERROR_UNSUPPORTED,
                   fmt::format("{} inputs and {} outputs; a kernel has room for {}", graph_.inputs.size(),
                               graph_.outputs.size(), WEFT_LIMIT_ARGUMENTS - 1)};
    for (const size_t t : graph_.outputs) output_[t] = true;
    add_arguments(graph_.inputs, joined_.inputs, WEFT_ARGUMENT_DIRECTION_INPUT);
    add_arguments(graph_.outputs, joined_.outputs, WEFT_ARGUMENT_DIRECTION_OUTPUT);
    for (const auto& node : graph_.nodes)
      if (const auto* dense = std::get_if<DenseNode>(&node)) readers_[dense->x].push_back(dense->n);
    for (const auto& node : graph_.nodes) std::visit([this](const auto& n) { add(n); }, node);
    program_.constants = constants_.take();
    return ShardedProgram{std::move(program_), std::move(shards_)};
  }

 private:
  [[nodiscard]] unsigned me() const { return view_.me(); }
  [[nodiscard]] uint64_t columns(size_t t) const { return graph_.tensors[t].columns; }
  [[nodiscard]] uint64_t rows(size_t t) const { return view_.rows(graph_.tensors[t].rows).count; }
  [[nodiscard]] uint8_t arrival_from(unsigned member) const {
    return static_cast<uint8_t>(WEFT_REMOTE_SEMAPHORE_FIRST + member);
  }

  void add_arguments(const std::vector<size_t>& tensors, const std::vector<size_t>& joined,
                     weft_argument_direction direction) {
    const bool input = direction == WEFT_ARGUMENT_DIRECTION_INPUT;
    size_t added = 0, number = 0;
    const auto add = [&](size_t count) {
      for (const size_t end = added + count; added < end; added++) {
        const size_t t = tensors[added];
        add_argument(t, direction, input ? view_.input_block(me(), columns(t)) : view_.result_block(me(), columns(t)));
      }
    };
    for (const size_t count : joined) {
      add(count);
      join_arguments(fmt::format("{}puts {}", input ? "in" : "out", number++), direction);
    }
    add(tensors.size() - added);
  }

  void add_argument(size_t t, weft_argument_direction direction, Span block) {
    const Tensor& tensor = graph_.tensors[t];
    const auto lies = dtype_of(t);
    const auto dtype = lies == WEFT_VPU_DTYPE_I32   ? WEFT_ARGUMENT_DTYPE_I32
                       : lies == WEFT_VPU_DTYPE_F32 ? WEFT_ARGUMENT_DTYPE_F32
                                                    : WEFT_ARGUMENT_DTYPE_BF16;
    const bool empty = block.count == 0;
    const uint64_t held = empty ? 16 / element_bytes(dtype) : block.count, count = empty ? 1 : rows(t);
    const uint64_t pitch = row_pitch_bytes(held, element_bytes(dtype));
    places_[t] = {static_cast<uint8_t>(3 + program_.arguments.size()), one_ ? joined_bytes_ : 0, pitch};
    program_.places.push_back({program_.arguments.size(), places_[t].offset_bytes, count * pitch});
    stored_[t] = block.first, joined_bytes_ += count * pitch;
    if (one_) return;
    program_.arguments.push_back(
        {tensor.name, dtype, WEFT_ARGUMENT_LAYOUT_ROWS, direction, count, held, pitch, count * pitch});
    shards_.push_back({view_.rows(tensor.rows), block});
  }

  /// What has been added since the last call, as one argument; nothing, if it has no bytes.
  void join_arguments(const std::string& name, weft_argument_direction direction) {
    if (const uint64_t bytes = std::exchange(joined_bytes_, 0); bytes != 0)
      program_.arguments.push_back(
          {name, WEFT_ARGUMENT_DTYPE_F32, WEFT_ARGUMENT_LAYOUT_ROWS, direction, 1, bytes / 4, bytes, bytes});
  }

  TensorPlace scratch(uint64_t count, uint64_t row_columns, uint64_t element) {
    const TensorPlace place{2, program_.scratch_bytes, row_pitch_bytes(row_columns, element)};
    program_.scratch_bytes += count * place.pitch_bytes;
    return place;
  }

  /// An output has its argument; any other result gets a place in scratch, all columns, the same on all chips of the
  /// group.
  void make_place(size_t t) {
    if (!output_[t]) places_[t] = scratch(rows(t), columns(t), element_bytes_of(t));
  }

  /// Of a column of row 0.
  [[nodiscard]] TensorPlace place(size_t t, uint64_t column) const {
    TensorPlace at = places_[t];
    at.offset_bytes += (column - stored_[t]) * element_bytes_of(t);
    return at;
  }

  /// How the tensor lies.
  [[nodiscard]] weft_vpu_dtype dtype_of(size_t t) const {
    const auto dtype = graph_.tensors[t].dtype;
    return output_[t] && dtype == WEFT_VPU_DTYPE_BF16 ? WEFT_VPU_DTYPE_F32 : dtype;
  }
  [[nodiscard]] uint64_t element_bytes_of(size_t t) const {
    return dtype_of(t) == WEFT_VPU_DTYPE_I8 ? 1 : dtype_of(t) == WEFT_VPU_DTYPE_BF16 ? 2 : 4;
  }

  /// Columns of `t` that products of a member read.
  [[nodiscard]] Span needed(size_t t, unsigned member) const {
    const bool reads =
        std::ranges::any_of(readers_[t], [&](uint64_t n) { return view_.n_block(member, n).count != 0; });
    return reads ? view_.k_block(member, columns(t)) : Span{};
  }

  /// Columns `block` of `t`, which this chip has computed: here, and to the chips that multiply them.
  [[nodiscard]] std::vector<ResultSink> sinks_of(size_t t, Span block) const {
    std::vector<ResultSink> sinks{{0, block.count, place(t, block.first), {}, WEFT_NO_SEMAPHORE}};
    for (unsigned member = 0; member < view_.members(); member++) {
      const Span part = common(block, needed(t, member));
      if (member != me() && part.count != 0)
        sinks.push_back(
            {part.first - block.first, part.count, place(t, part.first), view_.chip(member), arrival_from(me())});
    }
    return sinks;
  }

  /// The step, whose result lies at `from` once its local sinks have it, and what sends it to other chips.
  template <typename ResultStep>
  void push_sending(ResultStep step, std::vector<ResultSink> sinks, uint64_t count, weft_vpu_dtype dtype,
                    const TensorPlace& from) {
    const auto remote = std::stable_partition(sinks.begin(), sinks.end(),
                                              [](const ResultSink& sink) { return !sink.chip.has_value(); });
    if (overlap_ && requires { step.sinks; }) {
      if constexpr (requires { step.sinks; }) step.sinks = std::move(sinks);
      program_.steps.push_back(std::move(step));
      return;
    }
    ExchangeStep exchange{step.name, count, dtype, from, {remote, sinks.end()}};
    if constexpr (requires { step.sinks; }) step.sinks.assign(sinks.begin(), remote);
    program_.steps.push_back(std::move(step));
    if (!exchange.sinks.empty()) program_.steps.push_back(std::move(exchange));
  }

  /// Others send columns of `t` that this chip's products read.
  void expect(size_t t) {
    std::vector<uint8_t> senders;
    for (unsigned member = 0; member < view_.members(); member++)
      if (member != me() && common(view_.result_block(member, columns(t)), needed(t, me())).count != 0)
        senders.push_back(arrival_from(member));
    if (!senders.empty()) pending_.emplace_back(t, Arrival{senders, row_chunks(rows(t))});
  }
  [[nodiscard]] uint64_t row_chunks(uint64_t count) const { return cut_rows(chip_, count).size(); }

  /// What a step that reads `t` waits for: its arrival and all that were sent before it, since a sender's posts are
  /// told apart by their order.
  std::vector<Arrival> arrivals(size_t t) {
    const auto found = std::ranges::find(pending_, t, &std::pair<size_t, Arrival>::first);
    std::vector<Arrival> due;
    if (found == pending_.end()) return due;
    for (auto at = pending_.begin(); at != found + 1; at++) due.push_back(at->second);
    pending_.erase(pending_.begin(), found + 1);
    return due;
  }

  void add(const DenseNode& node) {
    make_place(node.y);
    if (view_.k_ranks() == 1)
      add_whole(node, view_.n_block(me(), node.n));
    else
      add_parts(node);
    expect(node.y);
  }

  DenseStep product(const DenseNode& node, Span k, const std::vector<Span>& n) {
    DenseStep step;
    step.name = node.name.substr(0, 32);
    step.m = rows(node.x), step.k = k.count, step.n = constants_.width(n);
    step.x = place(node.x, k.first);
    const bool int8 = dtype_of(node.x) == WEFT_VPU_DTYPE_I8;
    if (int8) step.dtype = WEFT_MXU_DTYPE_INT8;
    step.weights = int8 ? constants_.int8_weights(node, node.k) : constants_.weights(node, k, n);
    step.arrivals = arrivals(node.x);
    return step;
  }
  template <typename Product>
  static weft_vpu_activation activation(const Product& node) {
    return node.relu ? WEFT_VPU_ACTIVATION_RELU : WEFT_VPU_ACTIVATION_NONE;
  }

  void add_whole(const DenseNode& node, Span n) {
    if (n.count == 0) return;
    DenseStep step = product(node, {0, node.k}, {n});
    step.bias = constants_.bias(node, n);
    step.activation = activation(node);
    step.y = place(node.y, n.first);
    step.y_dtype = dtype_of(node.y);
    step.of_model = node.of_model;
    push_sending(step, sinks_of(node.y, n), step.m, step.y_dtype, step.y);
  }

  /// Each rank on k multiplies its rows of W and sends the parts to the chips that sum them. The columns of others come
  /// first, so that the last of them travel while this chip's own are computed.
  void add_parts(const DenseNode& node) {
    const Span k = view_.k_block(me(), node.k), own = view_.result_block(me(), node.n);
    const uint64_t count = rows(node.x), widest = view_.result_block(0, node.n).count;
    std::vector<TensorPlace> landing;
    for (unsigned rank = 0; rank < view_.k_ranks(); rank++) landing.push_back(scratch(count, widest, 4));
    const TensorPlace mine = landing[view_.k_rank(me())];
    const TensorPlace whole = overlap_ ? mine : scratch(count, constants_.whole_blocks(widest) * view_.k_ranks(), 4);
    std::vector<Span> blocks;
    std::vector<ResultSink> sinks;
    for (unsigned i = 1; i <= view_.k_ranks(); i++) {
      const unsigned member = view_.member((view_.k_rank(me()) + i) % view_.k_ranks(), view_.n_rank(me()));
      const Span block = view_.result_block(member, node.n);
      if (block.count == 0) continue;
      ResultSink sink{constants_.whole_blocks(constants_.width(blocks)), block.count, mine, {}, WEFT_NO_SEMAPHORE};
      if (member != me()) sink.chip = view_.chip(member), sink.arrival = arrival_from(me());
      if (member == me() && !overlap_) {
        landing[view_.k_rank(me())] = whole;
        landing[view_.k_rank(me())].offset_bytes += sink.first_column * 4;
      } else {
        sinks.push_back(sink);
      }
      blocks.push_back(block);
    }
    if (k.count != 0 && !blocks.empty()) {
      DenseStep step = product(node, k, blocks);
      step.y = whole;
      if (!overlap_) sinks.push_back({0, step.n, whole, {}, WEFT_NO_SEMAPHORE});
      push_sending(step, std::move(sinks), count, WEFT_VPU_DTYPE_F32, whole);
    }
    if (own.count != 0) add_sum(node, landing, own);
  }

  void add_sum(const DenseNode& node, const std::vector<TensorPlace>& landing, Span own) {
    PartSumStep step;
    step.name = node.name.substr(0, 32);
    step.rows = rows(node.x), step.cols = own.count;
    Arrival parts{{}, row_chunks(step.rows)};
    for (unsigned rank = 0; rank < view_.k_ranks(); rank++) {
      const unsigned member = view_.member(rank, view_.n_rank(me()));
      if (view_.k_block(member, node.k).count == 0) continue;
      step.parts.push_back(landing[rank]);
      if (member != me()) parts.semaphores.push_back(arrival_from(member));
    }
    const size_t id = graph_.tensors.size();  // of no tensor
    if (!parts.semaphores.empty()) pending_.emplace_back(id, parts);
    step.arrivals = arrivals(id);
    step.bias = constants_.bias(node, own);
    step.activation = activation(node);
    step.y_dtype = dtype_of(node.y);
    push_sending(step, sinks_of(node.y, own), step.rows, step.y_dtype, place(node.y, own.first));
  }

  /// Each chip its own columns.
  void add(const VectorNode& node) {
    make_place(node.y);
    const Span block = view_.result_block(me(), columns(node.y));
    if (block.count != 0) add(node, block);
    expect(node.y);
  }

  /// Where rows of an input stay together, what is read is the input's.
  [[nodiscard]] std::optional<TensorPlace> rows_of_input(const RearrangeNode& node) const {
    const size_t a = node.sources[0];
    const auto& from = *node.from;
    if (node.sources.size() != 1 || std::ranges::find(graph_.inputs, a) == graph_.inputs.end() || output_[node.y] ||
        dtype_of(a) != dtype_of(node.y) || columns(a) != columns(node.y) || from[0] % columns(a) != 0 ||
        std::ranges::adjacent_find(from, [](uint32_t i, uint32_t next) { return next != i + 1; }) != from.end())
      return std::nullopt;
    TensorPlace place = places_[a];
    place.offset_bytes += from[0] / columns(a) * place.pitch_bytes;
    return place;
  }

  void add(const RearrangeNode& node) {
    if (const auto place = rows_of_input(node)) return void(places_[node.y] = *place);
    make_place(node.y);
    RearrangeStep step{node.name.substr(0, 32),   rows(node.y),    columns(node.y), {}, node.from, places_[node.y],
                       dtype_of(node.sources[0]), dtype_of(node.y)};
    for (const size_t t : node.sources) step.sources.push_back({places_[t], rows(t), columns(t)});
    program_.steps.emplace_back(std::move(step));
  }
  void add(const ReduceNode& node) {
    make_place(node.y);
    program_.steps.emplace_back(ReduceStep{node.name.substr(0, 32), rows(node.a), columns(node.a), node.op,
                                           dtype_of(node.a), places_[node.a], places_[node.y]});
  }
  void add(const PairProductNode& node) {
    make_place(node.y);
    program_.steps.emplace_back(PairProductStep{node.name.substr(0, 32), node.batch, rows(node.x) / node.batch,
                                                columns(node.x), columns(node.y), places_[node.x], places_[node.w],
                                                places_[node.y], dtype_of(node.y), dtype_of(node.w)});
  }
  void add(const ConvolutionNode& node) {
    make_place(node.y);
    ConvolutionStep step;
    step.name = node.name.substr(0, 32);
    step.windows = node.windows;
    step.by_lines = node.order == ConvolutionNode::Order::kLines;
    step.spread = node.spread;
    for (const size_t t : node.sources) step.sources.push_back({places_[t], rows(t), columns(t), dtype_of(t)});
    step.k = node.k, step.n = node.n;
    step.int8 = node.int8, step.padding = node.padding, step.bytes = node.bytes;
    // One source of several would have taps of its own length.
    step.weights = node.int8 ? constants_.int8_weights(node, node.k / node.windows.tap_count())
                             : constants_.weights(node, {0, node.spread[0] * node.spread[1] * node.k}, {{0, node.n}});
    step.bias = constants_.bias(node, {0, node.n});
    step.activation = activation(node);
    step.y = places_[node.y];
    step.y_dtype = dtype_of(node.y);
    program_.steps.emplace_back(std::move(step));
  }
  void add(const WindowNode& node) {
    make_place(node.y);
    WindowStep step{node.name.substr(0, 32), node.windows, node.op,         node.padding,    columns(node.x),
                    places_[node.x],         {},           places_[node.y], dtype_of(node.y)};
    if (!node.weights.empty()) {
      const auto packed = pack_rows_as(node.weights, node.windows.tap_count(), columns(node.x), WEFT_VPU_DTYPE_F32);
      step.weights = constants_.constant(packed.data(), packed.size(), row_pitch_bytes(columns(node.x), 4));
    }
    program_.steps.emplace_back(std::move(step));
  }
  void add(const ConstantNode& node) {
    const auto packed = node.integers.empty()
                            ? pack_rows_as(node.values, rows(node.y), columns(node.y), dtype_of(node.y))
                            : pack_rows(std::as_bytes(std::span(node.integers)), rows(node.y), columns(node.y), 4);
    places_[node.y] =
        constants_.constant(packed.data(), packed.size(), row_pitch_bytes(columns(node.y), element_bytes_of(node.y)));
  }

  /// The bits of an output, bf16 as f32, or another type: a multiplication by one in the type in which `a` lies.
  void add(const CopyNode& node) {
    make_place(node.y);
    const Span block = view_.result_block(me(), columns(node.y));
    if (block.count != 0) {
      VectorStep step = vector_step(node.name, node.a, node.y, block);
      step.op = WEFT_VPU_OP_MUL;
      step.b_mode = WEFT_VPU_B_MODE_SCALAR;
      step.scalar = bits_of(1.0f, step.dtype);
      step.bits = node.bits;
      if (step.y_dtype == WEFT_VPU_DTYPE_I8) {
        step.scalar = static_cast<uint32_t>(node.bytes.zero_point);
        step.scalar2 = std::bit_cast<uint32_t>(node.bytes.scale);
      }
      push_sending(step, sinks_of(node.y, block), step.rows, step.y_dtype, step.y);
    }
    expect(node.y);
  }

  VectorStep vector_step(const std::string& name, size_t a, size_t y, Span block) const {
    VectorStep step;
    step.name = name.substr(0, 32);
    step.rows = rows(a), step.cols = block.count;
    step.dtype = dtype_of(a), step.y_dtype = dtype_of(y);
    step.a = place(a, block.first), step.y = place(y, block.first);
    step.uniform = graph_.tensors[y].uniform;
    return step;
  }
  static uint32_t bits_of(float value, weft_vpu_dtype dtype) {
    if (dtype == WEFT_VPU_DTYPE_I32) return static_cast<uint32_t>(static_cast<int32_t>(value));
    return dtype == WEFT_VPU_DTYPE_F32 ? std::bit_cast<uint32_t>(value) : bf16_from_f32(value);
  }

  void add(const VectorNode& node, Span block) {
    VectorStep step = vector_step(node.name, node.a, node.y, block);
    step.op = node.op;
    if (const auto* tensor = std::get_if<size_t>(&node.b)) {
      step.b_mode = WEFT_VPU_B_MODE_TENSOR;
      step.b = place(*tensor, block.first);
    } else if (const auto* row = std::get_if<std::vector<float>>(&node.b)) {
      step.b_mode = WEFT_VPU_B_MODE_ROW;
      const auto packed = pack_rows_as(std::span(*row).subspan(block.first, block.count), 1, block.count, step.dtype);
      step.b = constants_.constant(packed.data(), packed.size(), packed.size());
    } else if (const auto* scalar = std::get_if<float>(&node.b)) {
      step.b_mode = WEFT_VPU_B_MODE_SCALAR;
      step.scalar = bits_of(*scalar, step.dtype);
    } else if (const auto* integer = std::get_if<int32_t>(&node.b)) {
      step.b_mode = WEFT_VPU_B_MODE_SCALAR;
      step.scalar = static_cast<uint32_t>(*integer);
    } else {
      step.b_mode = WEFT_VPU_B_MODE_NONE;
    }
    if (node.op == WEFT_VPU_OP_FMA || node.op == WEFT_VPU_OP_AXPY || node.op == WEFT_VPU_OP_SELECT)
      step.scalar2 = bits_of(node.c, step.dtype);
    push_sending(step, sinks_of(node.y, block), step.rows, step.y_dtype, step.y);
  }

  const spec::Chip& chip_;
  const Graph& graph_;
  const ShardView& view_;
  const bool overlap_, one_;
  const JoinedArguments joined_;
  uint64_t joined_bytes_ = 0;
  std::vector<TensorPlace> places_;
  std::vector<uint64_t> stored_;  ///< first column that lies at a tensor's place
  std::vector<bool> output_;
  std::vector<std::vector<uint64_t>> readers_;       ///< columns of the products that read a tensor
  std::vector<std::pair<size_t, Arrival>> pending_;  ///< tensors that others send, in the order in which they do
  ProgramConstants constants_;
  std::vector<ArgumentShard> shards_;
  Program program_;
};

}  // namespace

Result<Program> lower(const spec::Chip& chip, const Graph& graph, Arguments arguments) {
  if (arguments == Arguments::kOne) return lower_joined(chip, graph, {{graph.inputs.size()}, {graph.outputs.size()}});
  auto sharded = lower_sharded(chip, graph, {}, {}, 0);
  if (!sharded.ok()) return sharded.error();
  return std::move(sharded.value().program);
}

Result<Program> lower_joined(const spec::Chip& chip, const Graph& graph, const JoinedArguments& joined) {
  if (auto status = check_graph(graph); !status.ok()) return status.error();
  auto program = Lowering(chip, graph, ShardView({}, {}, 0, chip.n), false, joined).run();
  if (!program.ok()) return program.error();
  return std::move(program.value().program);
}

Result<ShardedProgram> lower_sharded(const spec::Chip& chip, const Graph& graph, const SliceShape& slice,
                                     const Sharding& sharding, uint32_t number) {
  if (auto status = check_graph(graph); !status.ok()) return status.error();
  if (number >= slice.chips())
    return Error{WEFT_ERROR_INVALID_ARGUMENT, fmt::format("chip {}: the slice has {}", number, slice.chips())};
  for (const Tensor& tensor : graph.tensors) {
    if (auto status = check_sharding(slice, sharding, tensor.rows); !status.ok()) return status.error();
    if (mesh_ranks(slice, sharding.batch) > 1 && tensor.rows != graph.tensors.front().rows)
      return Error{WEFT_ERROR_UNSUPPORTED,
                   fmt::format("a batch over several chips: '{}' has {} rows and '{}' {}", tensor.name, tensor.rows,
                               graph.tensors.front().name, graph.tensors.front().rows)};
  }
  if (slice.chips() > 1)
    for (const Tensor& tensor : graph.tensors)
      if (tensor.dtype == WEFT_VPU_DTYPE_I8)
        return Error{WEFT_ERROR_UNSUPPORTED, fmt::format("'{}' is i8, which one chip multiplies", tensor.name)};
  if (slice.chips() > 1)
    for (const Node& node : graph.nodes)
      if (node.index() >= 3)  // neither product nor elementwise operation nor copy
        return Error{WEFT_ERROR_UNSUPPORTED,
                     fmt::format("{}: a slice shares products by constants and elementwise operations",
                                 std::visit([](const auto& n) { return n.name; }, node))};
  const ShardView view(slice, sharding, number, chip.n);
  auto program = Lowering(chip, graph, view, sharding.overlap, {}).run();
  if (!program.ok()) return program.error();
  program.value().program.barrier = view.barrier();
  if (auto& barrier = program.value().program.barrier) barrier->signature = graph_signature(graph, sharding);
  return program;
}

}  // namespace weft::compiler
