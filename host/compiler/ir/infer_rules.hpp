/// The rule of each group of operators that tells the types of its results; private to the table of operators.
#pragma once
#include "host/compiler/ir/op.hpp"

namespace weft::compiler::ir {

// infer_elementwise.cpp
Types infer_numeric(const Op& op, const Types& in);
Types infer_floating(const Op& op, const Types& in);
Types infer_integers(const Op& op, const Types& in);
Types infer_bits(const Op& op, const Types& in);
Types infer_any(const Op& op, const Types& in);
Types infer_compare(const Op& op, const Types& in);
Types infer_select(const Op& op, const Types& in);
Types infer_convert(const Op& op, const Types& in);
Types infer_bitcast_convert(const Op& op, const Types& in);
Types infer_reduce_precision(const Op& op, const Types& in);
// infer_movement.cpp
Types infer_parameter(const Op& op, const Types& in);
Types infer_constant(const Op& op, const Types& in);
Types infer_iota(const Op& op, const Types& in);
Types infer_broadcast(const Op& op, const Types& in);
Types infer_reshape(const Op& op, const Types& in);
Types infer_transpose(const Op& op, const Types& in);
Types infer_slice(const Op& op, const Types& in);
Types infer_pad(const Op& op, const Types& in);
Types infer_concatenate(const Op& op, const Types& in);
Types infer_reverse(const Op& op, const Types& in);
Types infer_dynamic_slice(const Op& op, const Types& in);
Types infer_dynamic_update_slice(const Op& op, const Types& in);
// infer_indexing.cpp
Types infer_gather(const Op& op, const Types& in);
Types infer_scatter(const Op& op, const Types& in);
Types infer_sort(const Op& op, const Types& in);
// infer_products.cpp
Types infer_dot_general(const Op& op, const Types& in);
Types infer_convolution(const Op& op, const Types& in);
Types infer_cholesky(const Op& op, const Types& in);
Types infer_triangular_solve(const Op& op, const Types& in);
Types infer_lu(const Op& op, const Types& in);
Types infer_qr(const Op& op, const Types& in);
Types infer_householder_product(const Op& op, const Types& in);
Types infer_eigh(const Op& op, const Types& in);
Types infer_reduce(const Op& op, const Types& in);
Types infer_reduce_window(const Op& op, const Types& in);
// infer_regions.cpp
Types infer_while(const Op& op, const Types& in);
Types infer_case(const Op& op, const Types& in);
Types infer_reduce_by(const Op& op, const Types& in);
Types infer_reduce_window_by(const Op& op, const Types& in);
Types infer_select_and_scatter(const Op& op, const Types& in);
Types infer_scatter_by(const Op& op, const Types& in);
Types infer_sort_by(const Op& op, const Types& in);

// infer_devices.cpp
Types infer_manual(const Op& op, const Types& in);
Types infer_collective(const Op& op, const Types& in);
Types infer_partition_id(const Op& op, const Types& in);
// callbacks.cpp
Types infer_callback(const Op& op, const Types& in);

/// Types that gather and scatter share with operators of other files: the result of a scatter whatever its operation.
Types infer_scatter_places(const Op& op, const Types& in);
/// Places of a window in each dimension, from the attributes window, strides, low, high and dilation.
Dims window_places(const Op& op, const Dims& size, const Dims& dilation);

/// A list attribute with one entry for each dimension of `type`, each at least `least`.
const Dims& entries(const Op& op, std::string_view name, size_t count, int64_t least);
/// A list attribute of different dimensions of a tensor of `rank`.
const Dims& dimensions(const Op& op, std::string_view name, size_t rank);

}  // namespace weft::compiler::ir
