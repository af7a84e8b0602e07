// A sealed memfd. Each acquire load pairs with the client's release of what its doorbell announces.
#include "model/server/doorbell_page.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "weft/spec/spec.h"

namespace weft::server {

std::unique_ptr<DoorbellPage> DoorbellPage::make() {
  FileDescriptor file(::memfd_create("weft doorbells", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.valid() || ::ftruncate(file.get(), WEFT_PCI_BAR2_BYTES) != 0 ||
      ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return nullptr;
  void* data = ::mmap(nullptr, WEFT_PCI_BAR2_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (data == MAP_FAILED) return nullptr;
  return std::unique_ptr<DoorbellPage>(new DoorbellPage(std::move(file), static_cast<uint32_t*>(data)));
}

DoorbellPage::~DoorbellPage() { ::munmap(words_, WEFT_PCI_BAR2_BYTES); }

std::optional<DoorbellPage::Ring> DoorbellPage::take() {
  for (size_t word = 0; word < kWords; word++) {
    const uint32_t value = load(word);
    if (value == seen_[word]) continue;
    seen_[word] = value;
    return Ring{static_cast<uint32_t>(word * sizeof value), value};
  }
  return std::nullopt;
}

bool DoorbellPage::rung() const {
  for (size_t word = 0; word < kWords; word++) {
    if (load(word) != seen_[word]) return true;
  }
  return false;
}

void DoorbellPage::clear() {
  seen_.fill(0);
  for (size_t word = 0; word < kWords; word++) __atomic_store_n(&words_[word], 0, __ATOMIC_RELAXED);
}

}  // namespace weft::server
