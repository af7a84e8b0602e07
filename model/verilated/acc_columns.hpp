/// The accumulators of one MXU in a Verilated model, by row and lane, whichever form of their RAMs the model has.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "model/verilated/model_array.hpp"

namespace weft::core {

/// Where the model keeps each column. Does not own the model. Not thread-safe: between two evaluations only.
class AccColumns {
 public:
  /// `memory`: the full name of an mxu_acc_memory in a model of `context`; n columns of two banks of `bank_rows` rows.
  AccColumns(const VerilatedContext& context, const std::string& memory, uint32_t n, uint32_t bank_rows)
      : bank_rows_(bank_rows) {
    const std::string loops = memory + ".gen_loops.u_ram";
    const ModelArray words = find_array(context, loops, "words"), checks = find_array(context, loops, "checks");
    for (size_t j = 0; j < n; j++) {
      Column column;
      for (size_t b = 0; b < 2; b++) {
        if (words.data != nullptr) {  // one array: row r, column j at r N + j, bank after bank
          column.bank[b] = {reinterpret_cast<uint32_t*>(words.data) + b * bank_rows * n + j,
                            reinterpret_cast<uint8_t*>(checks.data) + b * bank_rows * n + j};
          column.stride = n;
          continue;
        }
        const std::string ram = memory + ".gen_structural.u_ram.gen_column[" + std::to_string(j) + "].gen_bank[" +
                                std::to_string(b) + "].u_ram";
        column.bank[b] = {reinterpret_cast<uint32_t*>(find_array(context, ram, "words").data),
                          reinterpret_cast<uint8_t*>(find_array(context, ram, "checks").data)};
        if (column.bank[b].data == nullptr || column.bank[b].checks == nullptr) return;  // found() is false
      }
      columns_.push_back(column);
    }
    found_ = true;
  }

  /// The model has such memories.
  [[nodiscard]] bool found() const { return found_; }
  [[nodiscard]] uint32_t& data(uint32_t row, size_t lane) const {
    const Column& column = columns_[lane];
    return column.bank[row / bank_rows_].data[row % bank_rows_ * column.stride];
  }
  [[nodiscard]] uint8_t& check(uint32_t row, size_t lane) const {
    const Column& column = columns_[lane];
    return column.bank[row / bank_rows_].checks[row % bank_rows_ * column.stride];
  }
  void clear() const {
    for (size_t lane = 0; lane < columns_.size(); lane++)
      for (uint32_t row = 0; row < 2 * bank_rows_; row++) data(row, lane) = 0, check(row, lane) = 0;
  }

 private:
  struct Bank {
    uint32_t* data;
    uint8_t* checks;
  };
  struct Column {
    Bank bank[2] = {};
    size_t stride = 1;
  };
  uint32_t bank_rows_;
  bool found_ = false;
  std::vector<Column> columns_;
};

}  // namespace weft::core
