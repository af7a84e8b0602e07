/* Opens a device, fills a buffer in its memory, copies it to the host and looks at it. */
#include <stdio.h>
#include <weft/weft.h>

#define CHECK(call)                                                                   \
  do {                                                                                \
    const weft_status status = (call);                                                \
    if (status != WEFT_ERROR_OK) {                                                    \
      weft_error_info info = WEFT_INIT(weft_error_info);                              \
      if (weft_last_error(&info) != WEFT_ERROR_OK) return 2;                          \
      fprintf(stderr, "%s: %s: %s\n", #call, weft_status_name(status), info.message); \
      return 1;                                                                       \
    }                                                                                 \
  } while (0)

int main(int argc, char** argv) {
  const uint32_t pattern = 0x5eed1234, words = 1024;
  if (weft_version() >> 8 != WEFT_VERSION >> 8) {
    fprintf(stderr, "the library is version %#x, the header %#x\n", weft_version(), (unsigned)WEFT_VERSION);
    return 1;
  }
  weft_device* device = NULL;
  weft_buffer *hbm = NULL, *host = NULL;
  weft_queue* queue = NULL;
  weft_event* event = NULL;
  void* bytes = NULL;
  CHECK(weft_open(argc > 1 ? argv[1] : "sim:nano", &device));
  CHECK(weft_buffer_create(device, WEFT_MEMORY_HBM, words * 4, &hbm));
  CHECK(weft_buffer_create(device, WEFT_MEMORY_HOST, words * 4, &host));
  CHECK(weft_queue_create(device, NULL, &queue));
  CHECK(weft_fill(queue, hbm, 0, words * 4, pattern, NULL, NULL));
  CHECK(weft_copy(queue, host, 0, hbm, 0, words * 4, NULL, &event));
  CHECK(weft_event_wait(event, NULL));
  CHECK(weft_buffer_map(host, &bytes));
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < words; i++) wrong += ((const uint32_t*)bytes)[i] != pattern;
  printf("C, libweft %u.%u.%u: %u of %u words differ\n", weft_version() >> 16, weft_version() >> 8 & 0xff,
         weft_version() & 0xff, wrong, words);
  weft_event_release(event);
  CHECK(weft_queue_release(queue));
  weft_buffer_release(host);
  weft_buffer_release(hbm);
  CHECK(weft_close(device, NULL));
  return wrong != 0;
}
