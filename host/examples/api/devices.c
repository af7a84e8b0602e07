/* Lists the devices that could be opened: functions of a simulator that listens in a folder, and simulators to start. */
#include "check.h"

int main(int argc, char** argv) {
  const char* folder = argc > 1 ? argv[1] : NULL; /* null: /tmp/weft, where none needs to listen */
  uint32_t count = 0;
  CHECK(weft_enumerate(folder, NULL, 0, &count)); /* how many there are */
  weft_device_entry* entries = calloc(count + 1u, sizeof *entries);
  if (entries == NULL) return 1;
  entries[0].size = sizeof *entries; /* of all of them */
  const uint32_t capacity = count;
  CHECK(weft_enumerate(folder, entries, capacity, &count));
  if (count > capacity) count = capacity; /* one more has come meanwhile */

  for (uint32_t i = 0; i < count; i++) {
    printf("%-40s %-10s ", entries[i].name, entries[i].preset);
    if (entries[i].busy)
      printf("process %u has it\n", entries[i].owner);
    else
      printf("free\n");
  }
  free(entries);
  return count == 0;
}
