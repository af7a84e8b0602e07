// Rows of the data as steps and chips take them.
#include "host/examples/digits_train/batch.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "host/compiler/layout.hpp"

using namespace weft;

TEST_CASE(
    "the chips' shares of an epoch's batches are each row at most once, and the same rows on any number of chips") {
  const examples::RunSettings settings{{{64, 10}}, 5, 16, 100, {}};
  CHECK(examples::steps_per_epoch(settings) == 6);
  examples::BatchOrder order(settings);
  for (const uint64_t epoch : {0, 1}) {
    std::set<uint32_t> seen;
    for (uint64_t step = epoch * 6; step < epoch * 6 + 6; step++) {
      const auto whole = order.rows(step, 0, 1);
      const std::vector<uint32_t> batch(whole.begin(), whole.end());
      REQUIRE(batch.size() == 16);
      std::vector<uint32_t> shares;
      for (uint32_t chip = 0; chip < 4; chip++) {
        const auto rows = order.rows(step, chip, 4);
        shares.insert(shares.end(), rows.begin(), rows.end());
      }
      CHECK(shares == batch);
      for (const uint32_t row : batch) CHECK(seen.insert(row).second);
    }
    CHECK(*seen.rbegin() < 100);
  }
}

TEST_CASE("a batch has the pixels of its rows in bf16 and one 1 a row, at the label") {
  examples::Digits data;
  for (int digit = 0; digit < 3; digit++) {
    for (size_t p = 0; p < examples::kPixels; p++) data.pixels.push_back(static_cast<float>(digit) / 16);
    data.labels.push_back(digit + 4);
  }
  const std::vector<uint32_t> rows{2, 0};
  const auto batch = examples::batch_of(data, rows);
  CHECK(batch.rows == 2);
  CHECK(batch.x.front() == compiler::bf16_from_f32(0.125F));
  CHECK(batch.x.back() == 0);
  CHECK(std::ranges::count(batch.targets, 1.0F) == 2);
  CHECK(batch.targets[6] == 1);
  CHECK(batch.targets[10 + 4] == 1);
}
