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
  /// `memory`: the full name of an mxu_acc_memory in a model of `context`; n columns of two banks of `bank_rows` rows,
  /// row r of a bank in RAM r % `rams`.
  AccColumns(const VerilatedContext& context, const std::string& memory, uint32_t n, uint32_t bank_rows, uint32_t rams)
      : bank_rows_(bank_rows), rams_(rams) {
    const std::string loops = memory + ".gen_loops.u_ram";
    const ModelArray words = find_array(context, loops, "words"), checks = find_array(context, loops, "checks");
    for (size_t j = 0; j < n; j++) {
      Column column;
      for (size_t b = 0; b < 2 * rams; b++) {
        if (words.data != nullptr) {  // one array: row r, column j at r N + j, bank after bank
          const size_t first = (b / rams * bank_rows + b % rams) * n + j;
          column.rams.push_back(
              {reinterpret_cast<uint32_t*>(words.data) + first, reinterpret_cast<uint8_t*>(checks.data) + first});
          column.stride = size_t{n} * rams;
          continue;
        }
        const std::string ram = memory + ".gen_structural.u_ram.gen_column[" + std::to_string(j) + "].gen_bank[" +
                                std::to_string(b) + "].u_ram";
        column.rams.push_back({reinterpret_cast<uint32_t*>(find_array(context, ram, "words").data),
                               reinterpret_cast<uint8_t*>(find_array(context, ram, "checks").data)});
        if (column.rams[b].data == nullptr || column.rams[b].checks == nullptr) return;  // found() is false
      }
      columns_.push_back(column);
    }
    found_ = true;
  }

  /// The model has such memories.
  [[nodiscard]] bool found() const { return found_; }
  [[nodiscard]] uint32_t& data(uint32_t row, size_t lane) const {
    const Column& column = columns_[lane];
    return column.rams[ram_of(row)].data[row % bank_rows_ / rams_ * column.stride];
  }
  [[nodiscard]] uint8_t& check(uint32_t row, size_t lane) const {
    const Column& column = columns_[lane];
    return column.rams[ram_of(row)].checks[row % bank_rows_ / rams_ * column.stride];
  }
  void clear() const {
    for (size_t lane = 0; lane < columns_.size(); lane++)
      for (uint32_t row = 0; row < 2 * bank_rows_; row++) data(row, lane) = 0, check(row, lane) = 0;
  }

 private:
  struct Ram {
    uint32_t* data;
    uint8_t* checks;
  };
  struct Column {
    std::vector<Ram> rams;  // of both banks
    size_t stride = 1;
  };
  [[nodiscard]] size_t ram_of(uint32_t row) const { return size_t{row} / bank_rows_ * rams_ + row % rams_; }
  uint32_t bank_rows_, rams_;
  bool found_ = false;
  std::vector<Column> columns_;
};

}  // namespace weft::core
