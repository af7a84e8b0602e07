// What a product is cut into.
#include "host/compiler/tiles/gemm_tiling.hpp"

#include <catch2/catch.hpp>

using namespace weft;
using namespace weft::compiler;

namespace {

DenseStep product(uint64_t m, uint64_t k, uint64_t n) {
  DenseStep step;
  step.name = "product";
  step.m = m;
  step.k = k;
  step.n = n;
  return step;
}

GemmTiling tiling(const char* chip, const DenseStep& step) {
  const auto plan = plan_gemm(*spec::find_chip(chip), step, spec::find_chip(chip)->vmem_words);
  REQUIRE(plan.ok());
  return plan.value();
}

/// Rows of all chunks, which must lie behind each other.
uint64_t rows_of(const GemmTiling& plan) {
  uint64_t next = 0;
  for (const Span& chunk : plan.row_chunks) {
    REQUIRE(chunk.first == next);
    next += chunk.count;
  }
  return next;
}

}  // namespace

TEST_CASE("the first row chunk has 2 N rows where HBM brings its weights more slowly than N rows use them") {
  const DenseStep step = product(4096, 4096, 4096);
  for (const auto& [chip, rows] : {std::pair("v5e", 256u), std::pair("v5e-1mxu", 128u)}) {
    INFO(chip);
    const GemmTiling plan = tiling(chip, step);
    CHECK(plan.row_chunks.front().count == rows);
    CHECK(rows_of(plan) == 4096);
  }
}

TEST_CASE("blocks that are computed faster than they can be stored leave in groups") {
  const GemmTiling shallow = tiling("nano", product(512, 8, 512));
  CHECK(shallow.store_blocks == 8);
  CHECK(shallow.output_slot_words >= 16 * 8 * shallow.output_row_words);
  CHECK(tiling("nano", product(512, 512, 512)).store_blocks == 1);
  CHECK(tiling("nano", product(512, 8, 8)).store_blocks == 1);  // one column block
}

TEST_CASE("what is placed fits VMEM and ACC, on every chip and for every shape") {
  for (const spec::Chip& chip : spec::kChips) {
    for (const uint64_t m : {1, 7, 64, 300, 5000}) {
      for (const uint64_t k : {1, 100, 4096}) {
        for (const uint64_t n : {1, 130, 4096}) {
          INFO(chip.name << " " << m << "x" << k << "x" << n);
          const auto found = plan_gemm(chip, product(m, k, n), chip.vmem_words);
          REQUIRE(found.ok());
          const GemmTiling& plan = found.value();
          REQUIRE(rows_of(plan) == m);
          uint64_t rows = 0;
          for (const Span& chunk : plan.row_chunks) rows = std::max(rows, chunk.count);
          REQUIRE(plan.words_used <= chip.vmem_words);
          REQUIRE(plan.acc_blocks >= 1);
          REQUIRE(plan.acc_blocks * rows <= chip.acc_bank_rows);
          REQUIRE(plan.store_blocks >= 1);
          REQUIRE(plan.store_blocks <= plan.column_blocks);
          REQUIRE(plan.output_slot_words >= rows * plan.store_blocks * plan.output_row_words);
        }
      }
    }
  }
}
