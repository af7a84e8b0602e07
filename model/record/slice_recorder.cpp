// A recorder a chip, and the messages of each to its own.
#include "model/record/slice_recorder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace weft::record {

std::string chip_path(const std::string& folder, uint32_t chip) {
  return fmt::format("{}/chip{}.weftrec", folder, chip);
}

std::unique_ptr<SliceRecorder> SliceRecorder::make(const std::string& folder, const SlicePlace& first,
                                                   const std::vector<chip::ChipOptions>& chips, HazardCheck hazards,
                                                   std::string& error) {
  std::error_code why;
  std::filesystem::create_directory(folder, why);
  if (!std::filesystem::is_directory(folder)) {
    error = fmt::format("recording '{}': the recording of a slice is a folder, which cannot be made: {}", folder,
                        why ? why.message() : "a file of this name is there");
    return nullptr;
  }
  auto recorder = std::make_unique<SliceRecorder>();
  recorder->functions_ = chips.front().functions;
  for (uint32_t i = 0; i < chips.size(); i++) {
    SlicePlace place = first;
    place.chip += i;
    auto chip = Recorder::make(chip_path(folder, place.chip), chips[i], place, hazards, error);
    if (chip == nullptr) return nullptr;
    chip->on_exit([all = recorder.get()] { all->finish(Ending::kInjected); });
    recorder->chips_.push_back(std::move(chip));
  }
  return recorder;
}

void SliceRecorder::attach(chip::Simulation& simulation) {
  for (size_t i = 0; i < chips_.size(); i++) chips_[i]->attach(simulation, i);
}

void SliceRecorder::finish(Ending ending) {
  for (const auto& chip : chips_) chip->finish(ending);
}

void SliceRecorder::sleeps() {
  for (const auto& chip : chips_) chip->sleeps();
}

int SliceRecorder::wake_ms() const {
  int soonest = -1;
  for (const auto& chip : chips_)
    if (const int wake = chip->wake_ms(); wake >= 0) soonest = soonest < 0 ? wake : std::min(soonest, wake);
  return soonest;
}

}  // namespace weft::record
