// Rows of tables in memory, by indices that are computed: GATHER, to the last bit.
#include "testbench/unit/compiler/partition/device_check.hpp"

using namespace weft;
using namespace weft::compiler;
using namespace weft::compiler::test_support;

namespace {

/// `rows` whole rows of %0, a table of so many rows of `columns`, by %1.
std::string gather(const char* element, int64_t table_rows, int64_t columns, int64_t rows) {
  return parameter(0, element, fmt::format("[{}, {}]", table_rows, columns)) +
         parameter(1, "i32", fmt::format("[{}, 1]", rows)) +
         fmt::format(
             "%2 = gather(%0, %1) {{collapsed_slice_dims = [0], index_vector_dim = 1, offset_dims = [1], "
             "slice_sizes = [1, {}], start_index_map = [0]}} : {}[{}, {}]\n",
             columns, element, rows, columns);
}

uint64_t gathers(const Kernel& kernel) {
  const auto& queue = kernel.queues[WEFT_QUEUE_DMA_IN];
  return static_cast<uint64_t>(std::ranges::count_if(
      queue, [](const auto& command) { return spec::decode_header(command).opcode == WEFT_OPCODE_GATHER; }));
}

}  // namespace

TEST_CASE("rows of tables in memory are gathered in any number and width and beyond the ends") {
  // Of nano: 16 columns to a block, 8 lanes of i32 to a word of VMEM.
  uint64_t seed = 1;
  for (const int64_t columns : {1, 7, 8, 16, 17, 40, 130})
    for (const int64_t rows : {1, 7, 8, 9, 33, 150}) {
      for (const char* element : {"f32", "i32"}) {
        const auto made =
            check(gather(element, 50, columns, rows) + "return \"y\" = %2\n",
                  {draw(seed, static_cast<size_t>(50 * columns), -8'000'000, 8'000'000, element[0] == 'f' ? 1.7e-3 : 1),
                   draw(seed + 1, static_cast<size_t>(rows), -60, 110)},
                  "nano", seed);
        CHECK(gathers(made) >= 1);
        seed += 2;
      }
    }
}

TEST_CASE("indices of many rows lie block by block where the vector unit takes rows in groups") {
  for (const char* chip : {"nano-4mxu", "v5e-1mxu", "v5e"})
    for (const int64_t rows : {100, 128, 300, 513}) {
      const std::string text = gather("f32", 1000, 40, rows) + "return \"y\" = %2\n";
      const auto count = static_cast<size_t>(rows);
      const auto made = check(text, {draw(3, 40'000, -999, 999, 0.3), draw(4, count, -60, 1070)}, chip, count);
      CHECK(gathers(made) >= 1);
    }
}

TEST_CASE("rows that the network computes with lie as its products want them and the table may be a weight too") {
  const auto made = check(gather("f32", 30, 24, 20) +
                              "%3 = transpose(%0) {permutation = [1, 0]} : f32[24, 30]\n"
                              "%4 = add(%2, %2) : f32[20, 24]\n"
                              "%5 = dot_general(%4, %3) {lhs_batch = [], lhs_contract = [1], rhs_batch = [], "
                              "rhs_contract = [0]} : f32[20, 30]\nreturn \"y\" = %5\nreturn \"z\" = %2\n",
                          {draw(1, 30 * 24, -3, 3), draw(2, 20, -3, 33)});
  CHECK(gathers(made) >= 1);
}

TEST_CASE("a table of constants is in memory once and its rows are gathered through reshapes") {
  std::string numbers;
  for (int i = 0; i < 12 * 10; i++) numbers += fmt::format("{}{}", i == 0 ? "" : ", ", i * 7 - 300);
  const std::string rows =
      "{collapsed_slice_dims = [0], index_vector_dim = 1, offset_dims = [1], slice_sizes = [1, 10], "
      "start_index_map = [0]} : f32[9, 10]\n";
  const auto made =
      check(parameter(0, "i32", "[9]") + "%1 = constant() [" + numbers + "] : f32[4, 3, 10]\n" +
                "%2 = reshape(%1) {dims = [12, 10]} : f32[12, 10]\n"
                "%3 = reshape(%0) {dims = [9, 1]} : i32[9, 1]\n%4 = negate(%3) : i32[9, 1]\n"
                "%5 = gather(%2, %3) " +
                rows + "%6 = gather(%2, %4) " + rows + "%7 = add(%5, %6) : f32[9, 10]\nreturn \"y\" = %7\n",
            {draw(5, 9, -4, 20)});
  CHECK(gathers(made) >= 2);
  CHECK(made.constants.size() < 2 * 12 * 64);
}

TEST_CASE("infinities and NaN of a table touch no row but their own") {
  Numbers table = draw(1, 40 * 9, -5, 5);
  for (const size_t row : {3, 7, 39})
    table[row * 9 + 4] = INFINITY, table[row * 9 + 5] = NAN, table[row * 9 + 6] = -0.0;
  CHECK(gathers(check(gather("f32", 40, 9, 60) + "return \"y\" = %2\n", {table, draw(2, 60, -3, 43)})) >= 1);
}
