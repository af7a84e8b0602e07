/// Counts what random programs reached: commands by type, waits and posts, fault codes.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "testbench/random/random_program.hpp"

namespace weft::random {

class Reached {
 public:
  void count(const Program& program);
  /// One line a kind, sorted: "EPILOGUE f32 -> bf16, b row    123".
  [[nodiscard]] std::string text() const;
  [[nodiscard]] const std::map<std::string, uint64_t>& kinds() const { return kinds_; }
  /// Functional bins, opcode x dtype x waits x posts: "MATMUL.bf16.waits1.posts2"; a DMA command's dtype is its queue,
  /// a VPU command's that of its source, that of others "none".
  [[nodiscard]] const std::map<std::string, uint64_t>& bins() const { return bins_; }
  /// Every bin that there is for the opcodes that are built.
  [[nodiscard]] static std::vector<std::string> all_bins();

 private:
  std::map<std::string, uint64_t> bins_;
  std::map<std::string, uint64_t> kinds_;
};

}  // namespace weft::random
