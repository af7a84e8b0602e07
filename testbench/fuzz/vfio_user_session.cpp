// Conversations as bytes.
#include "testbench/fuzz/vfio_user_session.hpp"

#include <algorithm>

#include "testbench/fuzz/fuzz_target.hpp"

namespace weft::fuzz {
namespace {

using spec::vfio_user::Header;

constexpr size_t kMaxStepBytes = UINT16_MAX;

}  // namespace

Session read_session(const uint8_t* data, size_t size) {
  Input input(data, size);
  Session session;
  while (!input.empty() && session.size() < kMaxSteps) {
    Step step;
    step.action = static_cast<Action>(input.take<uint8_t>() % kActions);
    const auto descriptors = input.take<uint8_t>();
    step.descriptors = static_cast<Descriptors>((descriptors & 7) % kDescriptorKinds);
    step.descriptor_count = static_cast<uint8_t>(1 + (descriptors >> 3));
    const auto bytes = input.take_bytes(input.take<uint16_t>());
    step.bytes.assign(bytes.begin(), bytes.end());
    session.push_back(std::move(step));
  }
  return session;
}

std::vector<uint8_t> write_session(const Session& session) {
  std::vector<uint8_t> out;
  for (const Step& step : session) {
    const size_t bytes = std::min(step.bytes.size(), kMaxStepBytes);
    out.push_back(static_cast<uint8_t>(step.action));
    out.push_back(static_cast<uint8_t>(static_cast<unsigned>(step.descriptors) | (step.descriptor_count - 1u) << 3));
    out.push_back(static_cast<uint8_t>(bytes));
    out.push_back(static_cast<uint8_t>(bytes >> 8));
    out.insert(out.end(), step.bytes.begin(), step.bytes.begin() + static_cast<ptrdiff_t>(bytes));
  }
  return out;
}

Step message(uint16_t id, spec::vfio_user::Command command, std::vector<uint8_t> payload, uint32_t flags) {
  const Header header{.message_id = id,
                      .command = static_cast<uint16_t>(command),
                      .size = static_cast<uint32_t>(sizeof(Header) + payload.size()),
                      .flags = flags,
                      .error = 0};
  Step step;
  step.bytes = payload_of(header, payload);
  return step;
}

}  // namespace weft::fuzz
