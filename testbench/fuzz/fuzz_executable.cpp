// .weft files: the loader takes or refuses any bytes, and what it takes becomes an image that the firmware takes.
//
// Most changes keep the checksums right, or nothing behind them would be reached.
#include <vector>

#include "driver/program/executable_loader.hpp"
#include "driver/program/program_image.hpp"
#include "firmware/core/control_check.hpp"
#include "firmware/core/program.hpp"
#include "host/tools/formats/disassembly.hpp"
#include "testbench/fuzz/fuzz_target.hpp"
#include "testbench/unit/driver/test_executable.hpp"

using namespace weft;
using driver::Executable;
using driver::ProgramImage;

namespace {

const spec::Chip& chip = *spec::find_chip("nano");

/// The firmware's own checks of a control list, part by part.
void check_list(const std::vector<std::byte>& image, const weft_program_kernel& kernel, uint32_t index,
                const Executable& executable) {
  const auto part = [&](uint64_t offset, auto& value) {
    std::memcpy(&value, image.data() + kernel.control_offset + offset, sizeof value);
  };
  weft_control_header header;
  part(0, header);
  fw::ControlShape shape{};
  shape.at = kernel.control_offset;
  shape.arguments = static_cast<uint16_t>(kernel.argument_count);
  shape.scratch = kernel.scratch_bytes != 0;
  fuzz::require(fw::check_control_header(header, index, kernel.control_bytes, &shape).ok(),
                "the firmware takes a list");
  std::vector<weft_control_entry> entries(shape.entries);
  for (uint32_t i = 0; i < shape.entries; i++) part(shape.entries_at() + i * sizeof entries[0], entries[i]);
  fuzz::require(fw::check_control_entries(shape, entries.data()).ok(), "the firmware takes its entries");
  for (uint32_t i = 0; i < shape.blocks; i++) {
    weft_control_block block;
    part(shape.blocks_at() + i * sizeof block, block);
    const auto commands = static_cast<uint32_t>(executable.commands.size() / WEFT_COMMAND_BYTES);
    fuzz::require(fw::check_control_block(shape, i, block, commands).ok(), "the firmware takes its blocks");
  }
  for (uint32_t i = 0; i < shape.bindings; i++) {
    weft_control_binding w;
    part(shape.bindings_at() + i * sizeof w, w);
    const auto use = w.segment == 0 ? fw::BindingUse::kWord : fw::BindingUse::kSegment;
    fuzz::require(fw::check_control_binding(shape, entries.data(), i, w, use).ok(), "the firmware takes its bindings");
    const uint64_t bytes = w.argument == WEFT_EXECUTABLE_CONTROL_CONSTANTS ? executable.constants.size()
                           : w.argument == WEFT_EXECUTABLE_CONTROL_SCRATCH
                               ? kernel.scratch_bytes
                               : executable.kernels[index].arguments[w.argument].size_bytes;
    fuzz::require(fw::check_control_window(shape, entries.data(), i, w, bytes).ok(), "its windows stay inside");
  }
}

/// The firmware's own checks, on the bytes that the driver would upload.
void check_image(const Executable& executable) {
  const ProgramImage image(executable, chip);
  std::vector<std::byte> bytes(image.bytes());
  image.read(0, bytes.data(), bytes.size());
  weft_program_header header;
  fuzz::require(bytes.size() >= sizeof header, "an image has a header");
  std::memcpy(&header, bytes.data(), sizeof header);
  fuzz::require(fw::check_program_header(header, bytes.size(), chip.fingerprint).ok(),
                "the firmware takes the header that the driver makes");
  for (uint32_t i = 0; i < header.kernel_count; i++) {
    weft_program_kernel kernel;
    std::memcpy(&kernel, bytes.data() + fw::kernel_offset(i), sizeof kernel);
    fuzz::require(fw::check_program_kernel(kernel, i, header.commands_bytes / WEFT_COMMAND_BYTES).ok(),
                  "the firmware takes the kernels that the driver makes");
    if (kernel.control_bytes == 0) continue;
    fuzz::require(fw::check_control_place(kernel, i, bytes.size()).ok(), "a list lies in its image");
    check_list(bytes, kernel, i, executable);
  }
  // A piece in the middle is what the whole has there.
  const uint64_t from = bytes.size() / 3, count = bytes.size() / 2;
  std::vector<std::byte> piece(count);
  image.read(from, piece.data(), count);
  fuzz::require(std::memcmp(piece.data(), bytes.data() + from, count) == 0, "an image reads the same in pieces");
}

/// The section DEBUG is the disassembler's alone: it may refuse what the loader takes.
void check_text(const Result<std::string>& text) {
  fuzz::require(text.ok() ? !text.value().empty() : !text.error().message.empty(), "a program has a text, or an error");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto loaded = driver::load_executable(std::as_bytes(std::span(data, size)), chip);
  if (loaded.ok()) {
    check_image(loaded.value());
    const auto* bytes = reinterpret_cast<const std::byte*>(data);
    check_text(tools::disassemble({bytes, bytes + size}));
    check_text(tools::disassemble_json({bytes, bytes + size}));
  } else {
    fuzz::require(loaded.status().code() == WEFT_ERROR_EXECUTABLE_INVALID, "a bad file is EXECUTABLE_INVALID");
    fuzz::require(loaded.status().message().starts_with("section "), "a refusal names the section");
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  size = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 16 == 0 || size < sizeof(weft_executable_header)) return size;
  std::vector<std::byte> file(size);
  std::memcpy(file.data(), data, size);
  const uint64_t bytes = size;
  if (seed % 4 != 1) std::memcpy(file.data() + offsetof(weft_executable_header, file_bytes), &bytes, sizeof bytes);
  driver::test::fix_checksums(file);
  std::memcpy(data, file.data(), size);
  return size;
}
