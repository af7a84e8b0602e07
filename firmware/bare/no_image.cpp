// A build without a RISC-V compiler has no image.
#include "firmware/image.hpp"

namespace weft::fw {

const Image* embedded_image() { return nullptr; }

}  // namespace weft::fw
