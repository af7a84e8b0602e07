/// What an observer asks of the management socket: one line of JSON. A pure function of bytes; any input is safe.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::server {

/// Version of requests and replies; a reader of another one is told so.
inline constexpr uint32_t kManagementVersion = 1;
/// A longer line is refused, and its connection ends.
inline constexpr size_t kMaxManagementRequestBytes = 4096;

struct ManagementRequest {
  enum class Kind : uint8_t {
    kState,     ///< the chip and all functions
    kFunction,  ///< state page, rings, log and fault records of one function
    kReset,     ///< resets one function
    kLinks,     ///< all links of the slice
    kInject,    ///< a fault of a chip's links
    kReplace,   ///< a spare takes the place of a cube of 4 x 4 x 4 chips
  };
  static constexpr uint32_t kDefaultEntries = 32;
  static constexpr uint32_t kMaxEntries = 256;

  Kind kind = Kind::kState;
  uint32_t chip = 0;  ///< of a slice
  uint32_t function = 0;
  uint32_t entries = kDefaultEntries;  ///< of each ring, kFunction
  bool force = false;                  ///< kReset: also if somebody owns it
  uint32_t kind_of_fault = 0;          ///< kInject: weft_injected_fault, one of links
  uint32_t port = 0;                   ///< kInject
  uint32_t nth = 1, count = 1;         ///< kInject: occasions, as INJECT_NTH and INJECT_COUNT
  uint32_t value = 0;                  ///< kInject
  uint32_t cube = 0;                   ///< kReplace
};

/// {"weft_management":1,"request":"state"}, {…,"request":"function","function":0,"entries":32},
/// {…,"request":"reset","function":0,"force":false}, {…,"request":"links"},
/// {…,"request":"inject","chip":0,"kind":"link_down","port":0,"nth":1,"count":1,"value":0},
/// {…,"request":"replace","cube":0}. `line` is without its
/// newline. Nothing and a sentence in `error`: it is none, of another version, or has a field that is unknown, missing
/// or out of range. Each except links and replace may say of which chip of a slice it is ("chip":1): there are `chips`, each with
/// `functions`.
std::optional<ManagementRequest> parse_management_request(std::string_view line, size_t chips, size_t functions,
                                                          std::string& error);

}  // namespace weft::server
