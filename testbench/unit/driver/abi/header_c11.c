/* weft.h alone, as pedantic C11. */
#include "weft/weft.h"

#if __STDC_VERSION__ < 201112L
#error "C11 is meant"
#endif

const size_t weft_test_header_c11 = sizeof(weft_error_info);
