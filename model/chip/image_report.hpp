/// What can be said of a firmware image and of a processor that runs it, whatever either holds.
#pragma once
#include <string>

#include "firmware/image.hpp"
#include "model/rv32/processor.hpp"

namespace weft::chip {

/// Empty: the manager's processor takes the image. Else why it is refused: its size, its checksum, or a State of another
/// layout or in another place than this build's.
[[nodiscard]] std::string image_error(const fw::Image& image);

/// "0x0012a function+0x12" of a program counter.
[[nodiscard]] std::string image_place(const fw::Image& image, uint32_t pc);

/// Where the processor stands and, as far as the stack tells, how it came there: return addresses behind calls.
[[nodiscard]] std::string image_backtrace(const fw::Image& image, const rv32::Processor& processor);

/// All registers with their names in the ABI, in lines that begin with a line break.
[[nodiscard]] std::string register_lines(const rv32::Processor& processor);

}  // namespace weft::chip
