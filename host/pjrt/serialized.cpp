// A compiled program as bytes: what it was compiled from, and its device programs, so that loading compiles none.
#include <fmt/format.h>

#include <cstring>

#include "base/crc32c.hpp"
#include "host/pjrt/objects.hpp"

namespace weft::pjrt {
namespace {

constexpr std::string_view kMagic = "weft-pjrt-program 5\n";

/// Numbers and texts, one behind the other.
class Writer {
 public:
  void number(uint64_t value) { text_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void bytes(std::string_view value) {
    number(value.size());
    text_.append(value);
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}
  uint64_t number() {
    uint64_t value = 0;
    const auto part = take(sizeof value);
    if (!broken) std::memcpy(&value, part.data(), sizeof value);
    return value;
  }
  std::string_view bytes() { return take(number()); }
  bool broken = false;

 private:
  std::string_view take(uint64_t count) {
    broken = broken || count > rest_.size();
    if (broken) return {};
    const auto part = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return part;
  }
  std::string_view rest_;
};

std::string written(const Program& program) {
  Writer writer;
  writer.bytes(program.chip);
  writer.bytes(program.slice);
  writer.bytes(program.options.text);
  writer.bytes(program.code);
  writer.number(static_cast<uint64_t>(program.model.cuts.scope));
  writer.number(program.model.cuts.before.size());
  for (const uint32_t op : program.model.cuts.before) writer.number(op);
  writer.number(program.model.programs.size());
  for (const auto& part : program.model.programs) {
    writer.bytes({reinterpret_cast<const char*>(part.executable.data()), part.executable.size()});
    writer.number(part.places.size());
    for (const auto& place : part.places) {
      writer.number(place.argument);
      writer.number(place.offset_bytes);
      writer.number(place.size_bytes);
    }
    writer.number(part.macs);
    writer.number(part.cycle_estimate);
  }
  writer.number(program.model.left_to_host.size());
  for (const size_t part : program.model.left_to_host) writer.number(part);
  uint64_t sequences = 0;
  for (const auto& launch : program.model.launches) sequences += launch.sequence ? 1 : 0;
  writer.number(sequences);
  for (const auto& launch : program.model.launches) {
    if (!launch.sequence) continue;
    writer.number(launch.sequence->compiled.macs);
    writer.number(launch.sequence->compiled.executables.size());
    for (const auto& executable : launch.sequence->compiled.executables)
      writer.bytes({reinterpret_cast<const char*>(executable.data()), executable.size()});
  }
  const std::string body = writer.take();
  Writer file;
  file.bytes(kMagic);
  file.number(crc32c(body.data(), body.size()));
  file.bytes(body);
  return file.take();
}

weft::Error wrong(const std::string& what) {
  return {WEFT_ERROR_INVALID_ARGUMENT, "a serialized program " + what + "; compile it again"};
}

/// What is compiled again from a file, and what is not.
struct Parts {
  std::string_view chip, slice, options, code;
  tools::CompiledParts compiled;
};

Result<Parts> read(std::string_view file) {
  Reader whole(file);
  if (whole.bytes() != kMagic) return wrong("of another version of this plugin");
  const uint64_t sum = whole.number();
  const std::string_view body = whole.bytes();
  if (whole.broken || sum != crc32c(body.data(), body.size())) return wrong("that is cut or changed");
  Reader reader(body);
  Parts parts{reader.bytes(), reader.bytes(), reader.bytes(), reader.bytes(), {}};
  parts.compiled.cuts.scope = static_cast<compiler::DeviceScope>(reader.number());
  for (uint64_t i = 0, count = reader.number(); i < count && !reader.broken; i++)
    parts.compiled.cuts.before.insert(static_cast<uint32_t>(reader.number()));
  for (uint64_t i = 0, count = reader.number(); i < count && !reader.broken; i++) {
    auto& part = parts.compiled.programs.emplace_back();
    const auto executable = std::as_bytes(std::span(reader.bytes()));
    part.executable.assign(executable.begin(), executable.end());
    for (uint64_t p = 0, places = reader.number(); p < places && !reader.broken; p++) {
      auto& place = part.places.emplace_back();
      place.argument = reader.number(), place.offset_bytes = reader.number(), place.size_bytes = reader.number();
    }
    part.macs = reader.number(), part.cycle_estimate = reader.number();
  }
  for (uint64_t i = 0, count = reader.number(); i < count && !reader.broken; i++)
    parts.compiled.left_to_host.insert(reader.number());
  for (uint64_t i = 0, count = reader.number(); i < count && !reader.broken; i++) {
    auto& sequence = parts.compiled.sequences.emplace_back();
    sequence.macs = reader.number();
    for (uint64_t d = 0, devices = reader.number(); d < devices && !reader.broken; d++) {
      const auto executable = std::as_bytes(std::span(reader.bytes()));
      sequence.executables.emplace_back(executable.begin(), executable.end());
    }
  }
  if (reader.broken) return wrong("that is cut or changed");
  return parts;
}

}  // namespace

Error* serialize(SerializeArguments& a) {
  if (!a.executable->program->callbacks.empty())
    return made(ErrorCode::kUnimplemented,
                "the program calls functions of this process, so it has no meaning in another one");
  auto* bytes = new std::string(written(*a.executable->program));
  a.bytes = bytes->data();
  a.bytes_size = bytes->size();
  a.owner = bytes;
  a.release = [](void* owner) { delete static_cast<std::string*>(owner); };
  return nullptr;
}

Error* deserialize(DeserializeArguments& a) {
  auto parts = read({a.bytes, a.bytes_size});
  if (!parts.ok()) return made(parts.error());
  const auto& chip = a.client->devices[0]->chip->preset();
  if (parts.value().chip != chip.name)
    return made(wrong(fmt::format("for a chip {}, and this is a {}", parts.value().chip, chip.name)));
  if (const auto& slice = parts.value().slice; !slice.empty() && slice != shape_text(a.client->shape))
    return made(wrong(fmt::format("for a slice {}, and this is {}", slice, shape_text(a.client->shape))));
  const bool other_options = a.options != nullptr && a.options_size != 0;
  const std::string_view options = other_options ? std::string_view(a.options, a.options_size) : parts.value().options;
  return load(a.client, parts.value().code, options, &parts.value().compiled, a.executable);
}

}  // namespace weft::pjrt
