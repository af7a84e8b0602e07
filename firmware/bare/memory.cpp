// The two functions that the compiler calls by itself: words where both sides allow it, eight at a time, since each
// load and store takes two cycles and a loop's turn three more.
#include <stddef.h>
#include <stdint.h>

namespace {

constexpr size_t kWord = sizeof(uint32_t), kBlock = 8 * kWord;

bool aligned(const void* a, const void* b) {
  return ((reinterpret_cast<uintptr_t>(a) | reinterpret_cast<uintptr_t>(b)) & (kWord - 1)) == 0;
}

}  // namespace

extern "C" void* memcpy(void* __restrict to, const void* __restrict from, size_t bytes) {
  auto* out = static_cast<uint8_t*>(to);
  const auto* in = static_cast<const uint8_t*>(from);
  if (aligned(to, from)) {
    for (; bytes >= kBlock; bytes -= kBlock, out += kBlock, in += kBlock) {
      auto* o = reinterpret_cast<uint32_t*>(out);
      const auto* i = reinterpret_cast<const uint32_t*>(in);
      const uint32_t a = i[0], b = i[1], c = i[2], d = i[3], e = i[4], f = i[5], g = i[6], h = i[7];
      o[0] = a, o[1] = b, o[2] = c, o[3] = d, o[4] = e, o[5] = f, o[6] = g, o[7] = h;
    }
    for (; bytes >= kWord; bytes -= kWord, out += kWord, in += kWord)
      *reinterpret_cast<uint32_t*>(out) = *reinterpret_cast<const uint32_t*>(in);
  }
  for (size_t i = 0; i < bytes; i++) out[i] = in[i];
  return to;
}

extern "C" void* memset(void* to, int value, size_t bytes) {
  auto* out = static_cast<uint8_t*>(to);
  if (aligned(to, to)) {
    const uint32_t word = static_cast<uint8_t>(value) * 0x0101'0101u;
    for (; bytes >= kBlock; bytes -= kBlock, out += kBlock) {
      auto* o = reinterpret_cast<uint32_t*>(out);
      o[0] = word, o[1] = word, o[2] = word, o[3] = word, o[4] = word, o[5] = word, o[6] = word, o[7] = word;
    }
    for (; bytes >= kWord; bytes -= kWord, out += kWord) *reinterpret_cast<uint32_t*>(out) = word;
  }
  for (size_t i = 0; i < bytes; i++) out[i] = static_cast<uint8_t>(value);
  return to;
}
