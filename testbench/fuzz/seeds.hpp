/// The seeds of the corpora: valid inputs, made from the specification by the project's own writers.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weft::fuzz {

/// Bytes by the name of their file.
using Seeds = std::map<std::string, std::vector<uint8_t>>;

Seeds executable_seeds();
Seeds program_image_seeds();
Seeds firmware_image_seeds();
Seeds command_seeds();
Seeds core_seeds();
Seeds firmware_seeds();
Seeds state_page_seeds();
Seeds fault_schedule_seeds();
Seeds npy_seeds();
Seeds onnx_seeds();
Seeds chakra_seeds();
Seeds server_seeds();
Seeds client_seeds();

/// Appends an object's bytes.
template <typename T>
void append(std::vector<uint8_t>& bytes, const T& value) {
  const auto* first = reinterpret_cast<const uint8_t*>(&value);
  bytes.insert(bytes.end(), first, first + sizeof value);
}

}  // namespace weft::fuzz
