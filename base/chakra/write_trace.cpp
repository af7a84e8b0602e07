// Nodes to bytes. Each attribute has the type that public readers look for.
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "base/chakra/schema.hpp"
#include "base/chakra/trace.hpp"
#include "base/chakra/wire_message.hpp"

namespace weft::chakra {
namespace {

constexpr uint64_t kFemtosecondsPerMicrosecond = 1'000'000'000;

/// A message, field by field.
class Message {
 public:
  void number(uint32_t field, uint64_t value) {
    tag(field, WireType::kVarint);
    varint(value);
  }
  void bytes(uint32_t field, std::string_view value) {
    tag(field, WireType::kBytes);
    varint(value.size());
    text_ += value;
  }
  void packed(uint32_t field, const std::vector<uint64_t>& values) {
    if (values.empty()) return;
    Message inner;
    for (const auto value : values) inner.varint(value);
    bytes(field, inner.text_);
  }
  /// Behind its length, as files hold messages.
  void append_to(std::string& file) const {
    Message length;
    length.varint(text_.size());
    file += length.text_;
    file += text_;
  }
  [[nodiscard]] std::string_view text() const { return text_; }

 private:
  void tag(uint32_t field, WireType type) { varint(uint64_t{field} << 3 | static_cast<uint64_t>(type)); }
  void varint(uint64_t value) {
    uint8_t encoded[10];
    const auto* end = google::protobuf::io::CodedOutputStream::WriteVarint64ToArray(value, encoded);
    text_.append(reinterpret_cast<const char*>(encoded), static_cast<size_t>(end - encoded));
  }

  std::string text_;
};

void add_number(Message& node, std::string_view name, uint32_t kind, uint64_t value) {
  Message attribute;
  attribute.bytes(attribute_field::kName, name);
  attribute.number(kind, value);
  node.bytes(node_field::kAttribute, attribute.text());
}

void add_text(Message& node, std::string_view name, std::string_view value) {
  Message attribute;
  attribute.bytes(attribute_field::kName, name);
  attribute.bytes(attribute_field::kString, value);
  node.bytes(node_field::kAttribute, attribute.text());
}

Message message_of(const Node& node) {
  namespace a = attribute_field;
  Message out;
  out.number(node_field::kId, node.id);
  out.bytes(node_field::kName, node.name);
  out.number(node_field::kType, static_cast<uint64_t>(node.type));
  out.packed(node_field::kDataDependences, node.after);
  const auto micros = [](uint64_t fs) { return (fs + kFemtosecondsPerMicrosecond / 2) / kFemtosecondsPerMicrosecond; };
  if (node.start_fs) out.number(node_field::kStartMicros, micros(*node.start_fs));
  if (node.duration_fs != 0) out.number(node_field::kDurationMicros, micros(node.duration_fs));
  if (!node.groups_text.empty()) {
    Message inputs;
    inputs.bytes(io_field::kValues, node.groups_text);
    out.bytes(node_field::kInputs, inputs.text());
  }
  add_number(out, kIsCpuOp, a::kBool, node.on_host ? 1 : 0);
  if (node.operations) add_number(out, kNumOps, a::kInt64, *node.operations);
  if (node.tensor_bytes) add_number(out, kTensorSize, a::kUint64, *node.tensor_bytes);
  if (node.collective) add_number(out, kCommType, a::kInt64, static_cast<uint64_t>(*node.collective));
  if (node.bytes) add_number(out, kCommSize, a::kInt64, *node.bytes);
  if (node.from) add_number(out, kCommSrc, a::kInt32, *node.from);
  if (node.to) add_number(out, kCommDst, a::kInt32, *node.to);
  if (node.type == NodeType::kSend || node.type == NodeType::kReceive) add_number(out, kCommTag, a::kInt32, node.tag);
  if (node.root) add_number(out, kRoot, a::kInt32, *node.root);
  if (!node.group.empty()) add_text(out, kGroupName, node.group);
  if (node.start_fs) add_number(out, kStartFs, a::kUint64, *node.start_fs);
  if (node.duration_fs != 0) add_number(out, kDurationFs, a::kUint64, node.duration_fs);
  return out;
}

}  // namespace

std::string write_trace(const Trace& trace) {
  std::string file;
  Message metadata;
  metadata.bytes(metadata_field::kVersion, trace.version);
  metadata.append_to(file);
  for (const auto& node : trace.nodes) message_of(node).append_to(file);
  return file;
}

}  // namespace weft::chakra
