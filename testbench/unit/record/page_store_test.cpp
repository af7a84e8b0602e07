// Pages by their content.
#include "model/record/page_store.hpp"

#include <cstring>

#include "testbench/unit/record/hand_made.hpp"

using namespace weft;
using record::PageStore;

TEST_CASE("a page has one number, however often it comes, and a page that differs in one bit has another") {
  PageStore store;
  auto page = test::bytes_from(record::kPageBytes, 1);
  CHECK(store.number_of(page).number == 0);
  CHECK_FALSE(store.number_of(page).fresh);
  page[4095] ^= std::byte{1};
  const auto other = store.number_of(page);
  CHECK(other.fresh);
  CHECK(other.number == 1);
  page[4095] ^= std::byte{1};
  CHECK(store.number_of(page).number == 0);
}

TEST_CASE("a full store knows its pages and takes no more") {
  PageStore store;
  std::vector<std::byte> page(record::kPageBytes);
  for (uint32_t i = 0; i < record::kMaxPages; i++) {
    std::memcpy(page.data(), &i, sizeof i);
    REQUIRE(store.number_of(page).number == i);
  }
  const uint32_t more = record::kMaxPages;
  std::memcpy(page.data(), &more, sizeof more);
  CHECK(store.number_of(page).number == PageStore::kNone);
  const uint32_t known = 77;
  std::memcpy(page.data(), &known, sizeof known);
  CHECK(store.number_of(page).number == 77);
}
