// The header of a .npy file is a Python dictionary literal with three keys in any order.
#include "host/tools/formats/npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>

#include "host/tools/formats/files.hpp"

namespace weft::tools {
namespace {

constexpr char kMagic[] = "\x93NUMPY";

constexpr size_t kMaxDigits = 12;
constexpr size_t kShownBytes = 80;  // of a file's text in a message
constexpr std::string_view kBlanks = " \t\n\v\f\r";
constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kShapeCharacters = "0123456789, ";

Error invalid(const std::string& text) { return {WEFT_ERROR_INVALID_ARGUMENT, text}; }

std::string_view skip(std::string_view text, std::string_view characters) {
  return text.substr(std::min(text.find_first_not_of(characters), text.size()));
}

/// What follows `'key':` in the header, blanks skipped.
std::optional<std::string_view> value_of(std::string_view header, std::string_view key) {
  const std::string quoted = fmt::format("'{}'", key);
  for (size_t at = header.find(quoted); at != header.npos; at = header.find(quoted, at + 1)) {
    const std::string_view rest = skip(header.substr(at + quoted.size()), kBlanks);
    if (rest.starts_with(':')) return skip(rest.substr(1), kBlanks);
  }
  return std::nullopt;
}

/// The text between `open` at the front and the first `close` behind it.
std::optional<std::string_view> enclosed(std::optional<std::string_view> text, char open, char close) {
  if (!text || !text->starts_with(open)) return std::nullopt;
  const size_t end = text->find(close, 1);
  if (end == text->npos) return std::nullopt;
  return text->substr(1, end - 1);
}

struct TypeInfo {
  NpyType type;
  const char* descr;
  const char* name;
  size_t bytes;
};
constexpr std::array<TypeInfo, 12> kTypes{{{NpyType::kF32, "<f4", "float32", 4},
                                           {NpyType::kI8, "|i1", "int8", 1},
                                           {NpyType::kI32, "<i4", "int32", 4},
                                           {NpyType::kF16, "<f2", "float16", 2},
                                           {NpyType::kF64, "<f8", "float64", 8},
                                           {NpyType::kI16, "<i2", "int16", 2},
                                           {NpyType::kI64, "<i8", "int64", 8},
                                           {NpyType::kU8, "|u1", "uint8", 1},
                                           {NpyType::kU16, "<u2", "uint16", 2},
                                           {NpyType::kU32, "<u4", "uint32", 4},
                                           {NpyType::kU64, "<u8", "uint64", 8},
                                           {NpyType::kBool, "|b1", "bool", 1}}};

const TypeInfo& info(NpyType type) { return *std::ranges::find(kTypes, type, &TypeInfo::type); }

std::string all_types() {
  std::vector<std::string> names;
  for (const auto& type : kTypes) names.push_back(fmt::format("{} ('{}')", type.name, type.descr));
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

size_t element_bytes(NpyType type) { return info(type).bytes; }

const char* type_name(NpyType type) { return info(type).name; }

Result<NpyArray> parse_npy(const std::vector<std::byte>& file) {
  if (file.size() < 10 || std::memcmp(file.data(), kMagic, 6) != 0)
    return invalid("not a .npy file (its first bytes are not \\x93NUMPY)");
  const auto byte = [&](size_t i) { return static_cast<uint64_t>(file[i]); };
  const uint64_t major = byte(6);
  if (major < 1 || major > 3) return invalid(fmt::format(".npy version {}; supported: 1 to 3", major));
  const size_t prefix = major == 1 ? 10 : 12;
  if (file.size() < prefix) return invalid("the file ends in its header");
  const uint64_t header_bytes =
      major == 1 ? byte(8) | byte(9) << 8 : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  if (header_bytes > file.size() - prefix || header_bytes > 65536)
    return invalid(fmt::format("a header of {} bytes in a file of {}", header_bytes, file.size()));
  const std::string header(reinterpret_cast<const char*>(file.data()) + prefix, header_bytes);

  NpyArray array;
  const auto descr = enclosed(value_of(header, "descr"), '\'', '\'');
  if (!descr) return invalid("the header has no 'descr'");
  const auto known = std::ranges::find_if(kTypes, [&](const TypeInfo& type) { return *descr == type.descr; });
  if (known == kTypes.end())
    return invalid(fmt::format("element type '{}'; supported: {}", descr->substr(0, kShownBytes), all_types()));
  array.type = known->type;
  const auto order = value_of(header, "fortran_order");
  if (!order || !(order->starts_with("True") || order->starts_with("False")))
    return invalid("the header has no 'fortran_order'");
  if (order->starts_with("True")) return invalid("the array is in Fortran order; save it with numpy.ascontiguousarray");
  const auto shape = enclosed(value_of(header, "shape"), '(', ')');
  if (!shape || shape->find_first_not_of(kShapeCharacters) != shape->npos) return invalid("the header has no 'shape'");
  uint64_t count = 1;
  for (std::string_view rest = *shape; !(rest = skip(rest, ", ")).empty();) {
    const std::string digits(rest.substr(0, rest.find_first_not_of(kDigits)));
    rest.remove_prefix(digits.size());
    const uint64_t d = digits.size() > kMaxDigits ? ~0ull : std::stoull(digits);
    if (d != 0 && count > (1ull << 40) / d)
      return invalid(fmt::format("the shape ({}) is too large", shape->substr(0, kShownBytes)));
    count *= d;
    array.shape.push_back(d);
  }
  const uint64_t have = file.size() - prefix - header_bytes;
  if (have != count * element_bytes(array.type))
    return invalid(fmt::format("shape ({}) of {} needs {} bytes of data, the file has {}",
                               shape->substr(0, kShownBytes), type_name(array.type), count * element_bytes(array.type),
                               have));
  array.data.assign(file.begin() + static_cast<ptrdiff_t>(prefix + header_bytes), file.end());
  return array;
}

Result<NpyArray> read_npy(const std::string& path) {
  auto file = read_file(path);
  if (!file.ok()) return file.error();
  auto array = parse_npy(file.value());
  if (!array.ok()) return Error{array.error().code, fmt::format("{}: {}", path, array.error().message)};
  return array;
}

std::vector<std::byte> format_npy(const NpyArray& array) {
  const char* descr = info(array.type).descr;
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
                                   fmt::join(array.shape, ", "), array.shape.size() == 1 ? "," : "");
  const size_t total = (10 + header.size() + 1 + 63) / 64 * 64;
  header.resize(total - 11, ' ');
  header += '\n';
  std::vector<std::byte> file(total + array.data.size());
  std::memcpy(file.data(), kMagic, 6);
  file[6] = std::byte{1};
  file[8] = static_cast<std::byte>(header.size() & 0xff);
  file[9] = static_cast<std::byte>(header.size() >> 8);
  std::memcpy(&file[10], header.data(), header.size());
  std::copy(array.data.begin(), array.data.end(), file.begin() + static_cast<ptrdiff_t>(total));
  return file;
}

}  // namespace weft::tools
