// Changes of conversations that know where a message's fields are.
#include <algorithm>
#include <array>
#include <random>

#include "testbench/fuzz/fuzz_target.hpp"
#include "testbench/fuzz/vfio_user_session.hpp"

namespace weft::fuzz {
namespace {

using server::Header;

constexpr size_t kMaxStepBytes = UINT16_MAX;

/// Changes one session. All randomness is the seed's.
class Mutator {
 public:
  Mutator(Session& session, unsigned seed, const Session& templates)
      : session_(session), random_(seed), templates_(templates) {}

  void change() {
    if (session_.empty()) return insert();
    switch (draw(12)) {
      case 0:
        return insert();
      case 1:
        if (session_.size() < kMaxSteps) session_.insert(place(), Step(*place()));
        return;
      case 2:
        session_.erase(place());
        return;
      case 3:
        std::iter_swap(place(), place());
        return;
      case 4:
        return resize(*place());
      case 5:
        return change_surroundings(*place());
      case 6:
        return put_ids_in_order();
      case 7:
        return change_bytes(*place());
      default:
        return change_field(*place());
    }
  }

 private:
  uint64_t draw(uint64_t below) { return random_() % below; }
  Session::iterator place() { return session_.begin() + static_cast<ptrdiff_t>(draw(session_.size())); }

  void insert() {
    if (session_.size() >= kMaxSteps || templates_.empty()) return;
    const auto at = session_.begin() + static_cast<ptrdiff_t>(draw(session_.size() + 1));
    session_.insert(at, templates_[draw(templates_.size())]);
  }

  /// A value at which a check may be wrong.
  uint64_t boundary(uint64_t old) {
    static constexpr std::array<uint64_t, 22> kValues{
        0,    1,     2,     4,          7,          8,          9,
        15,   16,    17,    31,         32,         4095,       4096,
        4097, 65535, 65536, 0x7fffffff, 0x80000000, 0xfffff000, 0x7ffffffffffff000,
        ~0ull};
    switch (draw(5)) {
      case 0:
        return old + 1;
      case 1:
        return old - 1;
      case 2:
        return old ^ uint64_t { 1 } << draw(64);
      case 3:
        return random_();
      default:
        return kValues[draw(kValues.size())];
    }
  }

  void change_field(Step& step) {
    static constexpr std::array<size_t, 4> kWidths{1, 2, 4, 8};
    const size_t width = kWidths[draw(kWidths.size())];
    if (step.bytes.size() < width) return;
    // Seldom the header: the other side answers most changes of it in one line.
    const size_t first = step.bytes.size() > sizeof(Header) + width && draw(6) != 0 ? sizeof(Header) : 0;
    const size_t at = first + draw((step.bytes.size() - first) / width) * width;
    uint64_t value = 0;
    std::memcpy(&value, &step.bytes[at], width);
    value = boundary(value);
    std::memcpy(&step.bytes[at], &value, width);
  }

  void fix_length(Step& step) {
    if (step.bytes.size() < sizeof(Header)) return;
    const auto size = static_cast<uint32_t>(step.bytes.size());
    std::memcpy(&step.bytes[offsetof(Header, size)], &size, sizeof size);
  }

  void resize(Step& step) {
    const size_t old = step.bytes.size();
    const size_t size = draw(2) == 0 ? draw(old + 1) : old + draw(draw(8) == 0 ? 5000 : 40);
    step.bytes.resize(std::min(size, kMaxStepBytes));
    if (draw(4) != 0) fix_length(step);
  }

  void change_surroundings(Step& step) {
    if (draw(2) == 0) step.action = static_cast<Action>(draw(kActions));
    if (draw(2) == 0) step.descriptors = static_cast<Descriptors>(draw(kDescriptorKinds));
    if (draw(2) == 0) step.descriptor_count = static_cast<uint8_t>(1 + draw(draw(2) == 0 ? 32 : 2));
  }

  void put_ids_in_order() {
    uint16_t id = 0;
    for (Step& step : session_) {
      if (step.bytes.size() < sizeof(Header)) continue;
      std::memcpy(&step.bytes[offsetof(Header, message_id)], &id, sizeof id);
      id++;
    }
  }

  void change_bytes(Step& step) {
    const size_t size = step.bytes.size();
    step.bytes.resize(size + 64);
    step.bytes.resize(LLVMFuzzerMutate(step.bytes.data(), size, size + 64));
    if (draw(2) == 0) fix_length(step);
  }

  Session& session_;
  std::mt19937_64 random_;
  const Session& templates_;
};

}  // namespace

size_t mutate_session(uint8_t* data, size_t size, size_t max_size, unsigned seed, const Session& templates) {
  Session session = read_session(data, size);
  Mutator mutator(session, seed, templates);
  for (unsigned changes = 1 + seed % 4; changes != 0; changes--) mutator.change();
  auto bytes = write_session(session);
  while (bytes.size() > max_size && !session.empty()) {
    session.pop_back();
    bytes = write_session(session);
  }
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}

}  // namespace weft::fuzz
