/* Loads an executable (`weft compile`) and runs its first kernel on zeros, with the device cycles of its steps. */
#include <inttypes.h>

#include "check.h"

enum { kMaxArguments = 64, kMaxBytes = 1 << 26 };

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: launch FILE.weft [DEVICE]\n");
    return 1;
  }
  FILE* file = fopen(argv[1], "rb");
  if (file == NULL) {
    perror(argv[1]);
    return 1;
  }
  char* bytes = malloc(kMaxBytes);
  const size_t size = bytes != NULL ? fread(bytes, 1, kMaxBytes, file) : 0;
  fclose(file);

  weft_device* device = NULL;
  weft_queue* queue = NULL;
  weft_program* program = NULL;
  weft_kernel* kernel = NULL;
  CHECK(weft_open(argc > 2 ? argv[2] : "sim:nano", &device));
  CHECK(weft_queue_create(device, NULL, &queue));
  CHECK(weft_program_load(device, bytes, size, &program)); /* an executable is for one kind of chip */
  free(bytes);
  CHECK(weft_program_get_kernel(program, 0, &kernel));
  weft_kernel_info info = WEFT_INIT(weft_kernel_info);
  CHECK(weft_kernel_get_info(kernel, &info));
  printf("kernel '%s': %" PRIu64 " commands, %" PRIu64 " multiply-accumulates\n", info.name, info.command_count,
         info.macs);

  weft_argument arguments[kMaxArguments] = {{NULL, 0}};
  for (uint32_t i = 0; i < info.argument_count && i < kMaxArguments; i++) {
    weft_argument_info a = WEFT_INIT(weft_argument_info);
    CHECK(weft_kernel_get_argument(kernel, i, &a));
    printf("  %-6s '%s': %" PRIu64 " x %" PRIu64 ", %" PRIu64 " bytes\n",
           a.direction == WEFT_ARGUMENT_DIRECTION_OUTPUT ? "output" : "input", a.name, a.shape[0], a.shape[1],
           a.size_bytes);
    CHECK(weft_buffer_create(device, WEFT_MEMORY_HBM, a.size_bytes, &arguments[i].buffer)); /* cleared */
  }
  weft_command_options options = WEFT_INIT(weft_command_options);
  options.profile = 1;
  weft_event* event = NULL;
  CHECK(weft_launch(queue, kernel, arguments, info.argument_count, &options, &event));
  CHECK(weft_event_wait(event, NULL));
  weft_event_info end = WEFT_INIT(weft_event_info);
  CHECK(weft_event_query(event, &end));
  printf("ran in %" PRIu64 " device cycles\n", end.end_cycle - end.start_cycle);

  weft_event_release(event);
  for (uint32_t i = 0; i < info.argument_count && i < kMaxArguments; i++) weft_buffer_release(arguments[i].buffer);
  weft_program_release(program);
  CHECK(weft_queue_release(queue));
  CHECK(weft_close(device, NULL));
  return 0;
}
