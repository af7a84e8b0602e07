/// Seen by Verilator's runtime before its own headers (cmake/Verilate.cmake): where its printing goes.
#pragma once

extern "C++" int weft_model_printf(const char* format, ...) __attribute__((format(printf, 1, 2)));
#define VL_PRINTF weft_model_printf
#define VL_USER_STOP
#define VL_USER_FATAL
