/* model.h: products and ONNX networks on an open device, and what launches took, from C. C11 and C++.
 *
 * libweft_pjrt.so has these calls beside those of weft.h; docs/python.md tells of their Python form. Conventions are
 * those of weft.h, but that a failure is described by the calls' weft_error_info (may be null; its size is set) and not
 * by weft_last_error(). Texts that a call makes are JSON, end with a zero and are given back with weft_text_release().
 */
#ifndef WEFT_MODEL_H
#define WEFT_MODEL_H

#include "weft/weft.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_runner weft_runner;
typedef struct weft_model weft_model;

/** Null: nothing happens. */
void weft_text_release(char* text);

/** A queue on a device with the programs that ran last, and their buffers. It goes before or after the device is closed.
 * Calls on one runner from several threads take turns; runners of one device do not wait for each other.
 * ABI_MISMATCH: this library does not know the device's chip. */
WEFT_MUST_USE weft_status weft_runner_create(weft_device* device, weft_runner** runner, weft_error_info* error);
/** Null: nothing happens. No call may be under way. */
void weft_runner_release(weft_runner* runner);

/** What a call ran on the device. */
typedef struct weft_run_report {
  size_t size;
  uint64_t launches;
  uint64_t device_cycles; /**< of all launches, each from its first command to its last write */
  uint64_t start_cycle;   /**< of the first launch; 0: there was none */
  uint64_t end_cycle;     /**< of the last one */
  uint64_t macs;          /**< useful multiply-accumulates of the device */
  double host_seconds;    /**< wall-clock time of the operators that the host computed */
} weft_run_report;

/** C = A B, the bits of `weft gemm` and of the golden model. A is m x k, B k x n, C m x n, dense, row-major, each
 * dimension at least 1. precision: "bf16", "bf16x3" or "bf16x6" (A, B, C of float: operands are cut into 1, 2 or 3
 * numbers of bf16, sums are f32), "int8" (A and B of int8_t, C of int32_t). report may be null. INVALID_ARGUMENT: no such
 * precision, a dimension of 0; NO_DEVICE_MEMORY and the other errors of the device. Blocks. */
WEFT_MUST_USE weft_status weft_runner_gemm(weft_runner* runner, const char* precision, uint64_t m, uint64_t k,
                                           uint64_t n, const void* a, const void* b, void* c, weft_run_report* report,
                                           weft_error_info* error);

/** Compiles the ONNX network in file `path` for chip `preset`; what the chip has no commands for will run on the host.
 * bindings: null, or a JSON object with "shapes" (of inputs: {"x": [16, 64]}), "symbols" (sizes of symbolic dimensions:
 * {"batch": 16}) and "precision" (of products of f32: "bf16", the default, "bf16x3" or "bf16x6"). Needs no device.
 * INVALID_ARGUMENT: the file is no network, its shapes are not known, or no such precision; UNSUPPORTED: an operator that
 * is not built. */
WEFT_MUST_USE weft_status weft_model_compile(const char* path, const char* preset, const char* bindings,
                                             weft_model** model, weft_error_info* error);
/** Calls that run it go on. Null: nothing happens. */
void weft_model_release(weft_model* model);

/** {"inputs": [{"name", "type", "shape"}, ..], "outputs": [..], "parts": [{"where", "operators", "reasons"}, ..]}. Types
 * are "f32", "bf16", "f16", "f64", "i8" to "u64" and "pred", of a byte. */
WEFT_MUST_USE weft_status weft_model_describe(const weft_model* model, char** text, weft_error_info* error);

/** An array in host memory, dense, row-major. */
typedef struct weft_tensor {
  void* data;
  uint64_t bytes;
} weft_tensor;

/** Runs the network on a device of its preset. Inputs and outputs in the model's order, with the types and shapes of
 * weft_model_describe. INVALID_ARGUMENT: their number or their bytes, or a device of another preset. Blocks. */
WEFT_MUST_USE weft_status weft_runner_run(weft_runner* runner, const weft_model* model, const weft_tensor* inputs,
                                          uint32_t input_count, const weft_tensor* outputs, uint32_t output_count,
                                          weft_run_report* report, weft_error_info* error);

/** Notes from now on what this process launches: by weft_runner_gemm, by weft_runner_run, and by JAX through this
 * library. Any thread. INVALID_STATE: it does already. */
WEFT_MUST_USE weft_status weft_profile_begin(weft_error_info* error);

/** Ends it, once all that was launched meanwhile has ended. The text: {"programs": [{"name", "chip", "clock_hz", "peak_macs_per_cycle", "host_seconds", "calls",
 * "launches": [{"part", "start_cycle", "end_cycle"}, ..], "macs" (of all launches), "layers": [..], "layers_missing"}, ..]},
 * programs in the order in which their first call ended. "layers", if `layers` is 1, is where the cycles of one call of the program
 * went, operator by operator, as `weft run --profile` tells it: measured on a simulator of the same preset, whose launches
 * take the same cycles. "layers_missing" tells why there are none. INVALID_STATE: nothing is being noted. Blocks. */
WEFT_MUST_USE weft_status weft_profile_end(uint32_t layers, char** text, weft_error_info* error);

#ifdef __cplusplus
}
#endif

#endif
