// The capabilities, picked from the JSON's events.
#include "driver/transport/version_reply.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace weft::driver {
namespace {

/// Events of nlohmann's parser: keeps the value at capabilities.max_msg_fds. As in its tree, the last of two fields of
/// one name counts.
class Capabilities {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  bool null() { return scalar("null"); }
  bool boolean(bool) { return scalar("boolean"); }
  bool number_integer(number_integer_t) { return scalar("number"); }
  bool number_unsigned(number_unsigned_t value) {
    if (at_descriptors()) count_ = value, other_type_ = nullptr;
    return scalar(nullptr);
  }
  bool number_float(number_float_t, const string_t&) { return scalar("number"); }
  bool string(string_t&) { return scalar("string"); }
  bool binary(binary_t&) { return scalar("binary"); }
  bool start_object(size_t) {
    open("object");
    if (depth_ == 1) is_object_ = true;
    return true;
  }
  bool key(string_t& name) {
    if (depth_ == 1) in_capabilities_ = name == "capabilities";
    if (depth_ == 2) is_descriptors_ = in_capabilities_ && name == "max_msg_fds";
    return true;
  }
  bool end_object() { return close(); }
  bool start_array(size_t) {
    open("array");
    return true;
  }
  bool end_array() { return close(); }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception&) { return false; }

  bool is_object() const { return is_object_; }
  std::optional<uint64_t> count() const { return count_; }
  const char* other_type() const { return other_type_; }  ///< of max_msg_fds, where it is no count; null: it is one

 private:
  bool at_descriptors() const { return depth_ == 2 && is_descriptors_; }
  void forget() { count_.reset(), other_type_ = nullptr; }
  bool scalar(const char* type) {
    if (depth_ == 1 && in_capabilities_) forget();
    if (at_descriptors() && type != nullptr) other_type_ = type;
    return true;
  }
  void open(const char* type) {
    if (depth_ == 1 && in_capabilities_) forget();
    if (at_descriptors()) other_type_ = type;
    depth_++;
    if (depth_ == 2) is_descriptors_ = false;
  }
  bool close() {
    depth_--;
    return true;
  }

  uint64_t depth_ = 0;
  bool is_object_ = false, in_capabilities_ = false, is_descriptors_ = false;
  std::optional<uint64_t> count_;
  const char* other_type_ = nullptr;
};

}  // namespace

Result<uint64_t> descriptors_of_version_reply(std::string_view json) {
  constexpr size_t kShownBytes = 80;
  Capabilities capabilities;
  if (!json.empty()) {
    if (!nlohmann::json::sax_parse(json, &capabilities) || !capabilities.is_object()) {
      return failure(WEFT_ERROR_DEVICE_LOST, "the VERSION reply carries no JSON object: '{}'{}",
                     json.substr(0, kShownBytes), json.size() > kShownBytes ? " and more" : "");
    }
    if (capabilities.other_type() != nullptr) {
      return failure(WEFT_ERROR_UNSUPPORTED, "the server's max_msg_fds is no count of descriptors but a JSON {}",
                     capabilities.other_type());
    }
  }
  const uint64_t descriptors = capabilities.count().value_or(1);  // unless the server says otherwise
  if (descriptors == 0)
    return failure(WEFT_ERROR_UNSUPPORTED, "the server takes no descriptors: interrupts need one for each vector");
  return descriptors;
}

}  // namespace weft::driver
