// Things that wait, and things by number.
#include "model/chip/timed_heap.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "model/chip/number_window.hpp"

using weft::chip::NumberWindow;
using weft::chip::TimedHeap;

TEST_CASE("A timed heap gives what a map in the order of the keys gives") {
  std::mt19937 random(1);
  using Key = std::pair<uint32_t, uint32_t>;
  TimedHeap<Key, std::string> heap;
  std::map<Key, std::string> map;
  for (uint32_t i = 0; i < 20'000; i++) {
    if (random() % 2 != 0) {
      const Key key{random() % 50, i};
      heap.push(key, std::to_string(i));
      map.emplace(key, std::to_string(i));
    } else if (!map.empty()) {
      REQUIRE(heap.key() == map.begin()->first);
      const auto [key, text] = heap.pop();
      REQUIRE(key == map.begin()->first);
      REQUIRE(text == map.begin()->second);
      map.erase(map.begin());
    }
    REQUIRE(heap.empty() == map.empty());
  }
}

TEST_CASE("A window by number gives each thing once, in any order") {
  std::mt19937 random(2);
  NumberWindow<std::string> window;
  std::map<uint64_t, std::string> map;
  for (uint64_t i = 0; i < 20'000; i++) {
    if (random() % 2 != 0 || map.empty()) {
      const uint64_t number = window.add(std::to_string(i));
      REQUIRE(map.emplace(number, std::to_string(i)).second);
    } else {
      auto place = map.lower_bound(random() % (i + 1));
      if (place == map.end()) place = map.begin();
      REQUIRE(window.take(place->first) == place->second);
      REQUIRE_FALSE(window.take(place->first).has_value());
      map.erase(place);
    }
  }
  REQUIRE_FALSE(window.take(1'000'000).has_value());
  for (const auto& [number, text] : map) REQUIRE(window.take(number) == text);
}
