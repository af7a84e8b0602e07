// The image in HBM, whole and in pieces.
#include "driver/program/program_image.hpp"

#include <catch2/catch.hpp>

#include "testbench/unit/driver/test_executable.hpp"

using namespace weft::driver;
using namespace weft::driver::test;

TEST_CASE("the image holds header, kernels, commands and constants where the header says") {
  const Bytes file = make_executable(nano());
  auto executable = load_executable(file, nano());
  REQUIRE(executable.ok());
  executable.value().isa_version = WEFT_ISA_OLDEST;
  const ProgramImage image(executable.value(), nano());
  Bytes bytes(image.bytes());
  image.read(0, bytes.data(), bytes.size());
  weft_program_header h;
  std::memcpy(&h, bytes.data(), sizeof h);
  CHECK(h.magic == WEFT_MAGIC);
  CHECK(h.isa_version == WEFT_ISA_OLDEST);
  CHECK(h.chip_fingerprint == nano().fingerprint);
  CHECK(h.image_bytes == image.bytes());
  CHECK(h.image_bytes % 64 == 0);
  CHECK(h.kernel_count == 2);
  CHECK(h.commands_offset % 64 == 0);
  CHECK(h.commands_bytes == 128);
  CHECK(h.constants_bytes == 96);
  CHECK(bytes[h.commands_offset] == std::byte{0x11});
  CHECK(bytes[h.constants_offset] == std::byte{0x22});
  CHECK(bytes[h.constants_offset + 96] == std::byte{0});
  weft_program_kernel layer;
  std::memcpy(&layer, bytes.data() + sizeof h + sizeof layer, sizeof layer);
  CHECK(layer.argument_count == 2);
  CHECK(layer.argument_readable == 3);
  CHECK(layer.argument_writable == 2);
  CHECK(layer.scratch_bytes == 4096);

  for (const uint64_t piece : {1u, 7u, 64u, 100u, 1000u}) {
    Bytes again;
    for (uint64_t at = 0; at < image.bytes(); at += piece) {
      Bytes part(std::min<uint64_t>(piece, image.bytes() - at));
      image.read(at, part.data(), part.size());
      again.insert(again.end(), part.begin(), part.end());
    }
    CHECK(again == bytes);
  }
}
