#include "model/chip/image_processor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "firmware/bare/registers.hpp"
#include "firmware/state.hpp"
#include "model/chip/manager.hpp"
#include "model/rv32/hart.hpp"

namespace weft::chip {
namespace {

constexpr uint64_t kStrideCycles = 2048;  // of the processor, before simulated time follows

/// The image's code, decoded once for as long as a processor runs it: chips of a slice run the same.
std::shared_ptr<const rv32::Code> decoded(std::span<const std::byte> rom) {
  static std::vector<std::byte> known;
  static std::weak_ptr<const rv32::Code> shared;
  auto code = shared.lock();
  if (code != nullptr && std::ranges::equal(known, rom)) return code;
  code = rv32::decode_rom(rom);
  known.assign(rom.begin(), rom.end());
  shared = code;
  return code;
}

}  // namespace

ImageProcessor::ImageProcessor(Manager& manager, const fw::Image& image, const MakeProcessor& make_processor)
    : manager_(manager), image_(image), bus_(manager) {
  const rv32::Layout layout{.sram_base = fw::bare::kSramBase, .sram_bytes = fw::bare::kSramBytes};
  processor_ = make_processor ? make_processor(layout, image.rom, bus_)
                              : std::make_unique<rv32::Hart>(layout, image.rom, bus_, decoded(image.rom));
  if (processor_ == nullptr) return;
  bus_.connect(*processor_);
  bus_.on_exception = [this](rv32::Cause cause, uint32_t value) {
    manager_.firmware_trapped([=] { return fmt::format("{} (mtval {:#x})", rv32::cause_name(cause), value); });
  };
}

std::unique_ptr<ImageProcessor> ImageProcessor::make(Manager& manager, const fw::Image& image,
                                                     const MakeProcessor& make_processor, std::string& error) {
  error = image_error(image);
  if (!error.empty()) return nullptr;
  std::unique_ptr<ImageProcessor> made(new ImageProcessor(manager, image, make_processor));
  if (made->processor_ != nullptr) return made;
  error = "this build has no such processor for the firmware's image";
  return nullptr;
}

const fw::State& ImageProcessor::state() const {
  return *reinterpret_cast<const fw::State*>(&processor_->sram()[image_.state_address - fw::bare::kSramBase]);
}

void ImageProcessor::set_log(std::unique_ptr<BusLog> log) {
  log_ = std::move(log);
  bus_.set_log(log_.get());
}

void ImageProcessor::run() {
  processor_->reset();
  bus_.reset();
  if (log_ != nullptr) log_->restart();
  for (;;) {
    const rv32::Stop stop = processor_->run(processor_->cycles() + kStrideCycles);
    bus_.pay();
    switch (stop) {
      case rv32::Stop::kLimit:
        break;
      case rv32::Stop::kWaiting:
        manager_.wait_for_event(bus_.alarm());
        processor_->set_external_interrupt(true);
        bus_.wake();
        if (log_ != nullptr) log_->wake(state());
        break;
      case rv32::Stop::kLockedUp:
        manager_.halt();
    }
  }
}

}  // namespace weft::chip
