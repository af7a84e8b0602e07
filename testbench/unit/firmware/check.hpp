/// CMocka from C++: its headers in their order, and a few checks that read well. CMocka leaves a test by longjmp.
#pragma once
extern "C" {
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
//
#include <cmocka.h>
}
#include <cstdio>

/// A status refused with this error, detail 0 and detail 1.
#define ASSERT_REFUSED(status, code, offset, value) \
  do {                                              \
    const auto s_ = (status);                       \
    assert_int_equal(s_.error, (code));             \
    assert_int_equal(s_.detail0, (offset));         \
    assert_int_equal(s_.detail1, (value));          \
  } while (0)

#define CODE(completion) WEFT_STATUS_CODE((completion).status)
