// .npy files: what is written is read back, NumPy's own headers are understood, garbage is refused with a reason.
#include "host/tools/formats/npy.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

using namespace weft;

namespace {

std::vector<std::byte> file_with(const std::string& header, size_t data_bytes) {
  std::vector<std::byte> file(10 + header.size() + data_bytes);
  std::memcpy(file.data(), "\x93NUMPY\x01\x00", 8);
  file[8] = static_cast<std::byte>(header.size() & 255);
  file[9] = static_cast<std::byte>(header.size() >> 8);
  std::memcpy(&file[10], header.data(), header.size());
  return file;
}

std::string refusal(const std::vector<std::byte>& file) {
  const auto array = tools::parse_npy(file);
  REQUIRE(!array.ok());
  CHECK(array.error().code == WEFT_ERROR_INVALID_ARGUMENT);
  return array.error().message;
}

}  // namespace

TEST_CASE("an array that is formatted and parsed comes back, for every type and rank") {
  for (const auto type : {tools::NpyType::kF32, tools::NpyType::kI8, tools::NpyType::kI32, tools::NpyType::kF16,
                          tools::NpyType::kF64, tools::NpyType::kI16, tools::NpyType::kI64, tools::NpyType::kU8,
                          tools::NpyType::kU16, tools::NpyType::kU32, tools::NpyType::kU64, tools::NpyType::kBool})
    for (const auto& shape : {std::vector<uint64_t>{7}, {3, 5}, {2, 3, 4}, {0, 4}}) {
      tools::NpyArray array{type, shape, {}};
      array.data.resize(array.count() * tools::element_bytes(type), std::byte{42});
      const auto file = tools::format_npy(array);
      CHECK((file.size() - array.data.size()) % 64 == 0);
      const auto parsed = tools::parse_npy(file);
      REQUIRE(parsed.ok());
      CHECK(parsed.value().shape == shape);
      CHECK(parsed.value().data == array.data);
    }
}

TEST_CASE("what a matrix cannot be is refused with the reason") {
  CHECK(refusal({}) == "not a .npy file (its first bytes are not \\x93NUMPY)");
  CHECK(refusal(file_with("{'descr': '<c8', 'fortran_order': False, 'shape': (2, 2), }\n", 32))
            .starts_with("element type '<c8'; supported: float32 ('<f4'), int8 ('|i1'), int32 ('<i4'), "));
  CHECK(refusal(file_with("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }\n", 16)) ==
        "the array is in Fortran order; save it with numpy.ascontiguousarray");
  CHECK(refusal(file_with("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }\n", 15)) ==
        "shape (2, 2) of float32 needs 16 bytes of data, the file has 15");
  CHECK(refusal(file_with("{'descr': '<f4', 'fortran_order': False, 'shape': (999999999999, 999999999999), }\n", 15))
            .find("too large") != std::string::npos);
}

TEST_CASE("a header as long as a header may be is refused in one line, whatever it is full of") {
  for (const auto& [before, filler, after] :
       std::vector<std::array<std::string, 3>>{{"{'descr': '", "x", "', 'fortran_order': False, 'shape': (1,), }"},
                                               {"{'descr': '<f4', 'fortran_order': False, 'shape': (", "1, ", "2), }"},
                                               {"{'descr': '<f4', 'fortran_order': False, 'shape': (", "9", "), }"},
                                               {"{'descr': '<f4', 'fortran_order':", " ", "}"},
                                               {"", "'descr'", ""}}) {
    std::string header = before;
    while (header.size() + filler.size() + after.size() < 65000) header += filler;
    auto file = file_with(header + after, 3);
    CHECK(refusal(file).size() < 300);
  }
}

TEST_CASE("no byte changed or cut off in a file makes the parser crash, or accept a length that does not fit") {
  std::mt19937_64 random(5);
  tools::NpyArray array{tools::NpyType::kF32, {3, 5}, std::vector<std::byte>(60)};
  const auto good = tools::format_npy(array);
  for (size_t i = 0; i < good.size(); i++) {
    CHECK(!tools::parse_npy({good.begin(), good.begin() + static_cast<ptrdiff_t>(i)}).ok());
    auto bad = good;
    bad[i] = static_cast<std::byte>(random());
    const auto parsed = tools::parse_npy(bad);
    if (parsed.ok())
      CHECK(parsed.value().data.size() == parsed.value().count() * tools::element_bytes(parsed.value().type));
  }
}
