// The same from C++: words that the host wrote go to the device's memory and back.
#include <weft/weft.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>

namespace {

void check(weft_status status) {
  if (status == WEFT_ERROR_OK) return;
  weft_error_info info = WEFT_INIT(weft_error_info);
  if (weft_last_error(&info) != WEFT_ERROR_OK) throw std::runtime_error("weft_last_error");
  throw std::runtime_error(info.message);
}

}  // namespace

int main(int argc, char** argv) try {
  constexpr uint32_t kWords = 1000;
  weft_device* device = nullptr;
  check(weft_open(argc > 1 ? argv[1] : "sim:nano", &device));
  weft_buffer *there = nullptr, *back = nullptr, *hbm = nullptr;
  check(weft_buffer_create(device, WEFT_MEMORY_HOST, kWords * 4, &there));
  check(weft_buffer_create(device, WEFT_MEMORY_HOST, kWords * 4, &back));
  check(weft_buffer_create(device, WEFT_MEMORY_HBM, kWords * 4, &hbm));
  void *from = nullptr, *to = nullptr;
  check(weft_buffer_map(there, &from));
  check(weft_buffer_map(back, &to));
  auto* words = static_cast<uint32_t*>(from);
  for (uint32_t i = 0; i < kWords; i++) words[i] = i * 2654435761u;
  weft_queue* queue = nullptr;
  check(weft_queue_create(device, nullptr, &queue));
  weft_event* event = nullptr;
  check(weft_copy(queue, hbm, 0, there, 0, kWords * 4, nullptr, nullptr));
  check(weft_copy(queue, back, 0, hbm, 0, kWords * 4, nullptr, &event));
  check(weft_event_wait(event, nullptr));
  const bool equal = std::equal(words, words + kWords, static_cast<const uint32_t*>(to));
  std::printf("C++: %s\n", equal ? "0 words differ" : "words differ");
  weft_event_release(event);
  check(weft_queue_release(queue));
  for (weft_buffer* buffer : {there, back, hbm}) weft_buffer_release(buffer);
  check(weft_close(device, nullptr));
  return equal ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
