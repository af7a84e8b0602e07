/// The tables that say how each operator of ONNX is written in L1, a family a file. Private to the importer.
#pragma once
#include <map>
#include <string_view>

#include "host/compiler/onnx/node.hpp"

namespace weft::compiler::frontend {

using Rule = void (*)(Node& node);
using Rules = std::map<std::string_view, Rule>;

const Rules& activation_rules();
const Rules& attention_rules();
const Rules& control_rules();
const Rules& convolution_rules();
const Rules& elementwise_rules();
const Rules& grid_rules();
const Rules& image_rules();
const Rules& indexing_rules();
const Rules& movement_rules();
const Rules& normalization_rules();
const Rules& pooling_rules();
const Rules& product_rules();
const Rules& quantization_rules();
const Rules& recurrent_rules();
const Rules& reduction_rules();
const Rules& shape_rules();
const Rules& signal_rules();

/// Null: the operator is not built.
[[nodiscard]] Rule find_rule(std::string_view op);
/// Why an operator of ONNX is not built. Empty: it is built, or no reason is recorded.
[[nodiscard]] std::string_view excuse_of(std::string_view op);

}  // namespace weft::compiler::frontend
