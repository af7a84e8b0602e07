// Fields one after the other. Nothing is believed before the CRC fits, and nothing is allocated from a number in the
// file before the file's length agrees with it.
#include "host/examples/digits_train/checkpoint.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "base/crc32c.hpp"

namespace weft::examples {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint64_t kMagic = 0x0a4b434654464557;  // "WEFTFCK\n"
constexpr uint32_t kVersion = 1;
constexpr size_t kChecked = 16;  // magic, version and CRC come before what the CRC covers
constexpr size_t kFixed = kChecked + 5 * 8 + 2 * 4;
constexpr uint64_t kMaxWidths = 64, kMaxWidth = 65535;

template <typename T>
void put(std::vector<std::byte>& out, const T& value) {
  const auto* p = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), p, p + sizeof value);
}
void put(std::vector<std::byte>& out, const std::vector<float>& values) {
  const auto* p = reinterpret_cast<const std::byte*>(values.data());
  out.insert(out.end(), p, p + values.size() * sizeof(float));
}

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <typename T>
  T get() {
    T value;
    std::memcpy(&value, &bytes_[at_], sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::vector<float> floats(uint64_t count) {
    std::vector<float> values(count);
    std::memcpy(values.data(), &bytes_[at_], count * sizeof(float));
    at_ += count * sizeof(float);
    return values;
  }

 private:
  std::span<const std::byte> bytes_;
  size_t at_ = 0;
};

Error invalid(std::string text) { return Error{WEFT_ERROR_INVALID_ARGUMENT, "checkpoint: " + std::move(text)}; }

bool possible(float value) { return std::isfinite(value) && value >= 0; }

}  // namespace

bool RunSettings::operator==(const RunSettings& o) const {
  return network.widths == o.network.widths && seed == o.seed && batch == o.batch && examples == o.examples &&
         sgd.rate == o.sgd.rate && sgd.momentum == o.sgd.momentum;
}

std::vector<std::byte> encode_checkpoint(const Checkpoint& c) {
  std::vector<std::byte> out;
  put(out, kMagic);
  put(out, kVersion);
  put(out, uint32_t{0});
  put(out, c.settings.seed);
  put(out, c.settings.batch);
  put(out, c.settings.examples);
  put(out, c.step);
  put(out, static_cast<uint64_t>(c.settings.network.widths.size()));
  put(out, c.settings.sgd.rate);
  put(out, c.settings.sgd.momentum);
  for (const uint64_t width : c.settings.network.widths) put(out, width);
  put(out, c.parameters);
  put(out, c.momentum);
  const uint32_t crc = weft::crc32c(out.data() + kChecked, out.size() - kChecked);
  std::memcpy(&out[kChecked - sizeof crc], &crc, sizeof crc);
  return out;
}

Result<Checkpoint> decode_checkpoint(std::span<const std::byte> bytes) {
  if (bytes.size() < kFixed)
    return invalid(fmt::format("{} bytes, a checkpoint has {} at least", bytes.size(), kFixed));
  Reader reader(bytes);
  if (reader.get<uint64_t>() != kMagic) return invalid("it does not begin with the magic of one");
  if (const auto version = reader.get<uint32_t>(); version != kVersion)
    return invalid(fmt::format("version {}, this program reads version {}", version, kVersion));
  const auto crc = reader.get<uint32_t>();
  if (const uint32_t is = weft::crc32c(&bytes[kChecked], bytes.size() - kChecked); is != crc)
    return invalid(fmt::format("its CRC-32C is {:#010x}, it says {:#010x}: the file is damaged", is, crc));
  Checkpoint out;
  RunSettings& s = out.settings;
  s.seed = reader.get<uint64_t>();
  s.batch = reader.get<uint64_t>();
  s.examples = reader.get<uint64_t>();
  out.step = reader.get<uint64_t>();
  const auto widths = reader.get<uint64_t>();
  s.sgd.rate = reader.get<float>();
  s.sgd.momentum = reader.get<float>();
  if (widths < 2 || widths > kMaxWidths)
    return invalid(fmt::format("{} widths: 2 to {} are possible", widths, kMaxWidths));
  if (s.batch == 0 || s.batch > s.examples)
    return invalid(fmt::format("a batch of {} rows of {}: 1 to all are possible", s.batch, s.examples));
  if (!possible(s.sgd.rate) || !possible(s.sgd.momentum))
    return invalid(fmt::format("rate {} and momentum {}: numbers from 0 are due", s.sgd.rate, s.sgd.momentum));
  if (bytes.size() < kFixed + 8 * widths)
    return invalid(fmt::format("{} bytes are too few for {} widths", bytes.size(), widths));
  for (uint64_t i = 0; i < widths; i++) {
    s.network.widths.push_back(reader.get<uint64_t>());
    if (s.network.widths.back() == 0 || s.network.widths.back() > kMaxWidth)
      return invalid(fmt::format("width {}: 1 to {} are possible", s.network.widths.back(), kMaxWidth));
  }
  const uint64_t count = compiler::parameter_count(s.network), needed = kFixed + 8 * widths + 8 * count;
  if (bytes.size() != needed)
    return invalid(fmt::format("{} bytes, its {} parameters make {}", bytes.size(), count, needed));
  out.parameters = reader.floats(count);
  out.momentum = reader.floats(count);
  return out;
}

}  // namespace weft::examples
