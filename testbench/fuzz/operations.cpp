// Cutting an input into operations, and changing their sequence.
#include "testbench/fuzz/operations.hpp"

#include <algorithm>
#include <random>

#include "testbench/fuzz/boundary_values.hpp"
#include "testbench/fuzz/fuzz_target.hpp"

namespace weft::fuzz {
namespace {

constexpr size_t kMaxOperations = 256;
constexpr size_t kMaxRun = 8;
constexpr size_t kMaxRepeats = 16;

class Mutator {
 public:
  Mutator(Operations& operations, unsigned seed, const Operations& templates)
      : operations_(operations), random_(seed), templates_(templates) {}

  void change() {
    if (operations_.empty()) return insert();
    switch (draw(12)) {
      case 0:
      case 1:
        return insert();
      case 2:
        return repeat();
      case 3: {
        const auto [first, last] = run();
        operations_.erase(first, last);
        return;
      }
      case 4:
        return move();
      case 5:
        std::iter_swap(place(), place());
        return;
      case 6:
        return change_bytes(*place());
      case 7:
        place()->front() = static_cast<uint8_t>(random_());
        return;
      default:
        return put_boundary_value(random_, std::span(*place()).subspan(1));
    }
  }

 private:
  using Place = Operations::iterator;

  uint64_t draw(uint64_t below) { return random_() % below; }
  Place place() { return operations_.begin() + static_cast<ptrdiff_t>(draw(operations_.size())); }
  Place gap() { return operations_.begin() + static_cast<ptrdiff_t>(draw(operations_.size() + 1)); }
  std::pair<Place, Place> run() {
    const Place first = place();
    const auto left = static_cast<uint64_t>(operations_.end() - first);
    return {first, first + static_cast<ptrdiff_t>(1 + draw(std::min<uint64_t>(left, kMaxRun)))};
  }

  void insert() {
    if (templates_.empty()) return;
    const size_t first = draw(templates_.size());
    const size_t count = 1 + draw(std::min(templates_.size() - first, kMaxRun));
    put(gap(), Operations(templates_.begin() + static_cast<ptrdiff_t>(first),
                          templates_.begin() + static_cast<ptrdiff_t>(first + count)));
  }

  void repeat() {
    const auto [first, last] = run();
    const Operations copy(first, last);
    Operations all;
    for (uint64_t times = 1 + draw(draw(2) == 0 ? kMaxRepeats : 2); times != 0; times--)
      all.insert(all.end(), copy.begin(), copy.end());
    put(last, all);
  }

  void move() {
    const auto [first, last] = run();
    const Operations taken(first, last);
    operations_.erase(first, last);
    put(gap(), taken);
  }

  void put(Place at, const Operations& more) {
    if (operations_.size() + more.size() <= kMaxOperations) operations_.insert(at, more.begin(), more.end());
  }

  void change_bytes(Operation& operation) {
    const size_t operands = operation.size() - 1;
    if (operands == 0) return;
    const size_t changed = LLVMFuzzerMutate(&operation[1], operands, operands);
    std::fill(operation.begin() + 1 + static_cast<ptrdiff_t>(changed), operation.end(), uint8_t{0});
  }

  Operations& operations_;
  std::mt19937_64 random_;
  const Operations& templates_;
};

}  // namespace

OperationFormat format_of(const Seeds& seeds, size_t (*operand_bytes)(std::span<const uint8_t>)) {
  OperationFormat format{operand_bytes, {}};
  for (const auto& [name, bytes] : seeds) {
    const Operations operations = split_operations(bytes, format);
    format.templates.insert(format.templates.end(), operations.begin(), operations.end());
  }
  return format;
}

Operations split_operations(std::span<const uint8_t> bytes, const OperationFormat& format) {
  Operations operations;
  while (!bytes.empty()) {
    const size_t size = std::min(bytes.size(), 1 + format.operand_bytes(bytes));
    operations.emplace_back(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
    bytes = bytes.subspan(size);
  }
  return operations;
}

size_t mutate_operations(uint8_t* data, size_t size, size_t max_size, unsigned seed, const OperationFormat& format) {
  if (seed % 8 == 7 && size != 0) return LLVMFuzzerMutate(data, size, max_size);
  Operations operations = split_operations({data, size}, format);
  Mutator mutator(operations, seed, format.templates);
  for (unsigned changes = 1 + seed % 4; changes != 0; changes--) mutator.change();
  size_t written = 0;
  for (const Operation& operation : operations) {
    if (operation.size() > max_size - written) break;
    std::copy(operation.begin(), operation.end(), data + written);
    written += operation.size();
  }
  return written;
}

}  // namespace weft::fuzz
