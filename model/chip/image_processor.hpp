/// The manager's processor with the firmware's RV32 image in its ROM.
#pragma once
#include <memory>
#include <string>

#include "firmware/image.hpp"
#include "model/chip/bus_log.hpp"
#include "model/chip/chip_options.hpp"
#include "model/chip/image_bus.hpp"
#include "model/chip/image_report.hpp"
#include "model/rv32/processor.hpp"

namespace weft::fw {
struct State;
}

namespace weft::chip {

class Manager;

/// Runs the image in place of the natively compiled firmware: its time is what its instructions take. Owner: Manager,
/// on whose thread run() runs.
class ImageProcessor {
 public:
  /// `make_processor` as in ChipOptions. nullptr and a message in `error`: the image does not fit the processor or this
  /// build's State, or there is no such processor.
  static std::unique_ptr<ImageProcessor> make(Manager& manager, const fw::Image& image,
                                              const MakeProcessor& make_processor, std::string& error);

  /// From now on, everything that passes between the processor and its registers is written there.
  void set_log(std::unique_ptr<BusLog> log);

  /// From reset, until an exception leaves it (a device reset), or for ever. A processor that has locked up is halted.
  [[noreturn]] void run();

  /// The firmware's state in SRAM. It has the layout of the native one: 32 and 64 bits agree on every field.
  [[nodiscard]] const fw::State& state() const;
  [[nodiscard]] const rv32::Processor& processor() const { return *processor_; }
  [[nodiscard]] const ImageBus& bus() const { return bus_; }
  [[nodiscard]] const fw::Image& image() const { return image_; }

 private:
  ImageProcessor(Manager& manager, const fw::Image& image, const MakeProcessor& make_processor);

  Manager& manager_;
  const fw::Image& image_;
  std::unique_ptr<BusLog> log_;
  ImageBus bus_;
  std::unique_ptr<rv32::Processor> processor_;
};

}  // namespace weft::chip
