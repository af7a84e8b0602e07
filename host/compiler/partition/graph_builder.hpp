/// Turns operators of L1 into nodes of a Graph; private to partition/.
#pragma once
#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "host/compiler/graph.hpp"
#include "host/compiler/partition/device_graph.hpp"
#include "host/compiler/partition/patterns.hpp"
#include "host/compiler/partition/value_views.hpp"

namespace weft::compiler {

class WindowTaps;

/// One graph; used once. Operators are those that device_use() allows.
class GraphBuilder {
 public:
  GraphBuilder(const ir::Module& module, std::span<const uint32_t> ops, LoopState state, DeviceOfSlice device = {})
      : module_(module), ops_(ops), state_(std::move(state)), device_(device) {}

  Result<Graph> run(const std::vector<ir::Output>& inputs, const std::vector<ir::Output>& outputs);

 private:
  using Second = decltype(VectorNode::b);

  /// Operands that an elementwise operator reads side by side: tensors of one shape, constant rows, numbers; and where
  /// the elements of the result are in a tensor of that shape.
  struct Aligned {
    std::vector<Second> operands;
    ElementMap from;
    uint64_t rows = 0, columns = 0;
  };

  // device_graph.cpp
  void count_readers(const std::vector<ir::Output>& outputs);
  void find_columns();
  void find_columns(const ir::Op& op);
  void find_tables();
  [[nodiscard]] bool keeps_rows(const ir::Op& op, uint64_t columns) const;
  void add(const ir::Op& op);
  void add_movement(const ir::Op& op);
  void add_vector(const ir::Op& op);
  void drop_unread();
  void keep_outputs_apart(const std::vector<ir::Output>& outputs);
  [[nodiscard]] bool is_constant(ir::ValueId value) const { return constant_behind(module_, value) != nullptr; }
  [[nodiscard]] bool is_exclusive(ir::ValueId value) const;
  size_t new_tensor(const std::string& name, const ir::Dims& dims, uint64_t rows, uint64_t columns);
  [[nodiscard]] uint64_t columns_of(ir::ValueId value) const;
  /// The value's elements; of a constant those of a new tensor, named after what reads it.
  ValueView view(ir::ValueId value, const std::string& reader);
  /// A tensor of these elements in rows of `columns`.
  size_t tensor_of(const std::string& name, const ValueView& view, uint64_t count, uint64_t columns);
  [[nodiscard]] ElementMap normalized(const ValueView& view, uint64_t count, uint64_t columns) const;
  /// Elements `pick` of a view.
  [[nodiscard]] static ValueView picked(const Graph& graph, const ValueView& view, std::vector<uint32_t> pick);
  [[nodiscard]] ValueView shared(ValueView view);
  size_t constant_tensor(const std::string& name, const std::vector<float>& values, uint64_t columns);
  size_t constant_tensor(const std::string& name, const std::vector<int32_t>& integers, uint64_t columns);

  // collective_rules.cpp
  [[nodiscard]] uint64_t shared_columns(const ir::Op& op) const;
  void add_collective(const ir::Op& op);

  // tensor_types.cpp
  void settle_types();

  // operand_alignment.cpp
  Aligned align(const ir::Op& op);
  [[nodiscard]] bool align_in_place(const ir::Op& op, Aligned& aligned);
  Second constant_second(const std::string& name, std::vector<float> values, uint64_t columns);
  Second constant_second(const std::string& name, const std::vector<int32_t>& integers, uint64_t columns);
  template <typename Element>
  [[nodiscard]] std::optional<Second> constant_in_place(const std::string& name, std::vector<Element> values,
                                                        const Aligned& beside, bool whole);

