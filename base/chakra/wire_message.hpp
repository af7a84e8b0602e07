/// The fields of a protobuf message, one after the other, by protobuf's own decoder.
#pragma once
#include <google/protobuf/io/coded_stream.h>

#include <cstdint>
#include <string_view>

namespace weft::chakra {

/// Wire types of the protobuf encoding.
enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct WireField {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t value = 0;      ///< of a varint or a fixed one
  std::string_view bytes;  ///< of kBytes
};

/// Reads a message's fields. The bytes outlive it. One thread.
class WireMessage {
 public:
  /// bytes: at most 2^31 - 1 of them.
  explicit WireMessage(std::string_view bytes)
      : bytes_(bytes), in_(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size())) {}

  /// False at the end, and where the bytes are no message: then broken() is true.
  bool next(WireField& field);
  [[nodiscard]] bool broken() const { return broken_; }

  /// The next varint of packed numbers. False as next.
  bool next_packed(uint64_t& value);

 private:
  bool fail() {
    broken_ = true;
    return false;
  }

  std::string_view bytes_;
  google::protobuf::io::CodedInputStream in_;
  bool broken_ = false;
};

}  // namespace weft::chakra
