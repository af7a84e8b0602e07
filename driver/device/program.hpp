// A loaded program: its kernels, its image and scratch in HBM, its id on the device.
#pragma once
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "driver/device/device.hpp"
#include "driver/program/executable_loader.hpp"
#include "driver/report/fault_state.hpp"

namespace weft::driver {

/// Immutable. Launches in flight share its ownership; its destructor leaves its remains to the device.
class Program {
 public:
  /// EXECUTABLE_INVALID, NO_DEVICE_MEMORY, and what a queue, a copy or LOAD_PROGRAM may fail with. Blocks.
  static Result<std::shared_ptr<Program>> load(const std::shared_ptr<Device>& device, std::span<const std::byte> bytes);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  uint64_t id() const { return id_; }
  uint32_t generation() const { return generation_; }
  const std::vector<ExecutableKernel>& kernels() const { return kernels_; }
  /// Its kernels and commands, for reports.
  ProgramText text() const { return {kernels_, commands_}; }
  /// For every launch of it: the device runs one launch at a time.
  uint64_t scratch_address() const { return scratch_.address(); }

 private:
  Program() = default;

  std::weak_ptr<Device> device_;
  uint64_t id_ = 0;
  uint32_t generation_ = 0;
  std::vector<ExecutableKernel> kernels_;
  std::vector<std::byte> commands_;
  HbmRange image_;
  HbmRange scratch_;
  std::list<Device::Remains> remains_;  ///< one, to be buried in
};

}  // namespace weft::driver
