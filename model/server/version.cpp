// JSON of strangers, read as the parser's events: no tree of values is made, whose destructor would need memory.
#include "model/server/version.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "model/chip/host_memory.hpp"
#include "model/chip/tenant_limits.hpp"

namespace weft::server {
namespace {

constexpr size_t kMaxTextBytes = 4096;
constexpr std::string_view kTransferBytes = "max_data_xfer_size";

enum class Type : uint8_t { kNumber, kBoolean, kObject, kOther };

struct Capability {
  std::string_view name;
  Type type;
  uint64_t value;  // the server's; of numbers
};

constexpr std::array<Capability, 6> kCapabilities{
    {{"max_msg_fds", Type::kNumber, chip::tenant_limits::kMessageDescriptors},
     {kTransferBytes, Type::kNumber, chip::tenant_limits::kTransferBytes},
     {"max_dma_maps", Type::kNumber, chip::tenant_limits::kRangesTold},
     {"pgsizes", Type::kNumber, chip::HostMemory::kPageBytes},
     {"twin_socket", Type::kObject, 0},        // known, and not had
     {"write_multiple", Type::kBoolean, 0}}};  // the same

/// Events of nlohmann's parser. Each value is judged when it comes: the text's own must be an object, "capabilities" in
/// it one as well, and what stands there of the type that the protocol gives it.
class Reader {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  explicit Reader(Proposal& proposal) : proposal_(proposal) {}

  bool null() { return value(Type::kOther); }
  bool boolean(bool) { return value(Type::kBoolean); }
  bool number_integer(number_integer_t) { return value(Type::kOther); }
  bool number_unsigned(number_unsigned_t number) { return value(Type::kNumber, number); }
  bool number_float(number_float_t, const string_t&) { return value(Type::kOther); }
  bool string(string_t&) { return value(Type::kOther); }
  bool binary(binary_t&) { return value(Type::kOther); }
  bool start_object(size_t) { return value(Type::kObject) && ++depth_ != 0; }
  bool end_object() { return depth_-- != 0; }
  bool start_array(size_t) { return value(Type::kOther) && ++depth_ != 0; }
  bool end_array() { return depth_-- != 0; }
  bool key(string_t& name) {
    if (depth_ == 1) in_capabilities_ = name == "capabilities";
    if (depth_ == 2 && in_capabilities_) {
      const auto known = std::ranges::find(kCapabilities, name, &Capability::name);
      capability_ = known != kCapabilities.end() ? &*known : nullptr;
    }
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception&) { return false; }

 private:
  bool value(Type type, uint64_t number = 0) {
    if (depth_ == 0 || (depth_ == 1 && in_capabilities_)) return type == Type::kObject;
    if (depth_ != 2 || !in_capabilities_ || capability_ == nullptr) return true;
    if (type != capability_->type) return false;
    if (type != Type::kNumber) return true;
    if (capability_->name == kTransferBytes) proposal_.transfer_bytes = number;
    if (std::ranges::find(proposal_.names, capability_->name) == proposal_.names.end())
      proposal_.names.emplace_back(capability_->name);
    return true;
  }

  Proposal& proposal_;
  size_t depth_ = 0;
  bool in_capabilities_ = false;
  const Capability* capability_ = nullptr;
};

}  // namespace

std::optional<Proposal> read_proposal(std::span<const std::byte> text) {
  Proposal proposal;
  if (text.empty()) return proposal;
  if (text.size() > kMaxTextBytes || text.back() != std::byte{0}) return std::nullopt;
  const std::string_view json(reinterpret_cast<const char*>(text.data()), text.size() - 1);
  Reader reader(proposal);
  if (!json.empty() && !nlohmann::json::sax_parse(json, &reader)) return std::nullopt;
  if (proposal.transfer_bytes == 0) return std::nullopt;
  return proposal;
}

std::string answer_proposal(const Proposal& proposal) {
  std::string values;
  for (const Capability& known : kCapabilities) {
    if (std::ranges::find(proposal.names, known.name) != proposal.names.end())
      values += fmt::format("{}\"{}\":{}", values.empty() ? "" : ",", known.name, known.value);
  }
  return fmt::format(R"({{"capabilities":{{{}}}}})", values);
}

}  // namespace weft::server
