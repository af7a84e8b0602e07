// Changes of conversations that know where a message's fields are.
#include <algorithm>
#include <random>

#include "testbench/fuzz/boundary_values.hpp"
#include "testbench/fuzz/fuzz_target.hpp"
#include "testbench/fuzz/vfio_user_session.hpp"
#include "weft/spec/spec.h"

namespace weft::fuzz {
namespace {

using spec::vfio_user::Header;

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
      default: {
        Step& step = *place();
        if (step.action == Action::kSubmit && draw(3) == 0) return change_entries(step);
        return change_field(step);
      }
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

  /// Bytes before those that are worth changing: the other side answers most changes of a header in one line.
  static size_t head_bytes(const Step& step) { return step.action == Action::kSubmit ? 1 : sizeof(Header); }

  void change_field(Step& step) {
    constexpr size_t kWidest = 8;
    const size_t head = step.bytes.size() > head_bytes(step) + kWidest && draw(6) != 0 ? head_bytes(step) : 0;
    put_boundary_value(random_, std::span(step.bytes).subspan(head));
  }

  /// Exchanges, repeats or removes an entry.
  void change_entries(Step& step) {
    constexpr size_t kBytes = sizeof(weft_submission_entry);
    if (step.bytes.size() <= kBytes) return;
    const size_t entries = (step.bytes.size() - 1) / kBytes;
    const auto entry = [&] { return step.bytes.begin() + static_cast<ptrdiff_t>(1 + draw(entries) * kBytes); };
    const auto one = entry(), other = entry();
    const std::vector<uint8_t> copy(one, one + kBytes);
    switch (draw(3)) {
      case 0:
        std::swap_ranges(one, one + kBytes, other);
        return;
      case 1:
        if (step.bytes.size() + kBytes <= kMaxStepBytes) step.bytes.insert(other, copy.begin(), copy.end());
        return;
      default:
        step.bytes.erase(one, one + kBytes);
    }
  }

  void fix_length(Step& step) {
    if (step.action == Action::kSubmit || step.bytes.size() < sizeof(Header)) return;
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
      if (step.action == Action::kSubmit || step.bytes.size() < sizeof(Header)) continue;
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
