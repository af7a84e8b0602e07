// Bytes to nodes.
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/chakra/schema.hpp"
#include "base/chakra/trace.hpp"
#include "base/chakra/utf8.hpp"
#include "base/chakra/wire_message.hpp"

namespace weft::chakra {
namespace {

constexpr uint64_t kFemtosecondsPerMicrosecond = 1'000'000'000;
constexpr uint64_t kMostMessageBytes = uint64_t{64} << 20;

/// What a field says, or why it says nothing.
using Error = std::string;  // empty: none

struct Attribute {
  std::string_view name;
  WireField value;  // number 0: none
};

Error wrong_wire_type(std::string_view name, const WireField& field) {
  return fmt::format("field {} ({}) has wire type {}", field.number, name, static_cast<unsigned>(field.type));
}

Error number_of(std::string_view name, const WireField& field, uint64_t& out) {
  if (field.type != WireType::kVarint) return wrong_wire_type(name, field);
  out = field.value;
  return {};
}

Error text_of(std::string_view name, const WireField& field, std::string& out) {
  if (field.type != WireType::kBytes) return wrong_wire_type(name, field);
  if (!is_utf8(field.bytes)) return fmt::format("{} is not UTF-8", name);
  out.assign(field.bytes);
  return {};
}

/// Repeated numbers, packed or one by one.
Error numbers_of(std::string_view name, const WireField& field, std::vector<uint64_t>& out) {
  if (field.type == WireType::kVarint) {
    out.push_back(field.value);
    return {};
  }
  if (field.type != WireType::kBytes) return wrong_wire_type(name, field);
  WireMessage packed(field.bytes);
  for (uint64_t value = 0; packed.next_packed(value);) out.push_back(value);
  return packed.broken() ? fmt::format("{}: packed numbers end in the middle of one", name) : Error{};
}

Error attribute_of(std::string_view bytes, Attribute& out) {
  WireMessage message(bytes);
  for (WireField field; message.next(field);) {
    if (field.number == attribute_field::kName) {
      if (field.type != WireType::kBytes) return wrong_wire_type("attr.name", field);
      out.name = field.bytes;
    } else if (field.number >= attribute_field::kDouble && field.number <= attribute_field::kLast) {
      out.value = field;
    }
  }
  if (message.broken()) return "attr: its bytes are no message";
  return is_utf8(out.name) ? Error{} : "attr.name is not UTF-8";
}

int64_t zigzag(uint64_t value) { return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1); }

Error whole(std::string_view name, double value, uint64_t& out) {
  constexpr double kEnd = 18446744073709551616.0;  // 2^64
  if (!(value >= 0 && value < kEnd) || value != std::floor(value))
    return fmt::format("{}: {} is not a whole number", name, value);
  out = static_cast<uint64_t>(value);
  return {};
}

Error not_negative(std::string_view name, int64_t value, uint64_t& out) {
  if (value < 0) return fmt::format("{}: {} is negative", name, value);
  out = static_cast<uint64_t>(value);
  return {};
}

/// A number that a producer wrote as any of the schema's types.
Error number_of(const Attribute& attribute, uint64_t& out) {
  namespace f = attribute_field;
  const auto& value = attribute.value;
  const auto wire = [&](WireType type) {
    return value.type == type ? Error{} : wrong_wire_type(attribute.name, value);
  };
  Error error;
  switch (value.number) {
    case f::kInt32:
      if (error = wire(WireType::kVarint); !error.empty()) return error;
      return not_negative(attribute.name, static_cast<int32_t>(value.value), out);
    case f::kInt64:
      if (error = wire(WireType::kVarint); !error.empty()) return error;
      return not_negative(attribute.name, static_cast<int64_t>(value.value), out);
    case f::kUint32:
    case f::kUint64:
    case f::kBool:
      out = value.value;
      return wire(WireType::kVarint);
    case f::kSint32:
    case f::kSint64:
      if (error = wire(WireType::kVarint); !error.empty()) return error;
      return not_negative(attribute.name, zigzag(value.value), out);
    case f::kFixed32:
      out = value.value;
      return wire(WireType::kFixed32);
    case f::kFixed64:
      out = value.value;
      return wire(WireType::kFixed64);
    case f::kSfixed32:
      if (error = wire(WireType::kFixed32); !error.empty()) return error;
      return not_negative(attribute.name, static_cast<int32_t>(static_cast<uint32_t>(value.value)), out);
    case f::kSfixed64:
      if (error = wire(WireType::kFixed64); !error.empty()) return error;
      return not_negative(attribute.name, static_cast<int64_t>(value.value), out);
    case f::kDouble: {
      if (error = wire(WireType::kFixed64); !error.empty()) return error;
      double number = 0;
      std::memcpy(&number, &value.value, sizeof(number));
      return whole(attribute.name, number, out);
    }
    case f::kFloat: {
      if (error = wire(WireType::kFixed32); !error.empty()) return error;
      const auto bits = static_cast<uint32_t>(value.value);
      float number = 0;
      std::memcpy(&number, &bits, sizeof(number));
      return whole(attribute.name, static_cast<double>(number), out);
    }
    default:
      return fmt::format("{}: not a number", attribute.name);
  }
}

Error bounded(const Attribute& attribute, uint64_t most, std::optional<uint64_t>& out) {
  uint64_t value = 0;
  if (auto error = number_of(attribute, value); !error.empty()) return error;
  if (value > most) return fmt::format("{}: {} is more than {}", attribute.name, value, most);
  out = value;
  return {};
}

/// A process group's name: a string, or a number.
Error group_of(const Attribute& attribute, std::string& out) {
  if (attribute.value.number == attribute_field::kString) return text_of(attribute.name, attribute.value, out);
  uint64_t number = 0;
  if (auto error = number_of(attribute, number); !error.empty()) return error;
  out = std::to_string(number);
  return {};
}

Error take(const Attribute& attribute, Node& node) {
  constexpr uint64_t kAny = std::numeric_limits<uint64_t>::max();
  const auto name = attribute.name;
  std::optional<uint64_t> number;
  Error error;
  if (name == kIsCpuOp) {
    if (error = bounded(attribute, kAny, number); error.empty()) node.on_host = *number != 0;
  } else if (name == kNumOps) {
    error = bounded(attribute, kAny, node.operations);
  } else if (name == kTensorSize) {
    error = bounded(attribute, kMostBytes, node.tensor_bytes);
  } else if (name == kCommType) {
    error = bounded(attribute, kAny, number);
    if (error.empty() && *number >= kCollectiveTypes) return fmt::format("comm_type: {} is no collective", *number);
    if (error.empty()) node.collective = static_cast<CollectiveType>(*number);
  } else if (name == kCommSize) {
    error = bounded(attribute, kMostBytes, node.bytes);
  } else if (name == kCommSrc) {
    error = bounded(attribute, kMostRanks, node.from);
  } else if (name == kCommDst) {
    error = bounded(attribute, kMostRanks, node.to);
  } else if (name == kRoot) {
    error = bounded(attribute, kMostRanks, node.root);
  } else if (name == kCommTag) {
    if (error = bounded(attribute, kAny, number); error.empty()) node.tag = *number;
  } else if (name == kGroupName) {
    error = group_of(attribute, node.group);
  } else if (name == kStartFs) {
    error = bounded(attribute, kAny, node.start_fs);
  } else if (name == kDurationFs) {
    if (error = bounded(attribute, kMostDurationFs, number); error.empty()) node.duration_fs = *number;
  }
  return error;
}

Error femtoseconds(std::string_view name, uint64_t micros, uint64_t& out) {
  if (micros > kMostDurationFs / kFemtosecondsPerMicrosecond)
    return fmt::format("{}: {} us are more than an hour", name, micros);
  out = micros * kFemtosecondsPerMicrosecond;
  return {};
}

Error inputs_of(const WireField& field, Node& node) {
  if (field.type != WireType::kBytes) return wrong_wire_type("inputs", field);
  WireMessage message(field.bytes);
  Error error;
  for (WireField inner; error.empty() && message.next(inner);)
    if (inner.number == io_field::kValues) error = text_of("inputs.values", inner, node.groups_text);
  return message.broken() ? "inputs: its bytes are no message" : error;
}

/// Attributes go last: their times are finer than the fields'.
Error node_of(std::string_view bytes, Node& node) {
  namespace f = node_field;
  std::vector<std::string_view> attributes;
  WireMessage message(bytes);
  Error error;
  for (WireField field; error.empty() && message.next(field);) {
    uint64_t number = 0;
    switch (field.number) {
      case f::kId:
        error = number_of("id", field, node.id);
        break;
      case f::kName:
        error = text_of("name", field, node.name);
        break;
      case f::kType:
        if (error = number_of("type", field, number); !error.empty()) break;
        if (number >= kNodeTypes) return fmt::format("type: {} is no type of a node", number);
        node.type = static_cast<NodeType>(number);
        break;
      case f::kControlDependences:
        error = numbers_of("ctrl_deps", field, node.after);
        break;
      case f::kDataDependences:
        error = numbers_of("data_deps", field, node.after);
        break;
      case f::kStartMicros:
        // Often counted from an epoch: a time that has no room in femtoseconds is not kept.
        error = number_of("start_time_micros", field, number);
        if (number <= std::numeric_limits<uint64_t>::max() / kFemtosecondsPerMicrosecond)
          node.start_fs = number * kFemtosecondsPerMicrosecond;
        break;
      case f::kDurationMicros:
        if (error = number_of("duration_micros", field, number); error.empty())
          error = femtoseconds("duration_micros", number, node.duration_fs);
        break;
      case f::kInputs:
        error = inputs_of(field, node);
        break;
      case f::kAttribute:
        if (field.type != WireType::kBytes) return wrong_wire_type("attr", field);
        attributes.push_back(field.bytes);
        break;
      default:
        break;
    }
  }
  if (!error.empty()) return error;
  if (message.broken()) return "its bytes are no message";
  for (const auto& one : attributes) {
    Attribute attribute;
    if (error = attribute_of(one, attribute); !error.empty()) return error;
    if (error = take(attribute, node); !error.empty()) return error;
  }
  if (node.type != NodeType::kMetadata) node.groups_text.clear();
  return {};
}

Error metadata_of(std::string_view bytes, Trace& trace) {
  WireMessage message(bytes);
  Error error;
  for (WireField field; error.empty() && message.next(field);)
    if (field.number == metadata_field::kVersion) error = text_of("version", field, trace.version);
  return message.broken() ? "its bytes are no message" : error;
}

}  // namespace

