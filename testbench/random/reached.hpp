/// Counts what random programs reached: commands by type, waits and posts, fault codes.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "testbench/random/random_program.hpp"

namespace weft::random {

class Reached {
 public:
  void count(const Program& program);
  /// One line a kind, sorted: "EPILOGUE f32 -> bf16, b row    123".
  [[nodiscard]] std::string text() const;
  [[nodiscard]] const std::map<std::string, uint64_t>& kinds() const { return kinds_; }

 private:
  std::map<std::string, uint64_t> kinds_;
};

}  // namespace weft::random
