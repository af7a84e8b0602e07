/* The program's own memory as a buffer: the device works on it where it lies, without a copy in between. */
#define _GNU_SOURCE  // memfd_create
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

enum { kBytes = 1 << 20, kWords = kBytes / 4 };

int main(int argc, char** argv) {
  /* A simulated device is another process: it can reach a file in memory, and it must be able to trust its size. */
  const int file = memfd_create("import", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0 || ftruncate(file, kBytes) != 0 || fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
    perror("memfd");
    return 1;
  }
  uint32_t* words = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (words == MAP_FAILED) return 1;
  for (uint32_t i = 0; i < kWords; i++) words[i] = i;

  weft_device* device = NULL;
  weft_queue* queue = NULL;
  weft_buffer *own = NULL, *hbm = NULL;
  weft_event* event = NULL;
  CHECK(weft_open(argc > 1 ? argv[1] : "sim:nano", &device));
  CHECK(weft_queue_create(device, NULL, &queue));
  CHECK(weft_buffer_import(device, file, 0, kBytes, &own));
  close(file); /* the buffer has a descriptor of its own */
  CHECK(weft_buffer_create(device, WEFT_MEMORY_HBM, kBytes / 2, &hbm));
  CHECK(weft_copy(queue, hbm, 0, own, 0, kBytes / 2, NULL, NULL)); /* the first half, by way of HBM, over the second */
  CHECK(weft_copy(queue, own, kBytes / 2, hbm, 0, kBytes / 2, NULL, &event));
  CHECK(weft_event_wait(event, NULL));

  weft_buffer_release(own); /* the memory stays: it is the program's */
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < kWords; i++) wrong += words[i] != i % (kWords / 2);
  printf("%u of %u words are wrong\n", wrong, (unsigned)kWords);

  weft_event_release(event);
  weft_buffer_release(hbm);
  munmap(words, kBytes);
  CHECK(weft_queue_release(queue));
  CHECK(weft_close(device, NULL));
  return wrong != 0;
}
