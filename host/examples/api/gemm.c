/* A matrix product on the device: y = x W, of which the executable holds W (gemm_model.py, then `weft compile`). All
 * numbers are eighths, so bf16 holds them and every sum is exact: the result is compared without a tolerance. */
#include <inttypes.h>
#include <string.h>

#include "check.h"

enum { kRows = 64, kK = 96, kN = 32, kMaxBytes = 1 << 20 };

static float x(int row, int k) { return (float)((5 * row + k) % 16 - 8) / 8; }
static float w(int k, int n) { return (float)((7 * k + 3 * n) % 16 - 8) / 8; }

/* The upper half of a float, which is all of it that bf16 has. */
static uint16_t bf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (uint16_t)(bits >> 16);
}

int main(int argc, char** argv) {
  FILE* file = argc > 1 ? fopen(argv[1], "rb") : NULL;
  if (file == NULL) {
    fprintf(stderr, "usage: gemm FILE.weft [DEVICE]\n");
    return 1;
  }
  static char bytes[kMaxBytes];
  const size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);

  weft_device* device = NULL;
  weft_queue* queue = NULL;
  weft_program* program = NULL;
  weft_kernel* kernel = NULL;
  CHECK(weft_open(argc > 2 ? argv[2] : "sim:nano", &device));
  CHECK(weft_queue_create(device, NULL, &queue));
  CHECK(weft_program_load(device, bytes, size, &program));
  CHECK(weft_program_get_kernel(program, 0, &kernel));
  weft_argument_info in = WEFT_INIT(weft_argument_info), out = WEFT_INIT(weft_argument_info);
  CHECK(weft_kernel_get_argument(kernel, 0, &in)); /* rows lie pitch_bytes apart */
  CHECK(weft_kernel_get_argument(kernel, 1, &out));
  weft_argument arguments[2] = {{NULL, 0}}; /* in this process; a kernel reaches HOST and HBM alike */
  CHECK(weft_buffer_create(device, WEFT_MEMORY_HOST, in.size_bytes, &arguments[0].buffer));
  CHECK(weft_buffer_create(device, WEFT_MEMORY_HOST, out.size_bytes, &arguments[1].buffer));
  void *to = NULL, *from = NULL;
  CHECK(weft_buffer_map(arguments[0].buffer, &to));
  CHECK(weft_buffer_map(arguments[1].buffer, &from));
  for (int row = 0; row < kRows; row++)
    for (int k = 0; k < kK; k++) ((uint16_t*)((char*)to + (uint64_t)row * in.pitch_bytes))[k] = bf16(x(row, k));

  weft_event* event = NULL;
  weft_event_info end = WEFT_INIT(weft_event_info);
  CHECK(weft_launch(queue, kernel, arguments, 2, NULL, &event));
  CHECK(weft_event_wait(event, NULL));
  CHECK(weft_event_query(event, &end));
  int wrong = 0;
  for (int row = 0; row < kRows; row++)
    for (int n = 0; n < kN; n++) {
      float sum = 0;
      for (int k = 0; k < kK; k++) sum += x(row, k) * w(k, n);
      wrong += ((const float*)((const char*)from + (uint64_t)row * out.pitch_bytes))[n] != sum;
    }
  printf("%dx%dx%d: %d of %d elements are wrong, %" PRIu64 " device cycles\n", kRows, kK, kN, wrong, kRows * kN,
         end.end_cycle - end.start_cycle);

  weft_event_release(event);
  for (int i = 0; i < 2; i++) weft_buffer_release(arguments[i].buffer);
  weft_program_release(program);
  CHECK(weft_queue_release(queue));
  CHECK(weft_close(device, NULL));
  return wrong != 0;
}
