// The properties of VHLO's operators. Bytecode holds an operator's properties without their names, in the alphabetical
// order of the names.
#include <algorithm>

#include "host/compiler/stablehlo/program.hpp"

namespace weft::compiler::stablehlo {
namespace {

using Names = std::vector<std::string_view>;

std::map<std::string_view, Names> table() {
  const Names collective{"channel_id", "replica_groups", "use_global_device_ids"};
  const auto with = [](Names names, Names more) {
    names.insert(names.end(), more.begin(), more.end());
    return names;
  };
  const Names product{"lhs_batching_dimensions", "lhs_contracting_dimensions", "precision_config",
                      "rhs_batching_dimensions", "rhs_contracting_dimensions"};
  const Names gather{"collapsed_slice_dims", "index_vector_dim", "indices_are_sorted",
                     "offset_dims",          "slice_sizes",      "start_index_map"};
  const Names scatter{"index_vector_dim", "indices_are_sorted", "inserted_window_dims", "scatter_dims_to_operand_dims",
                      "unique_indices",   "update_window_dims"};
  const Names batch_norm{"epsilon", "feature_index"}, accuracy{"result_accuracy"}, dimension{"dimension"};
  std::map<std::string_view, Names> known{
      {"all_gather_v1", with(collective, {"all_gather_dim"})},
      {"all_gather_v2", with(collective, {"all_gather_dim"})},
      {"all_reduce_v1", collective},
      {"all_reduce_v2", collective},
      {"all_to_all_v1", {"channel_id", "concat_dimension", "replica_groups", "split_count", "split_dimension"}},
      {"all_to_all_v2", {"channel_id", "concat_dimension", "replica_groups", "split_count", "split_dimension"}},
      {"batch_norm_grad_v1", batch_norm},
      {"batch_norm_inference_v1", batch_norm},
      {"batch_norm_training_v1", batch_norm},
      {"broadcast_in_dim_v1", {"broadcast_dimensions"}},
      {"broadcast_v1", {"broadcast_sizes"}},
      {"call_v1", {"callee"}},
      {"cbrt_v2", accuracy},
      {"cholesky_v1", {"lower"}},
      {"collective_broadcast_v1", {"channel_id", "replica_groups"}},
      {"collective_permute_v1", {"channel_id", "source_target_pairs"}},
      {"compare_v1", {"compare_type", "comparison_direction"}},
      {"composite_v1", {"composite_attributes", "decomposition", "name", "version"}},
      {"concatenate_v1", dimension},
      {"constant_v1", {"value"}},
      {"convolution_v1",
       {"window_strides", "padding", "lhs_dilation", "rhs_dilation", "window_reversal", "input_batch_dimension",
        "input_feature_dimension", "input_spatial_dimensions", "kernel_input_feature_dimension",
        "kernel_output_feature_dimension", "kernel_spatial_dimensions", "output_batch_dimension",
        "output_feature_dimension", "output_spatial_dimensions", "feature_group_count", "batch_group_count",
        "precision_config"}},
      {"cosine_v2", accuracy},
      {"custom_call_v1",
       {"api_version", "backend_config", "call_target_name", "called_computations", "has_side_effect",
        "operand_layouts", "output_operand_aliases", "result_layouts"}},
      {"dot_general_v1", product},
      {"dot_general_v2",
       with(product, {"accumulation_type", "allow_imprecise_accumulation", "lhs_component_count", "lhs_precision_type",
                      "num_primitive_operations", "rhs_component_count", "rhs_precision_type"})},
      {"dot_v1", {"precision_config"}},
      {"dynamic_broadcast_in_dim_v1",
       {"broadcast_dimensions", "known_expanding_dimensions", "known_nonexpanding_dimensions"}},
      {"dynamic_gather_v1",
       {"collapsed_slice_dims", "index_vector_dim", "indices_are_sorted", "offset_dims", "start_index_map"}},
      {"dynamic_iota_v1", {"iota_dimension"}},
      {"dynamic_slice_v1", {"slice_sizes"}},
      {"exponential_minus_one_v2", accuracy},
      {"exponential_v2", accuracy},
      {"fft_v1", {"fft_length", "fft_type"}},
      {"func_v1", {"arg_attrs", "function_type", "res_attrs", "sym_name", "sym_visibility"}},
      {"gather_v1", gather},
      {"gather_v2", with(gather, {"operand_batching_dims", "start_indices_batching_dims"})},
      {"get_dimension_size_v1", dimension},
      {"get_tuple_element_v1", {"index"}},
      {"infeed_v1", {"infeed_config", "layout"}},
      {"iota_v1", {"iota_dimension"}},
      {"log_plus_one_v2", accuracy},
      {"log_v2", accuracy},
      {"logistic_v2", accuracy},
      {"map_v1", {"dimensions"}},
      {"outfeed_v1", {"outfeed_config"}},
      {"pad_v1", {"edge_padding_high", "edge_padding_low", "interior_padding"}},
      {"recv_v1", {"channel_id", "channel_type", "is_host_transfer"}},
      {"reduce_precision_v1", {"exponent_bits", "mantissa_bits"}},
      {"reduce_scatter_v1", with(collective, {"scatter_dimension"})},
      {"reduce_v1", {"dimensions"}},
      {"reduce_window_v1", {"base_dilations", "padding", "window_dilations", "window_dimensions", "window_strides"}},
      {"reverse_v1", {"dimensions"}},
      {"rng_bit_generator_v1", {"rng_algorithm"}},
      {"rng_v1", {"rng_distribution"}},
      {"rsqrt_v2", accuracy},
      {"scatter_v1", scatter},
      {"scatter_v2", with(scatter, {"input_batching_dims", "scatter_indices_batching_dims"})},
      {"select_and_scatter_v1", {"padding", "window_dimensions", "window_strides"}},
      {"send_v1", {"channel_id", "channel_type", "is_host_transfer"}},
      {"set_dimension_size_v1", dimension},
      {"sine_v2", accuracy},
      {"slice_v1", {"limit_indices", "start_indices", "strides"}},
      {"sort_v1", {"dimension", "is_stable"}},
      {"sqrt_v2", accuracy},
      {"tan_v2", accuracy},
      {"tanh_v2", accuracy},
      {"transpose_v1", {"permutation"}},
      {"triangular_solve_v1", {"left_side", "lower", "transpose_a", "unit_diagonal"}},
  };
  for (auto& [name, properties] : known) std::ranges::sort(properties);
  for (const std::string_view bare : {"abs_v1",
                                      "add_v1",
                                      "after_all_v1",
                                      "and_v1",
                                      "atan2_v1",
                                      "bitcast_convert_v1",
                                      "case_v1",
                                      "cbrt_v1",
                                      "ceil_v1",
                                      "clamp_v1",
                                      "complex_v1",
                                      "convert_v1",
                                      "cosine_v1",
                                      "count_leading_zeros_v1",
                                      "create_token_v1",
                                      "divide_v1",
                                      "dynamic_pad_v1",
                                      "dynamic_reshape_v1",
                                      "dynamic_update_slice_v1",
                                      "exponential_minus_one_v1",
                                      "exponential_v1",
                                      "floor_v1",
                                      "if_v1",
                                      "imag_v1",
                                      "is_finite_v1",
                                      "log_plus_one_v1",
                                      "log_v1",
                                      "logistic_v1",
                                      "maximum_v1",
                                      "minimum_v1",
                                      "multiply_v1",
                                      "negate_v1",
                                      "not_v1",
                                      "optimization_barrier_v1",
                                      "or_v1",
                                      "partition_id_v1",
                                      "popcnt_v1",
                                      "power_v1",
                                      "real_dynamic_slice_v1",
                                      "real_v1",
                                      "remainder_v1",
                                      "replica_id_v1",
                                      "reshape_v1",
                                      "return_v1",
                                      "round_nearest_afz_v1",
                                      "round_nearest_even_v1",
                                      "rsqrt_v1",
                                      "select_v1",
                                      "shift_left_v1",
                                      "shift_right_arithmetic_v1",
                                      "shift_right_logical_v1",
                                      "sign_v1",
                                      "sine_v1",
                                      "sqrt_v1",
                                      "subtract_v1",
                                      "tan_v1",
                                      "tanh_v1",
                                      "torch_index_select_v1",
                                      "tuple_v1",
                                      "uniform_dequantize_v1",
                                      "uniform_quantize_v1",
                                      "while_v1",
                                      "xor_v1"})
    known[bare];
  known["torch_index_select_v1"] = {"batch_dims", "dim"};
  return known;
}

}  // namespace

const std::vector<std::string_view>* properties_of(std::string_view name) {
  static const auto known = table();
  const auto found = known.find(name);
  return found == known.end() ? nullptr : &found->second;
}

}  // namespace weft::compiler::stablehlo
