// The core's state as a fault record holds it, where no state page can be had any more: the firmware resets the core
// before it tells the host.
#pragma once
#include <cstddef>
#include <span>

#include "driver/program/executable_loader.hpp"
#include "driver/report/state_page.hpp"

namespace weft::driver {

/// What the host knows of the program that the record is about; both may be empty.
struct ProgramText {
  std::span<const ExecutableKernel> kernels;
  std::span<const std::byte> commands;  ///< of all kernels, 64 bytes each
};

/// Core queues, semaphores (low bytes) and the launch of `record`. With the program: the commands at the heads, and
/// who posts what. Any record is safe.
StatePage state_of_record(const weft_fault_record& record, const ProgramText& program);

}  // namespace weft::driver
