// The two functions that the compiler calls by itself.
#include <stddef.h>
#include <stdint.h>

extern "C" void* memcpy(void* __restrict to, const void* __restrict from, size_t bytes) {
  auto* out = static_cast<uint8_t*>(to);
  const auto* in = static_cast<const uint8_t*>(from);
  for (size_t i = 0; i < bytes; i++) out[i] = in[i];
  return to;
}

extern "C" void* memset(void* to, int value, size_t bytes) {
  auto* out = static_cast<uint8_t*>(to);
  for (size_t i = 0; i < bytes; i++) out[i] = static_cast<uint8_t>(value);
  return to;
}
