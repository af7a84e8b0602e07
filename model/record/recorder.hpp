/// Writes down everything that passes between a simulated chip and its hosts.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/chip/chip_options.hpp"
#include "model/chip/simulation.hpp"
#include "model/record/block_writer.hpp"
#include "model/record/page_store.hpp"
#include "model/record/recording.hpp"
#include "model/record/varint.hpp"
#include "model/server/message_log.hpp"

namespace weft::record {

enum class HazardCheck : uint8_t { kOff, kOn };

/// The recorder of one simulation: hears of the messages (MessageLog) and of what passes without one (chip::Boundary),
/// in the order in which it happens. Costs the simulator's thread a copy of the bytes and their compression. Single-
/// threaded, like the simulator.
class Recorder final : public chip::Boundary, public server::MessageLog {
 public:
  /// Starts a file for a chip that is yet to be made. "%p" in `path` becomes this process's id. nullptr and a message
  /// in `error`.
  static std::unique_ptr<Recorder> make(const std::string& path, const chip::ChipOptions& options, HazardCheck hazards,
                                        std::string& error);
  /// The same for a chip of a slice.
  static std::unique_ptr<Recorder> make(const std::string& path, const chip::ChipOptions& options,
                                        const SlicePlace& place, HazardCheck hazards, std::string& error);

  /// Hears of everything from now on, of a chip that is simulated here. Before time has gone on beyond
  /// Simulation::make().
  void attach(chip::Simulation& simulation, size_t chip = 0);
  /// Called when the injected fault SIMULATOR_EXIT is about to end the process.
  void on_exit(std::function<void()> exits) { exits_ = std::move(exits); }
  /// Ends the file. Nothing is heard any more.
  void finish(Ending ending);

  // chip::Boundary
  void host_read(const chip::HostAccess& access, std::span<std::byte> data, bool ok) override;
  void host_written(const chip::HostAccess& access, std::span<const std::byte> data, bool ok) override;
  void interrupt(unsigned function, unsigned vector) override;
  void wait_ends(unsigned function, weft_wait_status status) override;
  void observer_resets(unsigned function) override;
  [[nodiscard]] bool simulator_exits() override;
  // server::MessageLog
  void connected(size_t function) override;
  void left(size_t function) override;
  void message(size_t function, const server::Message& message) override;
  void answered(int error, std::span<const std::byte> reply) override;
  void sleeps() override;
  [[nodiscard]] int wake_ms() const override;

 private:
  /// Accesses of the core that follow each other are one record.
  struct Run {
    RecordKind kind;
    chip::HostAccess access;
    bool ok;
    size_t piece_bytes;
    std::vector<std::byte> data;
  };

  Recorder(std::unique_ptr<BlockWriter> file, uint32_t chips, bool in_slice)
      : file_(std::move(file)), in_slice_(in_slice), pages_(max_pages(chips)) {}

  /// Where time stands, for the stimulus that follows.
  void tell_time();
  void tell_moment();
  [[nodiscard]] uint64_t cycles_since_last(uint64_t cycle);
  void host_access(RecordKind kind, const chip::HostAccess& access, std::span<const std::byte> data, bool ok);
  void write_access(RecordKind kind, const chip::HostAccess& access, std::span<const std::byte> data, bool ok,
                    size_t piece_bytes);
  void end_run();
  void put_payload(uint64_t address, std::span<const std::byte> data);
  /// The record in `out_` is whole.
  void emit();

  std::unique_ptr<BlockWriter> file_;
  const bool in_slice_;
  chip::Simulation* simulation_ = nullptr;
  size_t chip_ = 0;  // of those that are simulated here
  std::function<void()> exits_;
  PageStore pages_;
  Encoder out_;
  std::optional<Run> run_;
  uint64_t runs_told_ = 0;  // moments, of a slice
  uint64_t last_fs_ = 0;
  uint64_t last_cycle_ = 0;
  // A message is written when it is known whether it was refused; what it sets off comes after it.
  bool in_message_ = false;
  size_t message_function_ = 0;
  uint16_t message_command_ = 0;
  size_t message_fds_ = 0;
  std::vector<std::byte> message_payload_;
  std::vector<std::vector<std::byte>> set_off_;
};

}  // namespace weft::record
