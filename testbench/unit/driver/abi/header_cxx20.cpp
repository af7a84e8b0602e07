// weft.h alone, as pedantic C++20.
#include "weft/weft.h"

static_assert(__cplusplus >= 202002L);
static_assert(sizeof(weft_command_options) == 64);

extern "C" size_t weft_test_header_cxx20() {
  const weft_error_info info = WEFT_INIT(weft_error_info);
  return info.size;
}
