#include "model/chip/image_processor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "firmware/bare/registers.hpp"
#include "firmware/state.hpp"
#include "model/chip/manager.hpp"
#include "model/rv32/hart.hpp"

namespace weft::chip {
namespace {

constexpr uint64_t kStrideCycles = 2048;  // of the processor, before simulated time follows
constexpr size_t kRomBytes = 64 * 1024;
constexpr size_t kDeepestBacktrace = 16;
constexpr unsigned kStackPointer = 2, kReturnAddress = 1;

/// The instruction before `address` is a call.
bool behind_call(std::span<const std::byte> rom, uint32_t address) {
  if (address < 4 || address > rom.size() || (address & 1) != 0) return false;
  uint32_t word = 0;
  std::memcpy(&word, &rom[address - 4], sizeof word);
  const rv32::Instruction whole = rv32::decode(word), half = rv32::decode(word >> 16);
  const auto calls = [](const rv32::Instruction& i, unsigned length) {
    return i.length == length && i.rd == kReturnAddress && (i.op == rv32::Op::kJal || i.op == rv32::Op::kJalr);
  };
  return calls(whole, 4) || calls(half, 2);
}

}  // namespace

ImageProcessor::ImageProcessor(Manager& manager, const fw::Image& image, const MakeProcessor& make_processor)
    : manager_(manager), image_(image), bus_(manager) {
  const rv32::Layout layout{.sram_base = fw::bare::kSramBase, .sram_bytes = fw::bare::kSramBytes};
  processor_ =
      make_processor ? make_processor(layout, image.rom, bus_) : std::make_unique<rv32::Hart>(layout, image.rom, bus_);
  if (processor_ == nullptr) return;
  bus_.connect(*processor_);
  bus_.on_exception = [this](rv32::Cause cause, uint32_t value) {
    manager_.firmware_trapped(fmt::format("{} (mtval {:#x})", rv32::cause_name(cause), value));
  };
}

std::unique_ptr<ImageProcessor> ImageProcessor::make(Manager& manager, const fw::Image& image,
                                                     const MakeProcessor& make_processor, std::string& error) {
  if (image.rom.size() <= rv32::Processor::kResetOffset || image.rom.size() > kRomBytes) {
    error = fmt::format("the firmware's image has {} bytes; a ROM of {} bytes holds more than {} of them",
                        image.rom.size(), kRomBytes, rv32::Processor::kResetOffset);
    return nullptr;
  }
  if (image.state_address != fw::bare::kSramBase || image.state_bytes != sizeof(fw::State)) {
    error = fmt::format("the firmware's image has {} bytes of state at {:#x}; this simulator knows {} at {:#x}",
                        image.state_bytes, image.state_address, sizeof(fw::State), fw::bare::kSramBase);
    return nullptr;
  }
  std::unique_ptr<ImageProcessor> made(new ImageProcessor(manager, image, make_processor));
  if (made->processor_ != nullptr) return made;
  error = "this build has no such processor for the firmware's image";
  return nullptr;
}

const fw::State& ImageProcessor::state() const {
  return *reinterpret_cast<const fw::State*>(processor_->sram().data());
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

std::string ImageProcessor::where(uint32_t pc) const {
  const auto after = std::upper_bound(image_.functions.begin(), image_.functions.end(), pc,
                                      [](uint32_t at, const fw::ImageFunction& f) { return at < f.address; });
  if (after == image_.functions.begin() || pc >= image_.rom.size()) return fmt::format("{:#010x}", pc);
  const fw::ImageFunction& function = *std::prev(after);
  return fmt::format("{:#07x} {}+{:#x}", pc, function.name, pc - function.address);
}

std::string ImageProcessor::backtrace() const {
  std::string text = where(processor_->pc());
  const uint32_t top = fw::bare::kSramBase + fw::bare::kSramBytes;
  size_t depth = 0;
  const auto caller = [&](uint32_t address) {
    if (!behind_call(processor_->rom(), address) || depth == kDeepestBacktrace) return;
    text += "\n  from " + where(address);
    depth++;
  };
  caller(processor_->x()[kReturnAddress]);
  for (uint32_t at = processor_->x()[kStackPointer] & ~3u;
       at - fw::bare::kSramBase <= fw::bare::kSramBytes - 4 && at < top; at += 4) {
    uint32_t word = 0;
    std::memcpy(&word, &processor_->sram()[at - fw::bare::kSramBase], sizeof word);
    caller(word);
  }
  return text;
}

}  // namespace weft::chip
