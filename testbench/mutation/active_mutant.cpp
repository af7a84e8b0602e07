// The number of the living mutant, from the environment: benches need no argument and no change.
#include <cstdint>
#include <cstdlib>

extern "C" uint32_t weft_active_mutant() {
  const char* number = std::getenv("WEFT_MUTANT");
  return number == nullptr ? 0 : static_cast<uint32_t>(std::strtoul(number, nullptr, 10));
}
