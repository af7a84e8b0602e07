/// What of L1 device programs compute: products, elementwise operations, reductions, windows, and elements that change
/// their places between them.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "host/compiler/graph.hpp"
#include "host/compiler/ir/module.hpp"

namespace weft::compiler {

struct DeviceSlice;

enum class DeviceUse : uint8_t {
  kNone,        ///< the host computes it
  kProduct,     ///< a product of the MXU
  kVector,      ///< operations of the VPU
  kView,        ///< the same elements in other places
  kLoop,        ///< a loop of the control list, a program of its own
  kCollective,  ///< of the chips of a slice, a part of its own
  kOperand      ///< a constant or a broadcast of one: it joins the part of its reader
};

struct DeviceVerdict {
  DeviceUse use = DeviceUse::kNone;
  std::string reason;  ///< why the host computes it
};

/// How much of L1 a program may have.
enum class DeviceScope : uint8_t {
  kAll,      ///< what fits VMEM
  kMatrices  ///< products by constants, elementwise operations and reshapes of whole rows, whatever their sizes
};

/// Whether a device program may compute operator `op` of the module.
[[nodiscard]] DeviceVerdict device_use(const ir::Module& module, const ir::Op& op,
                                       DeviceScope scope = DeviceScope::kAll);

/// Whether a convolution is a ConvolutionNode, whatever its size: of one or two dimensions by constants, in one group,
/// with windows of more than an element.
[[nodiscard]] bool is_windows_product(const ir::Module& module, const ir::Op& op);
/// Whether a convolution is a WindowNode with weights, and a reduce_window one without.
[[nodiscard]] bool is_depthwise(const ir::Module& module, const ir::Op& op);
[[nodiscard]] bool is_window_fold(const ir::Module& module, const ir::Op& op);

/// What goes from turn to turn of a loop: the first inputs and the first outputs, so many, in one order. Each output lies
/// as the input of its number. Inputs of the state, and those with columns here, are not rounded to bf16.
struct LoopState {
  size_t count = 0;
  std::vector<uint64_t> columns = {};         ///< of the first inputs; none: as the operators ask for
  std::vector<uint64_t> stored_columns = {};  ///< of the first outputs; none, or 0: as the operators have them
};

/// Operators `ops` of the module, ascending, none of which device_use() leaves to the host, as a graph: `inputs` are
/// the values from outside, `outputs` what others read, each with its name there: f32, i32, u32, whose words are those of
/// i32, or pred, which is 0 or 1 in f32. INTERNAL: errors of check_graph.
[[nodiscard]] Result<Graph> device_graph(const ir::Module& module, std::span<const uint32_t> ops,
                                         const std::vector<ir::Output>& inputs, const std::vector<ir::Output>& outputs,
                                         const LoopState& state = {});

/// A device of a slice, whose program the module is.
struct DeviceOfSlice {
  const DeviceSlice* slice = nullptr;
  size_t device = 0;
};

/// The whole module as one graph, of a program of several devices with the collectives that they do. UNSUPPORTED names
/// the first operator that a device program cannot have.
[[nodiscard]] Result<Graph> whole_device_graph(const ir::Module& module, const DeviceOfSlice& of = {});

}  // namespace weft::compiler
