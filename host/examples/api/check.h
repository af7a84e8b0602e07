/* What the examples do when a call fails: they say what the driver says, and end. */
#ifndef WEFT_EXAMPLES_CHECK_H
#define WEFT_EXAMPLES_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <weft/weft.h>

static inline void check_failed(const char* call) {
  weft_error_info info = WEFT_INIT(weft_error_info);
  if (weft_last_error(&info) == WEFT_ERROR_OK)
    fprintf(stderr, "%s: %s: %s\n%s\n", call, weft_status_name(info.code), info.message, info.hint);
  exit(1);
}

#define CHECK(call)                                   \
  do {                                                \
    if ((call) != WEFT_ERROR_OK) check_failed(#call); \
  } while (0)

#endif
