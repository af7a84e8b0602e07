/// The part of the matrix products that is compiled for the building machine's vector instructions. For matmul.cpp
/// only.
#pragma once
#include "model/golden/matmul.hpp"

namespace weft::golden::fast {

/// Vector instructions of this build: "avx512", "avx2" or "none". Data, so that it can be read on any host.
extern const char kIsa[];

/// Call only if the host has kIsa, and kIsa is not "none".
void multiply_panel(const PanelBf16& panel);
bool multiply_panel(const PanelInt8& panel);

}  // namespace weft::golden::fast
