// .npy files: any bytes give an array whose data fits its shape, or an error; what is read is written and read again.
#include <vector>

#include "host/tools/formats/npy.hpp"
#include "testbench/fuzz/fuzz_target.hpp"

using namespace weft;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  const auto parsed = tools::parse_npy(std::vector<std::byte>(bytes, bytes + size));
  if (!parsed.ok()) {
    fuzz::require(!parsed.error().message.empty(), "an error has a message");
    return 0;
  }
  const tools::NpyArray& array = parsed.value();
  fuzz::require(array.data.size() == array.count() * tools::element_bytes(array.type), "the data fits the shape");
  const auto again = tools::parse_npy(tools::format_npy(array));
  fuzz::require(again.ok() && again.value().data == array.data && again.value().shape == array.shape,
                "what is written is read again");
  return 0;
}
