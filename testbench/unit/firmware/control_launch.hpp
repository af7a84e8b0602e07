/// A launch of a control list by a host that sees every command, for firmware tests.
#pragma once
#include <functional>
#include <vector>

#include "check.hpp"
#include "control_image.hpp"

namespace mock {

inline constexpr uint32_t kSegment = 5;

/// Launches a list once, and sees each command with the base of segment 5 when it was fetched.
struct Run {
  ListImage list;
  Host host = boot();
  uint64_t program = 0;
  weft_completion_entry completion{};
  uint32_t budget_kcycles = 0;
  uint64_t service_cycles = 2000;
  struct Seen {
    uint32_t tag;
    uint64_t base;
  };
  std::vector<Seen> seen;
  std::function<void()> started = [] {};

  /// The word of argument `index` at `offset`.
  static uint32_t& word(uint32_t index, uint64_t offset = 0) {
    return *reinterpret_cast<uint32_t*>(machine().find(WEFT_ADDRESS_SPACE_HBM, kData + index * 256 + offset, 4));
  }
  /// `on_command`: acts when a command is fetched.
  void launch(const std::function<void(uint32_t tag)>& on_command = [](uint32_t) {}) {
    const auto image = list.image();
    place_image(image);
    for (uint64_t& cycles : machine().core.service_cycles) cycles = service_cycles;
    machine().core.read_command = [this, on_command](uint64_t address) {
      const uint8_t* command = machine().find(WEFT_ADDRESS_SPACE_HBM, address, WEFT_COMMAND_BYTES);
      const uint64_t first = kImage + list.commands_at();
      assert_in_range(address, first, first + list.commands * 64 - 1);
      seen.push_back({static_cast<uint32_t>(command[2]), machine().core.base(kSegment)});
      on_command(seen.back().tag);
      return command;
    };
    machine().script = {
        [this] { host.create(1, 16, 16); },
        [this, size = image.size()] { host.submit(0, load_entry(size)); },
        [this] {
          const auto done = host.drain(0);
          assert_int_equal(done.size(), 2);
          assert_int_equal(CODE(done[1]), WEFT_ERROR_OK);
          program = done[1].start_cycle;
        },
        [this] {
          make_list(0, list.arguments + (list.scratch != 0 ? 1u : 0u));
          auto e = launch_entry(program, kLists, 3);
          e.budget_kcycles = budget_kcycles;
          e.flags = WEFT_SUBMISSION_FLAG_PROFILE;
          host.submit(1, e);
          started();
        },
        [this] {
          const auto done = host.drain(1);
          assert_int_equal(done.size(), 1);
          completion = done[0];
        },
    };
    run_firmware();
    assert_int_equal(machine().script_next, machine().script.size());
    assert_int_equal(machine().core.refused_fetches, 0);
    assert_false(machine().hung);
    for (uint32_t s = 1; s < WEFT_SEGMENTS; s++) assert_int_equal(machine().core.attributes(s), 0);
  }
  void expect(const std::vector<std::pair<uint32_t, uint64_t>>& what) const {
    assert_int_equal(seen.size(), what.size());
    for (size_t i = 0; i < what.size(); i++) {
      assert_int_equal(seen[i].tag, what[i].first);
      assert_int_equal(seen[i].base, what[i].second);
    }
  }
};

}  // namespace mock
