/// Reads an ONNX model into a Graph.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "host/compiler/graph.hpp"
#include "host/compiler/result.hpp"

namespace weft::compiler {

/// Operators: Gemm (alpha, beta, transB folded into constants), MatMul, Add, Relu, Flatten, Reshape, Identity,
/// Constant, Cast. `batch` replaces a symbolic first dimension of an input; 0: a symbolic dimension is an error.
/// INVALID_ARGUMENT: not an ONNX model, shapes that do not fit (both are named). UNSUPPORTED: an operator, attribute or
/// type that is not built: the message names node, operator and what is supported.
[[nodiscard]] Result<Graph> import_onnx(std::span<const std::byte> file, uint64_t batch);

}  // namespace weft::compiler