  // vector_rules.cpp
  size_t emit(const ir::Op& op, weft_vpu_op what, size_t a, Second b = std::monostate{}, float c = 0);
  [[nodiscard]] bool is_i32(size_t tensor) const { return graph_.tensors[tensor].dtype == WEFT_VPU_DTYPE_I32; }
  /// A number in the tensor's type.
  [[nodiscard]] Second number(size_t tensor, int32_t value) const {
    return is_i32(tensor) ? Second(value) : Second(static_cast<float>(value));
  }
  size_t cast(const ir::Op& op, size_t a, weft_vpu_dtype to);
  size_t widened(const ir::Op& op, size_t a) { return emit(op, WEFT_VPU_OP_MUL, a, 1.0f); }
  size_t converted(const ir::Op& op, size_t a);
  size_t towards_zero(const ir::Op& op, size_t a);
  size_t reduced(const ir::Op& op, weft_vpu_op what, size_t a);
  [[nodiscard]] const VectorNode* made_with_number(size_t tensor, weft_vpu_op op) const;
  std::optional<size_t> softmax_powers(const ir::Op& op, size_t a);
  std::optional<size_t> scaled_sum(const ir::Op& op, size_t a, const Second& b);
  size_t as_tensor(const ir::Op& op, const Second& operand, const Aligned& like);
  size_t function(const ir::Op& op, size_t a);
  size_t rounded_to_whole(const ir::Op& op, size_t a);
  size_t operation(const ir::Op& op, size_t a, Second b, bool reversed);
  size_t compare(const ir::Op& op, size_t a, Second b, bool reversed);
  size_t power(const ir::Op& op, size_t a, const Second& b, bool reversed);
  size_t select(const ir::Op& op, const Aligned& operands);
  Second reciprocal(const ir::Op& op, Second b);
  void add_reduce(const ir::Op& op);
  void add_search(const ir::Op& op);

  // integer_rules.cpp
  [[nodiscard]] bool is_u32(ir::ValueId value) const;
  size_t bits_as(const ir::Op& op, size_t a, weft_vpu_dtype to);
  Second sign_turned(const ir::Op& op, const Second& a);
  size_t shifted(const ir::Op& op, weft_vpu_op what, size_t a, Second b, bool reversed);
  std::optional<size_t> integer_operation(const ir::Op& op, size_t a, const Second& b, bool reversed);
  std::pair<size_t, size_t> quotient(const ir::Op& op, size_t a, const Second& b, bool reversed);
  size_t quotient_of_u32(const ir::Op& op, size_t x, const Second& y);
  std::optional<size_t> integer_function(const ir::Op& op, size_t a);
  size_t float_of_u32(const ir::Op& op, size_t a);
  size_t u32_of_float(const ir::Op& op, size_t a);

  // product_rules.cpp
  [[nodiscard]] bool fuse(const ir::Op& op, const Aligned& operands);
  [[nodiscard]] bool is_i32_result(const ir::Op& op) const;
  [[nodiscard]] uint64_t integer_terms(const ir::Op& op) const;
  void add_product(const ir::Op& op);
  void join_factors();
  void add_single_terms(const ir::Op& op, const ValueView& x, const ValueView& w, const std::array<uint64_t, 3>& sizes);
  void add_quotient(const ir::Op& op, size_t x, size_t w, uint64_t batch);
  void add_convolution(const ir::Op& op);

  // quantization_rules.cpp
  void find_quantizers();
  size_t rounded_to_few(const ir::Op& op, size_t a);
  size_t exact_quotient(const ir::Op& op, size_t a, float b);
  size_t narrowed(const ir::Op& op, size_t a);
  [[nodiscard]] const Node* maker_of(size_t tensor) const;
  /// What becomes i8 by a cast, and by which.
  struct Bytes {
    size_t tensor = 0;
    ToBytes by = {};
  };
  Bytes before_bytes(const ir::Op& op, size_t t, int32_t offset);
  [[nodiscard]] Bytes scaled_bytes(size_t t, int32_t zero_point) const;
  size_t bytes_tensor(const ir::Op& op, const Bytes& bytes);
  size_t product_of_bytes(const ir::Op& op, size_t x, const std::vector<int32_t>& weights, uint64_t n);
  [[nodiscard]] static std::vector<int32_t> offset_sums(int32_t offset, const std::vector<int32_t>& weights,
                                                        uint64_t n);
  size_t product_in_parts(const ir::Op& op, size_t x, size_t w, uint64_t batch, uint64_t terms);
  [[nodiscard]] bool fuse_integers(const ir::Op& op, size_t tensor, const Second& other, bool negative);

