/// A table for a terminal: columns as wide as what stands in them.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

namespace weft::tools {

/// Columns with headings; rows of as many cells. Two spaces between columns, none at the end of a line.
class TextTable {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string heading;
    Align align;
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// Cells that are missing are empty, those beyond the last column are not shown.
  void add(std::vector<std::string> cells) {
    cells.resize(columns_.size());
    rows_.push_back(std::move(cells));
  }
  [[nodiscard]] size_t rows() const { return rows_.size(); }

  /// Headings and rows, each line behind `indent` and with its newline.
  [[nodiscard]] std::string text(const std::string& indent) const {
    std::vector<std::string> headings;
    for (const Column& column : columns_) headings.push_back(column.heading);
    std::string out = row_text(headings, indent);
    for (const auto& row : rows_) out += row_text(row, indent);
    return out;
  }

 private:
  [[nodiscard]] size_t width(size_t column) const {
    size_t widest = columns_[column].heading.size();
    for (const auto& row : rows_) widest = std::max(widest, row[column].size());
    return widest;
  }
  [[nodiscard]] std::string row_text(const std::vector<std::string>& cells, const std::string& indent) const {
    std::string line = indent;
    for (size_t i = 0; i < columns_.size(); i++) {
      const std::string room(width(i) - cells[i].size(), ' ');
      line += (i == 0 ? "" : "  ") + (columns_[i].align == Align::kRight ? room + cells[i] : cells[i] + room);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
  }

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace weft::tools
