// Modules from text.
#include <charconv>
#include <cstdlib>
#include <map>

#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/ir/text.hpp"

namespace weft::compiler::ir {
namespace {

/// The words of one line.
class Line {
 public:
  explicit Line(std::string_view text) : rest_(text) { skip(); }

  [[nodiscard]] bool done() const { return rest_.empty(); }
  bool take(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    skip();
    return true;
  }
  void need(std::string_view token) {
    if (!take(token)) invalid("'{}' is missing before '{}'", token, rest_.substr(0, 20));
  }
  /// Letters, digits, and what numbers are made of.
  std::string_view word() {
    const size_t end = std::min(
        rest_.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-."), rest_.size());
    if (end == 0) invalid("a word is missing before '{}'", rest_.substr(0, 20));
    const auto text = rest_.substr(0, end);
    rest_.remove_prefix(end);
    skip();
    return text;
  }
  int64_t integer() {
    const auto text = word();
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) invalid("'{}' is no integer", text);
    return value;
  }
  std::string quoted() {
    if (!rest_.starts_with('"')) invalid("a quoted name is missing before '{}'", rest_.substr(0, 20));
    std::string text;
    size_t i = 1;
    for (; i < rest_.size() && rest_[i] != '"'; i++) {
      if (rest_[i] == '\\' && i + 3 < rest_.size()) {
        unsigned code = 0;
        std::from_chars(rest_.data() + i + 2, rest_.data() + i + 4, code, 16);
        text += static_cast<char>(code);
        i += 3;
      } else {
        text += rest_[i];
      }
    }
    if (i >= rest_.size()) invalid("a quoted name does not end");
    rest_.remove_prefix(i + 1);
    skip();
    return text;
  }
  Dims list() {
    Dims values;
    need("[");
    while (!take("]")) {
      values.push_back(integer());
      if (!take(",") && !rest_.starts_with(']')) invalid("',' or ']' is missing before '{}'", rest_.substr(0, 20));
    }
    return values;
  }
  TensorType type() {
    const auto name = word();
    const auto element = element_type_of(name);
    if (!element) invalid("there is no element type '{}'", name);
    return {*element, list()};
  }
  [[nodiscard]] char next() const { return rest_.empty() ? '\0' : rest_.front(); }

 private:
  void skip() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }
  std::string_view rest_;
};

template <typename T>
T element_from(std::string_view text) {
  if constexpr (std::is_same_v<T, bool>) {
    if (text != "true" && text != "false") invalid("'{}' is neither true nor false", text);
    return text == "true";
  } else if constexpr (std::is_integral_v<T>) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) invalid("'{}' is no element", text);
    return value;
  } else {
    const std::string word(text);
    char* end = nullptr;
    // A float is read as one: by way of a double it would be rounded twice.
    const double value = std::is_same_v<T, double> ? std::strtod(word.c_str(), &end)
                                                   : static_cast<double>(std::strtof(word.c_str(), &end));
    if (end != word.c_str() + word.size()) invalid("'{}' is no element", text);
    return static_cast<T>(value);
  }
}

/// The lines of a text, one after the other.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}
  [[nodiscard]] bool done() const { return rest_.empty(); }
  [[nodiscard]] int number() const { return number_; }  ///< of the line that was taken last
  [[nodiscard]] Line peek() const { return Line(rest_.substr(0, end())); }
  Line take() {
    const Line line = peek();
    rest_.remove_prefix(std::min(end() + 1, rest_.size()));
    number_++;
    return line;
  }

 private:
  [[nodiscard]] size_t end() const { return std::min(rest_.find('\n'), rest_.size()); }
  std::string_view rest_;
  int number_ = 0;
};

constexpr int kMaxDepth = 64;  // of regions in regions

class Parser {
 public:
  Parser(Lines& lines, int depth) : lines_(lines), depth_(depth) {}

  /// A module; that of a region ends with its brace.
  Module run() {
    while (!lines_.done()) {
      Line line = lines_.take();
      if (depth_ != 0 && line.take("}")) return std::move(module_);
      read(line);
    }
    if (depth_ != 0) invalid("a region does not end");
    return std::move(module_);
  }

