#include "base/chakra/wire_message.hpp"

namespace weft::chakra {

bool WireMessage::next(WireField& field) {
  if (broken_ || static_cast<size_t>(in_.CurrentPosition()) == bytes_.size()) return false;
  uint32_t tag = 0;
  if (!in_.ReadVarint32(&tag) || tag >> 3 == 0) return fail();
  field.number = tag >> 3;
  field.type = static_cast<WireType>(tag & 7);
  field.bytes = {};
  switch (field.type) {
    case WireType::kVarint:
      return in_.ReadVarint64(&field.value) || fail();
    case WireType::kFixed64:
      return in_.ReadLittleEndian64(&field.value) || fail();
    case WireType::kFixed32: {
      uint32_t value = 0;
      if (!in_.ReadLittleEndian32(&value)) return fail();
      field.value = value;
      return true;
    }
    case WireType::kBytes: {
      uint32_t length = 0;
      if (!in_.ReadVarint32(&length)) return fail();
      const auto at = static_cast<size_t>(in_.CurrentPosition());
      if (length > bytes_.size() - at || !in_.Skip(static_cast<int>(length))) return fail();
      field.bytes = bytes_.substr(at, length);
      return true;
    }
  }
  return fail();  // groups, which the schema has none of, and what is no wire type
}

bool WireMessage::next_packed(uint64_t& value) {
  if (broken_ || static_cast<size_t>(in_.CurrentPosition()) == bytes_.size()) return false;
  return in_.ReadVarint64(&value) || fail();
}

}  // namespace weft::chakra
