/// Fields of a JSON object that somebody else wrote: each with its type, the first that is wrong named with its path.
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::tools {

/// An object of a document and its path in it. The first failure sticks in the shared error; afterwards all fields read
/// as empty.
class JsonFields {
 public:
  /// Nesting beyond it is dropped: a parser that recurses would run out of stack.
  static constexpr int kMaxDepth = 12;
  /// A document; discarded if the text is no JSON.
  template <typename Json = nlohmann::json>
  [[nodiscard]] static Json parse(std::string_view text) {
    return Json::parse(
        text.begin(), text.end(), [](int depth, typename Json::parse_event_t, Json&) { return depth <= kMaxDepth; },
        false);
  }

  JsonFields(const nlohmann::json& object, std::string path, std::string& error)
      : object_(object), path_(std::move(path)), error_(error) {}

  template <typename Number>
  void get(const char* name, Number& out) const {
    const nlohmann::json* value = find(name);
    if (value == nullptr) return;
    if (!value->is_number_unsigned() || value->get<uint64_t>() > std::numeric_limits<Number>::max())
      return fail(name, "is no number that fits");
    out = value->get<Number>();
  }
  void get(const char* name, bool& out) const {
    const nlohmann::json* value = find(name);
    if (value == nullptr) return;
    if (!value->is_boolean()) return fail(name, "is neither true nor false");
    out = value->get<bool>();
  }
  /// A name; a number without a name stands for itself. Control characters are taken out: it is for a terminal.
  void get(const char* name, std::string& out) const {
    const nlohmann::json* value = find(name);
    if (value == nullptr) return;
    if (!value->is_string() && !value->is_number_unsigned()) return fail(name, "is neither a name nor a number");
    out = value->is_string() ? value->get<std::string>() : std::to_string(value->get<uint64_t>());
    std::erase_if(out, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
  }
  void get(const char* name, std::vector<uint32_t>& out) const { get_list(name, out); }
  void get(const char* name, std::vector<std::string>& out) const { get_list(name, out); }
  void get(const char* name, std::optional<uint64_t>& out) const {
    const nlohmann::json* value = find(name);
    if (value == nullptr || value->is_null()) return;
    get(name, out.emplace());
  }

  [[nodiscard]] bool has(const char* name) const { return object_.contains(name); }

  /// A field that is an object; null or wrong: nothing.
  [[nodiscard]] std::optional<JsonFields> object(const char* name) const {
    const nlohmann::json* value = find(name);
    if (value == nullptr || value->is_null()) return std::nullopt;
    if (!value->is_object()) {
      fail(name, "is no object");
      return std::nullopt;
    }
    return JsonFields(*value, path_ + name + ".", error_);
  }
  /// Calls `each` with the objects of an array.
  template <typename Each>
  void array(const char* name, Each&& each) const {
    const nlohmann::json* value = find(name);
    if (value == nullptr) return;
    if (!value->is_array()) return fail(name, "is no list");
    for (size_t i = 0; i < value->size() && error_.empty(); i++) {
      if (!(*value)[i].is_object()) return fail(name, "holds something else than objects");
      each(JsonFields((*value)[i], fmt::format("{}{}[{}].", path_, name, i), error_));
    }
  }

 private:
  template <typename Value>
  void get_list(const char* name, std::vector<Value>& out) const {
    const nlohmann::json* list = find(name);
    if (list == nullptr) return;
    if (!list->is_array()) return fail(name, "is no list");
    for (const nlohmann::json& value : *list) {  // each as a field of its own
      const nlohmann::json one = {{name, value}};
      JsonFields(one, path_, error_).get(name, out.emplace_back());
      if (!error_.empty()) return;
    }
  }
  [[nodiscard]] const nlohmann::json* find(const char* name) const {
    if (!error_.empty()) return nullptr;
    const auto found = object_.find(name);
    if (found == object_.end()) {
      fail(name, "is missing");
      return nullptr;
    }
    return &*found;
  }
  void fail(const char* name, std::string_view what) const {
    if (error_.empty()) error_ = fmt::format("'{}{}' {}", path_, name, what);
  }

  const nlohmann::json& object_;
  std::string path_;
  std::string& error_;
};

}  // namespace weft::tools
