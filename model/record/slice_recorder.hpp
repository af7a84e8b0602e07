/// Writes down everything that passes between the chips of a slice and their hosts: a file for each chip.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/record/recorder.hpp"

namespace weft::record {

/// "<folder>/chip<number>.weftrec"
[[nodiscard]] std::string chip_path(const std::string& folder, uint32_t chip);

/// The recorders of the chips that are simulated here; other processes of the slice have those of theirs, and no file
/// tells how many there were. Single-threaded, like the simulator.
class SliceRecorder final : public server::MessageLog {
 public:
  /// Starts the files of the chip at `first` and those behind it, one for each of `chips`, in `folder`, which is made
  /// if it is not there. nullptr and a message in `error`.
  static std::unique_ptr<SliceRecorder> make(const std::string& folder, const SlicePlace& first,
                                             const std::vector<chip::ChipOptions>& chips, HazardCheck hazards,
                                             std::string& error);

  /// As those of Recorder.
  void attach(chip::Simulation& simulation);
  void finish(Ending ending);

  // server::MessageLog; functions of all chips that are simulated here
  void connected(size_t function) override { of(function).connected(function % functions_); }
  void left(size_t function) override { of(function).left(function % functions_); }
  void message(size_t function, const server::Message& message) override {
    asked_ = &of(function);
    asked_->message(function % functions_, message);
  }
  void answered(int error, std::span<const std::byte> reply) override { asked_->answered(error, reply); }
  void sleeps() override;
  [[nodiscard]] int wake_ms() const override;

 private:
  [[nodiscard]] Recorder& of(size_t function) { return *chips_[function / functions_]; }

  std::vector<std::unique_ptr<Recorder>> chips_;
  size_t functions_ = 1;       // of a chip
  Recorder* asked_ = nullptr;  // whose message is being executed
};

}  // namespace weft::record
