// std::set_new_handler().
#include "model/server/memory_spare.hpp"

#include <cstdlib>
#include <new>

namespace weft::server {
namespace {

constexpr size_t kSpareBytes = size_t{4} << 20;  // more than any reply

void* spare = nullptr;
std::new_handler former = nullptr;

void give_back() {
  if (spare == nullptr) throw std::bad_alloc();
  std::free(spare);
  spare = nullptr;
}

}  // namespace

MemorySpare::MemorySpare() {
  spare = std::malloc(kSpareBytes);
  former = std::set_new_handler(give_back);
}

MemorySpare::~MemorySpare() {
  std::set_new_handler(former);
  std::free(spare);
  spare = nullptr;
}

bool MemorySpare::refill() {
  if (spare == nullptr) spare = std::malloc(kSpareBytes);
  return spare != nullptr;
}

}  // namespace weft::server
