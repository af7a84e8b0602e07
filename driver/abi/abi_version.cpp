// C ABI: the library's version, which is the project's.
#include <string_view>

#include "weft/weft.h"

#define WEFT_TEXT_OF(value) #value
#define WEFT_TEXT(value) WEFT_TEXT_OF(value)

static_assert(std::string_view(WEFT_PROJECT_VERSION) ==
                  WEFT_TEXT(WEFT_VERSION_MAJOR) "." WEFT_TEXT(WEFT_VERSION_MINOR) "." WEFT_TEXT(WEFT_VERSION_PATCH),
              "weft.h and the project's version in CMakeLists.txt are one number");

uint32_t weft_version(void) { return WEFT_VERSION; }
