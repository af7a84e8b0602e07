/// Runs a compiled kernel on golden arithmetic with units that start and finish in random order, as far as the
/// semaphores allow: a missing wait shows as a wrong result, a wrong count as a deadlock or a left-over.
#pragma once
#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "host/compiler/executable/executable_writer.hpp"
#include "model/golden/core_state.hpp"

namespace weft::test {

/// Flat memory that every segment but VMEM lies in.
class FlatMemory : public golden::MemoryAccess {
 public:
  bool read(weft_address_space, uint64_t address, std::span<std::byte> out) override {
    if (address + out.size() > bytes.size()) return false;
    std::memcpy(out.data(), &bytes[address], out.size());
    return true;
  }
  bool write(weft_address_space, uint64_t address, std::span<const std::byte> data) override {
    if (address + data.size() > bytes.size()) return false;
    std::memcpy(&bytes[address], data.data(), data.size());
    return true;
  }
  std::vector<std::byte> bytes;
};

class ProgramExecutor {
 public:
  /// arguments[i]: initial bytes of argument i (its size), followed in memory by 64 guard bytes.
  ProgramExecutor(const spec::Chip& chip, const compiler::Kernel& kernel,
                  const std::vector<std::vector<std::byte>>& arguments, uint64_t seed)
      : kernel_(kernel), state_(chip), random_(seed) {
    // Fresh VMEM holds NaN patterns, so that whatever a program uses without loading shows.
    std::memset(state_.vmem().data(), 0xff, state_.vmem().size());
    map(1, kernel.constants, true, false);
    map(2, std::vector<std::byte>(kernel.scratch_bytes, std::byte{0xff}), true, true);
    for (size_t i = 0; i < arguments.size(); i++) map(3 + i, arguments[i], true, true);
  }

  /// For kernels that build on it: commands of a DMA queue finish in order, as those of a channel retire.
  void finish_in_order() { in_order_ = true; }

  /// Empty if the program ended with all semaphores zero; otherwise what went wrong.
  std::string run() {
    while (true) {
      std::vector<unsigned> choices;
      for (unsigned q = 0; q < 5; q++)
        if (can_start(q)) choices.push_back(q);
      for (unsigned q = 0; q < 5; q++)
        for (size_t i = 0; i < flying_[q].size(); i++)
          if (i == 0 || (!in_order_ && (q == WEFT_QUEUE_DMA_IN || q == WEFT_QUEUE_DMA_OUT)))
            choices.push_back(8 + q * 8 + static_cast<unsigned>(i));
      if (choices.empty()) break;
      const unsigned choice = choices[random_() % choices.size()];
      const auto error = choice < 8 ? start(choice) : finish((choice - 8) / 8, (choice - 8) % 8);
      if (!error.empty()) return error;
    }
    for (unsigned q = 0; q < 5; q++)
      if (next_[q] != kernel_.queues[q].size())
        return fmt::format("deadlock: queue {} stands at command {} of {}", q, next_[q], kernel_.queues[q].size());
    for (unsigned s = 0; s < 64; s++)
      if (semaphores_[s] != 0) return fmt::format("semaphore {} is left at {}", s, semaphores_[s]);
    return {};
  }

  std::vector<std::byte> argument(size_t i, size_t bytes) const {
    const auto first = memory_.bytes.begin() + static_cast<ptrdiff_t>(state_.segments()[3 + i].base);
    return {first, first + static_cast<ptrdiff_t>(bytes)};
  }

 private:
  struct Flying {
    size_t index;
    bool executed;
  };

  void map(size_t segment, const std::vector<std::byte>& data, bool readable, bool writable) {
    auto& entry = state_.segments()[segment];
    entry = {memory_.bytes.size(), data.size(), WEFT_ADDRESS_SPACE_HBM, readable, writable};
    memory_.bytes.insert(memory_.bytes.end(), data.begin(), data.end());
    memory_.bytes.resize((memory_.bytes.size() + 127) / 64 * 64, std::byte{0xa5});
  }

  bool can_start(unsigned q) const {
    const size_t limit = q == WEFT_QUEUE_DMA_IN || q == WEFT_QUEUE_DMA_OUT ? 2 : 1;
    if (next_[q] == kernel_.queues[q].size() || flying_[q].size() >= limit) return false;
    const auto h = spec::decode_header(kernel_.queues[q][next_[q]]);
    return (h.wait_sem0 == 0xff || semaphores_[h.wait_sem0] >= h.wait_count0) &&
           (h.wait_sem1 == 0xff || semaphores_[h.wait_sem1] >= h.wait_count1);
  }

  std::string start(unsigned q) {
    const auto h = spec::decode_header(kernel_.queues[q][next_[q]]);
    if (h.wait_sem0 != 0xff) semaphores_[h.wait_sem0] -= h.wait_count0;
    if (h.wait_sem1 != 0xff) semaphores_[h.wait_sem1] -= h.wait_count1;
    flying_[q].push_back({next_[q]++, false});
    return random_() % 2 ? execute(q, flying_[q].back()) : std::string();
  }

  std::string execute(unsigned q, Flying& flying) {
    flying.executed = true;
    const auto& command = kernel_.queues[q][flying.index];
    if (auto fault = golden::check_header(command, q))
      return fmt::format("queue {} command {}: header fault {} at {}", q, flying.index, static_cast<int>(fault->code),
                         fault->address);
    if (auto fault = state_.execute(command, q, memory_))
      return fmt::format("queue {} command {}: fault {} address {:#x}", q, flying.index, static_cast<int>(fault->code),
                         fault->address);
    return {};
  }

  std::string finish(unsigned q, size_t i) {
    if (!flying_[q][i].executed)
      if (auto error = execute(q, flying_[q][i]); !error.empty()) return error;
    const auto h = spec::decode_header(kernel_.queues[q][flying_[q][i].index]);
    if (h.post_sem0 != 0xff) semaphores_[h.post_sem0] += h.post_count0;
    if (h.post_sem1 != 0xff) semaphores_[h.post_sem1] += h.post_count1;
    flying_[q].erase(flying_[q].begin() + static_cast<ptrdiff_t>(i));
    return {};
  }

  const compiler::Kernel& kernel_;
  golden::CoreState state_;
  FlatMemory memory_;
  std::mt19937_64 random_;
  bool in_order_ = false;
  std::array<size_t, 5> next_{};
  std::array<std::deque<Flying>, 5> flying_;
  std::array<uint64_t, 64> semaphores_{};
};

}  // namespace weft::test