 private:
  void read(Line line) {
    if (line.done()) return;
    if (line.take("module ")) {
      module_.name = line.quoted();
    } else if (line.take("return ")) {
      std::string name = line.quoted();
      line.need("=");
      module_.outputs.push_back({std::move(name), value(line)});
    } else {
      read_op(line);
    }
    if (!line.done()) invalid("more than the line should have");
  }

  /// The regions below an operator's line.
  std::vector<std::shared_ptr<const Module>> regions() {
    std::vector<std::shared_ptr<const Module>> list;
    while (!lines_.done() && lines_.peek().take("region {")) {
      if (depth_ >= kMaxDepth) unsupported("more than {} regions in one another", kMaxDepth);
      (void)lines_.take();
      list.push_back(std::make_shared<Module>(Parser(lines_, depth_ + 1).run()));
    }
    return list;
  }

  ValueId value(Line& line) {
    line.need("%");
    const int64_t number = line.integer();
    const auto found = values_.find(number);
    if (found == values_.end()) invalid("%{} is not computed before", number);
    return found->second;
  }

  void read_op(Line& line) {
    std::vector<int64_t> results;
    do {
      line.need("%");
      results.push_back(line.integer());
    } while (line.take(","));
    line.need("=");
    const auto name = line.word();
    const auto kind = op_kind_of(name);
    if (!kind) invalid("there is no operator '{}'", name);
    Op op;
    op.kind = *kind;
    line.need("(");
    while (!line.take(")")) {
      op.operands.push_back(value(line));
      (void)line.take(",");
    }
    std::vector<std::string_view> elements;
    if (line.take("[")) {
      while (!line.take("]")) {
        elements.push_back(line.word());
        (void)line.take(",");
      }
    }
    if (line.take("{")) {
      while (!line.take("}")) {
        const std::string key(line.word());
        line.need("=");
        op.attributes[key] = attribute(line);
        (void)line.take(",");
      }
    }
    line.need(":");
    Types types;
    do types.push_back(line.type());
    while (line.take(","));
    if (op.kind == OpKind::kConstant) op.constant = constant(types.front(), elements);
    if (!line.done()) invalid("more than the line should have");
    op.regions = regions();
    add(std::move(op), results, types);
  }

  static Attribute attribute(Line& line) {
    if (line.next() == '[') return line.list();
    if (line.next() == '"') return line.quoted();
    const auto text = line.word();
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc{} && end == text.data() + text.size()) return number;
    return std::string(text);
  }

  static TensorPtr constant(const TensorType& type, const std::vector<std::string_view>& elements) {
    check_size(type);
    if (elements.size() != type.count()) invalid("{} elements for {}", elements.size(), type.text());
    auto tensor = std::make_shared<Tensor>(type);
    visit_type(type.element, [&](auto t) {
      using T = typename decltype(t)::type;
      for (size_t i = 0; i < elements.size(); i++) tensor->as<T>()[i] = element_from<T>(elements[i]);
    });
    return tensor;
  }

  void add(Op op, const std::vector<int64_t>& results, const Types& types) {
    const bool input = op.kind == OpKind::kParameter;
    const ValueId first = module_.add(std::move(op));
    if (input) module_.inputs.push_back(first);
    const auto made = module_.op_of(first).results;
    if (made.size() != results.size() || made.size() != types.size())
      invalid("{} results; the operator has {}", results.size(), made.size());
    for (size_t i = 0; i < made.size(); i++) {
      if (module_.type(made[i]) != types[i])
        invalid("type {}; the operator computes {}", types[i].text(), module_.type(made[i]).text());
      if (!values_.emplace(results[i], made[i]).second) invalid("%{} is computed twice", results[i]);
    }
  }

  Lines& lines_;
  const int depth_;
  Module module_;
  std::map<int64_t, ValueId> values_;
};

}  // namespace

Result<Module> parse(std::string_view text) {
  return guarded([&] {
    Lines lines(text);
    try {
      return Parser(lines, 0).run();
    } catch (Refusal& refusal) {
      invalid("line {}: {}", lines.number(), refusal.error.message);
    }
  });
}

}  // namespace weft::compiler::ir
