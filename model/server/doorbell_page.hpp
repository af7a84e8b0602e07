/// The doorbells as memory: a client that maps it rings by a store, and the server finds that by looking.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "model/chip/function.hpp"
#include "model/server/file_descriptor.hpp"

namespace weft::server {

/// One page of a client's own. The client may write anything there at any time: each word is read once, and what is not a
/// doorbell is not looked at. One thread.
class DoorbellPage {
 public:
  static constexpr size_t kWords = 2 * chip::Function::kQueues;

  struct Ring {
    uint32_t offset;  ///< in the region of doorbells
    uint32_t value;
  };

  /// A memfd sealed against another size. Null: the system gave none.
  [[nodiscard]] static std::unique_ptr<DoorbellPage> make();
  ~DoorbellPage();
  DoorbellPage(const DoorbellPage&) = delete;
  DoorbellPage& operator=(const DoorbellPage&) = delete;

  /// Of the memory, for the client.
  [[nodiscard]] int fd() const { return file_.get(); }

  /// A doorbell that the client has rung: it has another value than the last time. Nothing: none has.
  [[nodiscard]] std::optional<Ring> take();
  /// It is to be taken again.
  void put_back(const Ring& ring) { seen_[ring.offset / sizeof ring.value] = ~ring.value; }
  [[nodiscard]] bool rung() const;

  /// All doorbells are 0, as after a reset of the function.
  void clear();

 private:
  DoorbellPage(FileDescriptor file, uint32_t* words) : file_(std::move(file)), words_(words) {}
  [[nodiscard]] uint32_t load(size_t word) const { return __atomic_load_n(&words_[word], __ATOMIC_ACQUIRE); }

  FileDescriptor file_;
  uint32_t* words_;
  std::array<uint32_t, kWords> seen_{};
};

}  // namespace weft::server