std::variant<Trace, std::string> read_trace(std::string_view bytes, std::string_view file) {
  Trace trace;
  trace.file.assign(file);
  if (bytes.empty()) return fmt::format("{}: empty", file);
  if (bytes.starts_with("\x1f\x8b")) return fmt::format("{}: compressed by gzip, unpack it first", file);
  for (size_t at = 0, number = 0; at < bytes.size(); number++) {
    const auto rest = bytes.substr(at, kMostMessageBytes + 16);
    google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(rest.data()),
                                              static_cast<int>(rest.size()));
    uint32_t length = 0;
    const bool whole_length = in.ReadVarint32(&length);
    const auto begin = static_cast<size_t>(in.CurrentPosition());
    const std::string what = number == 0 ? "metadata" : fmt::format("message {} at byte {}", number, at);
    if (!whole_length) return fmt::format("{}: {}: its length is no number", file, what);
    if (length > kMostMessageBytes)
      return fmt::format("{}: {}: {} bytes long, {} may be", file, what, length, kMostMessageBytes);
    if (length > rest.size() - begin)
      return fmt::format("{}: {}: {} bytes long, {} are left in the file", file, what, length, rest.size() - begin);
    const auto message = rest.substr(begin, length);
    at += begin + length;
    if (number == 0) {
      if (const auto error = metadata_of(message, trace); !error.empty())
        return fmt::format("{}: {}: {}", file, what, error);
      continue;
    }
    Node& node = trace.nodes.emplace_back();
    if (const auto error = node_of(message, node); !error.empty())
      return fmt::format("{}, {}: {}", describe(trace, node), what, error);
  }
  if (auto error = check_nodes(trace); !error.empty()) return error;
  return trace;
}

}  // namespace weft::chakra
