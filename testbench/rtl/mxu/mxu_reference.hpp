/// What the MXU must compute, by the host's own multiply-add; independent of the RTL's arithmetic.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "weft/spec/commands.hpp"

namespace weft::mxu_bench {

/// a * b + c for bf16 bits a, b and fp32 bits c: one rounding, subnormals are zero, NaN is 0x7fc00000.
uint32_t host_fma(uint16_t a, uint16_t b, uint32_t c);

/// The accumulators as the commands leave them, one after the other, and what the counters must say of them.
class Reference {
 public:
  Reference(unsigned n, unsigned acc_rows) : n_(n), acc_(size_t{n} * acc_rows) {}

  /// Executes a legal MATMUL on words of `n` lanes.
  void execute(const spec::MxuCommand& command, std::span<const uint16_t> vmem);

  [[nodiscard]] std::span<const uint32_t> row(unsigned row) const { return {&acc_[size_t{row} * n_], n_}; }
  [[nodiscard]] bool overflowed() const { return overflowed_; }
  [[nodiscard]] uint64_t macs() const { return macs_; }
  [[nodiscard]] uint64_t rows() const { return rows_; }

 private:
  unsigned n_;
  std::vector<uint32_t> acc_;
  bool overflowed_ = false;
  uint64_t macs_ = 0;
  uint64_t rows_ = 0;
};

}  // namespace weft::mxu_bench
