/// Whether a link carries what is given to it.
#pragma once
#include <cstdint>

namespace weft::ici {

enum class LinkState : uint8_t { kUp, kRetraining, kDown };

}  // namespace weft::ici
