// The loader takes what is right, names what is wrong, and survives every kind of garbage.
#include "driver/program/executable_loader.hpp"

#include <catch2/catch.hpp>
#include <random>

#include "testbench/unit/driver/test_executable.hpp"

using namespace weft::driver;
using namespace weft::driver::test;
using Catch::Contains;

namespace {

Status load_status(const Bytes& file, const weft::spec::Chip& chip = nano()) {
  return load_executable(file, chip).status();
}

template <typename T>
void poke(Bytes& file, size_t offset, const T& value) {
  std::memcpy(file.data() + offset, &value, sizeof value);
}

uint64_t section_offset(const Bytes& file, uint32_t index) {
  weft_section_entry s;
  std::memcpy(&s, file.data() + sizeof(weft_executable_header) + index * sizeof s, sizeof s);
  return s.offset;
}

}  // namespace

TEST_CASE("a whole executable is described") {
  const Bytes file = make_executable(nano());
  const auto loaded = load_executable(file, nano());
  REQUIRE(loaded.ok());
  const Executable& e = loaded.value();
  REQUIRE(e.kernels.size() == 2);
  CHECK(e.kernels[0].name == "empty");
  CHECK(e.kernels[1].name == "layer");
  REQUIRE(e.kernels[1].arguments.size() == 2);
  CHECK(e.kernels[1].arguments[1].name == "y");
  CHECK(e.kernels[1].arguments[1].direction == WEFT_ARGUMENT_DIRECTION_OUTPUT);
  CHECK(e.kernels[1].arguments[0].shape == std::array<uint64_t, 2>{4, 16});
  CHECK(e.kernels[1].queue_count[WEFT_QUEUE_SYNC] == 2);
  CHECK(e.commands.size() == 128);
  CHECK(e.constants.size() == 96);
  CHECK(e.constants[5] == std::byte{0x22});
}

TEST_CASE("every truncation is refused") {
  const Bytes file = make_executable(nano());
  for (size_t size = 0; size < file.size(); size++) {
    const Bytes cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
    const Status status = load_status(cut);
    REQUIRE(status.code() == WEFT_ERROR_EXECUTABLE_INVALID);
  }
}

TEST_CASE("every truncation is refused although its size and checksums are right") {
  const Bytes file = make_executable(nano());
  for (size_t size = sizeof(weft_executable_header); size < file.size(); size++) {
    Bytes cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
    poke(cut, offsetof(weft_executable_header, file_bytes), uint64_t{size});
    fix_checksums(cut);
    CAPTURE(size);
    REQUIRE(load_status(cut).code() == WEFT_ERROR_EXECUTABLE_INVALID);
  }
}

TEST_CASE("every flipped bit is noticed") {
  const Bytes file = make_executable(nano());
  for (size_t at = 0; at < file.size(); at++) {
    for (int bit = 0; bit < 8; bit++) {
      Bytes bad = file;
      bad[at] ^= std::byte{static_cast<unsigned char>(1u << bit)};
      CAPTURE(at, bit);
      REQUIRE(load_status(bad).code() == WEFT_ERROR_EXECUTABLE_INVALID);
    }
  }
}

TEST_CASE("every flipped header byte with a right checksum is refused, but for the chip's description") {
  const Bytes file = make_executable(nano());
  using H = weft_executable_header;
  for (size_t at = 0; at < sizeof(H); at++) {
    if (at >= offsetof(H, file_crc32c) && at < offsetof(H, chip_name)) continue;
    if (at >= offsetof(H, chip_name) && at < offsetof(H, reserved)) continue;  // informative: the fingerprint decides
    Bytes bad = file;
    bad[at] ^= std::byte{0xff};
    fix_checksums(bad);
    CAPTURE(at);
    REQUIRE(load_status(bad).code() == WEFT_ERROR_EXECUTABLE_INVALID);
  }
}

TEST_CASE("random mutations never crash, with and without right checksums") {
  const uint32_t seed = 20240611;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const Bytes file = make_executable(nano());
  size_t accepted = 0;
  for (int round = 0; round < 100000; round++) {
    Bytes bad = file;
    const int edits = 1 + static_cast<int>(random() % 4);
    for (int e = 0; e < edits; e++) {
      const size_t at = random() % bad.size();
      switch (random() % 4) {
        case 0:
          bad[at] = static_cast<std::byte>(random());
          break;
        case 1:
          if (at + 8 <= bad.size()) poke(bad, at, uint64_t{random() % 3 == 0 ? ~uint64_t{0} : random()});
          break;
        case 2:
          if (at + 4 <= bad.size())
            poke(bad, at & ~size_t{3}, static_cast<uint32_t>(random() % 5 == 0 ? 0xfffffff0u : random() % 300));
          break;
        default:
          bad.resize(std::max<size_t>(1, at));
          if (bad.size() >= sizeof(weft_executable_header))
            poke(bad, offsetof(weft_executable_header, file_bytes), uint64_t{bad.size()});
          break;
      }
    }
    if (random() % 8 != 0 && bad.size() >= sizeof(weft_executable_header)) fix_checksums(bad);
    const auto loaded = load_executable(bad, nano());
    if (loaded.ok()) {
      accepted++;
      for (const auto& kernel : loaded.value().kernels) {
        for (size_t q = 0; q < WEFT_CORE_QUEUES; q++) {
          REQUIRE(uint64_t{kernel.queue_first[q]} + kernel.queue_count[q] <=
                  loaded.value().commands.size() / WEFT_COMMAND_BYTES);
        }
      }
    } else {
      REQUIRE(loaded.status().code() == WEFT_ERROR_EXECUTABLE_INVALID);
      REQUIRE_THAT(loaded.status().message(), Contains("section "));
    }
  }
  CHECK(accepted > 0);  // changed constants with right checksums are fine
}

