/// VMEM in a Verilated model, seen as the bytes that it is: its words lie in banks, word a in bank a mod their number.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "model/verilated/model_array.hpp"

namespace weft::core {

/// Where the model keeps each bank. Does not own the model. Not thread-safe: between two evaluations only.
class VmemBanks {
 public:
  /// `storage`: the full name of a vmem_storage in a model of `context`; `word_bytes` of a VMEM word, a multiple of 16.
  VmemBanks(const VerilatedContext& context, const std::string& storage, uint32_t word_bytes)
      : word_bytes_(word_bytes) {
    for (unsigned bank = 0;; bank++) {
      const std::string ram = storage + ".gen_bank[" + std::to_string(bank) + "].u_ram";
      const ModelArray words = find_array(context, ram, "words"), checks = find_array(context, ram, "checks");
      if (words.data == nullptr || checks.data == nullptr) break;
      banks_.push_back({words.data, reinterpret_cast<uint8_t*>(checks.data), words.elements * word_bytes});
    }
  }

  [[nodiscard]] std::byte* word(uint64_t index) const {
    return banks_[index % banks_.size()].words + index / banks_.size() * word_bytes_;
  }
  /// Where 8 bytes of one granule are.
  [[nodiscard]] std::byte* granule(uint64_t index) const {
    return word(index * 8 / word_bytes_) + index * 8 % word_bytes_;
  }
  [[nodiscard]] uint64_t granule_value(uint64_t index) const {
    uint64_t value;
    std::memcpy(&value, granule(index), sizeof value);
    return value;
  }
  [[nodiscard]] uint8_t& check(uint64_t granule) const {
    const uint64_t granules = word_bytes_ / 8, word = granule / granules;
    return banks_[word % banks_.size()].checks[word / banks_.size() * granules + granule % granules];
  }
  /// Calls visit(offset from byte_address, std::byte* where it is stored, bytes) for each piece of a word in the range.
  template <typename Visit>
  void for_each_piece(uint64_t byte_address, uint64_t bytes, const Visit& visit) const {
    for (uint64_t at = 0; at < bytes;) {
      const uint64_t byte = (byte_address + at) % word_bytes_;
      const uint64_t piece = std::min(word_bytes_ - byte, bytes - at);
      visit(at, word((byte_address + at) / word_bytes_) + byte, piece);
      at += piece;
    }
  }
  void clear() const {
    for (const Bank& bank : banks_) {
      std::memset(bank.words, 0, bank.bytes);
      std::memset(bank.checks, 0, bank.bytes / 8);
    }
  }

 private:
  struct Bank {
    std::byte* words;
    uint8_t* checks;
    size_t bytes;
  };
  uint64_t word_bytes_;
  std::vector<Bank> banks_;
};

}  // namespace weft::core
