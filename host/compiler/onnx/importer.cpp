// Reads a file and looks at the model as a whole.
#include "host/compiler/onnx/importer.hpp"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <onnx/onnx_pb.h>

#include <algorithm>

#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/onnx/graph_import.hpp"
#include "host/compiler/onnx/operator_table.hpp"

namespace weft::compiler::frontend {
namespace {

constexpr int64_t kFirstIr = 3, kLastIr = 14;

void check_versions(const ::onnx::ModelProto& model) {
  if (model.ir_version() < kFirstIr || model.ir_version() > kLastIr)
    ir::unsupported("the model has ir_version {}; supported: {} to {}", model.ir_version(), kFirstIr, kLastIr);
  int64_t opset = 0;
  for (const auto& import : model.opset_import()) {
    if (!import.domain().empty() && import.domain() != "ai.onnx") continue;
    if (opset != 0) ir::invalid("the model imports ONNX's operators twice (opset_import)");
    opset = import.version();
    if (opset < kFirstOpset || opset > kLastOpset)
      ir::unsupported("the model is of opset {}; supported: {} to {}", opset, kFirstOpset, kLastOpset);
  }
  if (opset == 0) ir::invalid("the model does not say which opset its operators are of (opset_import)");
}

}  // namespace

std::optional<Precision> precision_of(std::string_view name) {
  if (name == "bf16") return Precision::kBf16;
  if (name == "bf16x3") return Precision::kBf16x3;
  if (name == "bf16x6") return Precision::kBf16x6;
  return std::nullopt;
}

Result<Imported> import_model(std::span<const std::byte> file, const std::string& folder, const Binding& binding) {
  google::protobuf::SetLogHandler(nullptr);  // its complaints about garbage go into our own message
  return ir::guarded([&] {
    ::onnx::ModelProto model;
    google::protobuf::io::ArrayInputStream stream(file.data(),
                                                  static_cast<int>(std::min<size_t>(file.size(), INT32_MAX)));
    google::protobuf::io::CodedInputStream coded(&stream);
    if (file.empty() || file.size() > INT32_MAX || !model.ParseFromCodedStream(&coded) ||
        !coded.ConsumedEntireMessage() || !model.has_graph())
      ir::invalid("not an ONNX model ({} bytes)", file.size());
    if (model.graph().node_size() == 0 && model.graph().output_size() == 0)
      ir::invalid("not an ONNX model: it has no node and no output ({} bytes)", file.size());
    check_versions(model);
    return GraphImport(model, folder, binding).run();
  });
}

}  // namespace weft::compiler::frontend