  // convolution_rules.cpp
  [[nodiscard]] std::optional<size_t> pixel_tensor(ir::ValueId value, const std::vector<uint32_t>& order) const;
  [[nodiscard]] bool lies_in_pixels(ir::ValueId value, const std::vector<uint32_t>& order) const;
  [[nodiscard]] bool align_as_pixels(const ir::Op& op, Aligned& aligned);
  [[nodiscard]] bool add_whole_images(const ir::Op& op);
  void add_windows_product(const ir::Op& op);
  void add_depthwise(const ir::Op& op);
  void add_window_fold(const ir::Op& op, weft_vpu_op what, float neutral);
  /// The value as pixels with their channels last, f32.
  size_t pixels_of(const ir::Op& op);
  void set_channels_last(const ir::Op& op, size_t tensor);
  [[nodiscard]] size_t pixel_rows(const std::string& name, const ValueView& view, uint64_t pixels, uint64_t channels);
  [[nodiscard]] std::vector<size_t> channel_sources(const std::string& name, const ValueView& view, uint64_t pixels,
                                                    uint64_t channels, bool as_they_lie);

  // window_rules.cpp
  std::vector<size_t> under_taps(const ir::Op& op, const WindowTaps& taps, float neutral);
  void add_window(const ir::Op& op);
  void add_window_scatter(const ir::Op& op);

  // index_rules.cpp
  size_t place_numbers(const ir::Op& op, const Places& places, bool clamped);
  size_t matches(const ir::Op& op, size_t numbers, uint64_t windows, uint64_t choices);
  size_t exact_product(const ir::Op& op, size_t matches, size_t table);
  size_t where(const ir::Op& op, size_t mask, const Second& a, bool integers, float otherwise);
  [[nodiscard]] bool is_zeros(ir::ValueId value) const;
  void overwrite(const ir::Op& op, ir::ValueId updates, const Places& places, const Writers& writers,
                 const std::optional<size_t>& numbers, bool adds, ValueView& target);
  void add_gather(const ir::Op& op);
  void add_rows(const ir::Op& op, const Places& places);
  size_t table_of(const ir::Op& op, uint64_t width);
  void add_scatter(const ir::Op& op);
  void add_update(const ir::Op& op);

  const ir::Module& module_;
  std::span<const uint32_t> ops_;
  const LoopState state_;
  const DeviceOfSlice device_;
  Graph graph_;
  std::map<ir::ValueId, ValueView> views_;
  std::map<ir::ValueId, uint64_t> wanted_;                      ///< columns that readers ask for
  std::map<ir::ValueId, int> readers_;                          ///< operators and outputs
  std::map<ir::ValueId, ir::ValueId> moved_;                    ///< result of a movement -> what it moves
  std::map<size_t, size_t> vector_of_;                          ///< tensor -> node, elementwise operations
  std::map<size_t, size_t> producer_;                           ///< tensor -> node, products by constants only
  std::map<std::pair<size_t, weft_vpu_dtype>, size_t> casts_;   ///< tensor and type -> the tensor in that type
  std::set<ir::ValueId> quantized_;                             ///< what quantizer_of() operators give
  std::set<ir::ValueId> rounded_to_few_;                        ///< what these round
  std::set<ir::ValueId> exact_quotients_;                       ///< what they divide
  std::set<size_t> quantized_tensors_;                          ///< i32 tensors of these
  std::map<std::pair<ir::ValueId, uint64_t>, size_t> tables_;   ///< constants in rows of so many columns
  std::map<std::tuple<size_t, float, int32_t>, size_t> bytes_;  ///< tensor, scale, zero point -> the tensor of i8
  std::set<size_t> rounded_;                                    ///< tensors that are bf16 whatever reads them
  std::map<std::pair<std::vector<size_t>, uint64_t>, std::vector<std::pair<ElementMap, size_t>>> made_;
  std::map<uint64_t, std::vector<ElementMap>> maps_;  ///< by hash
};

}  // namespace weft::compiler
