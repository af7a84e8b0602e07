// JSON from front to back into one string. No tree: where memory is refused, std::bad_alloc leaves nothing behind, and
// no destructor needs memory, as those of nlohmann's values do.
#pragma once
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace weft::driver {

/// Writes values in the order of the calls, two blanks a level. A field's value comes after its key(), an element of an
/// array alone. One thread. Throws std::bad_alloc.
class JsonWriter {
 public:
  /// `members` writes the fields by field() and key().
  template <typename Members>
  void object(Members&& members) {
    open('{');
    members();
    close('}');
  }
  template <typename Elements>
  void array(Elements&& elements) {
    open('[');
    elements();
    close(']');
  }
  void key(std::string_view name);
  /// Bytes that are no UTF-8 become U+FFFD.
  void value(std::string_view text);
  void value(const char* text) { value(std::string_view(text)); }
  template <std::unsigned_integral T>
  void value(T number) {
    if constexpr (std::same_as<T, bool>) {
      plain(number ? "true" : "false");
    } else {
      plain(std::to_string(number));
    }
  }
  void null() { plain("null"); }
  template <typename T>
  void field(std::string_view name, T&& content) {
    key(name);
    value(std::forward<T>(content));
  }

  /// The document and a newline.
  [[nodiscard]] std::string take() && { return std::move(text_) + "\n"; }

 private:
  void open(char bracket);
  void close(char bracket);
  void begin_value();
  void plain(std::string_view text);
  void line();
  void quote(std::string_view text);

  std::string text_;
  size_t level_ = 0;
  bool first_ = true;     ///< of the innermost object or array
  bool has_key_ = false;  ///< the next value belongs to it
};

}  // namespace weft::driver