TEST_CASE("commands of every version are taken up to the one that is known, and the image names theirs") {
  Bytes file = make_executable(nano());
  const auto with = [&](uint32_t version) {
    poke(file, offsetof(weft_executable_header, isa_version), version);
    fix_checksums(file);
    return load_executable(file, nano());
  };
  for (uint32_t version = WEFT_ISA_OLDEST; version <= WEFT_ISA_VERSION; version++) {
    const auto loaded = with(version);
    REQUIRE(loaded.ok());
    CHECK(loaded.value().isa_version == version);
  }
  for (const uint32_t version : {WEFT_ISA_OLDEST - 1, WEFT_ISA_VERSION + 1, UINT32_MAX})
    CHECK_THAT(with(version).status().message(), Contains(fmt::format("ISA version {}, this driver knows {} to {}",
                                                                      version, WEFT_ISA_OLDEST, WEFT_ISA_VERSION)));
}

TEST_CASE("an executable for another chip names what differs") {
  const Status status = load_status(make_executable(*weft::spec::find_chip("small")));
  CHECK_THAT(status.message(), Contains("'small'") && Contains("'nano'") && Contains("N 32 instead of 8") &&
                                   Contains("VMEM bytes") && Contains("ACC bank rows"));
  CHECK_THAT(status.message(), !Contains("MXUs"));
}

TEST_CASE("a refusal names section, offset and reason") {
  using K = weft_kernel_record;
  using A = weft_argument_record;
  Bytes file = make_executable(nano());
  const size_t kernels = section_offset(file, 0);
  const size_t layer = kernels + sizeof(K);
  const size_t x = layer + sizeof(K);
  std::string expected;
  SECTION("queue beyond the commands") {
    poke(file, layer + offsetof(K, queue_count), uint32_t{3});
    expected = "queue dma_in: 3 commands from 0, the section has 2";
  }
  SECTION("too many arguments") {
    poke(file, layer + offsetof(K, argument_count), uint32_t{30});
    expected = "30 arguments, 29 are possible";
  }
  SECTION("arguments beyond the section") {
    poke(file, layer + offsetof(K, argument_count), uint32_t{3});
    expected = "exceed the section";
  }
  SECTION("VMEM") {
    poke(file, layer + offsetof(K, vmem_bytes), uint32_t{1u << 30});
    expected = "bytes of VMEM, the chip has 262144";
  }
  SECTION("dtype") {
    poke(file, x + offsetof(A, dtype), uint32_t{9});
    expected = "argument 'x': dtype 9";
  }
  SECTION("size") {
    poke(file, x + offsetof(A, size_bytes), uint64_t{128});
    expected = "128 bytes do not hold 4 rows of pitch 64";
  }
  SECTION("huge shape") {
    poke(file, x + offsetof(A, shape), ~uint64_t{0});
    expected = "argument 'x'";
  }
  SECTION("name") {
    file[kernels] = std::byte{0};
    expected = "name is not a terminated text";
  }
  SECTION("same name twice") {
    Bytes both;
    append(both, kernel_record("a", 0));
    append(both, kernel_record("a", 0));
    file = make_file(nano(), {{WEFT_SECTION_KIND_KERNELS, both}, {WEFT_SECTION_KIND_COMMANDS, {}}});
    expected = "kernel 'a' occurs twice";
  }
  SECTION("no commands section") {
    Bytes one;
    append(one, kernel_record("a", 0));
    file = make_file(nano(), {{WEFT_SECTION_KIND_KERNELS, one}});
    expected = "there is no section commands";
  }
  SECTION("no kernels") {
    file = make_file(nano(), {{WEFT_SECTION_KIND_KERNELS, {}}, {WEFT_SECTION_KIND_COMMANDS, {}}});
    expected = "there is no kernel";
  }
  SECTION("seventeen kernels") {
    Bytes many;
    for (int i = 0; i < 17; i++) append(many, kernel_record("k" + std::to_string(i), 0));
    file = make_file(nano(), {{WEFT_SECTION_KIND_KERNELS, many}, {WEFT_SECTION_KIND_COMMANDS, {}}});
    expected = "more than 16 kernels";
  }
  SECTION("newer format") {
    poke(file, offsetof(weft_executable_header, format_version), uint32_t{2});
    expected = "format version 2, this driver reads 1";
  }
  fix_checksums(file);
  const Status status = load_status(file);
  CHECK(status.code() == WEFT_ERROR_EXECUTABLE_INVALID);
  CHECK_THAT(status.message(), Contains("section ") && Contains("offset ") && Contains(expected));
}
